"""How parts and truncations of dates are read, in the spellings of the common engines."""

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Case, Compare, DatePart, DateTrunc, Extreme, Literal
from discreet.query.readers.moments import iso_date
from discreet.query.readers.spans import DIFFERENCE, read_difference
from discreet.query.readers.typed import Kind, Reader, Scope, Typed, only, refuse, where_in_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["DATES"]

_PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DOW": "dayofweek",
    "DAYOFWEEK": "dayofweek",
    "ISODOW": "isodow",
    "DOY": "dayofyear",
    "DAYOFYEAR": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}
_FUNCTIONS = {
    "Year": "year",
    "Quarter": "quarter",
    "Month": "month",
    "Week": "week",
    "WeekOfYear": "week",
    "Day": "day",
    "DayOfMonth": "day",
    "DayOfWeek": "dayofweek",
    "DayOfWeekIso": "isodow",
    "DayOfYear": "dayofyear",
    "Hour": "hour",
    "Minute": "minute",
    "Second": "second",
}
_ISO = "isodow"
_WRITE = {
    "MAKE_DATE": "It takes three constants: write MAKE_DATE(2024, 1, 31).",
    "TO_DATE": "It takes one text: write TO_DATE('2024-01-31').",
}
_CLOCK = ("hour", "minute", "second")
_UNITS = ("year", "quarter", "month", "week", "day", *_CLOCK)


def _date(node: "Expr", name: str, scope: Scope) -> Typed:
    operand = scope.read(node)
    if name in _CLOCK and operand.kind == Kind.DATE:
        raise UnsafeQuery(
            f"a date has no {name}{where_in_text(node)}. Use a datetime column, or a unit from "
            "day to year."
        )
    if operand.kind in (Kind.DATE, Kind.DATETIME) and not operand.is_constant:
        return operand
    raise UnsafeQuery(
        f"a part of a date needs a date column, not {operand.kind.described}{where_in_text(node)}. "
        "Write EXTRACT(YEAR FROM column), for instance."
    )


def _part(name: str, operand: "Expr", scope: Scope) -> Typed:
    part = _PARTS.get(name.upper())
    if part is None:
        raise UnsafeQuery(
            f"the date part {name[:60]}{where_in_text(operand)} is not supported. "
            f"Use one of {', '.join(_PARTS)}."
        )
    if part == _ISO:
        return _iso_day(_date(operand, part, scope))
    return Typed(DatePart(part, _date(operand, part, scope).expression), Kind.INTEGER)


def _iso_day(operand: Typed) -> Typed:
    """Monday is 1 and Sunday 7, which GREATEST tells the bounds as well."""
    day, zero, one, seven = (
        DatePart("dayofweek", operand.expression),
        *(Literal(Fraction(n)) for n in (0, 1, 7)),
    )
    sunday = Compare("=", day, zero)
    return Typed(Case(((sunday, seven),), Extreme("greatest", (day, one))), Kind.INTEGER)


def _function(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    return _part(_FUNCTIONS[type(node).__name__], node.this, scope)


def _day(node: "Expr", scope: Scope) -> Typed:
    """DATE(x): of a datetime its day, of text the date."""
    only(node, "this")
    operand = scope.read(node.this)
    if isinstance(operand.expression, Literal) and isinstance(operand.expression.value, str):
        return iso_date(operand.expression.value, node)
    if operand.kind == Kind.DATE:
        return operand
    return Typed(DateTrunc("day", _date(node.this, "day", scope).expression), Kind.DATE)


def _extract(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    if type(node.this).__name__ != "Var":
        raise refuse(node, "Write EXTRACT(YEAR FROM column), for instance.")
    return _part(str(node.this.this), node.expression, scope)


def _read_named(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expressions")
    arguments = node.args.get("expressions") or []
    name = str(node.this).upper()
    if name == DIFFERENCE:
        return read_difference(node, scope)
    if name == "TO_DATE" and len(arguments) == 1:
        return _to_date(node, scope.read(arguments[0]))
    if name == "MAKE_DATE" and len(arguments) == 3:
        return _make_date(node, [scope.read(part) for part in arguments])
    if name == "WEEKDAY" and len(arguments) == 1:
        return _part("DAYOFWEEK", arguments[0], scope)
    if name not in ("DATE_PART", "DATEPART"):
        raise refuse(node, _WRITE.get(name, ""))
    if len(arguments) != 2 or type(arguments[0]).__name__ != "Literal":
        raise refuse(node, "Write DATE_PART('month', column).")
    return _part(str(arguments[0].this), arguments[1], scope)


def _to_date(node: "Expr", text: Typed) -> Typed:
    value = text.expression.value if isinstance(text.expression, Literal) else None
    if not isinstance(value, str):
        raise refuse(node, _WRITE["TO_DATE"])
    return iso_date(value, node)


def _make_date(node: "Expr", parts: list[Typed]) -> Typed:
    values = [part.expression.value for part in parts if isinstance(part.expression, Literal)]
    whole = [int(value) for value in values if isinstance(value, Fraction) and value == int(value)]
    if len(whole) != 3:
        raise refuse(node, _WRITE["MAKE_DATE"])
    try:
        return Typed(Literal(date(*whole)), Kind.DATE)
    except (ValueError, OverflowError):
        raise refuse(node, f"There is no such day. {_WRITE['MAKE_DATE']}") from None


def _truncate(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "unit")
    unit = str(node.args["unit"].this).lower()
    if unit not in _UNITS:
        raise UnsafeQuery(
            f"DATE_TRUNC to {unit[:60]}{where_in_text(node)} is not supported. "
            f"Use one of {', '.join(_UNITS)}."
        )
    kind = Kind.DATETIME if unit in _CLOCK else Kind.DATE
    return Typed(DateTrunc(unit, _date(node.this, unit, scope).expression), kind)


DATES: Mapping[str, Reader] = MappingProxyType(
    {
        "Anonymous": _read_named,
        "Date": _day,
        "DateTrunc": _truncate,
        "Extract": _extract,
        **dict.fromkeys(_FUNCTIONS, _function),
    }
)
"""How each class of date function is read, by the name of its class."""
