"""How ABS, SIGN, CEIL, ROUND, TRUNC, remainders and whole quotients are read.
Each is written with + - * /, FLOOR, LEAST and GREATEST, in the form whose bounds are narrowest.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Case, Compare, Extreme, Literal
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
from discreet.query.readers.values import combine, constant, floor, number

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["ROUNDING", "round_half_away"]

_MOST_DIGITS = 30
_ZERO = Typed(Literal(Fraction(0)), Kind.INTEGER)


def _operand(node: "Expr", scope: Scope, copies: int) -> Typed:
    operand = number(scope.read(node.this), node, type(node).__name__.upper())
    check_copies(operand.expression, copies, node)
    return operand


def _extreme(side: str, *parts: Typed) -> Typed:
    """The least or greatest; constants stand among the parts as they are, for their bounds."""
    if all(part.is_constant for part in parts):
        values = [part.expression.value for part in parts if isinstance(part.expression, Literal)]
        numbers = [value for value in values if isinstance(value, Fraction)]
        best = min(numbers) if side == "least" else max(numbers)
        return Typed(Literal(best), Kind.INTEGER if best.denominator == 1 else Kind.NUMBER)
    kinds = {part.kind for part in parts}
    kind = Kind.INTEGER if kinds == {Kind.INTEGER} else Kind.NUMBER
    return Typed(Extreme(side, tuple(part.expression for part in parts)), kind)


def _minus(operand: Typed, node: "Expr") -> Typed:
    return combine("-", _ZERO, operand, node)


def _ceil(operand: Typed, node: "Expr") -> Typed:
    if operand.kind == Kind.INTEGER:
        return operand
    return _minus(floor(_minus(operand, node), node), node)


def _truncate(operand: Typed, node: "Expr") -> Typed:
    """Towards zero: of the two parts one is zero on every row, and the bounds stay narrow."""
    if operand.kind == Kind.INTEGER:
        return operand
    above = _extreme("greatest", floor(operand, node), _ZERO)
    below = _extreme("least", _ceil(operand, node), _ZERO)
    return combine("+", above, below, node)


def round_half_away(operand: Typed, node: "Expr") -> Typed:
    """The nearest integer, of two the one that is further from zero.

    >>> import sqlglot
    >>> value = Typed(Literal(Fraction(-5, 2)), Kind.NUMBER)
    >>> round_half_away(value, sqlglot.parse_one("ROUND(-2.5)")).expression
    Literal(value=Fraction(-3, 1))
    """
    if operand.kind == Kind.INTEGER:
        return operand
    half = Typed(Literal(Fraction(1, 2)), Kind.NUMBER)
    up = floor(combine("+", operand, half, node), node)
    down = _ceil(combine("-", operand, half, node), node)
    above, below = _extreme("greatest", up, _ZERO), _extreme("least", down, _ZERO)
    return combine("+", above, below, node)


def _abs(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    operand = _operand(node, scope, 2)
    return _extreme("greatest", operand, _minus(operand, node), _ZERO)


def _sign(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    operand = _operand(node, scope, 3)
    if isinstance(operand.expression, Literal):
        value = operand.expression.value
        assert isinstance(value, Fraction)
        return constant(Fraction((value > 0) - (value < 0)), node)
    zero = _ZERO.expression
    branches = tuple(
        (Compare(operator, operand.expression, zero), Literal(Fraction(value)))
        for operator, value in ((">", 1), ("=", 0), ("<", -1))
    )
    return Typed(Case(branches, Literal(None)), Kind.INTEGER)


def _ceiling(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    return _ceil(_operand(node, scope, 1), node)


def _digits(node: "Expr", scope: Scope) -> int:
    written = node.args.get("decimals")
    if written is None:
        return 0
    digits = scope.read(written).expression
    value = digits.value if isinstance(digits, Literal) else None
    name = type(node).__name__.upper()
    if not isinstance(value, Fraction) or value.denominator != 1 or abs(value) > _MOST_DIGITS:
        raise UnsafeQuery(
            f"{name}{where_in_text(node)} takes a constant number of digits from -{_MOST_DIGITS} "
            f"to {_MOST_DIGITS}. Write {name}(x, 2), for instance."
        )
    return int(value)


def _round(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "decimals")
    digits = _digits(node, scope)
    operand = _operand(node, scope, 2)
    whole = _truncate if type(node).__name__ == "Trunc" else round_half_away
    if digits == 0 or (digits > 0 and operand.kind == Kind.INTEGER):
        return whole(operand, node)
    shift = constant(Fraction(10 ** abs(digits)), node)
    there, back = ("*", "/") if digits > 0 else ("/", "*")
    return combine(back, whole(combine(there, operand, shift, node), node), shift, node)


def _divisor(node: "Expr", scope: Scope, what: str) -> Typed:
    divisor = number(scope.read(node.expression), node, what)
    if not isinstance(divisor.expression, Literal):
        raise UnsafeQuery(
            f"{what} by a column{where_in_text(node)} can fail on a row. Write a constant after it."
        )
    if divisor.expression.value == 0:
        raise UnsafeQuery(f"division by zero{where_in_text(node)}. Divide by something else.")
    return divisor


def _remainder(node: "Expr", scope: Scope) -> Typed:
    """With the sign of the dividend, and less than the divisor: said to the bounds as well."""
    only(node, "this", "expression")
    divisor = _divisor(node, scope, "the remainder %")
    operand = _operand(node, scope, 5)
    whole = _truncate(combine("/", operand, divisor, node), node)
    rest = combine("-", operand, combine("*", divisor, whole, node), node)
    assert isinstance(divisor.expression, Literal)
    assert isinstance(divisor.expression.value, Fraction)
    most = abs(divisor.expression.value)
    most -= divisor.kind == operand.kind == Kind.INTEGER
    low, high = constant(-most, node), constant(most, node)
    rest = _extreme("greatest", rest, _extreme("least", operand, _ZERO), low)
    return _extreme("least", rest, _extreme("greatest", operand, _ZERO), high)


def _whole_quotient(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    divisor = _divisor(node, scope, "//")
    operand = _operand(node, scope, 2)
    if Kind.NUMBER in (operand.kind, divisor.kind):
        raise refuse(node, "// divides integers. Write FLOOR(x / 10), or TRUNC(x / 10).")
    return _truncate(combine("/", operand, divisor, node), node)


ROUNDING: Mapping[str, Reader] = MappingProxyType(
    {
        "Abs": _abs,
        "Ceil": _ceiling,
        "IntDiv": _whole_quotient,
        "Mod": _remainder,
        "Round": _round,
        "Sign": _sign,
        "Trunc": _round,
    }
)
"""How each class of rounding is read, by the name of its class."""
