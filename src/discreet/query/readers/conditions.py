"""How comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS are read.
LIKE is resolved here, on the declared keys: no pattern reaches an engine.
"""

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Compare, Expression, IsNull, Junction, Literal, Member, Negation
from discreet.query.readers.moments import align
from discreet.query.readers.texts import chosen
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

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["CONDITIONS", "compare", "matches", "negate"]

_MOST_MEMBERS = 1000
_LONGEST_PATTERN = 256
_OPERATORS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(operator: str, left: Typed, right: Typed, node: "Expr") -> Expression:
    """The comparison, with a constant on its right; of two constants it is decided here.

    >>> import sqlglot
    >>> one, two = (Typed(Literal(Fraction(n)), Kind.INTEGER) for n in (1, 2))
    >>> compare("<", one, two, sqlglot.parse_one("1 < 2"))
    Literal(value=True)
    """
    left, right = align(left, right, node)
    if operator not in ("=", "<>") and left.kind in (Kind.TEXT, Kind.OPEN, Kind.BOOLEAN):
        raise UnsafeQuery(
            f"{operator} between values of kind {left.kind}{where_in_text(node)} has no fixed "
            "meaning. List the values with IN."
        )
    if isinstance(left.expression, Literal):
        if isinstance(right.expression, Literal):
            return Literal(_decide(operator, left.expression.value, right.expression.value))
        return Compare(_MIRRORED[operator], right.expression, left.expression)
    return Compare(operator, left.expression, right.expression)


def _decide(operator: str, left: object, right: object) -> bool:
    if operator in ("=", "<>"):
        return (left == right) == (operator == "=")
    if operator in (">", ">="):
        return not _decide({">": "<=", ">=": "<"}[operator], left, right)
    if isinstance(left, date) and isinstance(right, date):
        return left < right or (operator == "<=" and left == right)
    assert isinstance(left, Fraction)
    assert isinstance(right, Fraction)
    return left < right or (operator == "<=" and left == right)


def _comparison(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    operator = _OPERATORS[type(node).__name__]
    left, right = scope.read(node.this), scope.read(node.expression)
    for text, operand, asked in ((right, left, node.this), (left, right, node.expression)):
        value = text.expression.value if isinstance(text.expression, Literal) else None
        member = chosen(operand, [value], asked) if isinstance(value, str) else None
        if member is not None and operator in ("=", "<>"):
            return Typed(member if operator == "=" else negate(member), Kind.BOOLEAN)
    return Typed(compare(operator, left, right, node), Kind.BOOLEAN)


def _parts(node: "Expr") -> list["Expr"]:
    # Chains are left-deep and as long as the text allows: no recursion here.
    parts: list[Expr] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if type(current).__name__ == "Paren":
            only(current, "this")
            waiting.append(current.this)
        elif type(current) is type(node):
            only(current, "this", "expression")
            waiting += [current.expression, current.this]
        else:
            parts.append(current)
    return parts


def _flatten(operator: str, expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Junction) and expression.operator == operator:
        return expression.parts
    return (expression,)


def _junction(node: "Expr", scope: Scope) -> Typed:
    operator = "and" if type(node).__name__ == "And" else "or"
    parts: dict[Expression, None] = {}
    for part in _parts(node):
        expression = _boolean(part, scope, operator.upper())
        parts.update(dict.fromkeys(_flatten(operator, expression)))
    settling = Literal(operator == "or")
    if settling in parts:
        return Typed(settling, Kind.BOOLEAN)
    parts.pop(Literal(operator == "and"), None)
    operands = tuple(parts) or (Literal(operator == "and"),)
    return Typed(operands[0] if len(operands) == 1 else Junction(operator, operands), Kind.BOOLEAN)


def _boolean(node: "Expr", scope: Scope, what: str) -> Expression:
    typed = scope.read(node)
    if typed.kind != Kind.BOOLEAN:
        raise UnsafeQuery(
            f"{what} needs a condition, not {typed.kind.described}{where_in_text(node)}. "
            "Write a comparison."
        )
    return typed.expression


def negate(expression: Expression) -> Expression:
    """Not the condition; a second NOT takes the first away.

    >>> negate(Negation(Literal(None)))
    Literal(value=None)
    """
    if isinstance(expression, Negation):
        return expression.operand
    if isinstance(expression, Literal):
        return Literal(not expression.value)
    return Negation(expression)


def _not(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    return Typed(negate(_boolean(node.this, scope, "NOT")), Kind.BOOLEAN)


def _in(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expressions")
    listed = node.args.get("expressions") or []
    if not 1 <= len(listed) <= _MOST_MEMBERS:
        raise UnsafeQuery(
            f"IN lists {len(listed)} values{where_in_text(node)}; it must be 1 to {_MOST_MEMBERS} "
            "constants in parentheses."
        )
    operand = scope.read(node.this)
    values: list[Literal] = []
    for constant in listed:
        left, right = align(operand, scope.read(constant), constant)
        if not isinstance(right.expression, Literal) or left.is_constant:
            raise UnsafeQuery(
                f"IN compares a column with constants{where_in_text(constant)}. Use = and OR."
            )
        values.append(right.expression)
    texts = [value.value for value in values if isinstance(value.value, str)]
    member = chosen(operand, texts, node.this) if len(texts) == len(values) else None
    if member is not None:
        return Typed(member, Kind.BOOLEAN)
    return Typed(Member(operand.expression, _order(values)), Kind.BOOLEAN)


def _order(values: list[Literal]) -> tuple[Literal, ...]:
    # One kind and never NULL, so they have an order.
    return tuple(sorted(dict.fromkeys(values), key=lambda literal: cast(Any, literal.value)))


def _between(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "low", "high")
    operand = scope.read(node.this)
    check_copies(operand.expression, 2, node)
    low, high = scope.read(node.args["low"]), scope.read(node.args["high"])
    above = compare(">=", operand, low, node)
    below = compare("<=", operand, high, node)
    if isinstance(above, Literal) and isinstance(below, Literal):
        return Typed(Literal(bool(above.value and below.value)), Kind.BOOLEAN)
    return Typed(Junction("and", (above, below)), Kind.BOOLEAN)


def matches(text: str, pattern: str) -> bool:
    """Whether a text fits a LIKE pattern: % is any text, _ any one character.

    >>> matches("north-west", "%th_west%"), matches("south", "%th_west%")
    (True, False)
    """
    here = there = 0
    retry, star = 0, -1
    while here < len(text):
        symbol = pattern[there] if there < len(pattern) else ""
        if symbol == "%":
            star, retry = there, here
            there += 1
        elif symbol in ("_", text[here]) and symbol:
            here, there = here + 1, there + 1
        elif star >= 0:
            retry += 1
            here, there = retry, star + 1
        else:
            return False
    return not pattern[there:].strip("%")


def _like(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression", "negate")
    operand, pattern = scope.read(node.this), scope.read(node.expression)
    if not operand.keys:
        raise UnsafeQuery(
            f"LIKE{where_in_text(node)} needs a category column with declared keys, not "
            f"{operand.kind.described}. Use comparisons."
        )
    text = pattern.expression.value if isinstance(pattern.expression, Literal) else None
    if not isinstance(text, str) or len(text) > _LONGEST_PATTERN:
        raise UnsafeQuery(
            f"LIKE{where_in_text(node)} needs a pattern of at most {_LONGEST_PATTERN} characters "
            "in single quotes."
        )
    if type(node).__name__ == "ILike":
        keys = [key for key in operand.keys if matches(key.casefold(), text.casefold())]
    else:
        keys = [key for key in operand.keys if matches(key, text)]
    # No key fits: then the pattern is itself no key, and equals nothing.
    values = _order([Literal(key) for key in keys or [text]])
    member = chosen(operand, keys, node.this) if keys else None
    member = member or Member(operand.expression, values)
    return Typed(negate(member) if node.args.get("negate") else member, Kind.BOOLEAN)


def _is(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    operand = scope.read(node.this)
    target = scope.read(node.expression).expression
    if operand.is_constant or scope.level != "row":
        raise refuse(node, "Results are never NULL; compare columns in WHERE.")
    present = Negation(IsNull(operand.expression))
    if target == Literal(None):
        return Typed(present.operand, Kind.BOOLEAN)
    if operand.kind != Kind.BOOLEAN or not isinstance(target, Literal):
        raise refuse(node, "Write IS NULL, or IS TRUE for a condition.")
    holds = operand.expression if target.value is True else negate(operand.expression)
    return Typed(Junction("and", (present, holds)), Kind.BOOLEAN)


CONDITIONS: Mapping[str, Reader] = MappingProxyType(
    {
        "And": _junction,
        "Between": _between,
        "ILike": _like,
        "In": _in,
        "Is": _is,
        "Like": _like,
        "Not": _not,
        "Or": _junction,
        **dict.fromkeys(_OPERATORS, _comparison),
    }
)
"""How each class of condition is read, by the name of its class."""
