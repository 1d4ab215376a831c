"""How constants, arithmetic, CASE, FLOOR, LEAST and WIDTH_BUCKET are read.
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
    Negation,
)
from discreet.query.readers.moments import align
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

__all__ = [
    "VALUES",
    "arithmetic",
    "as_number",
    "combine",
    "common",
    "constant",
    "floor",
    "number",
    "united",
]

_LARGEST = 10**80
_MOST_BUCKETS = 1_000_000


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
    return combine("-", constant(Fraction(0), node), operand, node)


def combine(operator: str, left: Typed, right: Typed, node: "Expr") -> Typed:
    """Arithmetic on two numbers; of two constants it is done here.

    >>> import sqlglot
    >>> two = Typed(Literal(Fraction(2)), Kind.INTEGER)
    >>> combine("/", two, two, sqlglot.parse_one("2 / 2")).expression
    Literal(value=Fraction(1, 1))
    """
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
    divisor = node.expression
    if type(node).__name__ == "Div" and scope.level != "row":
        divisor = _never_zero(divisor)
    return arithmetic(scope.read(node.this), scope.read(divisor), node, scope)


def _never_zero(divisor: "Expr") -> "Expr":
    """NULLIF(x, 0) as x: a quotient of results is finite, whatever they are."""
    inner = divisor
    while type(inner).__name__ == "Paren":
        inner = inner.this
    if type(inner).__name__ != "Nullif" or type(inner.expression).__name__ != "Literal":
        return divisor
    zero = not inner.expression.args["is_string"] and float(inner.expression.this) == 0
    return inner.this if zero else divisor


def arithmetic(left: Typed, right: Typed, node: "Expr", scope: Scope) -> Typed:
    """What a sum, a product or a quotient makes of its operands."""
    operator = _OPERATORS[type(node).__name__]
    left, right = number(left, node, operator), number(right, node, operator)
    if operator == "/":
        if right.expression == Literal(Fraction(0)):
            raise UnsafeQuery(f"division by zero{where_in_text(node)}. Divide by something else.")
        if scope.level == "row" and not right.is_constant:
            raise UnsafeQuery(
                f"division by a column{where_in_text(node)} can fail on a row. Divide by a "
                "constant, or divide aggregates: SUM(a) / SUM(b)."
            )
    return combine(operator, left, right, node)


def _floor(node: "Expr", scope: Scope) -> Typed:
    only(node, "this")
    return floor(number(scope.read(node.this), node, "FLOOR"), node)


def floor(operand: Typed, node: "Expr") -> Typed:
    """The largest whole number at most a number.

    >>> import sqlglot
    >>> age = Typed(Literal(Fraction(-5, 2)), Kind.NUMBER)
    >>> floor(age, sqlglot.parse_one("FLOOR(-2.5)")).expression
    Literal(value=Fraction(-3, 1))
    """
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
    if subject is not None:
        check_copies(subject.expression, len(node.args["ifs"]), node)
    branches, results = [], []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        value = scope.read(branch.args["true"])
        branches.append((_condition(branch.this, subject, scope), value.expression))
        results.append(value)
    default = node.args.get("default")
    otherwise = Typed(Literal(None), Kind.NULL) if default is None else scope.read(default)
    expression = Case(tuple(branches), otherwise.expression)
    values = [*results, otherwise]
    return Typed(expression, common(values, node), united(values))


def united(results: list[Typed]) -> tuple[str, ...]:
    """The keys of a value that is one of several; none if those of one are not known.

    >>> united([Typed(Literal("new"), Kind.TEXT), Typed(Literal(None), Kind.NULL)])
    ('new',)
    """
    keys: dict[str, None] = {}
    for result in results:
        value = result.expression.value if isinstance(result.expression, Literal) else None
        own = (value,) if isinstance(value, str) else result.keys
        if result.kind != Kind.NULL and not own:
            return ()
        keys |= dict.fromkeys(own)
    return tuple(keys)


def common(results: list[Typed], node: "Expr") -> Kind:
    """The one kind of several values of which a row has one; NULL is of every kind.

    >>> import sqlglot
    >>> one = Typed(Literal(Fraction(1)), Kind.INTEGER)
    >>> half = Typed(Literal(Fraction(1, 2)), Kind.NUMBER)
    >>> common([one, half], sqlglot.parse_one("CASE WHEN a THEN 1 ELSE 0.5 END"))
    <Kind.NUMBER: 'number'>
    """
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


def as_number(operand: Typed, node: "Expr") -> Typed:
    """A boolean as 1 and 0; NULL stays NULL.

    >>> import sqlglot
    >>> as_number(Typed(Literal(True), Kind.BOOLEAN), sqlglot.parse_one("TRUE")).expression
    Literal(value=Fraction(1, 1))
    """
    truth = operand.expression
    if isinstance(truth, Literal):
        return constant(Fraction(bool(truth.value)), node)
    check_copies(truth, 2, node)
    branches = ((truth, Literal(Fraction(1))), (Negation(truth), Literal(Fraction(0))))
    return Typed(Case(branches, Literal(None)), Kind.INTEGER)


VALUES: Mapping[str, Reader] = MappingProxyType(
    {
        "Boolean": _boolean,
        "Case": _case,
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
