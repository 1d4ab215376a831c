"""How constants, arithmetic, CASE, FLOOR, LEAST, WIDTH_BUCKET and harmless casts are read.
Constants are folded exactly; a folded number that grows too long is refused.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Arithmetic,
    Bucket,
    Case,
    Compare,
    Expression,
    Extreme,
    Floor,
    Literal,
)
from discreet.query.readers.moments import align, as_moment
from discreet.query.readers.typed import Kind, Reader, Scope, Typed, only, refuse, where_in_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["VALUES", "constant", "number"]

_LARGEST = 10**80
_MOST_BUCKETS = 1_000_000
_CASTS = {
    Kind.INTEGER: "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL",
    Kind.NUMBER: "FLOAT DOUBLE DECIMAL",
    Kind.TEXT: "TEXT VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.DATETIME: "TIMESTAMP",
}


def number(typed: Typed, node: "Expr", what: str) -> Typed:
    """The same, if it is a number.

    >>> import sqlglot
    >>> text = Typed(Literal("a"), Kind.TEXT)
    >>> number(text, sqlglot.parse_one("a"), "FLOOR")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.UnsafeQuery: FLOOR needs a number, not a category (line 1). Use CASE to ...
    """
    if typed.kind.is_number:
        return typed
    raise UnsafeQuery(
        f"{what} needs a number, not {typed.kind.described}{where_in_text(node)}. "
        "Use CASE to turn it into a number."
    )


def constant(value: Fraction, node: "Expr") -> Typed:
    """A number as a literal, unless folding made it too long.

    >>> import sqlglot
    >>> constant(Fraction(3), sqlglot.parse_one("3")).kind
    <Kind.INTEGER: 'integer'>
    """
    if max(abs(value.numerator), value.denominator) > _LARGEST:
        raise UnsafeQuery(
            f"a constant expression has more than 80 digits{where_in_text(node)}. "
            "Use smaller constants."
        )
    return Typed(Literal(value), Kind.INTEGER if value.denominator == 1 else Kind.NUMBER)


def _literal(node: "Expr", _scope: Scope) -> Typed:
    if node.args["is_string"]:
        return Typed(Literal(str(node.this)), Kind.TEXT)
    try:
        return constant(Fraction(str(node.this)), node)
    except ValueError:
        raise UnsafeQuery(f"{str(node.this)[:60]!r} is not a decimal number.") from None


def _boolean(node: "Expr", _scope: Scope) -> Typed:
    return Typed(Literal(bool(node.this)), Kind.BOOLEAN)


def _null(_node: "Expr", _scope: Scope) -> Typed:
    return Typed(Literal(None), Kind.NULL)


def _paren(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    return scope.read(node.this)


def _negative(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    operand = number(scope.read(node.this), node, "the sign -")
    return _combine("-", constant(Fraction(0), node), operand, node)


def _combine(operator: str, left: Typed, right: Typed, node: "Expr") -> Typed:
    if isinstance(left.expression, Literal) and isinstance(right.expression, Literal):
        first, second = left.expression.value, right.expression.value
        assert isinstance(first, Fraction)
        assert isinstance(second, Fraction)
        folded = {
            "+": lambda: first + second,
            "-": lambda: first - second,
            "*": lambda: first * second,
            "/": lambda: first / second,
        }[operator]()
        return constant(folded, node)
    integers = operator != "/" and left.kind == right.kind == Kind.INTEGER
    kind = Kind.INTEGER if integers else Kind.NUMBER
    return Typed(Arithmetic(operator, left.expression, right.expression), kind)


_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}


def _arithmetic(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    operator = _OPERATORS[type(node).__name__]
    left = number(scope.read(node.this), node, operator)
    right = number(scope.read(node.expression), node, operator)
    if operator == "/":
        if right.expression == Literal(Fraction(0)):
            raise UnsafeQuery(f"division by zero{where_in_text(node)}. Divide by something else.")
        if scope.level == "row" and not right.is_constant:
            raise UnsafeQuery(
                f"division by a column{where_in_text(node)} can fail on a row. Divide by a "
                "constant, or divide aggregates: SUM(a) / SUM(b)."
            )
    return _combine(operator, left, right, node)


def _floor(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    operand = number(scope.read(node.this), node, "FLOOR")
    if isinstance(operand.expression, Literal):
        value = operand.expression.value
        assert isinstance(value, Fraction)
        return constant(Fraction(math.floor(value)), node)
    if operand.kind == Kind.INTEGER:
        return operand
    return Typed(Floor(operand.expression), Kind.INTEGER)


def _extreme(node: "Expr", scope: Scope) -> Typed:
    # NULL if any part is NULL, whatever the parser's default dialect does.
    only(node, "this", "expressions", "ignore_nulls")
    side = type(node).__name__.lower()
    parts = dict.fromkeys(
        number(scope.read(part), node, side.upper())
        for part in [node.this, *(node.args.get("expressions") or [])]
    )
    kind = Kind.INTEGER if {part.kind for part in parts} == {Kind.INTEGER} else Kind.NUMBER
    values = [part.expression.value for part in parts if isinstance(part.expression, Literal)]
    if len(values) == len(parts):
        numbers = [value for value in values if isinstance(value, Fraction)]
        return constant(min(numbers) if side == "least" else max(numbers), node)
    if len(parts) == 1:
        return next(iter(parts))
    return Typed(Extreme(side, tuple(part.expression for part in parts)), kind)


def _read_constant(node: "Expr", scope: Scope) -> Fraction:
    typed = scope.read(node)
    if isinstance(typed.expression, Literal) and isinstance(typed.expression.value, Fraction):
        return typed.expression.value
    raise UnsafeQuery(
        f"WIDTH_BUCKET needs constants for its limits and count{where_in_text(node)}. "
        "Write WIDTH_BUCKET(x, 0, 100, 10)."
    )


def _bucket(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "min_value", "max_value", "num_buckets")
    if None in (node.args.get("max_value"), node.args.get("num_buckets")):
        raise refuse(node, "Write WIDTH_BUCKET(x, 0, 100, 10).")
    operand = number(scope.read(node.this), node, "WIDTH_BUCKET")
    limits = ("min_value", "max_value", "num_buckets")
    lower, upper, count = (_read_constant(node.args[name], scope) for name in limits)
    if operand.is_constant:
        raise refuse(node, "The first argument must hold a column.")
    if not lower < upper or count.denominator != 1 or not 1 <= count <= _MOST_BUCKETS:
        raise UnsafeQuery(
            f"WIDTH_BUCKET needs a lower below its upper limit and 1 to {_MOST_BUCKETS} buckets"
            f"{where_in_text(node)}. Write WIDTH_BUCKET(x, 0, 100, 10)."
        )
    return Typed(Bucket(operand.expression, lower, upper, int(count)), Kind.INTEGER)


def _condition(node: "Expr", subject: Typed | None, scope: Scope) -> Expression:
    test = scope.read(node)
    if subject is not None:
        left, right = align(subject, test, node)
        return Compare("=", left.expression, right.expression)
    if test.kind != Kind.BOOLEAN:
        raise UnsafeQuery(
            f"WHEN needs a condition, not {test.kind.described}{where_in_text(node)}. "
            "Write WHEN x = 1, for instance."
        )
    return test.expression


def _case(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "ifs", "default")
    subject = None if node.args.get("this") is None else scope.read(node.this)
    branches, results = [], []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        value = scope.read(branch.args["true"])
        branches.append((_condition(branch.this, subject, scope), value.expression))
        results.append(value)
    default = node.args.get("default")
    otherwise = Typed(Literal(None), Kind.NULL) if default is None else scope.read(default)
    return Typed(Case(tuple(branches), otherwise.expression), _common([*results, otherwise], node))


def _common(results: list[Typed], node: "Expr") -> Kind:
    kinds = {result.kind for result in results} - {Kind.NULL}
    if Kind.OPEN in kinds:
        raise UnsafeQuery(
            f"{Kind.OPEN.described} cannot be a result of CASE{where_in_text(node)}. Use the "
            "column itself, in GROUP BY or in a comparison with text."
        )
    if kinds == {Kind.INTEGER, Kind.NUMBER}:
        return Kind.NUMBER
    if len(kinds) == 1:
        return kinds.pop()
    listed = " and ".join(sorted(kinds)) or "only NULL"
    raise UnsafeQuery(
        f"the results of a CASE must be of one kind; here they are {listed}{where_in_text(node)}."
    )


def _cast(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "to", "_type")
    only(node.args["to"], "this")
    target = node.args["to"].this.value
    operand = scope.read(node.this)
    if target in ("DATE", "TIMESTAMP"):
        operand = as_moment(operand, Kind.DATE if target == "DATE" else Kind.DATETIME, node)
    if target not in _CASTS.get(operand.kind, "").split():
        raise UnsafeQuery(
            f"CAST of {operand.kind.described} to {target}{where_in_text(node)} is not supported: "
            "only casts that change nothing are. Use CASE or FLOOR, or leave the cast out."
        )
    return operand


VALUES: Mapping[str, Reader] = MappingProxyType(
    {
        "Boolean": _boolean,
        "Case": _case,
        "Cast": _cast,
        "Floor": _floor,
        "Greatest": _extreme,
        "Least": _extreme,
        "Literal": _literal,
        "Neg": _negative,
        "Null": _null,
        "Paren": _paren,
        "WidthBucket": _bucket,
        **dict.fromkeys(_OPERATORS, _arithmetic),
    }
)
"""How each class of value is read, by the name of its class."""
