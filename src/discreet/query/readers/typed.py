"""Expressions that know what kind of value they give, and the refusals they share.
Knows the shape of a parsed tree, no SQL text and no data.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from discreet.errors import UnsafeQuery, with_article
from discreet.query.algebra import Expression, Literal
from discreet.query.expression import parts_of
from discreet.query.readers.hints import NODE_HINTS, NODE_NAMES, PART_HINTS

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = [
    "Kind",
    "Reader",
    "Scope",
    "Typed",
    "check_copies",
    "missing",
    "only",
    "refuse",
    "where_in_text",
]

_MOST_COPIED = 20_000


class Kind(StrEnum):
    """What sort of value an expression has."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "category"
    OPEN = "category with private keys"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    PRESENT = "privacy unit that can be missing"
    NULL = "NULL"

    @property
    def is_number(self) -> bool:
        """Whether arithmetic can be done with it."""
        return self in (Kind.INTEGER, Kind.NUMBER)

    @property
    def described(self) -> str:
        """The kind with its article, for messages.

        >>> Kind.INTEGER.described
        'an integer'
        """
        if self is Kind.NULL:
            return "NULL"
        return with_article(self)


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression, its kind and, for a category column, its declared keys."""

    expression: Expression
    kind: Kind
    keys: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a literal."""
        return isinstance(self.expression, Literal)


class Scope(Protocol):
    """Where an expression stands: on rows (before grouping) or on results (after it)."""

    @property
    def level(self) -> str:
        """Either "row" or "result"."""

    def read(self, node: "Expr | None") -> Typed:
        """Translate a parsed node, or refuse it."""


class Reader(Protocol):
    """How one class of parsed node is translated."""

    def __call__(self, node: "Expr", scope: Scope, /) -> Typed: ...


def where_in_text(node: "Expr") -> str:
    """The position of a node in the analyst's text, as far as it is known.

    >>> import sqlglot
    >>> where_in_text(sqlglot.parse_one("SELECT\\n  foo(1)"))
    ' (line 2)'
    """
    for inner in node.walk():
        line = inner.meta.get("line")
        if line is not None:
            return f" (line {line})"
    return ""


def _construct(node: "Expr") -> str:
    kind = type(node).__name__
    if kind == "Anonymous":
        return f"{str(node.this)[:60]}()"
    written = getattr(node, "sql_name", None)
    return NODE_NAMES.get(kind) or (written() if callable(written) else kind.upper())


def _whole(node: "Expr") -> str:
    return "SELECT" if type(node).__name__ == "Select" else _construct(node)


def refuse(node: "Expr", hint: str = "") -> UnsafeQuery:
    """The refusal of a node that is not on the list, with what to write instead.

    >>> import sqlglot
    >>> print(refuse(sqlglot.parse_one("RANDOM()")))
    RANDOM() is not supported here (line 1). Noise is added for you.
    """
    name = type(node).__name__
    advice = hint or NODE_HINTS.get(name, "See the list of supported SQL in the documentation.")
    return UnsafeQuery(f"{_construct(node)} is not supported here{where_in_text(node)}. {advice}")


def missing() -> UnsafeQuery:
    """The refusal of an expression that is not there, as in FLOOR()."""
    return UnsafeQuery("an expression is missing. Check commas and parentheses.")


def only(node: "Expr", *names: str) -> None:
    """Refuse a node that carries anything but the named parts."""
    for name, value in node.args.items():
        if name not in names and value is not None and value is not False and value != []:
            part = name.strip("_").replace("_", " ").upper()
            hint = PART_HINTS.get(name, "Leave that part out.")
            raise UnsafeQuery(
                f"{part} in {_whole(node)} is not supported here{where_in_text(node)}. {hint}"
            )


def check_copies(expression: Expression, copies: int, node: "Expr") -> None:
    """Refuse to write an expression several times where that would make a question huge.

    What is nested and written twice at each level doubles at each level.
    >>> import sqlglot
    >>> check_copies(Literal(True), 30_000, sqlglot.parse_one("CASE age WHEN 1 THEN 2 END"))
    Traceback (most recent call last):
    discreet.errors.UnsafeQuery: CASE stands for more than 20000 operations (line 1). \
Nest less deeply, or compute the inner part in a subquery.
    """
    most, size = _MOST_COPIED // max(1, copies), 0
    waiting: list[object] = [expression]
    while waiting and size <= most:
        size += 1
        waiting += [part for part in parts_of(waiting.pop()) if not isinstance(part, str)]
    if size > most:
        raise UnsafeQuery(
            f"{_construct(node)} stands for more than {_MOST_COPIED} operations"
            f"{where_in_text(node)}. Nest less deeply, or compute the inner part in a subquery."
        )
