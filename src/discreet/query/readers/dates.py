"""How parts and truncations of dates are read, in the spellings of the common engines."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import DatePart, DateTrunc
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
    "DayOfYear": "dayofyear",
    "Hour": "hour",
    "Minute": "minute",
    "Second": "second",
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
    return Typed(DatePart(part, _date(operand, part, scope).expression), Kind.INTEGER)


def _function(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    return _part(_FUNCTIONS[type(node).__name__], node.this, scope)


def _extract(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    if type(node.this).__name__ != "Var":
        raise refuse(node, "Write EXTRACT(YEAR FROM column), for instance.")
    return _part(str(node.this.this), node.expression, scope)


def _read_named(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expressions")
    arguments = node.args.get("expressions") or []
    if str(node.this).upper() not in ("DATE_PART", "DATEPART"):
        raise refuse(node)
    if len(arguments) != 2 or type(arguments[0]).__name__ != "Literal":
        raise refuse(node, "Write DATE_PART('month', column).")
    return _part(str(arguments[0].this), arguments[1], scope)


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
        "DateTrunc": _truncate,
        "Extract": _extract,
        **dict.fromkeys(_FUNCTIONS, _function),
    }
)
"""How each class of date function is read, by the name of its class."""
