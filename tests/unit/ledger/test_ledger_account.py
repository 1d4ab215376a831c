"""Accounts: exact sums, both kinds of filter, refusals that say why, what is left."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.conversion import zcdp_epsilon, zcdp_rho
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest
from discreet.ledger.account import Account, Holder, account_name, round_up, share_remaining
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure
from discreet.schema import Budget


def opened(**budget):
    return Account.open(Holder.ANALYST, "ana", Budget(**budget))


def people(**budget):
    return Account.open(Holder.POPULATION, "people", Budget(**budget))


def test_ten_tenths_fit_a_budget_of_one_and_an_eleventh_does_not():
    account = opened(epsilon=1)
    for _ in range(10):
        account = account.admit(Pure(epsilon=0.1))
    assert account.remaining.epsilon == 0
    with pytest.raises(BudgetExceeded):
        account.admit(Pure(epsilon=0.1))
    with pytest.raises(BudgetExceeded):
        account.admit(Pure(epsilon=Fraction(1, 10**30)))


def test_a_tenth_and_two_tenths_fit_three_tenths():
    assert 0.1 + 0.2 > 0.3
    account = opened(epsilon=0.3).admit(Pure(epsilon=0.1)).admit(Pure(epsilon=0.2))
    assert account.spent == Fraction(3, 10)


def test_three_thirds_fit_one():
    account = opened(epsilon=1)
    for _ in range(3):
        account = account.admit(Pure(epsilon=Fraction(1, 3)))
    assert account.spent == 1


def test_the_limit_converts_to_the_budget_and_no_less():
    account = opened(epsilon=2, delta=1e-6)
    reserved = Fraction(1, 2 * 10**6)
    assert account.limit == zcdp_rho(epsilon=2, delta=reserved)
    assert zcdp_epsilon(rho=account.limit, delta=reserved) <= 2
    assert zcdp_epsilon(rho=account.limit * (1 + Fraction(1, 10**13)), delta=reserved) > 2


def test_a_concentrated_account_adds_rho_and_delta():
    account = opened(epsilon=2, delta=1e-6, delta_for_conversion=0.25)
    after = account.admit(ZCDP(rho=0.01, delta=1e-7)).admit(Pure(epsilon=0.1))
    after = after.admit(BoundedRange(epsilon=0.2)).admit(Approximate(epsilon=0.1, delta=2e-7))
    assert after.spent == Fraction("0.01") + Fraction("0.005") * 3
    assert after.spent_delta == Fraction("3e-7")
    assert after.remaining.delta == Fraction("4.5e-7")
    assert after.remaining.rho == account.limit - after.spent


def test_delta_is_spent_up_to_what_the_conversion_leaves():
    account = opened(epsilon=2, delta=1e-6)
    full = account.admit(ZCDP(rho=0, delta=5e-7))
    with pytest.raises(BudgetExceeded, match="bring the delta of analyst 'ana' to"):
        full.admit(ZCDP(rho=0, delta=1e-20))


@pytest.mark.parametrize(
    "loss", [ZCDP(rho=0.01), Approximate(epsilon=0.1, delta=1e-9), ZCDP(rho=0, delta=0.1)]
)
def test_a_pure_account_refuses_what_it_cannot_price_and_says_the_remedy(loss):
    with pytest.raises(UnprovableRequest, match=r"^analyst 'ana': .* cannot be paid from a pure"):
        opened(epsilon=100).admit(loss)


def test_a_pure_account_takes_every_loss_with_an_epsilon():
    account = opened(epsilon=1).admit(BoundedRange(epsilon=0.5))
    assert account.admit(Approximate(epsilon=0.5, delta=0)).spent == 1


@pytest.mark.parametrize(
    ("budget", "loss", "message"),
    [
        (
            {"epsilon": 2},
            Pure(epsilon=2.1376),
            "It would bring the epsilon of analyst 'ana' to 2.138; the budget is 2. "
            "Ask at a lower price, or ask the custodian for a larger budget. "
            "Nothing was run or charged.",
        ),
        (
            {"epsilon": 2},
            Pure(epsilon=Decimal("2.0000001")),
            "It would bring the epsilon of analyst 'ana' to 2.0000001; the budget is 2. "
            "Ask at a lower price, or ask the custodian for a larger budget. "
            "Nothing was run or charged.",
        ),
    ],
)
def test_a_refusal_names_account_total_and_budget(budget, loss, message):
    with pytest.raises(BudgetExceeded) as caught:
        opened(**budget).admit(loss, label="It")
    assert str(caught.value) == message


def test_a_refusal_in_rho_shows_epsilon_at_the_conversion_delta():
    account = opened(epsilon=1, delta=1e-6)
    with pytest.raises(BudgetExceeded, match=r"to 1\.\d+ at delta=5e-07 \(rho 0\.0\d+ of 0\.02"):
        account.admit(ZCDP(rho=0.04))
    with pytest.raises(BudgetExceeded, match=r"rho 0\.02"):
        account.admit(ZCDP(rho=account.limit + Fraction(1, 10**60)))


@pytest.mark.parametrize("huge", [Decimal("1e5000"), Decimal("9e400")])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
def test_absurd_prices_are_refused_in_words(huge, budget):
    with pytest.raises(BudgetExceeded, match="over 1e300"):
        opened(**budget).admit(Pure(epsilon=huge))


def test_absurd_budgets_are_refused():
    for epsilon in (Decimal("1e5000"), 10**7, Decimal("1e-5000")):
        with pytest.raises(InvalidValue, match=r"at most 1000000|too many digits"):
            opened(epsilon=epsilon)


def test_long_denominators_are_rounded_up_and_stay_bounded():
    tiny = round_up(Pure(epsilon=Decimal("1e-9000")))
    assert tiny == Pure(epsilon=Fraction(1, 10**40))
    assert round_up(ZCDP(rho=Fraction(1, 3**200), delta=0)).rho >= Fraction(1, 3**200)
    account, exact = opened(epsilon=20), Fraction(0)
    for prime in (10**9 + 7, 10**9 + 9, 10**9 + 21, 10**9 + 33, 10**9 + 87, 10**9 + 93) * 2:
        account = account.admit(Pure(epsilon=Fraction(1, prime**2)))
        exact += Fraction(1, prime**2)
        assert account.spent.denominator <= 10**40
        assert exact <= account.spent <= exact + Fraction(12, 10**40)


@pytest.mark.parametrize(
    "name", ["", " ana", "a" * 65, "a b", "a/b", "a\n", "a'b", "ﬁ", "-a", "a\0", None, 3]
)
def test_bad_names(name):
    with pytest.raises(InvalidValue, match="account name"):
        account_name(name)


@pytest.mark.parametrize("name", ["ana", "Zoë", "ana@example.org", "_x", "7", "a" * 64, "q+r-s.t"])
def test_good_names(name):
    assert account_name(name) == name


amounts = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 2), max_denominator=1000)


@settings(max_examples=25, deadline=None)
@given(spent=st.lists(amounts, max_size=4))
def test_the_largest_query_is_admitted_and_a_larger_one_is_not(spent):
    account = opened(epsilon=1, delta=1e-6)
    for share in spent:
        account = account.admit(ZCDP(rho=share * account.remaining.rho))
    most, conversion = account.remaining.epsilon, account.conversion_delta
    account.admit(ZCDP(rho=zcdp_rho(epsilon=most, delta=conversion)))
    with pytest.raises(BudgetExceeded):
        account.admit(ZCDP(rho=zcdp_rho(epsilon=most * (1 + Fraction(1, 10**8)), delta=conversion)))


def test_an_untouched_account_admits_one_query_of_the_whole_budget():
    for epsilon in (0.1, 1, 3, Fraction(7, 3)):
        assert (
            opened(epsilon=epsilon, delta=1e-7).remaining.epsilon == Budget(epsilon=epsilon).epsilon
        )


@pytest.mark.parametrize("first", [{"epsilon": 0.2}, {"epsilon": 1.5, "delta": 1e-7}])
@pytest.mark.parametrize("second", [{"epsilon": 0.25}, {"epsilon": 1, "delta": 1e-6}])
def test_what_both_admit_is_admitted_by_both(first, second):
    population, analyst = people(**first), opened(**second)
    both = share_remaining(population, analyst)
    more = both.epsilon * (1 + Fraction(1, 10**8))
    if both.rho is None:
        losses = [Pure(epsilon=both.epsilon), Pure(epsilon=more)]
    else:
        delta = analyst.conversion_delta
        losses = [ZCDP(rho=zcdp_rho(epsilon=price, delta=delta)) for price in (both.epsilon, more)]
    assert population.admit(losses[0])
    assert analyst.admit(losses[0])
    with pytest.raises(BudgetExceeded):
        population.admit(losses[1]), analyst.admit(losses[1])
    assert both.delta == min(population.remaining.delta, analyst.remaining.delta)


LOSSES = st.one_of(
    st.fractions(min_value=0, max_value=2, max_denominator=10**6).map(lambda x: Pure(epsilon=x)),
    st.fractions(min_value=0, max_value=1, max_denominator=10**6).map(lambda x: ZCDP(rho=x / 20)),
    st.fractions(min_value=0, max_value=1, max_denominator=10**9).map(
        lambda x: Approximate(epsilon=x, delta=x / 10**6)
    ),
)


@given(losses=st.lists(LOSSES, max_size=6), delta=st.sampled_from([0, 1e-6, 0.9]))
def test_an_account_admits_what_its_filter_admits(losses, delta):
    account = opened(epsilon=2, delta=delta)
    for loss in losses:
        before = account.filter
        try:
            admitted = before.admits(loss)
        except UnprovableRequest:
            with pytest.raises(UnprovableRequest):
                account.admit(loss)
            continue
        if not admitted:
            with pytest.raises(BudgetExceeded):
                account.admit(loss)
            continue
        account = account.admit(loss)
        assert account.filter == before.charge(loss)
