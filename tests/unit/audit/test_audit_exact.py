"""Exact privacy loss on small domains, and the claims it is held against."""

import math
from fractions import Fraction

import pytest

from discreet.audit.claims import GaussianClaim, statements
from discreet.audit.exact import enumerate_loss
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure
from discreet.rationals import log_bounds
from support.mechanism_laws import laplace_pmf

QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)
COIN = enumerate_loss({0: 1 - QUARTER, 1: QUARTER}, {0: QUARTER, 1: 1 - QUARTER})


def laplace_on(reach, shift):
    """Discrete Laplace with e^(-1/scale) = 1/2 around `shift`, its tails pushed to the ends."""
    law = {x: Fraction(laplace_pmf(HALF, x - shift)) for x in range(-reach, reach + 1)}
    law[reach] += (1 - sum(law.values())) / 2
    law[-reach] += 1 - sum(law.values())
    return law


def test_ratio_epsilon_and_delta_of_a_coin():
    assert COIN.ratio == 3
    assert log_bounds(Fraction(3))[0] <= COIN.epsilon <= math.log(3) + 1e-12
    assert COIN.delta(epsilon=0) == HALF
    assert COIN.delta_at(2) == QUARTER
    assert COIN.delta_at(3) == 0
    assert float(COIN.delta(epsilon=0.5)) == pytest.approx(0.75 - 0.25 * math.exp(0.5))


def test_the_worse_direction_counts():
    lopsided = enumerate_loss({0: Fraction(1, 100), 1: Fraction(99, 100)}, {0: HALF, 1: HALF})
    assert lopsided.ratio == 50
    assert lopsided.delta_at(2) == HALF - Fraction(2, 100)


def test_laplace_uses_its_loss_exactly():
    left, right = laplace_on(30, 0), laplace_on(30, 1)
    inner = [right[x] / left[x] for x in range(-29, 30)]
    assert max(inner) == 2
    assert min(inner) == HALF


def test_impossible_outcomes():
    loss = enumerate_loss({"a": HALF, "b": HALF, "never": 0}, {"a": HALF, "c": HALF})
    assert loss.ratio is None
    assert loss.delta(epsilon=100) == HALF
    with pytest.raises(UnprovableRequest, match="one input only"):
        _ = loss.epsilon
    assert loss.violates(Approximate(epsilon=5, delta=0.49))
    assert not loss.violates(Approximate(epsilon=0, delta=0.5))


def test_equal_distributions_lose_nothing():
    same = enumerate_loss({0: 1}, {0: 1})
    assert (same.ratio, same.epsilon, same.delta(epsilon=0)) == (1, 0, 0)
    assert not same.violates(Pure(epsilon=0))


@pytest.mark.parametrize(
    ("claim", "violated"),
    [
        (Pure(epsilon=1.0986), True),
        (Pure(epsilon=1.0987), False),
        (BoundedRange(epsilon=1), True),
        (Approximate(epsilon=0.5, delta=0.3), True),
        (Approximate(epsilon=0.5, delta=0.34), False),
        (ZCDP(rho=1e-3), True),
        (ZCDP(rho=Fraction(2, 3)), False),
        (GaussianClaim(sigma=2), True),
        (GaussianClaim(sigma=1, sensitivity=2), False),
    ],
)
def test_claims(claim, violated):
    assert COIN.violates(claim) is violated


def test_a_curve_is_a_falling_sequence_of_statements():
    for claim in (ZCDP(rho=0.5, delta=0.001), GaussianClaim(sigma=1)):
        points = statements(claim)
        assert [one.epsilon for one in points] == sorted({one.epsilon for one in points})
        assert [one.delta for one in points] == sorted((p.delta for p in points), reverse=True)
        assert 0 < points[-1].delta < 0.01
    gaussian, zcdp = statements(GaussianClaim(sigma=1)), statements(ZCDP(rho=0.5))
    assert all(a.delta < b.delta for a, b in zip(gaussian[1:], zcdp[1:], strict=True))


def test_probabilities_must_sum_to_one():
    with pytest.raises(InvalidValue, match="left probabilities sum to"):
        enumerate_loss({0: 1 / 3, 1: 2 / 3 - 0.1}, {0: 1})
    with pytest.raises(InvalidValue, match="must not be negative"):
        enumerate_loss({0: 1}, {0: 2, 1: -1})
    with pytest.raises(InvalidValue):
        GaussianClaim(sigma=0)
