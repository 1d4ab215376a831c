"""How functions of text are read: on the declared keys of a category, one by one, so that no text
function reaches an engine. What they mean is what DuckDB means by them, on every key.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Case, Expression, Literal, Member
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
from discreet.schema.column import nearest

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["TEXTS", "chosen", "looked_up", "lower_case", "upper_case"]

_LONGEST = 1000
_MOST_COMPARED = 1000  # texts whose likeness to another is computed
_SPACES = "".join(chr(n) for n in range(0x3001) if unicodedata.category(chr(n)) == "Zs")
_FOLDED = MappingProxyType({"ß": "ẞ", "İ": "i"})  # of one character by its own rule


def _letter(letter: str, *spellings: str) -> str:
    """The first spelling that is one character: lengths never change."""
    return next((each for each in spellings if len(each) == 1), _FOLDED.get(letter, letter))


def upper_case(text: str) -> str:
    """In capitals, letter by letter, as DuckDB has them.

    >>> upper_case("Straße"), len("ß".upper())
    ('STRAẞE', 2)
    """
    return "".join(_letter(each, each.upper(), each.title()) for each in text)


def lower_case(text: str) -> str:
    """In small letters, letter by letter.

    >>> lower_case("İzmir"), len("İ".lower())
    ('izmir', 2)
    """
    return "".join(_letter(each, each.lower()) for each in text)


@dataclass(frozen=True, slots=True)
class _Function:
    """What a function makes of a text, and of NULL where that is not NULL."""

    name: str
    of: Callable[[str], str | int]
    of_null: str | None = None

    def literal(self, text: str) -> Literal:
        """Its value for one text."""
        value = self.of(text)
        if isinstance(value, str) and len(value) > _LONGEST:
            raise UnsafeQuery(
                f"{self.name} makes a text of more than {_LONGEST} characters. Make it shorter."
            )
        return Literal(Fraction(value) if isinstance(value, int) else value)


def looked_up(function: _Function, operand: Typed, kind: Kind, node: "Expr") -> Typed:
    """The values of a function on a text, from its values on the declared keys.

    >>> import sqlglot
    >>> from discreet.query.algebra import Field
    >>> region = Typed(Field("region"), Kind.TEXT, ("north", "south"))
    >>> lower = _Function("LOWER", lower_case)
    >>> looked_up(lower, region, Kind.TEXT, sqlglot.parse_one("1")) == region
    True
    """
    operand = _text(operand, function.name, node)
    expression = _each(function, operand, node)
    if not isinstance(expression, Case):
        keys = operand.keys if expression == operand.expression else ()
        return Typed(expression, kind, keys)
    values = [value for _, value in expression.branches] + [expression.otherwise]
    results = [value.value for value in values if isinstance(value, Literal)]
    texts = [value for value in results if isinstance(value, str)]
    return Typed(expression, kind, tuple(dict.fromkeys(texts)))


def _text(operand: Typed, name: str, node: "Expr") -> Typed:
    if operand.kind == Kind.OPEN:
        raise UnsafeQuery(
            f"{name}{where_in_text(node)} of {operand.kind.described} is not supported: its keys "
            "are not known here. GROUP BY the column itself, or compare it with = and IN."
        )
    if operand.kind != Kind.TEXT:
        raise UnsafeQuery(
            f"{name}{where_in_text(node)} needs a category, not {operand.kind.described}. "
            "Use comparisons, or CASE to turn it into text."
        )
    return operand


def _each(function: _Function, operand: Typed, node: "Expr") -> Expression:
    expression = operand.expression
    null = Literal(function.of_null)
    if isinstance(expression, Literal):
        return function.literal(expression.value) if isinstance(expression.value, str) else null
    if isinstance(expression, Case):
        values = [value for _, value in expression.branches] + [expression.otherwise]
        if all(isinstance(value, Literal) for value in values):
            *results, otherwise = (
                function.literal(value.value)
                if isinstance(value, Literal) and isinstance(value.value, str)
                else null
                for value in values
            )
            tests = (test for test, _ in expression.branches)
            return Case(tuple(zip(tests, results, strict=True)), otherwise)
    if not operand.keys:
        raise UnsafeQuery(
            f"{function.name}{where_in_text(node)} needs a category column with declared keys. "
            "Use comparisons."
        )
    keys: dict[Literal, list[Literal]] = {}
    for key in operand.keys:
        keys.setdefault(function.literal(key), []).append(Literal(key))
    if null.value is None and all([key] == texts for key, texts in keys.items()):
        return expression
    check_copies(expression, len(keys), node)
    branches = ((_member(expression, texts), value) for value, texts in keys.items())
    return Case(tuple(branches), null)


def _member(expression: Expression, texts: list[Literal]) -> Member:
    return Member(expression, tuple(sorted(dict.fromkeys(texts), key=lambda each: str(each.value))))


def chosen(operand: Typed, texts: list[str], node: "Expr") -> Expression | None:
    """Whether a looked-up text is one of these, asked of the column itself; None of another value.

    Refuses a text that the function never gives: such a comparison would be paid for and tell
    nothing.
    """
    while type(node).__name__ == "Paren":
        node = node.this
    case = operand.expression
    if type(node).__name__ not in _GIVE_TEXT or not isinstance(case, Case):
        return None
    columns: set[Expression] = set()
    every: list[Literal] = []
    members: list[Literal] = []
    for test, value in case.branches:
        if not isinstance(test, Member) or not isinstance(value, Literal):
            return None
        columns.add(test.operand)
        every += test.values
        members += test.values if value.value in texts else ()
    if len(columns) != 1 or len({*every}) != len(every) or case.otherwise != Literal(None):
        return None
    for text in texts:
        if text not in operand.keys:
            raise UnsafeQuery(
                f"this text{where_in_text(node)} is never {text[:60]!r}. "
                f"{nearest(text[:60], operand.keys[:_MOST_COMPARED])}"
            )
    return _member(columns.pop(), members)


def _constants(node: "Expr", names: tuple[str, ...], scope: Scope) -> list[str | int | None]:
    """The further arguments of a function, which are constants; None for one that is not there."""
    found: list[str | int | None] = []
    for name in names:
        part = node.args.get(name)
        literal = None if part is None else scope.read(part).expression
        value = literal.value if isinstance(literal, Literal) else None
        if isinstance(value, str) and len(value) <= _LONGEST:
            found.append(value)
        elif isinstance(value, Fraction) and value.denominator == 1 and abs(value) <= 10**6:
            found.append(int(value))
        elif part is None:
            found.append(None)
        else:
            raise refuse(node, "Its further arguments are short constants.")
    return found


def _simple(name: str, of: Callable[[str], str | int], kind: Kind) -> Reader:
    def read(node: "Expr", scope: Scope, /) -> Typed:
        only(node, "this")
        return looked_up(_Function(name, of), scope.read(node.this), kind, node)

    return read


def _part_of(text: str, start: int, length: int | None) -> str:
    """From the first character on, which is 1; a negative start counts from the end."""
    first = len(text) + start if start < 0 else start - 1
    last = len(text) if length is None else first + length
    return text[max(first, 0) : max(last, 0)]


def _substring(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "start", "length")
    start, length = _constants(node, ("start", "length"), scope)
    if not isinstance(start, int) or isinstance(length, str) or (length or 0) < 0:
        raise refuse(node, "Write SUBSTRING(x, 1, 3), with a length of at least 0.")
    function = _Function("SUBSTRING", lambda text: _part_of(text, start, length))
    return looked_up(function, scope.read(node.this), Kind.TEXT, node)


def _end(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    name = type(node).__name__.upper()
    (count,) = _constants(node, ("expression",), scope)
    if not isinstance(count, int):
        raise refuse(node, f"Write {name}(x, 3), for instance.")

    def cut(text: str) -> str:
        if name == "LEFT":
            return text[:count]
        return text[-count:] if count else ""

    return looked_up(_Function(name, cut), scope.read(node.this), Kind.TEXT, node)


def _trim(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression", "position")
    (letters,) = _constants(node, ("expression",), scope)
    if isinstance(letters, int):
        raise refuse(node, "Write TRIM(x), or TRIM(x, 'abc') for other characters.")
    side = str(node.args.get("position") or "BOTH").upper()
    removed = _SPACES if letters is None else letters
    ways = {"LEADING": str.lstrip, "TRAILING": str.rstrip, "BOTH": str.strip}
    if side not in ways:
        raise refuse(node)
    function = _Function("TRIM", lambda text: ways[side](text, removed))
    return looked_up(function, scope.read(node.this), Kind.TEXT, node)


def _replace(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression", "replacement")
    old, new = _constants(node, ("expression", "replacement"), scope)
    if not isinstance(old, str) or not isinstance(new, str):
        raise refuse(node, "Write REPLACE(x, 'old', 'new').")
    function = _Function("REPLACE", lambda text: text.replace(old, new) if old else text)
    return looked_up(function, scope.read(node.this), Kind.TEXT, node)


def _concat(node: "Expr", scope: Scope) -> Typed:
    """|| with NULL is NULL; CONCAT leaves NULL out."""
    pipes = type(node).__name__ == "DPipe"
    if pipes:
        only(node, "this", "expression", "safe")
        nodes = [node.this, node.expression]
    else:
        only(node, "expressions", "safe", "coalesce")
        nodes = list(node.args.get("expressions") or [])
    parts = [_text(scope.read(part), "|| or CONCAT", part) for part in nodes]
    columns = [place for place, part in enumerate(parts) if not part.is_constant]
    if len(columns) > 1:
        raise refuse(node, "It takes one column, and texts in quotes. GROUP BY both columns.")
    if not columns and not pipes:  # as 'a' 'b' is, where a sign was forgotten
        raise refuse(node, "It takes a column, and texts in quotes.")
    literals = [part.expression for part in parts]
    texts = [str(each.value) if isinstance(each, Literal) else "" for each in literals]
    place = columns[0] if columns else 0
    before, after = "".join(texts[:place]), "".join(texts[place + 1 :])
    of_null = None if pipes else before + after
    function = _Function("||" if pipes else "CONCAT", lambda text: before + text + after, of_null)
    return looked_up(function, parts[place], Kind.TEXT, node)


_TESTS: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {
        "Contains": lambda text, part: part in text,
        "EndsWith": str.endswith,
        "StartsWith": str.startswith,
    }
)


def _test(node: "Expr", scope: Scope) -> Typed:
    only(node, "this", "expression")
    name = type(node).__name__
    operand = _text(scope.read(node.this), name, node)
    (part,) = _constants(node, ("expression",), scope)
    if not isinstance(part, str):
        raise refuse(node, "Its second argument is a text in quotes.")
    if isinstance(operand.expression, Literal):
        return Typed(Literal(_TESTS[name](str(operand.expression.value), part)), Kind.BOOLEAN)
    if not operand.keys:
        raise refuse(node, "It needs a category column with declared keys.")
    keys = [key for key in operand.keys if _TESTS[name](key, part)]
    asked = chosen(operand, keys, node.this) if keys else None
    # No key fits: then the text is itself no key, and equals nothing.
    member = asked or _member(operand.expression, [Literal(key) for key in keys or [part]])
    return Typed(member, Kind.BOOLEAN)


TEXTS: Mapping[str, Reader] = MappingProxyType(
    {
        "Concat": _concat,
        "DPipe": _concat,
        "Left": _end,
        "Length": _simple("LENGTH", len, Kind.INTEGER),
        "Lower": _simple("LOWER", lower_case, Kind.TEXT),
        "Replace": _replace,
        "Right": _end,
        "Substring": _substring,
        "Trim": _trim,
        "Upper": _simple("UPPER", upper_case, Kind.TEXT),
        **dict.fromkeys(_TESTS, _test),
    }
)
"""How each class of function of text is read, by the name of its class."""

_GIVE_TEXT = frozenset({*TEXTS} - {*_TESTS, "Length"})
