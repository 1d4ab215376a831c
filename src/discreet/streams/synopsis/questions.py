"""SQL questions to a synopsis: COUNT(*) with any condition over its columns, as a predicate over
their public values. Public facts and the question's text only; no data is read here.
"""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsafeQuery
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.plan.sql.expressions import condition, scope
from discreet.query.algebra import Aggregate, Expression, Options, Query, Scan, Statistic
from discreet.query.expression import fields_of
from discreet.query.literals import refuse_unknown_values
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Questions", "size_of"]

_MOST = 1 << 20  # combinations of the columns of one question
_REMEMBERED = 10_000  # conditions


def size_of(column: Column) -> int:
    """How many values a column can take, missing ones aside.

    >>> size_of(Column("age", "integer", lower=0, upper=110))
    111
    """
    return column.upper - column.lower + 1


@dataclass(frozen=True, slots=True)
class _Place:
    """One column of a question: its name, its first value, how many it has."""

    name: str
    start: int
    size: int


class Questions:
    """What can be asked of some columns of a table, and which of their values a question counts.

    >>> table = Table("visits", columns=(Column("age", "integer", upper=9), Column("f", "boolean")))
    >>> asked = Questions(table).read("SELECT COUNT(*) FROM visits WHERE age < 2 AND f")
    >>> asked.axes, asked.mask[:, 1].tolist()[:3]
    ((0, 1), [True, True, False])
    """

    __slots__ = ("_connection", "_known", "_read", "domain", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.domain = Domain(
            tuple(column.name for column in table.columns), tuple(map(size_of, table.columns))
        )
        self._known: dict[Expression | None, Predicate] = {}
        self._read: dict[str, Predicate] = {}
        self._connection: DuckDBPyConnection | None = None

    def read(self, sql: str) -> Predicate:
        """The predicate of a question, or a refusal that says what may be asked.

        >>> table = Table("visits", columns=(Column("age", "integer", upper=9),))
        >>> Questions(table).read("SELECT COUNT(*) FROM visits").axes
        ()
        """
        if sql in self._read:
            return self._read[sql]
        query = parse(sql, {self.table.name: self.table})
        self._check(query)
        if query.where not in self._known:
            self._known[query.where] = self._make_predicate(query.where)
        predicate = self._known[query.where]
        if len(self._read) >= _REMEMBERED:
            self._read.clear()
            self._known.clear()
        self._read[sql] = predicate
        return predicate

    def ask(self, sql: str) -> Predicate:
        """The same for a question that may cost something: one about a value that a column cannot
        have is refused.

        >>> table = Table("visits", columns=(Column("age", "integer", upper=9),))
        >>> Questions(table).ask("SELECT COUNT(*) FROM visits WHERE age = 10")
        Traceback (most recent call last):
        discreet.errors.UnsafeQuery: 10 lies outside the bounds of age, 0 to 9; the nearest is 9. \
Nothing was run or charged.
        """
        refuse_unknown_values(parse(sql, {self.table.name: self.table}), [self.table])
        return self.read(sql)

    def _check(self, query: Query) -> None:
        counted = [output.expression for output in query.outputs]
        plain = query.having is None and not query.order and query.limit is None
        if query.source != Scan(self.table.name) or query.keys or query.options != Options():
            raise _refusal(self.table.name)
        if not plain or counted != [Aggregate(Statistic.ROWS, None)]:
            raise _refusal(self.table.name)

    def _make_predicate(self, where: Expression | None) -> Predicate:
        if where is None:
            return Predicate((), np.ones((), dtype=np.bool_))
        names = set(fields_of(where))
        axes = tuple(axis for axis, column in enumerate(self.table.columns) if column.name in names)
        sizes = tuple(self.domain.sizes[axis] for axis in axes)
        if prod(sizes) > _MOST:
            raise UnsafeQuery(
                f"the columns of the question have {prod(sizes):,} combinations; the limit is "
                f"{_MOST:,}. Ask about fewer at a time. Nothing was run or charged."
            )
        places = [
            _Place(self.table.columns[axis].name, self.table.columns[axis].lower, size)
            for axis, size in zip(axes, sizes, strict=True)
        ]
        mask = np.zeros(prod(sizes), dtype=np.bool_)
        mask[self._find_places(places, condition(where, scope(self.table)))] = True
        return Predicate(axes, mask.reshape(sizes))

    def _find_places(self, places: list[_Place], where: str) -> NDArray[np.int64]:
        """The places, counted through with the last column first, where a condition holds."""
        import duckdb

        if self._connection is None:
            self._connection = duckdb.connect(":memory:", config={"threads": 1})
        columns, stride = ['i AS "$cell"'], 1
        for place in reversed(places):
            value = f"(i // {stride}) % {place.size} + ({place.start})"
            columns.append(f'CAST({value} AS BIGINT) AS "{place.name}"')
            stride *= place.size
        cells = f"(SELECT {', '.join(columns)} FROM range({stride}) t(i)) AS cells"
        rows = self._connection.cursor().sql(f'SELECT "$cell" AS c FROM {cells} WHERE {where}')
        return np.asarray(rows.fetchnumpy()["c"], dtype=np.int64)


def _refusal(table: str) -> UnsafeQuery:
    return UnsafeQuery(
        f"a synopsis answers SELECT COUNT(*) FROM {table} WHERE ..., with any condition over its "
        "columns and nothing else. Nothing was run or charged."
    )
