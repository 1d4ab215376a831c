"""How CAST and :: are read: what changes nothing, and what can be written as an expression.
No cast here can fail on a row, and none depends on how an engine stores a column.
"""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Compare, DateTrunc, Literal
from discreet.query.readers.moments import as_moment
from discreet.query.readers.rounding import round_half_away
from discreet.query.readers.typed import (
    Kind,
    Reader,
    Scope,
    Typed,
    check_copies,
    only,
    where_in_text,
)
from discreet.query.readers.values import as_number

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["CASTS"]

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FRACTIONAL = ("FLOAT", "DOUBLE", "DECIMAL")
_UNCHANGED = {
    Kind.INTEGER: (*_WHOLE, *_FRACTIONAL),
    Kind.NUMBER: _FRACTIONAL,
    Kind.TEXT: ("TEXT", "VARCHAR"),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.DATE: ("DATE",),
    Kind.DATETIME: ("TIMESTAMP",),
}
_CHANGED = {
    Kind.INTEGER: ("BOOLEAN",),
    Kind.NUMBER: (*_WHOLE, "BOOLEAN"),
    Kind.BOOLEAN: (*_WHOLE, *_FRACTIONAL),
    Kind.DATETIME: ("DATE",),
}
_INSTEAD = "Use CASE or FLOOR, or leave the cast out."
_ADVICE = {
    (Kind.DATE, "TIMESTAMP"): "Leave the cast out: dates and datetimes are compared as they are.",
    (Kind.TEXT, "DATE"): "Only text in quotes is read as a date.",
}


def _cast(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "to", "_type")
    only(node.args["to"], "this")
    target = _target(node)
    operand = scope.read(node.this)
    if target in ("DATE", "TIMESTAMP"):
        operand = as_moment(operand, Kind.DATE if target == "DATE" else Kind.DATETIME, node)
    if target in _UNCHANGED.get(operand.kind, ()):
        return operand
    if target in _CHANGED.get(operand.kind, ()) and scope.level == "row":
        return _change(operand, target, node)
    raise UnsafeQuery(
        f"CAST of {operand.kind.described} to {target}{where_in_text(node)} is not supported. "
        f"{_ADVICE.get((operand.kind, target), _INSTEAD)}"
    )


def _target(node: "Expr") -> str:
    """The name of the type; INTERVAL DAY has none that is listed."""
    return str(getattr(node.args["to"].this, "value", "INTERVAL"))


def _change(operand: Typed, target: str, node: "Expr") -> Typed:
    value = operand.expression.value if isinstance(operand.expression, Literal) else None
    if operand.kind == Kind.BOOLEAN:
        return as_number(operand, node)
    if target == "DATE":
        if operand.is_constant:
            return _day(operand)
        return Typed(DateTrunc("day", operand.expression), Kind.DATE)
    if target == "BOOLEAN":
        zero = Literal(Fraction(0))
        if value is not None:
            return Typed(Literal(value != 0), Kind.BOOLEAN)
        return Typed(Compare("<>", operand.expression, zero), Kind.BOOLEAN)
    if _in_floats(node.this):
        raise UnsafeQuery(
            f"CAST to {target}{where_in_text(node)} of a quotient rounds a half one way or "
            "another, by the engine. Write ROUND(x), FLOOR(x) or TRUNC(x)."
        )
    check_copies(operand.expression, 2, node)
    return round_half_away(operand, node)


def _day(operand: Typed) -> Typed:
    assert isinstance(operand.expression, Literal)
    value = operand.expression.value
    assert isinstance(value, datetime)
    return Typed(Literal(value.date()), Kind.DATE)


def _in_floats(node: "Expr") -> bool:
    """Whether engines compute it in floats, whose casts round half to even; decimals do not."""
    for part in node.walk():
        name = type(part).__name__
        if name == "Div" or (name == "Cast" and _target(part) in ("FLOAT", "DOUBLE")):
            return True
    return False


CASTS: Mapping[str, Reader] = MappingProxyType({"Cast": _cast})
"""How each class of cast is read, by the name of its class."""
