"""Reading numbers, and bounds that hold on both sides."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, InvalidValue
from discreet.rationals import (
    ceil_decimal,
    ceil_float,
    exp_bounds,
    floor_decimal,
    floor_float,
    least_integer,
    log_bounds,
    log_float,
    nonnegative,
    positive,
    probability,
    rational,
    sqrt_down,
    sqrt_up,
)

NOT_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    True,
    False,
    np.True_,
    np.float64("nan"),
    "0.1",
    b"1",
    None,
    1j,
    [1],
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e-999999999"),
    Decimal("1e999999999"),
    np.array([1.0]),
]
fractions = st.fractions(max_denominator=10**12)


@pytest.mark.parametrize("reader", [rational, nonnegative, positive, probability])
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_refuses_what_is_no_finite_number(reader, value):
    with pytest.raises(InvalidValue, match="limit"):
        reader(value, "limit")


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (nonnegative, -1),
        (nonnegative, Fraction(-1, 10**400)),
        (positive, 0),
        (positive, -0.0),
        (positive, 1e-400),
        (positive, -1),
        (probability, 1.0000001),
        (probability, -1e-9),
    ],
)
def test_refuses_numbers_out_of_range(reader, value):
    with pytest.raises(InvalidValue, match="value is"):
        reader(value)


def test_refusals_belong_to_the_tree():
    assert issubclass(InvalidValue, DiscreetError)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1e-400, Fraction(0)),
        (5e-324, Fraction(5, 10**324)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Decimal("1e-400"), Fraction(1, 10**400)),
        (Fraction(1, 3), Fraction(1, 3)),
        (10**30, Fraction(10**30)),
    ],
)
def test_reads_the_number_that_was_written(value, expected):
    assert rational(value) == expected


def test_tenths_add_up():
    assert rational(0.1) + rational(0.2) == rational(0.3)
    assert sum(rational(0.1) for _ in range(10)) == 1


@given(fractions)
def test_float_bounds_are_neighbours(value):
    low, high = floor_float(value), ceil_float(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


@pytest.mark.parametrize("value", [Fraction(10**400), Fraction(-(10**400)), Fraction(1, 10**400)])
def test_float_bounds_hold_beyond_the_floats(value):
    low, high = floor_float(value), ceil_float(value)
    assert low <= value <= high
    assert low < high


@given(fractions, st.integers(1, 30))
def test_decimal_bounds_are_tight(value, digits):
    low, high = floor_decimal(value, digits), ceil_decimal(value, digits)
    assert low <= value <= high
    assert high - low <= abs(value) / Fraction(10) ** (digits - 1)
    for bound in (low, high):
        shown = Decimal(bound.numerator) / Decimal(bound.denominator)
        assert len(shown.normalize().as_tuple().digits) <= digits or digits > 27


@given(st.fractions(-300, 300, max_denominator=10**9))
def test_exp_is_bracketed(value):
    low, high = exp_bounds(value)
    assert 0 <= low < high
    assert low * exp_bounds(-value)[0] <= 1 <= high * exp_bounds(-value)[1]
    assert high - low <= high / 10**40
    assert math.isclose(float(low), math.exp(value), rel_tol=1e-13)


def test_exp_far_down_is_bracketed_and_far_up_refused():
    assert exp_bounds(Fraction(-(10**9))) == (0, Fraction(1, 10**160))
    with pytest.raises(InvalidValue, match="limit"):
        exp_bounds(Fraction(10**6))


@given(st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**9).filter(bool))
def test_log_is_bracketed_and_undone_by_exp(value):
    low, high = log_bounds(value)
    assert low <= high
    assert exp_bounds(low)[0] <= value <= exp_bounds(high)[1]
    assert high - low < Fraction(1, 10**38)


@pytest.mark.parametrize(
    "value",
    [
        1 - Fraction(1, 10**30),
        1 + Fraction(1, 10**30),
        Fraction(3, 2),
        Fraction(1, 10**400),
        10**400,
    ],
)
def test_quick_logarithm_is_close(value):
    low, _ = log_bounds(Fraction(value), 60)
    assert log_float(Fraction(value)) == pytest.approx(float(low), rel=1e-14)


def test_log_of_one_and_its_neighbours():
    assert log_bounds(Fraction(1)) == (0, 0)
    low, high = log_bounds(1 + Fraction(1, 10**60))
    assert low <= 0 < high < Fraction(1, 10**50)
    low, high = log_bounds(1 - Fraction(1, 10**60))
    assert -Fraction(1, 10**50) < low < 0 <= high


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1)])
def test_log_refuses_what_has_none(value):
    with pytest.raises(InvalidValue, match="above 0"):
        log_bounds(value)


@given(st.fractions(0, 10**9, max_denominator=10**12))
def test_square_root_is_just_above(value):
    root = sqrt_up(value)
    assert root**2 >= value
    assert (root * (1 - Fraction(1, 10**30))) ** 2 <= value


@given(st.fractions(Fraction(1, 10**12), 10**9, max_denominator=10**12))
def test_square_root_is_just_below(value):
    root = sqrt_down(value)
    assert root**2 <= value
    assert (root * (1 + Fraction(1, 10**19))) ** 2 > value


@given(st.fractions(0, 10**6, max_denominator=10**6))
def test_square_root_of_a_square_is_exact(value):
    assert sqrt_up(value**2) == value


def test_square_root_refuses_negatives():
    with pytest.raises(InvalidValue, match="negative"):
        sqrt_up(Fraction(-1))


@given(st.integers(0, 10**30), st.sampled_from([-1, 0, 1]))
def test_the_least_integer_is_where_a_condition_begins(first, above):
    wanted = max(first, above + 1)
    assert least_integer(lambda number: number >= wanted, above=above) == wanted
