"""The Gaussian curves against scipy and direct sums; the normal tail against known values."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from scipy.special import log_ndtr
from scipy.stats import norm

from discreet.accounting import (
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    zcdp_delta,
)
from discreet.accounting.normal import crossing, mills_bounds, shift_delta
from discreet.errors import InvalidValue, UnprovableRequest

TARGETS = [(0, 1e-6), (1e-6, 1e-9), (0.1, 1e-6), (1, 1e-6), (1, 0.3), (10, 1e-10), (200, 1e-6)]


def reference_delta(mu, epsilon):
    inner, outer = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    first, second = log_ndtr(inner), epsilon + log_ndtr(outer)
    return math.exp(first) * -math.expm1(second - first)


@pytest.mark.parametrize(
    "x", ["0", "0.3", "1", "2.5", "5.999999", "6", "6.000001", "9", "37", "89"]
)
def test_tail_ratio_is_bracketed(x):
    low, high = mills_bounds(Decimal(x))
    assert low < high
    assert (high - low) / low < Decimal("1e-38")
    expected = math.exp(norm.logsf(float(x)) - norm.logpdf(float(x)))
    assert float(low) == pytest.approx(expected, rel=1e-11)


def test_tail_ratio_brackets_a_known_constant():
    # P(Z > 0)/density(0) = sqrt(pi/2)
    low, high = mills_bounds(Decimal(0))
    with decimal.localcontext() as context:
        context.prec = 60
        root = (Decimal("3.14159265358979323846264338327950288419716939937510582097494") / 2).sqrt()
    assert low < root < high


def test_series_and_continued_fraction_meet():
    below = mills_bounds(Decimal("5.9999999999999999999999999999999999999999999"))
    above = mills_bounds(Decimal("6"))
    assert abs(below[0] - above[0]) < Decimal("1e-38")


@pytest.mark.parametrize("mu", [1e-3, 0.1, 0.5, 1, 3, 12])
@pytest.mark.parametrize("epsilon", [0, 1e-3, 0.1, 1, 5, 40])
def test_delta_against_scipy(mu, epsilon):
    found = float(gaussian_delta(sigma=1, sensitivity=mu, epsilon=epsilon))
    assert found == pytest.approx(reference_delta(mu, epsilon), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("mu", "epsilon"), [("1e-25", "0"), ("1e-25", "1e-26"), ("0.001", "0.09")])
def test_delta_of_tiny_shifts_does_not_cancel(mu, epsilon):
    low, high = shift_delta(mu=Decimal(mu), epsilon=Decimal(epsilon))
    assert 0 <= low <= high
    if epsilon == "0":
        assert float(high) == pytest.approx(1e-25 / math.sqrt(2 * math.pi))


@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
@pytest.mark.parametrize(("sensitivity", "count"), [(1, 1), (0.5, 30)])
def test_sigma_is_enough_and_the_least(epsilon, delta, sensitivity, count):
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity, count=count)
    same = {"epsilon": epsilon, "sensitivity": sensitivity, "count": count}
    assert gaussian_delta(sigma=sigma, **same) <= Fraction(repr(delta))
    assert gaussian_delta(sigma=sigma * (1 - Fraction(1, 10**12)), **same) > Fraction(repr(delta))
    mu = float(sensitivity) * math.sqrt(count) / float(sigma)
    assert reference_delta(mu, epsilon) == pytest.approx(delta, rel=1e-7)


@pytest.mark.parametrize("sigma", [0.1, 1, 30])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.2])
@pytest.mark.parametrize("count", [1, 100])
def test_epsilon_is_enough_and_the_least(sigma, delta, count):
    epsilon = gaussian_epsilon(sigma=sigma, delta=delta, count=count)
    assert gaussian_delta(sigma=sigma, epsilon=epsilon, count=count) <= Fraction(repr(delta))
    if epsilon:
        less = epsilon * (1 - Fraction(1, 10**12))
        assert gaussian_delta(sigma=sigma, epsilon=less, count=count) > Fraction(repr(delta))


def test_classic_calibration_breaks_for_large_epsilon_and_ours_does_not():
    delta = Fraction(1, 10**6)
    broken = []
    for epsilon in (0.5, 1, 5, 10, 20, 50):
        classic = math.sqrt(2 * math.log(1.25 / 1e-6)) / epsilon
        broken.append(gaussian_delta(sigma=classic, epsilon=epsilon) > delta)
        ours = gaussian_sigma(epsilon=epsilon, delta=delta)
        assert gaussian_delta(sigma=ours, epsilon=epsilon) <= delta
    assert broken == [False, False, False, True, True, True]


def test_edges_and_refusals():
    assert gaussian_delta(sigma=1, sensitivity=0, epsilon=0) == 0
    assert gaussian_epsilon(sigma=1, sensitivity=0, delta=1e-6) == 0
    assert 0 < gaussian_delta(sigma=1000, epsilon=1000) < Fraction(1, 10**1600)
    assert gaussian_delta(sigma=1e-5, epsilon=1) == 1
    with pytest.raises(UnprovableRequest, match="Laplace"):
        gaussian_sigma(epsilon=1, delta=0)
    with pytest.raises(UnprovableRequest, match="no noise"):
        gaussian_sigma(epsilon=1, delta=1)
    for bad in (0, -1, math.nan, True, "1"):
        with pytest.raises(InvalidValue):
            gaussian_delta(sigma=bad, epsilon=1)
    for bad in (0, 1.5, True):
        with pytest.raises(InvalidValue):
            gaussian_delta(sigma=1, epsilon=1, count=bad)
        with pytest.raises(InvalidValue):
            discrete_gaussian_delta(sigma_squared=1, epsilon=1, sensitivity=bad)


def summed_delta(variance, epsilon, steps):
    """CKS20, Thm. 7 by its definition: the hockey-stick divergence of the shifted pmf."""
    width = int(14 * math.sqrt(variance)) + 2 * steps + 10
    weights = {y: math.exp(-y * y / (2 * variance)) for y in range(-width, width + 1)}
    total = math.fsum(weights.values())
    return (
        math.fsum(
            max(0.0, weights.get(y - steps, 0.0) - math.exp(epsilon) * weights.get(y, 0.0))
            for y in range(-width, width + steps + 1)
        )
        / total
    )


@pytest.mark.parametrize("variance", [0.01, 0.3, 1, 4.99, 5, 17.3, 900])
@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0, 0.2, 1, 4])
def test_discrete_delta_is_the_divergence_of_the_shifted_pmf(variance, steps, epsilon):
    found = discrete_gaussian_delta(sigma_squared=variance, epsilon=epsilon, sensitivity=steps)
    expected = summed_delta(variance, epsilon, steps)
    assert float(found) == pytest.approx(expected, rel=1e-8, abs=1e-15)
    assert found <= zcdp_delta(rho=steps**2 / (2 * Fraction(repr(variance))), epsilon=epsilon)


@pytest.mark.parametrize("sigma", [2999, 3001, 10**5])
@pytest.mark.parametrize("share", [1, 100])
def test_large_sigma_is_bounded_closely(sigma, share):
    steps = max(1, sigma // (2 * share))
    found = discrete_gaussian_epsilon(sigma_squared=sigma**2, delta=1e-6, sensitivity=steps)
    smooth = gaussian_epsilon(sigma=sigma, delta=1e-6, sensitivity=steps)
    assert float(found) == pytest.approx(float(smooth), rel=1e-5)


def test_the_integral_bound_covers_the_exact_sum():
    from discreet.accounting import discrete_gaussian

    epsilon = Fraction(1, 100)
    with decimal.localcontext(discrete_gaussian.normal_context()):
        variance = Fraction(500**2)
        close = discrete_gaussian._integral(variance, epsilon, 1)
        exact = discrete_gaussian._sum(variance, epsilon, 1)
        exact /= discrete_gaussian._normaliser(variance)
    assert exact <= close < exact * Decimal("1.1")


def test_discrete_epsilon_is_enough_and_the_least():
    for variance, steps in ((1, 1), (50, 1), (50, 3)):
        epsilon = discrete_gaussian_epsilon(sigma_squared=variance, delta=1e-6, sensitivity=steps)
        same = {"sigma_squared": variance, "sensitivity": steps}
        assert discrete_gaussian_delta(epsilon=epsilon, **same) <= Fraction(1, 10**6)
        less = epsilon * (1 - Fraction(1, 10**9))
        assert discrete_gaussian_delta(epsilon=less, **same) > Fraction(1, 10**6)


@pytest.mark.parametrize("nines", [10, 16, 30, 60])
def test_deltas_next_to_one_are_answered(nines):
    delta = 1 - Fraction(1, 10**nines)
    epsilon = gaussian_epsilon(sigma=0.01, delta=delta)
    assert gaussian_delta(sigma=0.01, epsilon=epsilon) <= delta
    sigma = gaussian_sigma(epsilon=1, delta=delta)
    assert gaussian_delta(sigma=sigma, epsilon=1) <= delta
    level = discrete_gaussian_epsilon(sigma_squared=0.01, delta=delta)
    # A delta is shown in 18 digits, rounded up: closer to 1 than that it reads 1.
    shown = delta if nines <= 17 else Fraction(1)
    assert discrete_gaussian_delta(sigma_squared=0.01, epsilon=level) <= shown


def test_crossing_of_steps_and_lines():
    assert crossing(lambda x: x - 3, 0.0, 10.0) == pytest.approx(3, rel=1e-14)
    assert crossing(lambda x: -1.0 if x < 0.7 else 1.0, 0.0, 1.0) == pytest.approx(0.7)
    assert crossing(lambda x: x**9 - 1e-9, 0.0, 10.0) == pytest.approx(0.1, rel=1e-12)
