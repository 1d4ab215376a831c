"""Keys that are not public: thresholds, chances, prices and refusals, without sampling error."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.keys.partition import Partition, _growth, _turning_point
from discreet.mechanisms.keys.threshold import Threshold, _upper_tail
from discreet.noise.bits import SeededBits
from discreet.rationals import exp_bounds
from support.mechanism_laws import gaussian_weights, partition_chances

NOISES = [
    DiscreteLaplace(scale=1),
    DiscreteLaplace(scale=Fraction(7, 2)),
    DiscreteGaussian(sigma=2),
    DiscreteGaussian(sigma=30),
]


def tail(noise, start):
    """P(X >= start), written down a second time."""
    if isinstance(noise, DiscreteLaplace):
        ratio = math.exp(-1 / noise.scale)
        return ratio**start / (1 + ratio)
    weights = gaussian_weights(float(noise.sigma_squared))
    return math.fsum(weight for value, weight in weights.items() if value >= start)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("keys", [1, 20])
def test_the_threshold_is_the_lowest_that_keeps_delta(noise, delta, keys):
    made = Threshold.of(noise=noise, delta=delta, keys_per_unit=keys)
    reached = made.loss(Sensitivity(groups=keys, per_group=1)).delta
    assert reached <= Fraction(repr(delta))
    assert float(reached) == pytest.approx(keys * tail(noise, made.threshold - 1), rel=1e-9)
    # One step lower, where a threshold that is cut off instead of rounded up would be, it fails.
    assert keys * tail(noise, made.threshold - 2) > delta


@pytest.mark.parametrize("sigma", [2000, 10**5, 10**9])
def test_wide_noise_is_bounded_by_the_normal_tail(sigma):
    made = Threshold.of(noise=DiscreteGaussian(sigma=sigma), delta=1e-6, keys_per_unit=1)
    assert math.erfc((made.threshold - 1.5) / sigma / math.sqrt(2)) / 2 <= 1e-6
    assert made.threshold == pytest.approx(4.753424 * sigma, rel=1e-3)


@pytest.mark.parametrize("noise", [*NOISES, DiscreteGaussian(sigma=5000)], ids=str)
def test_a_delta_no_float_can_hold_is_kept(noise):
    tiny = Fraction(1, 10**600)
    made = Threshold.of(noise=noise, delta=tiny, keys_per_unit=3)
    assert 0 < made.loss(Sensitivity(groups=3, per_group=1)).delta <= tiny


def test_the_loss_is_that_of_the_noise_with_delta():
    keys = Sensitivity(groups=4, per_group=1)
    laplace = Threshold(noise=DiscreteLaplace(scale=8), threshold=100).loss(keys)
    assert isinstance(laplace, Approximate)
    assert laplace.epsilon == Fraction(1, 2)
    gaussian = Threshold(noise=DiscreteGaussian(sigma=8), threshold=50).loss(keys)
    assert isinstance(gaussian, ZCDP)
    assert gaussian.rho == Fraction(4, 128)
    assert 0 < gaussian.delta < laplace.delta < Fraction(1, 10**4)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_a_threshold_far_out_has_a_loss(noise):
    loss = Threshold(noise=noise, threshold=10**12).loss(Sensitivity.single(1))
    assert 0 < loss.delta < Fraction(1, 10**1000)


def test_counts_of_rows_are_refused():
    mechanism = Threshold(noise=DiscreteLaplace(scale=1), threshold=20)
    with pytest.raises(UnprovableRequest, match="distinct units"):
        mechanism.loss(Sensitivity(groups=1, per_group=2))


@pytest.mark.parametrize("threshold", [1, 0, -5, 2.0, True, "9"])
def test_thresholds_that_are_refused(threshold):
    with pytest.raises(InvalidValue, match="at least 2"):
        Threshold(noise=DiscreteLaplace(scale=1), threshold=threshold)


@pytest.mark.parametrize("delta", [0, 1, -1, 2, math.nan, True, Fraction(1, 10**1001)])
def test_deltas_that_are_refused(delta):
    with pytest.raises(InvalidValue, match="delta"):
        Threshold.of(noise=DiscreteLaplace(scale=1), delta=delta, keys_per_unit=1)
    with pytest.raises(InvalidValue, match="delta"):
        Partition(epsilon=1, delta=delta)


@pytest.mark.parametrize("keys", [0, -1, 1.5, True])
def test_keys_per_unit_that_are_refused(keys):
    with pytest.raises(InvalidValue):
        Threshold.of(noise=DiscreteLaplace(scale=1), delta=1e-6, keys_per_unit=keys)
    with pytest.raises(InvalidValue, match="keys_per_unit"):
        Partition(epsilon=1, delta=1e-6, keys_per_unit=keys)


def test_other_noise_is_refused():
    with pytest.raises(InvalidValue, match="DiscreteLaplace"):
        Threshold(noise=3, threshold=9)


MECHANISMS = [
    Threshold(noise=DiscreteLaplace(scale=1), threshold=60),
    Threshold(noise=DiscreteGaussian(sigma=1), threshold=60),
    Partition(epsilon=1, delta=1e-9),
]


def places(released):
    return (released[0] if isinstance(released, tuple) else released).tolist()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "exact",
    [[7319, 0], [7319, -2], [7319.0, 1.0], [[7319, 1]], np.array([7319, 1.5], dtype=object)],
    ids=str,
)
def test_counts_that_are_refused_without_showing_them(mechanism, exact):
    with pytest.raises(InvalidValue) as caught:
        mechanism.release(np.array(exact))
    assert "7319" not in str(caught.value)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64, object])
def test_large_keys_are_shown_and_small_ones_are_not(mechanism, kind):
    counts = np.array([1, 2**31 - 1, 2, 10**9, 1], dtype=kind)
    assert places(mechanism.release(counts)) == [1, 3]
    assert places(mechanism.release(np.array([2**70, 1, 2**63], dtype=object))) == [0, 2]
    assert places(mechanism.release(np.array([], dtype=kind))) == []


def test_noisy_counts_belong_to_the_keys_shown():
    mechanism = Threshold(noise=DiscreteLaplace(scale=1), threshold=60)
    kept, noisy = mechanism.release(np.array([1000, 1, 5000]))
    assert kept.tolist() == [0, 2]
    assert abs(noisy[0] - 1000) < 100
    assert abs(noisy[1] - 5000) < 100
    assert noisy.min() >= 60


PARAMETERS = [(1, 1e-6, 1), (0.1, 1e-8, 1), (2, 0.3, 1), (3, 1e-5, 4), (1, 0.5, 1), (0.01, 0.2, 2)]


@pytest.mark.parametrize(("epsilon", "delta", "keys"), PARAMETERS)
def test_chances_satisfy_the_optimal_recursion(epsilon, delta, keys):
    mechanism = Partition(epsilon=epsilon, delta=delta, keys_per_unit=keys)
    sure = int(mechanism.error(1))
    # Rational arithmetic with a factor off by 1e-50 stands for e^epsilon.
    factor = exp_bounds(mechanism.epsilon / keys, 120)[0].limit_denominator(10**60)
    expected = partition_chances(factor, mechanism.delta / keys, min(sure, 60))
    for units, chance in enumerate(expected):
        low, high = mechanism.chance(units)
        assert low <= high <= low + Fraction(1, 10**35)
        assert abs(low - chance) < Fraction(1, 10**30)
    assert mechanism.chance(sure) == (1, 1)
    assert mechanism.chance(sure - 1)[0] < 1


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("factor", [Fraction(2), Fraction(3, 2), Fraction(11, 10)])
def test_at_some_deltas_it_is_truncated_geometric_noise(width, factor):
    """Noise V on [-width, width], P(v) proportional to factor**-|v|; shown where n + V > width."""
    weights = {v: factor ** -abs(v) for v in range(-width, width + 1)}
    total = sum(weights.values())
    delta = weights[width] / total
    for units, chance in enumerate(partition_chances(factor, delta, 2 * width + 3)):
        shown = sum(weight for v, weight in weights.items() if units + v > width) / total
        assert chance == shown


@pytest.mark.parametrize(("epsilon", "delta", "keys"), PARAMETERS)
def test_the_error_is_the_smallest_count_that_is_shown_often_enough(epsilon, delta, keys):
    mechanism = Partition(epsilon=epsilon, delta=delta, keys_per_unit=keys)
    for confidence in (0.1, 0.5, 0.95, 0.999):
        count = int(mechanism.error(confidence))
        assert mechanism.chance(count)[0] >= Fraction(repr(confidence))
        assert count == 1 or mechanism.chance(count - 1)[1] < Fraction(repr(confidence))


def test_prices():
    mechanism = Partition(epsilon=2, delta=1e-6, keys_per_unit=8)
    assert mechanism.loss() == Approximate(epsilon=2, delta=1e-6)
    assert mechanism.zcdp_loss() == ZCDP(rho=Fraction(1, 4), delta=1e-6)
    assert mechanism.chance(1) == (Fraction(1, 8 * 10**6),) * 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**300), Fraction(1, 10**5), 70, 10**6])
def test_extreme_epsilons(epsilon):
    mechanism = Partition(epsilon=epsilon, delta=1e-6)
    sure = int(mechanism.error(1))
    assert places(mechanism.release(np.array([sure, sure + 1, 10 * sure]))) == [0, 1, 2]
    assert mechanism.chance(1) == (Fraction(1, 10**6),) * 2


def test_where_no_64_bits_hold_a_sure_count_all_are_hidden():
    mechanism = Partition(epsilon=Fraction(1, 10**60), delta=Fraction(1, 10**50))
    assert mechanism.error(1) == pytest.approx(1e50)
    assert places(mechanism.release(np.array([1, 10**18]))) == []


class Scripted:
    """Bits that are all one, or all zero, after the first word, which the test chooses."""

    def __init__(self, word, *, later=1):
        self.word, self.later = word, later

    def fill(self, buffer):
        buffer.view(np.uint64)[:] = self.word

    def bits(self, count):
        return self.later * ((1 << count) - 1)


def test_a_word_on_the_border_draws_more_bits():
    mechanism = Partition(epsilon=1, delta=Fraction(1, 3))
    border = (1 << 64) // 3  # the bits of one third; what follows in it is 0101...
    assert places(mechanism.release(np.array([1]), Scripted(border - 1))) == [0]
    assert places(mechanism.release(np.array([1]), Scripted(border + 1))) == []
    assert places(mechanism.release(np.array([1]), Scripted(border))) == []
    assert places(mechanism.release(np.array([1]), Scripted(border, later=0))) == [0]


def test_the_same_bits_give_the_same_keys():
    counts = np.arange(1, 40)
    for mechanism in (Partition(epsilon=0.5, delta=1e-3), *MECHANISMS):
        first = places(mechanism.release(counts, SeededBits(11)))
        assert places(mechanism.release(counts, SeededBits(11))) == first


def test_the_tail_of_a_gaussian_is_exact_where_it_is_smaller_than_a_long_word():
    """P(X >= 30) at deviation 1 is about 2^-650: more bits are summed than it has zeros."""
    exact = sum(exp_bounds(Fraction(-k * k, 2), 400)[0] for k in range(30, 40))
    whole = 1 + 2 * sum(exp_bounds(Fraction(-k * k, 2), 400)[0] for k in range(1, 40))
    tail = _upper_tail(DiscreteGaussian(sigma=1), 30)
    assert exact / whole <= tail <= exact / whole * (1 + Fraction(1, 10**9))


def test_the_tail_of_a_gaussian_far_out_is_the_subgaussian_bound():
    low, high = exp_bounds(Fraction(-(2000**2), 2), 30)
    assert low <= _upper_tail(DiscreteGaussian(sigma=1), 2000) <= high * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("digits", [1, 2, 5])
def test_brackets_of_growth_hold_it_at_few_digits(digits):
    for epsilon, units in ((Fraction(1, 3), 4), (Fraction(2), 3), (Fraction(7, 5), 9)):
        low, high = _growth(epsilon, Fraction(1, 10**6), units, digits)
        close = _growth(epsilon, Fraction(1, 10**6), units, 80)
        assert low < close[0] <= close[1] < high


@pytest.mark.parametrize("unit", [4000, 10**8])
def test_the_turning_point_does_not_depend_on_the_digits_it_begins_with(unit):
    for step in range(1, 300):
        epsilon, delta = Fraction(step, unit), Fraction(step, 10**4)
        assert _turning_point(epsilon, delta, 1) == _turning_point(epsilon, delta, 60)


@pytest.mark.parametrize("deviations", [0.5, 0.9, 1.5, 6.0, 36.0, 38.0, 60.0])
def test_the_tail_of_wide_noise_is_a_close_upper_bound(deviations):
    """Above the density over t + 1/t, and at most t times sqrt(2 pi) plus rounding above it."""
    sigma = 2**11
    start = int(deviations * sigma)
    exponent = Fraction(-(start**2), 2 * sigma**2)
    density = exp_bounds(exponent, 900)[0] / Fraction(math.sqrt(2 * math.pi))
    least = density / Fraction(deviations + 1 / deviations)
    assert least <= _upper_tail(DiscreteGaussian(sigma=sigma), start) <= 200 * least


def test_the_tail_of_noise_that_is_nearly_continuous_is_rounded_up():
    """P(Z > t) for a normal Z, from Decimal: 1/2 - density (t + t^3/3 + t^5/(3 5) + ...)."""
    sigma, start = 10**12, 6 * 10**12
    with localcontext(prec=80):
        t = (Decimal(start) - Decimal("0.5")) / sigma
        term = total = t
        for odd in range(3, 400, 2):
            term *= t * t / odd
            total += term
        circle = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
        exact = Fraction(Decimal("0.5") - (-t * t / 2).exp() / (2 * circle).sqrt() * total)
    tail = _upper_tail(DiscreteGaussian(sigma=sigma), start)
    assert exact <= tail <= exact * (1 + Fraction(1, 10**11))


def test_an_epsilon_above_64_is_treated_as_64():
    most = Partition(epsilon=64, delta=Fraction(1, 10**30))
    assert Partition(epsilon=100, delta=Fraction(1, 10**30)).chance(2) == most.chance(2)
    less = Partition(epsilon=63, delta=Fraction(1, 10**30))
    assert less.chance(2)[1] < most.chance(2)[0] < 1
