"""Calibration: the target holds, and 0.1% less noise would break it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import (
    advanced,
    bounded_range_share,
    discrete_gaussian_delta,
    discrete_gaussian_variance,
    gaussian_variance,
    laplace_scale,
    monotone_selection_scale,
    optimal,
    pure_share,
    selection_scale,
    top_k_scale,
    zcdp,
    zcdp_share,
)
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.hamming import HammingNoise
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.metric import MetricNoise
from discreet.mechanisms.selection.noisy_max import NoisyMax
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.top_k import TopK

MORE = Fraction(1001, 1000)
BATCHES = [(1, 1, 1e-6), (10, 0.5, 1e-6), (100, 1, 1e-9), (1000, 3, 1e-6), (3, 20, 0.1)]
HISTOGRAM = Sensitivity(groups=3, per_group=2, total=5)


@pytest.mark.parametrize(("count", "epsilon", "delta"), BATCHES)
def test_pure_share_keeps_the_target_and_no_more_would(count, epsilon, delta):
    each = pure_share(count=count, epsilon=epsilon, delta=delta).epsilon
    assert optimal(epsilon=each, count=count, target_delta=delta).epsilon <= epsilon
    more = optimal(epsilon=each * MORE, count=count, target_delta=delta).epsilon
    assert more > epsilon
    assert each >= Fraction(epsilon) / count


@pytest.mark.parametrize(("count", "epsilon", "delta"), BATCHES)
def test_pure_share_is_the_best_of_all_bounds(count, epsilon, delta):
    more = pure_share(count=count, epsilon=epsilon, delta=delta).epsilon * MORE
    assert advanced(epsilon=more, count=count, slack=delta).epsilon > epsilon
    assert zcdp([Pure(epsilon=more)] * count, delta=delta).epsilon > epsilon


@pytest.mark.parametrize("count", [1, 3, 7])
def test_without_delta_a_share_is_a_fraction(count):
    assert pure_share(count=count, epsilon=1) == Pure(epsilon=Fraction(1, count))
    assert bounded_range_share(count=count, epsilon=1).epsilon == Fraction(1, count)
    with pytest.raises(UnprovableRequest, match="Laplace"):
        zcdp_share(count=count, epsilon=1, delta=0)


@pytest.mark.parametrize(("count", "epsilon", "delta"), BATCHES)
def test_zcdp_share_keeps_the_target_and_no_more_would(count, epsilon, delta):
    share = zcdp_share(count=count, epsilon=epsilon, delta=delta)
    assert zcdp([share] * count, delta=delta).epsilon <= epsilon
    assert zcdp(type(share)(rho=share.rho * MORE * count), delta=delta).epsilon > epsilon


@pytest.mark.parametrize(("count", "epsilon", "delta"), BATCHES)
def test_bounded_range_share_is_the_better_of_two(count, epsilon, delta):
    share = bounded_range_share(count=count, epsilon=epsilon, delta=delta)
    pure = pure_share(count=count, epsilon=epsilon, delta=delta)
    assert share.epsilon >= pure.epsilon
    if share.epsilon > pure.epsilon:
        assert zcdp([share] * count, delta=delta).epsilon <= epsilon
        more = type(share)(epsilon=share.epsilon * MORE)
        assert zcdp([more] * count, delta=delta).epsilon > epsilon


@pytest.mark.parametrize("sensitivity", [Sensitivity.single(1), HISTOGRAM])
@pytest.mark.parametrize("target", [Fraction(1, 7), 0.1, 3])
def test_scales_are_exact(sensitivity, target):
    wanted = Fraction(repr(target)) if isinstance(target, float) else Fraction(target)
    assert sensitivity.l1 / laplace_scale(sensitivity, epsilon=target) == wanted
    variance = gaussian_variance(sensitivity, rho=target)
    assert sensitivity.l2_squared / (2 * variance) == wanted


@pytest.mark.parametrize("target", [0.1, 1, Fraction(7, 3)])
def test_scales_of_selection_give_the_target_and_no_more(target):
    wanted = Fraction(str(target))
    scale = selection_scale(HISTOGRAM, epsilon=target)
    for mechanism in (
        Exponential(scale=scale),
        PermuteAndFlip(scale=scale),
        NoisyMax(scale=scale),
        MetricNoise(distances=[[0, 1], [1, 0]], scale=scale),
    ):
        assert mechanism.loss(HISTOGRAM).epsilon == wanted
    flips = HammingNoise(scale=laplace_scale(HISTOGRAM, epsilon=target), dimension=9)
    assert flips.loss(HISTOGRAM).epsilon == wanted
    relation = Relation.ADD_REMOVE
    monotone = monotone_selection_scale(HISTOGRAM, epsilon=target, relation=relation)
    priced = Exponential(scale=monotone).monotone_loss(HISTOGRAM, relation=relation)
    assert priced.epsilon == wanted


@pytest.mark.parametrize("count", [1, 2, 8, 1000])
def test_the_scale_of_a_list_keeps_rho_and_is_the_least(count):
    scale = top_k_scale(HISTOGRAM, rho=0.3, count=count)
    rho = TopK(scale=scale, count=count).loss(HISTOGRAM).rho
    assert Fraction(3, 10) * (1 - Fraction(1, 10**30)) <= rho <= Fraction(3, 10)


def test_scales_without_a_proof_or_a_need_are_refused():
    with pytest.raises(UnprovableRequest, match="both ways"):
        monotone_selection_scale(HISTOGRAM, epsilon=1, relation=Relation.REPLACE)
    with pytest.raises(InvalidValue, match="public"):
        selection_scale(Sensitivity.single(0), epsilon=1)
    with pytest.raises(InvalidValue, match="count"):
        top_k_scale(HISTOGRAM, rho=1, count=0)


@pytest.mark.parametrize("steps", [1, 4, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-9), (8, 1e-6)])
def test_scalar_discrete_gaussian_keeps_the_target_and_less_noise_would_not(steps, epsilon, delta):
    variance = discrete_gaussian_variance(Sensitivity.single(steps), epsilon=epsilon, delta=delta)

    def reached(square):
        return discrete_gaussian_delta(sigma_squared=square, epsilon=epsilon, sensitivity=steps)

    assert reached(variance) <= Fraction(repr(delta))
    assert reached(variance / MORE**2) > Fraction(repr(delta))
    share = zcdp_share(count=1, epsilon=epsilon, delta=delta)
    assert variance < gaussian_variance(Sensitivity.single(steps), rho=share.rho)


@pytest.mark.parametrize(("sensitivity", "count"), [(HISTOGRAM, 1), (Sensitivity.single(1), 5)])
def test_vectors_and_batches_are_priced_by_zcdp(sensitivity, count):
    variance = discrete_gaussian_variance(sensitivity, epsilon=1, delta=1e-6, count=count)
    share = zcdp_share(count=count, epsilon=1, delta=1e-6)
    assert sensitivity.l2_squared / (2 * variance) == share.rho


def test_a_public_answer_needs_no_noise():
    still = Sensitivity.single(0)
    for calibrate in (
        lambda: laplace_scale(still, epsilon=1),
        lambda: gaussian_variance(still, rho=1),
        lambda: discrete_gaussian_variance(still, epsilon=1, delta=1e-6),
    ):
        with pytest.raises(InvalidValue, match="public"):
            calibrate()


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, 0, True, np.True_, "1", None])
def test_targets_are_positive_numbers(value):
    for calibrate in (
        lambda: pure_share(count=2, epsilon=value, delta=1e-6),
        lambda: zcdp_share(count=2, epsilon=value, delta=1e-6),
        lambda: bounded_range_share(count=2, epsilon=value, delta=1e-6),
        lambda: laplace_scale(HISTOGRAM, epsilon=value),
        lambda: gaussian_variance(HISTOGRAM, rho=value),
        lambda: pure_share(count=value if value != 0 else False, epsilon=1),
    ):
        with pytest.raises(InvalidValue):
            calibrate()


def test_delta_one_is_no_target():
    with pytest.raises(InvalidValue, match="protects nobody"):
        pure_share(count=1, epsilon=1, delta=1)
