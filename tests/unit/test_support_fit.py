"""The statistical checks themselves: they accept the truth and catch small lies."""

import math
from fractions import Fraction

import numpy as np
import pytest

from support import fit
from support.fit import check_fit, check_rate, check_rate_at_most, rejects

FAIR = dict.fromkeys(range(10), 0.1)


def laplace_cdf(scale: float):
    ratio = math.exp(-1 / scale)

    def cdf(value: int) -> float:
        if value >= 0:
            return 1 - ratio ** (value + 1) / (1 + ratio)
        return ratio ** (-value) / (1 + ratio)

    return cdf


def stratified(cdf, count: int, shift: float = 0.5) -> list[int]:
    """Samples at evenly spaced levels: the best fit there is, drawn without luck."""
    return [fit.quantile(cdf, (step + shift) / count) for step in range(count)]


def test_an_exact_spread_is_accepted_with_room():
    assert check_fit(list(range(10)) * 500, FAIR, name="uniform") > 25
    assert check_fit(stratified(laplace_cdf(3), 20_000), laplace_cdf(3), name="laplace") > 20


@pytest.mark.parametrize(
    ("scale", "shift", "description"),
    [(1.5, 0, "half the noise"), (2.7, 0, "ten per cent too little"), (3, 1, "off by one")],
)
def test_wrong_scales_and_offsets_are_rejected(scale, shift, description):
    samples = [value + shift for value in stratified(laplace_cdf(scale), 40_000)]
    assert rejects(check_fit, samples, laplace_cdf(3), name=description)


def test_a_single_wrong_value_is_seen_where_the_distribution_function_barely_moves():
    samples = np.array(list(range(10)) * 10_000)
    samples[::40][samples[::40] == 0] = 1
    moved = int((samples == 1).sum()) - 10_000
    distance = moved / len(samples)
    assert 2 * len(samples) * distance**2 > math.log(4 / fit.FALSE_ALARM)
    assert rejects(check_fit, samples, FAIR, name="one value moved")


def test_impossible_values_fail_at_the_first_sighting():
    samples = list(range(10)) * 1000
    assert rejects(check_fit, [*samples, 10], FAIR, name="one above")
    assert rejects(check_fit, [*samples, -1], FAIR, name="one below")


def test_integers_beyond_int64_and_arrays_of_objects_work():
    offset = 10**30
    shifted = {offset + value: probability for value, probability in FAIR.items()}
    samples = [offset + value for value in range(10)] * 100
    assert check_fit(samples, shifted, name="huge") > 20
    assert rejects(check_fit, [offset] * 1000, shifted, name="stuck")


@pytest.mark.parametrize("samples", [[], [0.5], [1.0], np.array([1.0, 2.0]), [Fraction(1, 2)]])
def test_samples_that_are_not_integers_are_refused(samples):
    assert rejects(check_fit, samples, FAIR, name="not integers")


def test_a_mapping_that_is_no_distribution_is_an_error_not_a_rejection():
    with pytest.raises(ValueError, match="sum to"):
        check_fit([0, 1], {0: 0.5, 1: 0.4}, name="short")


def test_rates_are_two_sided_and_bounds_one_sided():
    assert check_rate(5_000, 10_000, 0.5, name="fair") > 25
    assert rejects(check_rate, 4_500, 10_000, 0.5, name="low")
    assert rejects(check_rate, 5_500, 10_000, 0.5, name="high")
    assert check_rate_at_most(0, 10_000, 0.5, name="below is fine") > 25
    assert rejects(check_rate_at_most, 5_500, 10_000, 0.5, name="above is not")
    assert rejects(check_rate, 1, 10_000, 0.0, name="never")
    assert rejects(check_rate, 9_999, 10_000, 1.0, name="always")


def test_a_nan_never_passes():
    assert rejects(check_rate, 5, 10, math.nan, name="nan")


@pytest.mark.parametrize(("trials", "probability"), [(50, 0.3), (200, 0.02), (1000, 0.5)])
def test_the_bound_holds_against_the_exact_binomial(trials, probability):
    from scipy.stats import binom

    for successes in range(trials + 1):
        surprise = fit.surprise(successes, trials, probability)
        above = successes / trials > probability
        exact = (
            binom.sf(successes - 1, trials, probability)
            if above
            else binom.cdf(successes, trials, probability)
        )
        assert exact <= math.exp(-surprise) * (1 + 1e-9)


def test_planted_bugs_do_not_count_and_checks_do():
    before = len(fit.performed)
    rejects(check_rate, 0, 1000, 0.5, name="planted")
    assert len(fit.performed) == before
    check_rate(500, 1000, 0.5, name="counted")
    assert fit.performed[-1] == "counted"
