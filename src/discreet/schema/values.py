"""One value a custodian wrote, as the lattice integer it stands for: numbers exactly, dates as
days, times as seconds; or what to write instead. Reads a schema's text, never data.
"""

from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue, SchemaError
from discreet.rationals import rational
from discreet.schema.column import EPOCH, LARGEST, MIDNIGHT

__all__ = ["days", "exact_number", "seconds", "steps"]

_HUGE = 10**36  # above LARGEST times the largest step; printing far longer integers fails


def exact_number(value: Any, what: str) -> Fraction:
    """The rational that was written.

    >>> exact_number(0.1, "step")
    Fraction(1, 10)
    """
    if isinstance(value, str):
        raise SchemaError(f"{what} is the text {value!r}; write a number, without quotes.")
    if isinstance(value, date):
        raise SchemaError(f"{what} is the date {value}; write a number.")
    try:
        number = rational(value, what)
    except InvalidValue as error:
        raise SchemaError(str(error)) from None
    if abs(number) > _HUGE or number.denominator > _HUGE:
        raise SchemaError(f"{what} has too many digits. Write a number of at most 36.")
    return number


def steps(value: Any, step: Fraction, what: str) -> int:
    """How many steps from zero the number is that was written.

    >>> steps(1.5, Fraction(1, 2), "upper")
    3
    """
    number = exact_number(value, what)
    below = _whole_steps(number, step, what, lambda k: _plain(k * step), value)
    if abs(below) > LARGEST:
        scale = Fraction(10) ** (len(str(abs(below) // LARGEST)))
        raise SchemaError(
            f"{what} is {value}, {abs(below)} steps of {_plain(step)} from zero; the limit is "
            f"{LARGEST}. Choose nearer bounds or a larger step: {_plain(step * scale)}, say."
        )
    return below


def days(value: Any, what: str) -> int:
    """How many days after 1970-01-01 the date is that was written.

    >>> days(date(1970, 1, 2), "upper")
    1
    """
    if isinstance(value, datetime):
        raise SchemaError(f"{what} is a date with a time; write {value.date()} alone.")
    if isinstance(value, date):
        return (value - EPOCH).days
    if isinstance(value, str):
        example = _date_in(value)
        raise SchemaError(f"{what} is the text {value!r}; write {example} without quotes.")
    raise SchemaError(f"{what} is {value!r}; write a date such as 2024-01-01.")


def seconds(value: Any, step: Fraction, what: str) -> int:
    """How many steps of whole seconds after 1970-01-01T00:00:00 the time is that was written.

    >>> seconds(datetime(1970, 1, 1, 2), Fraction(3600), "upper")
    2
    """
    if isinstance(value, str):
        raise SchemaError(
            f"{what} is the text {value!r}; write {_date_in(value)}T00:00:00, say, without quotes."
        )
    if isinstance(value, date) and not isinstance(value, datetime):
        raise SchemaError(f"{what} is a date without a time; write {value}T00:00:00, say.")
    if not isinstance(value, datetime):
        raise SchemaError(f"{what} is {value!r}; write a time such as 2024-01-01T00:00:00.")
    if value.tzinfo is not None:
        raise SchemaError(
            f"{what} is {value.isoformat()}, with a zone; a datetime has none. Write "
            f"{value.replace(tzinfo=None).isoformat()}, in the zone of the source's times."
        )
    passed = Fraction((value - MIDNIGHT) // timedelta(microseconds=1), 10**6)
    return _whole_steps(passed, step, what, lambda k: _clock(k * step), value.isoformat())


def _whole_steps(number: Fraction, step: Fraction, what: str, written: Any, value: Any) -> int:
    exact_steps = number / step
    below = exact_steps.numerator // exact_steps.denominator
    if below != exact_steps:
        raise SchemaError(
            f"{what} is {value}; it must be a multiple of the step {_plain(step)}. "
            f"Write {written(below)} or {written(below + 1)}."
        )
    return below


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"


def _clock(passed: Fraction) -> str:
    try:
        return (MIDNIGHT + timedelta(seconds=int(passed))).isoformat()
    except OverflowError:
        return "a time in the years 1 to 9999"


def _date_in(text: str) -> date:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return date(2024, 1, 1)
