"""What people read: spent is rounded up, left is rounded down, decimals follow the interval."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.answer_rows import decimals, interval_text, number_text, off_text, places_of
from discreet.ledger.account import Account, Holder
from discreet.loss import ZCDP, Approximate, Pure
from discreet.query.algebra import Statistic
from discreet.report.tables import account_table, entry_table
from discreet.report.words import cost_text, left_text
from discreet.schema import Budget

prices = st.fractions(min_value=Fraction(1, 10**6), max_value=10, max_denominator=10**9)


@given(prices)
def test_a_cost_is_never_shown_too_small(price):
    shown = cost_text(Pure(epsilon=price)).removeprefix("epsilon ")
    assert price <= Fraction(shown) <= price * Fraction(1002, 1000)


@given(prices.filter(lambda price: price < 1))
def test_what_is_left_is_never_shown_too_large(price):
    account = Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)).admit(Pure(epsilon=price))
    shown = left_text(account).removeprefix("epsilon ").removesuffix(" of 1")
    assert Fraction(shown) <= 1 - price


def test_losses_of_every_kind_have_words():
    assert cost_text(Approximate(epsilon=1, delta=1e-6)) == "epsilon 1, delta 1e-06"
    assert cost_text(ZCDP(rho=0.5)) == "rho 0.5"
    assert cost_text(ZCDP(rho=10**7), Fraction(1, 10)) == "rho 1e+07"
    assert "alone: epsilon" in cost_text(ZCDP(rho=0.5), Fraction(1, 10**6))


def test_an_account_with_delta_shows_rho():
    account = Account.open(Holder.POPULATION, "patients", Budget(epsilon=1, delta=1e-6))
    assert left_text(account).startswith("epsilon 1 of 1 at delta 1e-06 (rho ")


def test_an_account_that_paid_for_private_keys_shows_what_delta_is_left():
    account = Account.open(Holder.ANALYST, "ana", Budget(epsilon=1, delta=1e-6))
    assert "private keys" not in left_text(account)
    paid = account.admit(ZCDP(rho=0.001, delta=1e-7))
    assert left_text(paid).endswith("; for private keys delta 4e-07 of 5e-07)")


@pytest.mark.parametrize(
    ("intervals", "places"),
    [([(0, 2000)], 0), ([(0, 20)], 0), ([(0, 2)], 1), ([(0, 0.02)], 3), ([(0, 1e-12)], 6)],
)
def test_decimals_show_two_digits_of_the_error(intervals, places):
    assert decimals(intervals) == places


@pytest.mark.parametrize("intervals", [[], [(1.0, 1.0)], [(float("-inf"), float("inf"))]])
def test_decimals_have_a_fallback(intervals):
    assert decimals(intervals) == 2


def test_numbers_and_intervals_read_alike():
    assert number_text(True) == "True"
    assert number_text(0.5) == "0.5"
    assert number_text(-1234567, 2) == "-1,234,567"
    assert interval_text((float("-inf"), 2.5), 1) == "[-inf, 2.5]"


def test_empty_tables_have_headings():
    assert [column.header for column in account_table([]).columns] == ["whose", "name", "left"]
    assert entry_table([]).columns[-1].header == "question"


@pytest.mark.parametrize(
    ("rows", "statistic", "text"),
    [
        (137.01, Statistic.QUANTILE, "± 138 ranks"),
        (1234.0, Statistic.MINIMUM, "± 1,234 ranks"),
        (4.5, Statistic.MODE, "at most 5 rows behind"),
    ],
)
def test_picked_values_are_off_by_ranks_or_rows_rounded_up(rows, statistic, text):
    assert off_text(rows, statistic) == text


@pytest.mark.parametrize(
    ("step", "places"), [("1", 0), ("0.5", 1), ("0.25", 2), ("20", 0), ("1/3", 6), ("1e-9", 6)]
)
def test_decimals_of_a_picked_value_are_those_of_its_lattice(step, places):
    assert places_of(Fraction(step)) == places


def test_texts_that_come_from_data_are_shown_without_control_characters():
    shown = number_text("a\x1b[31m\x00\n\u202eb")
    assert shown.isprintable()
    assert shown == "a\\x1b[31m\\x00\\n\\u202eb"
