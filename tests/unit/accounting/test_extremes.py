"""Parameters at the ends of what floats hold: a bracket may widen there, it may not miss."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import (
    Distribution,
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    gaussian_delta,
    gaussian_epsilon,
    optimal,
)
from discreet.accounting.pld.curves import Ends, laplace_shares
from discreet.accounting.pld.discretise import subsampled_add, subsampled_remove
from discreet.accounting.pld.inversion import cumulant_error
from discreet.errors import InvalidValue


@pytest.mark.parametrize(
    ("variance", "steps"),
    [(Fraction(1, 10**6), 200), (Fraction(1, 10**7), 2000), (1, 10**6), (10**6, 10**9), (4, 150)],
)
def test_a_shift_of_many_sigmas_hides_nothing(variance, steps):
    """The weights at which the sum starts underflow, and nothing must be read into that."""
    assert discrete_gaussian_delta(sigma_squared=variance, epsilon=1, sensitivity=steps) > 0.99
    if steps**2 < 10**13 * variance:  # beyond, it takes its time
        found = discrete_gaussian_epsilon(sigma_squared=variance, delta=1e-6, sensitivity=steps)
        assert found > Fraction(steps) ** 2 / (4 * variance)


@pytest.mark.parametrize("power", [290, 299, 301, 305, 310, 322])
def test_deltas_below_the_normal_floats(power):
    delta = Fraction(1, 10**power)
    bracket = Distribution.gaussian(sigma=1).epsilon(delta=delta)
    assert bracket.lower <= gaussian_epsilon(sigma=1, delta=delta) <= bracket.upper
    batch = 1000 * Distribution.pure(epsilon=2)
    exact = optimal(epsilon=2, count=1000, target_delta=delta).epsilon
    assert batch.epsilon(delta=delta).lower <= exact <= batch.epsilon(delta=delta).upper


@pytest.mark.parametrize("epsilon", [36.5, 37.4, 38.3, 60, 1000])
def test_a_delta_that_underflows_is_not_reported_as_none(epsilon):
    truth = gaussian_delta(sigma=1, epsilon=epsilon)
    bracket = Distribution.gaussian(sigma=1).delta(epsilon=epsilon)
    assert bracket.lower <= truth <= bracket.upper
    many = (2000 * Distribution.pure(epsilon=0.5)).delta(epsilon=999.5)
    assert many.lower <= math.exp(-945) < many.upper  # exp(-945) is 0; the truth is above 0


def test_an_infinite_loss_of_any_probability_has_no_pure_price():
    batch = Distribution.approximate(epsilon=1, delta=Fraction(1, 10**400))
    assert batch.epsilon(delta=0).upper == math.inf
    assert 0 == batch.delta(epsilon=1).lower < batch.delta(epsilon=1).upper <= 1e-299


@pytest.mark.parametrize("power", [1, 9, 14, 20, 40, 400])
def test_deltas_of_parts_next_to_one(power):
    """1 - (1 - delta) h(e), where h(e) = 1 - (1 - exp(e - 3))/(1 + exp(-3))."""
    rest = Fraction(1, 10**power)
    batch = Distribution.approximate(epsilon=3, delta=1 - rest)
    with localcontext() as context:
        context.prec = 60
        hidden = 1 - (1 - Decimal(-2).exp()) / (1 + Decimal(-3).exp())
        target = 1 - rest * Fraction(hidden)
    bracket = batch.delta(epsilon=1)
    assert bracket.lower <= target <= bracket.upper
    found = batch.epsilon(delta=target)
    assert found.lower <= 1 <= found.upper


@pytest.mark.parametrize(
    "rate", [1 - Fraction(1, 10**6), 1 - Fraction(1, 10**17), Fraction(1, 10**15), Fraction(1, 2)]
)
@pytest.mark.parametrize("cut", [subsampled_remove, subsampled_add])
def test_sampling_rates_next_to_zero_and_one_keep_their_losses(cut, rate):
    cells = cut(rate=rate, sigma=0.3, cells=60)
    points = np.linspace(-2.7, 3.7, 61)
    with localcontext() as context:
        context.prec = 60
        rest = Decimal((1 - rate).numerator) / (1 - rate).denominator
        exponents = [(Decimal(point) - Decimal("0.5")) / Decimal("0.09") for point in points]
        exact = [float((rest + (1 - rest) * exponent.exp()).ln()) for exponent in exponents]
    losses = cells.losses if cut is subsampled_remove else -cells.losses[::-1]
    assert np.all(np.abs(losses - exact) <= 2.0**-50 * (4 + 4 * np.abs(exact)))


def test_cumulants_of_very_many_mechanisms_stay_within_their_stated_error():
    count = 200_000
    epsilons = np.linspace(0.5, 3.0, count)
    factor = Ends(epsilons, np.ones(count, dtype=np.int64), np.zeros(count), laplace_shares)
    tilt = 3.0
    wide = epsilons.astype(np.longdouble)
    far = np.exp(-(1 + 2 * np.longdouble(tilt)) * wide)
    logs = tilt * wide + np.log((tilt + 1 + tilt * far) / np.longdouble(2 * tilt + 1))
    exact = math.fsum(logs.tolist())
    error = abs(float(factor.cumulant(np.array([tilt]))[0]) - exact)
    assert error <= cumulant_error((factor,), 0.0, tilt) / 64  # far inside


@pytest.mark.parametrize(
    "make",
    [
        lambda: Distribution.pure(epsilon=10**400),
        lambda: Distribution.laplace(epsilon=10**400),
        lambda: Distribution.gaussian(sigma=Fraction(1, 10**400)),
    ],
)
def test_losses_beyond_floats_are_refused(make):
    with pytest.raises(InvalidValue, match="limit"):
        make()
