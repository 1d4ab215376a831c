"""Keys that are not public: how often single units show, and fits to the exact distributions."""

import math

import numpy as np
import pytest

from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.keys.partition import Partition
from discreet.mechanisms.keys.threshold import Threshold
from support.fit import check_fit, check_rate, check_rate_at_most, rejects
from support.mechanism_laws import gaussian_weights, laplace_cdf, partition_chances

SINGLETONS = 300_000
NOISES = [DiscreteLaplace(scale=1), DiscreteGaussian(sigma=2)]


def shown(mechanism, units):
    released = mechanism.release(np.full(SINGLETONS, units))
    return len(released[0] if isinstance(released, tuple) else released)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_single_units_show_no_more_often_than_delta(noise):
    honest = Threshold.of(noise=noise, delta=1e-3, keys_per_unit=1)
    delta = float(honest.loss(Sensitivity.single(1)).delta)
    assert delta <= 1e-3
    times = shown(honest, 1)
    assert times > 0  # the delta is used
    assert check_rate_at_most(times, SINGLETONS, delta, name="singletons") > 0

    def caught(mechanism, units):
        planted = shown(mechanism, units)
        return rejects(check_rate_at_most, planted, SINGLETONS, delta, name="planted")

    assert caught(Threshold(noise=noise, threshold=honest.threshold - 1), 1)  # cut off, not up
    assert caught(honest, 3)  # a unit's three rows counted as three units


def test_single_units_show_with_exactly_delta_under_the_optimal_rule():
    honest = Partition(epsilon=1, delta=1e-3)
    assert check_rate(shown(honest, 1), SINGLETONS, 1e-3, name="singletons") > 0
    planted = shown(honest, 2)
    assert rejects(check_rate_at_most, planted, SINGLETONS, 1e-3, name="rows for units")


@pytest.mark.parametrize("units", [2, 4, 6, 7, 9])
def test_keys_show_with_the_optimal_chance(units):
    honest = Partition(epsilon=2, delta=2e-3, keys_per_unit=2)
    chances = partition_chances(math.e, 1e-3, 10)
    times = shown(honest, units)
    assert check_rate(times, SINGLETONS, chances[units], name=f"{units} units") > 0
    assert rejects(check_rate, times, SINGLETONS, chances[units - 1], name="one unit fewer")


def cdf_of(noise):
    if isinstance(noise, DiscreteLaplace):
        return lambda value: laplace_cdf(math.exp(-1 / noise.scale), value)
    weights = gaussian_weights(float(noise.sigma_squared))
    return lambda value: math.fsum(weight for x, weight in weights.items() if x <= value)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_shown_counts_fit_the_noise_above_the_threshold(noise):
    units, threshold, size = 9, 10, 100_000
    kept, noisy = Threshold(noise=noise, threshold=threshold).release(np.full(size, units))
    counts = np.zeros(size, dtype=np.int64)  # 0 stands for a key that is hidden
    counts[kept] = noisy
    cdf = cdf_of(noise)

    def law(value, threshold=threshold):
        return 0.0 if value < 0 else cdf(max(value, threshold - 1) - units)

    assert check_fit(counts, law, name="shown counts") > 0
    above = np.where(counts == threshold, 0, counts)  # > instead of >=
    assert rejects(check_fit, above, law, name="strictly above")
