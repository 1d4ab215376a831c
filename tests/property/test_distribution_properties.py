"""Brackets of random batches: valid by enumeration, monotone, blind to order and grouping."""

import math
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.pld.distribution import Distribution
from support.loss_curves import laplace_curve, mixed_delta, two_point_delta

FEW = settings(max_examples=40, deadline=None)
PRICES = st.lists(
    st.floats(min_value=1e-3, max_value=4).map(lambda value: float(f"{value:.3g}")),
    min_size=1,
    max_size=6,
)
TARGETS = st.floats(min_value=-12, max_value=-0.5).map(lambda power: float(f"{10**power:.3g}"))


def pure_batch(prices):
    return Distribution.compose(*(Distribution.pure(epsilon=price) for price in prices))


@FEW
@given(PRICES, TARGETS)
def test_brackets_hold_by_enumeration(prices, target):
    bracket = pure_batch(prices).epsilon(delta=target)
    none = [0.0] * len(prices)
    assert two_point_delta(prices, none, bracket.upper)[0] <= Decimal(repr(target))
    if bracket.lower > 0:
        assert two_point_delta(prices, none, bracket.lower)[1] >= Decimal(repr(target))


@FEW
@given(PRICES, st.floats(min_value=0.01, max_value=3), TARGETS)
def test_brackets_with_one_laplace_hold(prices, price, target):
    price = float(f"{price:.3g}")
    bracket = (pure_batch(prices) + Distribution.laplace(epsilon=price)).epsilon(delta=target)
    curves = (laplace_curve(price),)
    assert mixed_delta(prices, curves, bracket.upper) <= target * (1 + 1e-9) + 1e-15
    truth = mixed_delta(prices, curves, bracket.lower)
    assert bracket.lower == 0 or truth >= target * (1 - 1e-9) - 1e-15


@FEW
@given(PRICES, TARGETS, st.randoms(use_true_random=False))
def test_order_does_not_matter(prices, target, random):
    shuffled = list(prices)
    random.shuffle(shuffled)
    first, second = pure_batch(prices), pure_batch(shuffled)
    assert first == second
    one, two = first.epsilon(delta=target), second.epsilon(delta=target)
    assert one.lower <= two.upper
    assert two.lower <= one.upper


@FEW
@given(PRICES, TARGETS)
def test_more_mechanisms_and_smaller_deltas_cost_more(prices, target):
    batch = pure_batch(prices)
    more = batch + Distribution.laplace(epsilon=0.05)
    assert more.epsilon(delta=target).upper >= batch.epsilon(delta=target).lower
    assert batch.epsilon(delta=target / 2).upper >= batch.epsilon(delta=target).lower
    place = sum(prices) / 2
    assert batch.delta(epsilon=place / 2).upper >= batch.delta(epsilon=place).lower


@FEW
@given(PRICES, TARGETS, st.sampled_from([0.5, 0.1, 1e-2, 1e-5]))
def test_every_tolerance_brackets_the_same_value(prices, target, tolerance):
    batch = pure_batch(prices) + Distribution.gaussian(sigma=20)
    wide = batch.epsilon(delta=target, tolerance=tolerance)
    fine = batch.epsilon(delta=target, tolerance=1e-6)
    assert wide.lower <= fine.upper
    assert fine.lower <= wide.upper


@FEW
@given(PRICES, TARGETS)
def test_epsilon_and_delta_agree(prices, target):
    batch = pure_batch(prices) + Distribution.gaussian(sigma=5)
    bracket = batch.epsilon(delta=target)
    assert math.isfinite(bracket.upper)
    assert batch.delta(epsilon=bracket.upper).lower <= target
    if bracket.lower > 0:
        assert batch.delta(epsilon=bracket.lower).upper >= target
