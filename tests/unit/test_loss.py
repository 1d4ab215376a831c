"""Privacy-loss values: exact sums, refusals, implications and group privacy."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure, Relation, Sensitivity, group
from discreet.rationals import exp_bounds

BAD = [
    math.nan,
    math.inf,
    -1,
    -1e-9,
    True,
    np.True_,
    "0.1",
    None,
    Decimal("NaN"),
    Decimal("sNaN"),
    Fraction(-1, 10**50),
]
MAKERS = [
    lambda value: Pure(epsilon=value),
    lambda value: BoundedRange(epsilon=value),
    lambda value: ZCDP(rho=value),
    lambda value: ZCDP(rho=1, delta=value),
    lambda value: Approximate(epsilon=value, delta=0),
    lambda value: Approximate(epsilon=1, delta=value),
    lambda value: Sensitivity.single(value),
    lambda value: Sensitivity(groups=1, per_group=1, total=value) if value is not None else bad(),
]


def bad():
    raise InvalidValue("None stands for no total.")


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("make", MAKERS)
def test_nothing_but_numbers_in_range(make, value):
    with pytest.raises(InvalidValue):
        make(value)


@pytest.mark.parametrize("delta", [1.5, 2, Fraction(11, 10)])
def test_delta_is_a_probability(delta):
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        Approximate(epsilon=1, delta=delta)


@pytest.mark.parametrize("groups", [0, -1, 1.0, True, "2", np.int64(0), Fraction(2)])
def test_counts_are_positive_integers(groups):
    with pytest.raises(InvalidValue, match="integer"):
        Sensitivity(groups=groups, per_group=1)
    with pytest.raises(InvalidValue, match="integer"):
        group(Pure(epsilon=1), groups)


def test_decimal_prices_add_up_exactly():
    assert Pure(epsilon=0.1) + Pure(epsilon=0.2) == Pure(epsilon=0.3)
    assert sum([Pure(epsilon=0.1)] * 10, Pure(epsilon=0)) == Pure(epsilon=1)
    assert (ZCDP(rho=0.1, delta=1e-9) + ZCDP(rho=0.2)).delta == Fraction(1, 10**9)


def test_deltas_stop_at_one():
    many = Approximate(epsilon=1, delta=0.7) + Approximate(epsilon=1, delta=0.7)
    assert many == Approximate(epsilon=2, delta=1)
    assert (ZCDP(rho=1, delta=0.7) + ZCDP(rho=1, delta=0.7)).delta == 1


@pytest.mark.parametrize("other", [1, ZCDP(rho=1), Approximate(epsilon=1, delta=0)])
def test_different_kinds_do_not_add(other):
    with pytest.raises(TypeError):
        Pure(epsilon=1) + other


def test_values_are_frozen_equal_and_hashable():
    loss = Pure(epsilon=0.5)
    with pytest.raises(AttributeError):
        loss.epsilon = Fraction(0)
    assert {loss, Pure(epsilon=Fraction(1, 2))} == {loss}


def test_implications():
    assert Pure(epsilon=2).zcdp() == ZCDP(rho=2)
    assert BoundedRange(epsilon=2).zcdp() == ZCDP(rho=Fraction(1, 2))
    assert Approximate(epsilon=2, delta=1e-6).zcdp() == ZCDP(rho=2, delta=1e-6)
    assert BoundedRange(epsilon=2).approximate() == Approximate(epsilon=2, delta=0)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_groups_of_pure_and_concentrated_losses(size):
    assert group(Pure(epsilon=0.3), size) == Pure(epsilon=Fraction(3, 10) * size)
    assert group(BoundedRange(epsilon=1), size) == BoundedRange(epsilon=size)
    assert group(ZCDP(rho=0.3), size) == ZCDP(rho=Fraction(3, 10) * size**2)


@pytest.mark.parametrize("epsilon", [0, 1e-60, 1e-45, 1e-30, 0.1, 1, 3])
@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_group_delta_is_the_chain_of_single_steps(epsilon, size):
    single = Approximate(epsilon=epsilon, delta=1e-9)
    # P0 <= e^e P1 + d <= e^e (e^e P2 + d) + d <= ...
    chain = Fraction(0)
    for _ in range(size):
        chain = exp_bounds(single.epsilon)[0] * chain + single.delta
    many = group(single, size)
    assert many.epsilon == size * single.epsilon
    assert min(chain, Fraction(1)) <= many.delta <= min(chain * (1 + Fraction(1, 10**8)), 1)


def test_huge_groups_answer_at_once():
    assert group(Approximate(epsilon=1, delta=1e-6), 10**9).delta == 1
    assert group(Approximate(epsilon=1, delta=0), 10**9).delta == 0
    tiny = group(Approximate(epsilon=1e-12, delta=1e-15), 10**9)
    assert 10**9 * Fraction(1, 10**15) < tiny.delta < Fraction(11, 10) * Fraction(1, 10**6)


def test_groups_without_a_theorem_are_refused():
    with pytest.raises(UnprovableRequest, match="convert"):
        group(ZCDP(rho=1, delta=1e-6), 2)
    assert group(ZCDP(rho=1, delta=1e-6), 1) == ZCDP(rho=1, delta=1e-6)


def test_relations():
    assert Relation("add-remove").steps == 1
    assert Relation("replace").steps == 2


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(InvalidValue, match="swap"):
        Sensitivity.of_sum(lower=2, upper=1)
