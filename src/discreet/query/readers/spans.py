"""How lengths of time are read: a date plus an interval is folded to a date, and the difference of
two dates is written with parts of dates. Follows the proleptic Gregorian calendar, as engines do.
"""

import calendar
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import DatePart, Literal
from discreet.query.readers.moments import as_moment
from discreet.query.readers.typed import (
    Kind,
    Reader,
    Scope,
    Typed,
    check_copies,
    only,
    refuse,
    where_in_text,
)
from discreet.query.readers.values import arithmetic, combine, constant, floor

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["DIFFERENCE", "SPANS", "difference", "read_difference"]

DIFFERENCE = "DATE_DIFFERENCE"
"""The name under which DATE_DIFF reaches the parser, which would take its third argument for a
unit.
"""

_MOST = 10**6
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}
_SECONDS = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_MOMENTS = (Kind.DATE, Kind.DATETIME)
_WRITE_INTERVAL = "Write DATE '2024-01-31' + INTERVAL 7 DAY, for instance."
_WRITE_DIFFERENCE = "Write DATE_DIFF('day', start, end)."


def _length(node: "Expr") -> tuple[int, str]:
    """The number and the unit of an interval."""
    only(node, "this", "unit")
    amount, unit = node.this, node.args.get("unit")
    while type(amount).__name__ == "Paren":
        only(amount, "this")
        amount = amount.this
    text = str(amount.this) if type(amount).__name__ == "Literal" else ""
    name = ""
    if unit is not None and type(unit).__name__ == "Var":
        name = str(unit.this).upper().removesuffix("S")
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or int(digits[:40]) > _MOST:
        raise refuse(node, _WRITE_INTERVAL)
    units = {**_MONTHS, **_DAYS, **_SECONDS}
    if name not in units:
        raise refuse(node, f"Its unit is one of {', '.join(units)}. {_WRITE_INTERVAL}")
    return int(text), name


def _shift(value: date, amount: int, unit: str) -> date:
    """A date or time so much later; a month ends on its last day."""
    if unit in _MONTHS:
        months = value.year * 12 + value.month - 1 + amount * _MONTHS[unit]
        year, month = months // 12, months % 12 + 1
        return value.replace(
            year=year, month=month, day=min(value.day, calendar.monthrange(year, month)[1])
        )
    if unit in _DAYS:
        return value + timedelta(days=amount * _DAYS[unit])
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return value + timedelta(seconds=amount * _SECONDS[unit])


def _moment(operand: Typed, amount: int, unit: str, node: "Expr") -> Typed:
    value = operand.expression.value if isinstance(operand.expression, Literal) else None
    if isinstance(value, str):
        raise refuse(node, f"Text beside it is no date. {_WRITE_INTERVAL}")
    if operand.kind in _MOMENTS and value is None:
        raise refuse(
            node,
            "Move it to the constant, as in column < DATE '2024-01-31' - INTERVAL 7 DAY, or write "
            "DATE_DIFF('day', column, other).",
        )
    if not isinstance(value, date):
        raise refuse(node, _WRITE_INTERVAL)
    try:
        moved = _shift(value, amount, unit)
    except (ValueError, OverflowError):
        raise UnsafeQuery(
            f"the date{where_in_text(node)} lies outside the years 1 to 9999. Use a shorter "
            "interval."
        ) from None
    return Typed(Literal(moved), Kind.DATETIME if isinstance(moved, datetime) else Kind.DATE)


def _plus_or_minus(node: "Expr", scope: Scope) -> Typed:
    """Of dates and intervals; of numbers, as ever."""
    minus = type(node).__name__ == "Sub"
    sides = [type(side).__name__ == "Interval" for side in (node.this, node.expression)]
    if sides[1] or (sides[0] and not minus):
        only(node, "this", "expression")
        interval, other = (node.expression, node.this) if sides[1] else (node.this, node.expression)
        amount, unit = _length(interval)
        return _moment(scope.read(other), -amount if minus else amount, unit, node)
    only(node, "this", "expression")
    left, right = scope.read(node.this), scope.read(node.expression)
    if scope.level == "row" and (left.kind in _MOMENTS or right.kind in _MOMENTS):
        return _of_dates(left, right, node)
    return arithmetic(left, right, node, scope)


def _of_dates(left: Typed, right: Typed, node: "Expr") -> Typed:
    minus = type(node).__name__ == "Sub"
    if minus and left.kind == right.kind == Kind.DATE:
        return difference("day", right, left, node)
    days = right.expression.value if isinstance(right.expression, Literal) else None
    if left.kind == Kind.DATE and isinstance(days, Fraction) and days.denominator == 1:
        most = Fraction(10 * _MOST)
        amount = int(min(max(days, -most), most))
        return _moment(left, -amount if minus else amount, "DAY", node)
    raise refuse(node, f"It takes numbers, or two dates. {_WRITE_DIFFERENCE}")


def _interval(node: "Expr", _scope: Scope) -> Typed:
    raise refuse(node, _WRITE_INTERVAL)


def _part(name: str, operand: Typed, node: "Expr") -> Typed:
    value = operand.expression.value if isinstance(operand.expression, Literal) else None
    if isinstance(value, date):
        parts = {"quarter": (value.month + 2) // 3, "dayofyear": value.timetuple().tm_yday}
        return constant(Fraction(parts.get(name) or getattr(value, name)), node)
    return Typed(DatePart(name, operand.expression), Kind.INTEGER)


def _number(value: int, node: "Expr") -> Typed:
    return constant(Fraction(value), node)


def _day_number(operand: Typed, node: "Expr") -> Typed:
    """Days from the last day of the year 0: of all years before, then of this one."""
    value = operand.expression.value if isinstance(operand.expression, Literal) else None
    if isinstance(value, date):
        return _number(value.toordinal(), node)
    before = combine("-", _part("year", operand, node), _number(1, node), node)
    days = combine("*", _number(365, node), before, node)
    for operator, years in (("+", 4), ("-", 100), ("+", 400)):
        leap = floor(combine("/", before, _number(years, node), node), node)
        days = combine(operator, days, leap, node)
    return combine("+", days, _part("dayofyear", operand, node), node)


def difference(unit: str, start: Typed, end: Typed, node: "Expr") -> Typed:
    """How many starts of a unit lie between two dates or times, as DuckDB counts them.

    >>> import sqlglot
    >>> days = [Typed(Literal(date(2024, 2, 28 + 2 * n)), Kind.DATE) for n in (0, 0)]
    >>> last = Typed(Literal(date(2024, 3, 1)), Kind.DATE)
    >>> difference("day", days[0], last, sqlglot.parse_one("1")).expression
    Literal(value=Fraction(2, 1))
    """
    for side in (start, end):
        check_copies(side.expression, 8, node)
    return combine("-", _count(unit, end, node), _count(unit, start, node), node)


def _count(unit: str, operand: Typed, node: "Expr") -> Typed:
    """Starts of the unit before a moment, from a fixed one on."""
    if unit == "day":
        return _day_number(operand, node)
    year = _part("year", operand, node)
    within = {"year": (1, ""), "quarter": (4, "quarter"), "month": (12, "month")}
    if unit in within:
        factor, part = within[unit]
        years = combine("*", _number(factor, node), year, node) if part else year
        return combine("+", years, _part(part, operand, node), node) if part else years
    total = _day_number(operand, node)
    for part, factor in (("hour", 24), ("minute", 60), ("second", 60)):
        total = combine("*", _number(factor, node), total, node)
        total = combine("+", total, _part(part, operand, node), node)
        if part == unit:
            break
    return total


_UNITS = ("year", "quarter", "month", "day", "hour", "minute", "second")


def read_difference(node: "Expr", scope: Scope) -> Typed:
    """DATE_DIFF('day', start, end)."""
    arguments = node.args.get("expressions") or []
    if len(arguments) != 3 or type(arguments[0]).__name__ != "Literal":
        raise refuse(node, _WRITE_DIFFERENCE)
    unit = str(arguments[0].this).lower().removesuffix("s")
    if unit not in _UNITS:
        raise UnsafeQuery(
            f"DATE_DIFF in units of {unit[:60]}{where_in_text(node)} is not supported. "
            f"Use one of {', '.join(_UNITS)}."
        )
    start, end = (scope.read(part) for part in arguments[1:])
    for kind in (Kind.DATETIME, Kind.DATE):
        if kind in (start.kind, end.kind):
            start, end = as_moment(start, kind, node), as_moment(end, kind, node)
            break
    clock = unit in ("hour", "minute", "second")
    wrong = [side for side in (start, end) if side.kind not in _MOMENTS]
    if wrong or (clock and Kind.DATE in (start.kind, end.kind)):
        other = wrong[0].kind.described if wrong else "a date, which has no hours"
        raise UnsafeQuery(
            f"DATE_DIFF in units of {unit}{where_in_text(node)} is not of {other}. "
            f"{_WRITE_DIFFERENCE}"
        )
    return difference(unit, start, end, node)


SPANS: Mapping[str, Reader] = MappingProxyType(
    {"Add": _plus_or_minus, "Interval": _interval, "Sub": _plus_or_minus}
)
"""How each class of a sum that may hold dates is read, by the name of its class."""
