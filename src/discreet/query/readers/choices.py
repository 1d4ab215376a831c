"""How COALESCE, NULLIF, IF and IS DISTINCT FROM are read: as CASE and conditions on NULL."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Case, Expression, IsNull, Junction, Literal, Negation
from discreet.query.readers.conditions import compare, negate
from discreet.query.readers.moments import align, as_moment
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
from discreet.query.readers.values import common, united

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["CHOICES", "of_one_kind"]


def of_one_kind(parts: list[Typed], node: "Expr") -> list[Typed]:
    """The same, with text as a date or datetime where another part is one.

    >>> import sqlglot
    >>> from discreet.query.algebra import Field
    >>> parts = [Typed(Field("day"), Kind.DATE), Typed(Literal("2024-01-31"), Kind.TEXT)]
    >>> [part.kind.value for part in of_one_kind(parts, sqlglot.parse_one("1"))]
    ['date', 'date']
    """
    kinds = {part.kind for part in parts}
    for kind in (Kind.DATETIME, Kind.DATE):
        if kind in kinds:
            return [as_moment(part, kind, node) for part in parts]
    return parts


def _coalesce(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expressions")
    read = [scope.read(part) for part in [node.this, *(node.args.get("expressions") or [])]]
    if scope.level != "row":  # results are never NULL
        return next((part for part in read if part.kind != Kind.NULL), read[0])
    parts = of_one_kind([part for part in read if part.kind != Kind.NULL], node)
    if not parts:
        raise refuse(node, "It has nothing but NULL.")
    kind = common(parts, node)
    branches: list[tuple[Expression, Expression]] = []
    for part in parts[:-1]:
        if part.is_constant:
            break
        check_copies(part.expression, 2, node)
        branches.append((Negation(IsNull(part.expression)), part.expression))
    used = parts[: len(branches) + 1]
    last = used[-1].expression
    expression = Case(tuple(branches), last) if branches else last
    return Typed(expression, kind, united(used))


def _nullif(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    operand, other = scope.read(node.this), scope.read(node.expression)
    if operand.is_constant:
        raise refuse(node, "Its first argument must hold a column.")
    check_copies(operand.expression, 2, node)
    null = Typed(Literal(None), Kind.NULL)
    kind = common([operand, null], node)
    equal = compare("=", operand, other, node)
    return Typed(Case(((equal, null.expression),), operand.expression), kind, operand.keys)


def _if(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "true", "false")
    test = scope.read(node.this)
    if test.kind != Kind.BOOLEAN:
        raise UnsafeQuery(
            f"IF needs a condition, not {test.kind.described}{where_in_text(node)}. "
            "Write IF(x = 1, a, b), for instance."
        )
    false = node.args.get("false")
    read = [
        scope.read(node.args.get("true")),
        Typed(Literal(None), Kind.NULL) if false is None else scope.read(false),
    ]
    results = of_one_kind(read, node)
    kind = common(results, node)
    value, otherwise = (result.expression for result in results)
    return Typed(Case(((test.expression, value),), otherwise), kind, united(results))


def _distinct(node: "Expr", scope: Scope) -> Typed:
    """Never NULL: whether both are NULL, or neither and they are equal."""
    only(node, "this", "expression")
    if scope.level != "row":
        raise refuse(node, "Results are never NULL; write = or <>.")
    left, right = scope.read(node.this), scope.read(node.expression)
    same = _same(left, right, node)
    equal = type(node).__name__ == "NullSafeEQ"
    return Typed(same if equal else negate(same), Kind.BOOLEAN)


def _same(left: Typed, right: Typed, node: "Expr") -> Expression:
    null = Literal(None)
    if null in (left.expression, right.expression):
        operand = left if right.expression == null else right
        if operand.is_constant:
            return Literal(operand.expression == null)
        return IsNull(operand.expression)
    left, right = align(left, right, node)
    if left.expression == right.expression:
        return Literal(True)
    sides = [side for side in (left, right) if not side.is_constant]
    for side in sides:
        check_copies(side.expression, 3, node)
    missing = [IsNull(side.expression) for side in sides]
    equal = compare("=", left, right, node)
    if not missing:
        return equal
    both = Junction("and", (*map(Negation, missing), equal))
    if len(missing) == 1:
        return both
    return Junction("or", (Junction("and", tuple(missing)), both))


CHOICES: Mapping[str, Reader] = MappingProxyType(
    {
        "Coalesce": _coalesce,
        "If": _if,
        "NullSafeEQ": _distinct,
        "NullSafeNEQ": _distinct,
        "Nullif": _nullif,
    }
)
"""How each class of choice is read, by the name of its class."""
