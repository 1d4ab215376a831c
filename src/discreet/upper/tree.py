"""Outer queries as frozen values: what may stand above released rows, and nothing else.
Post-processing: a tree names released columns and holds constants, never a private row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

__all__ = [
    "Apply",
    "Ask",
    "Block",
    "Branches",
    "Column",
    "Combine",
    "Common",
    "Convert",
    "Expression",
    "Frame",
    "Inside",
    "Item",
    "Join",
    "Listed",
    "Literal",
    "Named",
    "Nested",
    "Number",
    "Operate",
    "Over",
    "Part",
    "Query",
    "Select",
    "Sort",
    "Source",
    "Star",
    "Text",
    "blocks_of",
    "parts_of",
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source by its name, perhaps with the name of the source."""

    name: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written: digits, perhaps a point, perhaps an exponent."""

    digits: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text constant."""

    value: str


@dataclass(frozen=True, slots=True)
class Literal:
    """TRUE, FALSE or NULL; or a typed constant, such as DATE or INTERVAL, with its text."""

    word: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Operate:
    """An operator with its operands, in order."""

    operator: str
    operands: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """CASE, with or without an operand."""

    operand: "Expression | None"
    arms: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression | None"


@dataclass(frozen=True, slots=True)
class Convert:
    """CAST, or TRY_CAST where `word` says so, to a type of the allow-list."""

    word: str
    operand: "Expression"
    kind: str


@dataclass(frozen=True, slots=True)
class Sort:
    """One term of ORDER BY."""

    expression: "Expression"
    direction: str
    nulls: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around a row that a window function sees."""

    kind: str
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Over:
    """The window of a window function."""

    partition: tuple["Expression", ...] = ()
    order: tuple[Sort, ...] = ()
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the allow-list; an aggregate or a window function with what belongs to it."""

    function: str
    arguments: tuple["Expression", ...]
    distinct: bool = False
    within: tuple[Sort, ...] = ()
    where: "Expression | None" = None
    nulls: str = ""
    over: Over | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """EXTRACT(part FROM operand)."""

    part: str
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Ask:
    """A query as a value, or whether it has rows where `word` is EXISTS."""

    word: str
    query: "Query"


@dataclass(frozen=True, slots=True)
class Inside:
    """Whether a value is one of several, or one of the rows of a query."""

    operand: "Expression"
    values: "tuple[Expression, ...] | Query"


@dataclass(frozen=True, slots=True)
class Star:
    """All columns, or all of one source, less those that are left out."""

    table: str = ""
    without: tuple[str, ...] = ()


Expression = (
    Column
    | Number
    | Text
    | Literal
    | Operate
    | Branches
    | Convert
    | Apply
    | Part
    | Ask
    | Inside
    | Star
)
"""What can stand in an outer query where a value stands."""


@dataclass(frozen=True, slots=True)
class Block:
    """The released rows of one private block, by its place in the statement."""

    place: int


@dataclass(frozen=True, slots=True)
class Common:
    """The rows of a subquery that WITH has named."""

    name: str


@dataclass(frozen=True, slots=True)
class Nested:
    """The rows of a subquery."""

    query: "Query"


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of constants, as VALUES lists them."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A source under the name that it has in a query, perhaps with names for its columns."""

    source: Block | Common | Nested | Listed
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Two sources side by side."""

    kind: str
    left: "Source"
    right: "Source"
    on: Expression | None = None
    using: tuple[str, ...] = ()


Source = Named | Join
"""What can stand after FROM."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a SELECT list, with the name of its column; stars have none."""

    expression: Expression
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """One SELECT. `sets` are the lists of ROLLUP, CUBE and GROUPING SETS, each with its word."""

    items: tuple[Item, ...]
    source: Source | None = None
    distinct: bool = False
    distinct_on: tuple[Expression, ...] = ()
    where: Expression | None = None
    group: tuple[Expression, ...] = ()
    sets: tuple[tuple[str, tuple[tuple[Expression, ...], ...]], ...] = ()
    having: Expression | None = None
    qualify: Expression | None = None
    order: tuple[Sort, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None
    commons: tuple[tuple[str, tuple[str, ...], "Query"], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Combine:
    """UNION, INTERSECT or EXCEPT of two queries."""

    operator: str
    left: "Query"
    right: "Query"
    order: tuple[Sort, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None
    commons: tuple[tuple[str, tuple[str, ...], "Query"], ...] = ()


Query = Select | Combine
"""A whole query, or one inside another."""


def parts_of(part: object) -> Iterator[object]:
    """What a part of a tree is made of, one step down.

    >>> list(parts_of(Column("n", "b")))
    ['n', 'b']
    """
    if isinstance(part, tuple):
        yield from part
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            yield getattr(part, field.name)


def blocks_of(part: object) -> Iterator[int]:
    """The places of the private blocks that a part of a tree reads, as often as it does.

    >>> list(blocks_of(Join("CROSS", Named(Block(1), "a"), Named(Block(0), "b"))))
    [1, 0]
    """
    if isinstance(part, Block):
        yield part.place
    for inner in parts_of(part):
        yield from blocks_of(inner)
