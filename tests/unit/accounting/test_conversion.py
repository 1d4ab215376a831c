"""The tight zCDP conversion, its inverse and its delta."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from discreet.accounting import (
    gaussian_delta,
    gaussian_epsilon,
    zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure

RHOS = [1e-8, 1e-3, 0.1, 1, 30, 1e4]
DELTAS = [1e-12, 1e-6, 0.01, 0.4]


def sought(rho, delta):
    """The same minimum by a general optimiser, in floats."""

    def bound(log_step):
        order = 1 + math.exp(log_step)
        gain = math.log1p(-1 / order) if order > 1 + 1e-12 else log_step
        return rho * order - math.log(order * delta) / math.exp(log_step) + gain

    starts = np.linspace(-15, 30, 4000)
    best = min(starts, key=bound)
    return max(0.0, minimize_scalar(bound, bracket=(best - 0.1, best + 0.1), tol=1e-14).fun)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_is_the_minimum_over_orders(rho, delta):
    found = zcdp_epsilon(rho=rho, delta=delta)
    assert float(found) == pytest.approx(sought(rho, delta), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_inverse_never_buys_more_and_is_tight(rho, delta):
    epsilon = zcdp_epsilon(rho=rho, delta=delta)
    bought = zcdp_rho(epsilon=epsilon, delta=delta)
    assert zcdp_epsilon(rho=bought, delta=delta) <= epsilon
    if epsilon:
        assert bought >= Fraction(repr(rho)) * (1 - Fraction(1, 10**13))
        assert zcdp_epsilon(rho=bought * (1 + Fraction(1, 10**12)), delta=delta) > epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), 0.1, 1, Fraction(22, 7), 50])
@pytest.mark.parametrize("delta", DELTAS)
def test_inverse_of_plain_budgets(epsilon, delta):
    rho = zcdp_rho(epsilon=epsilon, delta=delta)
    assert zcdp_epsilon(rho=rho, delta=delta) <= epsilon
    assert zcdp_epsilon(rho=rho * (1 + Fraction(1, 10**12)), delta=delta) > epsilon


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_delta_undoes_epsilon(rho, delta):
    epsilon = zcdp_epsilon(rho=rho, delta=delta)
    back = float(zcdp_delta(rho=rho, epsilon=epsilon))
    assert back <= delta * (1 + 1e-12)
    if epsilon:
        assert back == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1, 5, 40])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_never_below_the_gaussian_it_must_cover(sigma, delta):
    rho = 1 / (2 * Fraction(repr(sigma)) ** 2)
    bound = zcdp_epsilon(rho=rho, delta=delta)
    assert bound >= gaussian_epsilon(sigma=sigma, delta=delta)
    assert zcdp_delta(rho=rho, epsilon=bound) >= gaussian_delta(sigma=sigma, epsilon=bound)


def test_ends():
    assert zcdp_epsilon(rho=0, delta=0) == 0
    assert zcdp_epsilon(rho=5, delta=1) == 0
    assert zcdp_rho(epsilon=1, delta=0) == 0
    assert zcdp_delta(rho=0, epsilon=0) == 0
    assert zcdp_delta(rho=1e9, epsilon=0) <= 1
    assert 0 < zcdp_delta(rho=1e-3, epsilon=1000) < Fraction(1, 10**1000)
    with pytest.raises(UnprovableRequest, match="delta above 0"):
        zcdp_epsilon(rho=1, delta=0)
    with pytest.raises(UnprovableRequest, match="lower delta"):
        zcdp_rho(epsilon=1, delta=1)


@pytest.mark.parametrize("exponent", [300, 100, 12])
def test_tiny_parameters_come_back_at_once(exponent):
    rho, delta = Fraction(1, 10**exponent), Fraction(1, 10**300)
    epsilon = zcdp_epsilon(rho=rho, delta=delta)
    assert 0 < epsilon < Fraction(1, 10**4)
    assert zcdp_rho(epsilon=epsilon, delta=delta) == pytest.approx(rho, rel=1e-12)


def test_losses_add_as_zcdp():
    parts = [Pure(epsilon=0.1)] * 10 + [BoundedRange(epsilon=0.2)] * 10 + [ZCDP(rho=0.03)]
    rho = Fraction(10, 200) + Fraction(10 * 4, 800) + Fraction(3, 100)
    assert zcdp(parts, delta=1e-6).epsilon == zcdp_epsilon(rho=rho, delta=1e-6)
    assert zcdp(ZCDP(rho=1), delta=1e-6).epsilon == zcdp_epsilon(rho=1, delta=1e-6)
    assert zcdp(iter(parts), delta=1e-6).delta == Fraction(1, 10**6)


def test_deltas_of_the_parts_are_paid_first():
    found = zcdp([Approximate(epsilon=1, delta=4e-7)], delta=1e-6)
    assert found.epsilon == zcdp_epsilon(rho=0.5, delta=6e-7)
    with pytest.raises(UnprovableRequest, match="raise delta"):
        zcdp([Approximate(epsilon=1, delta=2e-6)], delta=1e-6)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True, np.True_, "0.1", None])
@pytest.mark.parametrize(
    "convert",
    [
        lambda value: zcdp_epsilon(rho=value, delta=1e-6),
        lambda value: zcdp_epsilon(rho=1, delta=value),
        lambda value: zcdp_rho(epsilon=value, delta=1e-6),
        lambda value: zcdp_rho(epsilon=1, delta=value),
        lambda value: zcdp_delta(rho=value, epsilon=1),
        lambda value: zcdp_delta(rho=1, epsilon=value),
        lambda value: zcdp([], delta=value),
    ],
)
def test_only_numbers_convert(convert, value):
    with pytest.raises(InvalidValue):
        convert(value)
