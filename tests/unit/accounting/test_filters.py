"""Filters and odometers: exact totals, refusals that change nothing, constant work."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Currency, Filter, Odometer, zcdp_epsilon
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure

TENTH = Pure(epsilon=0.1)
BAD = [math.nan, math.inf, -1, 0, 1e-400, True, np.True_, "1", None]


def test_ten_tenths_fit_one_and_no_more():
    full = Filter.pure(epsilon=1).charge_all([TENTH] * 10)
    assert full.remaining == Pure(epsilon=0)
    with pytest.raises(BudgetExceeded):
        full.charge(TENTH)
    with pytest.raises(BudgetExceeded):
        full.charge(Pure(epsilon=Fraction(1, 10**60)))
    assert full.admits(Pure(epsilon=0))


def test_a_tenth_and_a_fifth_fit_three_tenths():
    full = Filter.pure(epsilon=0.3).charge(TENTH).charge(Pure(epsilon=0.2))
    assert full.spent == full.limit


def test_thirds_fit_one():
    assert Filter.pure(epsilon=1).charge_all([Pure(epsilon=Fraction(1, 3))] * 3).spent == 1


def test_a_refusal_says_what_and_changes_nothing():
    before = Filter.pure(epsilon=2).charge(Pure(epsilon=1))
    with pytest.raises(BudgetExceeded) as refusal:
        before.charge(Pure(epsilon=1.5), "COUNT(*) by city")
    assert str(refusal.value) == (
        "COUNT(*) by city would bring epsilon to 2.5; the budget is 2. Nothing was charged."
    )
    assert before.remaining == Pure(epsilon=1)


def test_a_refusal_by_a_hair_shows_the_hair():
    with pytest.raises(BudgetExceeded, match="over by 1e-30"):
        Filter.pure(epsilon=1).charge(Pure(epsilon=1 + Fraction(1, 10**30)))


def test_a_refusal_of_delta_and_of_a_converted_budget():
    account = Filter.converted(epsilon=1, delta=1e-6, conversion_delta=5e-7)
    with pytest.raises(BudgetExceeded, match="delta to 6e-07; the budget is 5e-07"):
        account.charge(Approximate(epsilon=0.01, delta=6e-7))
    with pytest.raises(BudgetExceeded, match=r"epsilon to .*; the budget is 1 at delta=5e-07"):
        account.charge(Pure(epsilon=1))


def test_a_pure_budget_admits_only_pure_losses():
    budget = Filter.pure(epsilon=10)
    for loss in (ZCDP(rho=1e-9), Approximate(epsilon=0.1, delta=1e-12), ZCDP(rho=0, delta=1e-9)):
        with pytest.raises(UnprovableRequest, match="budget with a delta"):
            budget.charge(loss)
        with pytest.raises(UnprovableRequest):
            budget.admits(loss)
    assert budget.charge(BoundedRange(epsilon=1)).spent == 1
    assert budget.charge(Approximate(epsilon=1, delta=0)).spent == 1
    assert budget.charge(ZCDP(rho=0)).spent == 0


def test_a_rho_budget_prices_every_loss_in_rho():
    history = [Pure(epsilon=1), BoundedRange(epsilon=1), ZCDP(rho=0.1, delta=1e-9)]
    history.append(Approximate(epsilon=1, delta=1e-9))
    spent = Filter.zcdp(rho=2, delta=1e-6).charge_all(history)
    assert spent.spent == Fraction(1, 2) + Fraction(1, 8) + Fraction(1, 10) + Fraction(1, 2)
    assert spent.delta_spent == Fraction(2, 10**9)
    assert spent.remaining == ZCDP(rho=2 - spent.spent, delta=Fraction(998, 10**9))


@pytest.mark.parametrize("loss", [1, "Pure", None, 0.1, (1, 2), Pure])
def test_only_losses_are_charged(loss):
    for budget in (Filter.pure(epsilon=1), Filter.zcdp(rho=1)):
        with pytest.raises(InvalidValue, match="no privacy loss"):
            budget.charge(loss)


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda value: Filter.pure(epsilon=value),
        lambda value: Filter.zcdp(rho=value),
        lambda value: Filter.converted(epsilon=value, delta=1e-6, conversion_delta=1e-7),
        lambda value: Filter.converted(epsilon=1, delta=1e-6, conversion_delta=value),
        lambda value: Filter.approximate(epsilon=1, delta=1e-6, slack=value),
        lambda value: Filter.approximate(epsilon=value, delta=1e-6, slack=1e-7),
        lambda value: Odometer.open(delta=value, expected_rho=1),
        lambda value: Odometer.open(delta=1e-6, expected_rho=value),
    ],
)
def test_budgets_are_positive_numbers(make, value):
    with pytest.raises(InvalidValue):
        make(value)


def test_budgets_that_make_no_sense_are_refused():
    with pytest.raises(InvalidValue, match="at most delta"):
        Filter.converted(epsilon=1, delta=1e-7, conversion_delta=1e-6)
    with pytest.raises(InvalidValue, match="over its budget"):
        Filter(Currency.EPSILON, limit=Fraction(1), spent=Fraction(2))
    with pytest.raises(InvalidValue, match="no delta"):
        Filter(Currency.EPSILON, limit=Fraction(1), delta_limit=Fraction(1, 2))
    with pytest.raises(AttributeError):
        Filter.pure(epsilon=1).spent = Fraction(0)


def test_converted_budget_keeps_its_epsilon():
    account = Filter.converted(epsilon=1, delta=1e-6, conversion_delta=5e-7)
    assert zcdp_epsilon(rho=account.limit, delta=5e-7) <= 1
    assert zcdp_epsilon(rho=account.limit * Fraction(1000001, 1000000), delta=5e-7) > 1
    assert account.delta_limit + account.conversion_delta == Fraction(1, 10**6)


@pytest.mark.parametrize("epsilon", [0.01, 1, 20])
def test_approximate_filter_is_its_formula(epsilon):
    budget = Filter.approximate(epsilon=epsilon, delta=1e-6, slack=4e-7)
    squares = 2 * float(budget.limit)
    reached = math.sqrt(2 * math.log(1 / 4e-7) * squares) + squares / 2
    assert reached == pytest.approx(epsilon, rel=1e-12)
    assert budget.delta_limit == Fraction(6, 10**7)
    better = Filter.converted(epsilon=epsilon, delta=1e-6, conversion_delta=4e-7)
    assert better.limit >= budget.limit


def test_many_small_queries_cost_less_than_their_sum():
    account = Filter.converted(epsilon=1, delta=1e-6, conversion_delta=5e-7)
    count = 0
    while account.admits(Pure(epsilon=0.005)):
        account, count = account.charge(Pure(epsilon=0.005)), count + 1
    assert count > 1000  # basic composition stops at 200


def test_work_per_charge_stays_constant():
    budget = Filter.pure(epsilon=10**6)
    primes = [Fraction(1, 2**89 - 1 - 2 * step) for step in range(3000)]
    start = time.process_time()
    for price in primes:
        budget = budget.charge(Pure(epsilon=price))
    assert time.process_time() - start < 1
    assert budget.spent.denominator <= 10**40
    exact = math.fsum(float(price) for price in primes)
    assert 0 <= float(budget.spent) - exact < 3000 * 1e-40 + 1e-38


def test_history_can_be_priced_again():
    history = [TENTH] * 30
    assert Filter.pure(epsilon=3).charge_all(history).spent == 3
    assert Filter.zcdp(rho=1).charge_all(history).spent == Fraction(30, 200)


def test_odometer_totals():
    meter = Odometer.open(delta=1e-6, expected_rho=0.05)
    for _ in range(10):
        meter = meter.record(TENTH)
    assert meter.spent == ZCDP(rho=0.05)
    assert meter.bound == Pure(epsilon=1)
    mixed = meter.record(ZCDP(rho=0.01, delta=1e-9))
    assert mixed.epsilon_sum is None
    assert mixed.record(TENTH).epsilon_sum is None
    assert mixed.bound.delta == Fraction(1001, 10**9)


def test_odometer_bound_is_its_line_and_best_where_expected():
    meter = Odometer.open(delta=1e-6, expected_rho=0.5).record(ZCDP(rho=0.5))
    # (1+l) rho + ln(1/delta)/l at l = sqrt(ln(1/delta)/rho) is rho + 2 sqrt(rho ln(1/delta)).
    best = 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))
    assert float(meter.bound.epsilon) == pytest.approx(best, rel=1e-6)
    for expected in (0.1, 2):
        other = Odometer.open(delta=1e-6, expected_rho=expected).record(ZCDP(rho=0.5))
        assert other.bound.epsilon > meter.bound.epsilon
        assert other.bound.epsilon >= zcdp_epsilon(rho=0.5, delta=1e-6)


def test_many_pure_losses_leave_the_sum_behind():
    meter = Odometer.open(delta=1e-6, expected_rho=5)
    for _ in range(1000):
        meter = meter.record(TENTH)
    assert meter.bound.epsilon < 100
    assert meter.bound.delta == Fraction(1, 10**6)
