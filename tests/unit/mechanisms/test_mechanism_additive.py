"""Discrete Laplace and Gaussian: parameters, prices, types, limits and exact quantiles."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Relation, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.shared.integers import saturating_sum
from discreet.noise.bits import SeededBits
from discreet.noise.tails import gaussian_quantile, laplace_quantile, shared_tail
from discreet.rationals import exp_bounds
from support.mechanism_laws import gaussian_weights, laplace_cdf

BOTH = [DiscreteLaplace(scale=2), DiscreteGaussian(sigma=2)]
TINY = [DiscreteLaplace(scale=1e-3), DiscreteGaussian(sigma=1e-3)]  # noise that is always 0
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
REFUSED = [float("nan"), float("inf"), -1, 0, True, "0.1", None, 0.0, -0.0]


@pytest.mark.parametrize("value", REFUSED)
def test_parameters_are_refused(value):
    for make in (
        lambda: DiscreteLaplace(scale=value),
        lambda: DiscreteGaussian(sigma=value),
        lambda: DiscreteGaussian.of_variance(value),
    ):
        with pytest.raises(InvalidValue):
            make()


def test_parameters_are_exact():
    assert DiscreteLaplace(scale=0.1).scale == Fraction(1, 10)
    assert DiscreteGaussian(sigma=0.1).sigma_squared == Fraction(1, 100)
    assert DiscreteGaussian.of_variance(2).sigma_squared == 2
    assert DiscreteGaussian.of_variance(2).sigma ** 2 >= 2
    assert DiscreteGaussian(sigma=3) == DiscreteGaussian.of_variance(9)


def test_loss_is_exact_and_follows_the_right_norm():
    sensitivity = Sensitivity(groups=3, per_group=2, total=5)
    assert DiscreteLaplace(scale=0.3).loss(sensitivity) == Pure(epsilon=Fraction(50, 3))
    assert DiscreteGaussian(sigma=3).loss(sensitivity) == ZCDP(rho=Fraction(1, 2))
    replace = Sensitivity.of_sum(lower=-3, upper=5, groups_in_all=1, relation=Relation.REPLACE)
    assert DiscreteLaplace(scale=8).loss(replace) == Pure(epsilon=1)


@pytest.mark.parametrize("mechanism", BOTH)
def test_the_type_of_the_result_depends_on_the_type_of_the_input_only(mechanism):
    assert type(mechanism.release(3)) is int
    assert type(mechanism.release(np.int16(3))) is int
    assert type(mechanism.release(10**40)) is int
    assert [type(v) for v in mechanism.release([1, 10**40])] == [int, int]
    for kind in (np.int8, np.int32, np.int64, np.uint8, np.uint32):
        noisy = mechanism.release(np.zeros((2, 3), dtype=kind))
        assert (noisy.dtype, noisy.shape) == (np.dtype(np.int64), (2, 3))
    for kind in (np.uint64, object):
        noisy = mechanism.release(np.array([[1, 2]], dtype=kind))
        assert (noisy.dtype, noisy.shape) == (np.dtype(object), (1, 2))
    assert mechanism.release(np.zeros(0, dtype=np.int64)).shape == (0,)
    assert mechanism.release(np.array(5)).shape == ()
    assert mechanism.release([]) == []


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize(
    "exact",
    [
        1.5,
        41.0,
        True,
        np.True_,
        "41",
        None,
        np.array([41.0]),
        np.array([True]),
        [41.0],
        [True],
        np.array([41, 1.5], dtype=object),
        Fraction(41),
    ],
)
def test_only_integers_are_taken_and_the_refusal_does_not_repeat_them(mechanism, exact):
    with pytest.raises(InvalidValue, match="Lattice") as refusal:
        mechanism.release(exact)
    assert "41" not in str(refusal.value)


@pytest.mark.parametrize("mechanism", TINY)
def test_tiny_noise_leaves_every_value_as_it_is(mechanism):
    values = [0, 1, -1, LARGEST, SMALLEST, 10**400, -(10**400)]
    assert mechanism.release(values) == values
    array = np.array([0, LARGEST, SMALLEST])
    assert mechanism.release(array).tolist() == array.tolist()
    assert mechanism.release(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**64 - 1]


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=1e15), DiscreteGaussian(sigma=1e15)])
def test_int64_is_held_at_its_limits_and_python_integers_are_not(mechanism):
    ends = np.array([LARGEST, SMALLEST] * 40)
    noisy = mechanism.release(ends)
    assert noisy.dtype == np.int64
    assert (noisy[0::2] > 0).all(), "the sum wrapped around"
    assert (noisy[1::2] < 0).all(), "the sum wrapped around"
    assert LARGEST in noisy
    assert max(mechanism.release([LARGEST] * 40)) > LARGEST


def test_saturating_sum_agrees_with_unlimited_integers():
    edges = [SMALLEST, SMALLEST + 1, -1, 0, 1, LARGEST - 1, LARGEST]
    first, second = (np.array(grid).ravel() for grid in np.meshgrid(edges, edges))
    expected = [
        min(max(int(a) + int(b), SMALLEST), LARGEST) for a, b in zip(first, second, strict=True)
    ]
    assert saturating_sum(first, second).tolist() == expected
    assert saturating_sum(first, second.astype(object)).tolist() == expected


SCALES = [Fraction(1, 100), Fraction(1, 3), 1, 7, 200]
CONFIDENCES = [0, 0.3, 0.9, 0.999, Fraction(10**15 - 1, 10**15)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_laplace_error_is_the_smallest_that_holds(scale, confidence):
    error = DiscreteLaplace(scale=scale).error(confidence)
    low, high = exp_bounds(-1 / Fraction(scale), 60)
    missed = 1 - Fraction(str(confidence) if isinstance(confidence, float) else confidence)

    def tail(ratio, steps):
        return 2 * ratio ** (steps + 1) / (1 + ratio)

    assert tail(high, int(error)) <= missed
    assert error == 0 or tail(low, int(error) - 1) > missed


@pytest.mark.parametrize("sigma", [0.05, 0.5, 1, 3.7, 50])
@pytest.mark.parametrize("confidence", [0, 0.3, 0.9, 0.999, 1 - 1e-12])
def test_gaussian_error_is_the_smallest_that_holds(sigma, confidence):
    error = int(DiscreteGaussian(sigma=sigma).error(confidence))
    law = gaussian_weights(sigma**2)

    def tail(steps):
        return math.fsum(p for x, p in law.items() if abs(x) > steps)

    missed = 1 - confidence
    assert tail(error) <= missed * (1 + 1e-3 * (confidence > 0.99))
    assert error == 0 or tail(error - 1) > missed * (1 - 1e-3 * (confidence > 0.99))


def test_the_two_ways_to_a_gaussian_quantile_agree():
    """Above 2**26 an integral bounds the tail; just below it the tail is summed."""
    for missed in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**9)):
        summed = gaussian_quantile(Fraction(2**26), missed)
        bounded = gaussian_quantile(Fraction(2**26 + 1), missed)
        assert summed <= bounded <= summed + 1


@pytest.mark.parametrize("sigma", [2.0**13 + 1, 1e6, 1e15])
def test_large_gaussian_error_is_close_to_the_normal_quantile(sigma):
    error = DiscreteGaussian(sigma=sigma).error(0.95)
    assert 1.959963984540054 * sigma - 1 <= error <= 1.959963984540055 * sigma * (1 + 1e-6) + 1


def test_extreme_confidences():
    missed = Fraction(1, 10**400)
    for sigma in (1, 10**5):
        steps = DiscreteGaussian(sigma=sigma).error(1 - missed)
        assert 0.9 * sigma < steps / math.sqrt(2 * 400 * math.log(10)) < 1.1 * sigma + 1
    assert laplace_quantile(Fraction(1), missed) == 921
    for mechanism in BOTH:
        assert mechanism.error(0) == 0
        for bad in (1, 1.5, -0.1, float("nan"), True, "0.9"):
            with pytest.raises(InvalidValue):
                mechanism.error(bad)


@pytest.mark.parametrize("mechanism", BOTH)
def test_simultaneous_error_lies_between_one_coordinate_and_the_textbook(mechanism):
    assert mechanism.simultaneous_error(1, 0.95) == mechanism.error(0.95)
    for count in (2, 100, 10**6, 10**15):
        together = mechanism.simultaneous_error(count, 0.95)
        assert mechanism.error(0.95) <= together <= mechanism.accuracy_bound(count, 0.95)
    for bad in (0, -1, 1.5, True):
        with pytest.raises(InvalidValue):
            mechanism.simultaneous_error(bad, 0.95)


def test_shared_tail_is_a_root_rounded_down():
    share = shared_tail(Fraction(1, 4), 2)
    assert Fraction(1, 2) - Fraction(1, 10**35) < share <= Fraction(1, 2)
    tiny = shared_tail(0.5, 10**15)
    assert float(tiny) == pytest.approx(math.log(2) / 1e15, rel=1e-12)


@pytest.mark.parametrize("scale", [0.001, 0.4, 3])
def test_variances_are_those_of_the_distributions(scale):
    ratio = math.exp(-1 / scale)
    moments = math.fsum(
        x * x * (laplace_cdf(ratio, x) - laplace_cdf(ratio, x - 1)) for x in range(-200, 201)
    )
    assert DiscreteLaplace(scale=scale).variance == pytest.approx(moments, rel=1e-9, abs=1e-300)
    squares = math.fsum(x * x * p for x, p in gaussian_weights(scale**2).items())
    mechanism = DiscreteGaussian(sigma=scale)
    assert mechanism.variance == pytest.approx(squares, rel=1e-9, abs=1e-300)
    assert mechanism.variance <= float(mechanism.sigma_squared)
    assert mechanism.standard_deviation == math.sqrt(mechanism.variance)


def test_integers_of_every_kind_get_the_same_noise_from_the_same_bits():
    values = [-7, 0, 5, 2**40]
    kinds = (values, np.array(values), np.array(values, dtype=object))
    for mechanism in (DiscreteLaplace(scale=50), DiscreteGaussian(sigma=50)):
        noisy = [list(mechanism.release(each, SeededBits(3))) for each in kinds]
        assert noisy[0] == noisy[1] == noisy[2]
        assert noisy[0] != values
