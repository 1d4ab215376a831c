"""What a question is, after parsing: the rows it reads, its keys and its noisy columns.
Knows no SQL text, no bounds and no data. The expressions in it are those of `expression`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.query.expression import (
    Aggregate,
    Arithmetic,
    Bucket,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Expression,
    Extreme,
    Field,
    Floor,
    IntervalEnd,
    IsNull,
    Junction,
    Literal,
    Member,
    Negation,
    Statistic,
)

__all__ = [
    "Aggregate",
    "Arithmetic",
    "Bucket",
    "Case",
    "Compare",
    "DatePart",
    "DateTrunc",
    "Expression",
    "Extreme",
    "Field",
    "Floor",
    "IntervalEnd",
    "IsNull",
    "Join",
    "Junction",
    "Key",
    "Literal",
    "Member",
    "Negation",
    "Options",
    "Order",
    "Output",
    "PerUnit",
    "Query",
    "Rows",
    "Scan",
    "Source",
    "Statistic",
    "Window",
    "Windowed",
    "scans",
]


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a registered table; `names` lists (column, new name) where a join renames."""

    table: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows whose `on` columns are equal: (left's name, right's name), NULL never equal.

    Two private sources are always joined on their unit as well, which is not in `on`. The right
    source of a "left" join is public; its columns are missing where nothing matches.
    """

    kind: str
    left: "Source"
    right: "Source"
    on: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A subquery without GROUP BY: rows that pass `where`, with these named columns."""

    source: "Source"
    where: Expression | None
    columns: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class PerUnit:
    """A subquery grouped by the unit, and perhaps by further keys: one row for each.

    `columns` are expressions over the aggregates count, sum, min and max of one unit's rows, and
    over keys by their names here.
    """

    source: "Source"
    where: Expression | None
    keys: tuple[tuple[str, Expression], ...]
    columns: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """What a row gets from the rows of its own unit, and of equal keys in `partition`.

    `function` is row_number, rank, dense_rank, lag, lead, first_value, last_value, count, sum, min
    or max. The rows are ordered by `order`, missing values last, and then by their hash. `frame`
    is "all" rows, the "rows" up to this one, or, if empty, these and all that are equal in order.
    """

    function: str
    argument: Expression | None
    partition: tuple[Expression, ...]
    order: "tuple[Order, ...]"
    frame: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Windowed:
    """The rows of a private source that pass `where`, with a further column for each window."""

    source: "Source"
    where: Expression | None
    columns: tuple[tuple[str, Window], ...]


Source = Scan | Join | Rows | PerUnit | Windowed
"""What can stand after FROM."""


@dataclass(frozen=True, slots=True)
class Key:
    """One GROUP BY expression (never an aggregate) and its name in the result."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Output:
    """One noisy result column: arithmetic over aggregates, or an interval end, with its name."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY term: over key names (Field) and aggregates for the noisy result, over the
    columns of rows in a window.
    """

    expression: Expression
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a WITH DIFFERENTIAL_PRIVACY OPTIONS clause said; None where it was silent.

    `max_rows_contributed` is the most rows of one unit that are used of the whole source, so
    after its joins.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    max_groups_contributed: int | None = None
    max_rows_contributed: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A whole question about the rows of a source.

    `columns` gives the order of the result's columns: names of keys and outputs. In HAVING and
    ORDER BY, Field refers to a key or an output by its name in the result.
    """

    source: Source
    where: Expression | None
    keys: tuple[Key, ...]
    outputs: tuple[Output, ...]
    columns: tuple[str, ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    options: Options = Options()

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables the source reads, each once, from left to right.

        >>> join = Join("inner", Scan("a"), Join("inner", Scan("b"), Scan("a"), ()), ())
        >>> Query(join, None, (), (), ()).tables
        ('a', 'b')
        """
        return tuple(dict.fromkeys(scans(self.source)))


def scans(source: Source) -> Iterator[str]:
    """The tables that a source reads, as often as it reads them.

    >>> list(scans(Join("inner", Scan("a"), Scan("a"), ())))
    ['a', 'a']
    """
    match source:
        case Scan(table):
            yield table
        case Join(_, left, right):
            yield from scans(left)
            yield from scans(right)
        case Rows(inner) | PerUnit(inner) | Windowed(inner):
            yield from scans(inner)
