"""The cells of a table's public domain, and how much one row in each adds to everything asked so
far. Questions and schemas only: no data, so what is computed here may decide refusals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExceeded, UnsafeQuery
from discreet.plan.sql.expressions import bounded, condition, scope
from discreet.query.algebra import Aggregate, Expression, Junction, Query, Scan, Statistic
from discreet.query.expression import fields_of
from discreet.schema.column import Column
from discreet.schema.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Cells", "MOST_CELLS", "chosen_columns"]

MOST_CELLS = 1 << 20
"""How many cells are kept apart; what lies in further columns is bounded from above."""

_ADDED = (Statistic.ROWS, Statistic.VALUES, Statistic.SUM)
_LARGEST = 1 << 61


def chosen_columns(table: Table) -> tuple[str, ...]:
    """The columns whose cells are kept apart when none are named: the small ones first.

    >>> age, day = Column("age", "integer", upper=110), Column("day", "date", upper=10**6)
    >>> chosen_columns(Table("visits", columns=(day, age, Column("f", "boolean"))))
    ('age', 'f')
    """
    room, chosen = MOST_CELLS, set()
    for column in sorted(table.columns, key=_size):
        if not column.private_keys and _size(column) <= room:
            room //= _size(column)
            chosen.add(column.name)
    return tuple(column.name for column in table.columns if column.name in chosen)


def _size(column: Column) -> int:
    return column.upper - column.lower + 1 + column.nullable


@dataclass(frozen=True, slots=True)
class _Part:
    """One aggregate of a question, for one row: an SQL value and the step it is counted in."""

    value: str
    step: Fraction
    exact: bool


class Cells:
    """What one row in each cell adds to the absolute answers of all questions so far.

    The largest of these is the joint sensitivity for one row [DMNS06, Thm. 3.4].
    >>> age = Column("age", "integer", upper=9, null=0)
    >>> Cells(Table("visits", columns=(age,)), ("age",)).per_row
    Fraction(0, 1)
    """

    __slots__ = ("_columns", "_grain", "_load", "_scope", "exact", "table")

    def __init__(self, table: Table, columns: tuple[str, ...]) -> None:
        self.table = table
        self._columns = tuple(table.column(name) for name in columns)
        self._check()
        self._scope = scope(table)
        self._load: NDArray[np.int64] = np.zeros(prod(map(_size, self._columns)), dtype=np.int64)
        self._grain = Fraction(1)  # the load counts in these
        self.exact = True

    def _check(self) -> None:
        hidden = [column.name for column in self._columns if column.private_keys]
        if hidden:
            raise UnsafeQuery(
                f"the keys of {hidden[0]} are not public, so it has no cells. Leave it out of the "
                "columns. Nothing was run or charged."
            )
        count = prod(map(_size, self._columns))
        if count > MOST_CELLS:
            raise UnsafeQuery(
                f"the columns have {count:,} cells; the limit is {MOST_CELLS:,}. Name fewer: what "
                "lies in the others is bounded from above. Nothing was run or charged."
            )

    @property
    def per_row(self) -> Fraction:
        """The most that one row can add to the absolute answers of all questions so far."""
        return int(self._load.max()) * self._grain

    def add(self, query: Query, measured: Sequence[Aggregate], *, limit: Fraction) -> None:
        """Count a question in, or refuse it if one row could then add more than the limit.

        `measured` are its aggregates, one for each number that is released of a group. A refused
        question leaves no trace. Depends on the questions alone [DMNS06, Thm. 3.4].
        """
        self._check_question(query)
        parts = [self._read_part(aggregate) for aggregate in measured]
        grain, load = self._grain, self._load
        for part in parts:
            finer = _common_step(grain, part.step)
            load, grain = _rescale(load, grain / finer), finer
            load = load + self._count_part(query, part, limit // grain, part.step / grain)
            if int(load.max()) * grain > limit:
                raise BudgetExceeded(
                    f"with this question one row could add more than {_format(limit)} to all "
                    f"answers together (now {_format(self.per_row)}). Ask about other cells, or "
                    "open a new one. Nothing was run or charged."
                )
        self._load, self._grain = load, grain
        self.exact = self.exact and self._decides(query) and all(part.exact for part in parts)

    def _check_question(self, query: Query) -> None:
        options = query.options
        if query.source != Scan(self.table.name) or query.order:
            raise _refusal(f"ask about the rows of {self.table.name} itself, in no order")
        if options.max_groups_contributed or options.max_rows_contributed or options.epsilon:
            raise _refusal("leave OPTIONS out")
        for output in query.outputs:
            asked = output.expression
            if not isinstance(asked, Aggregate) or asked.statistic not in _ADDED:
                raise _refusal("ask for COUNT(*), COUNT(x) and SUM(x), and divide them yourself")

    def _read_part(self, aggregate: Aggregate) -> _Part:
        if aggregate.argument is None:
            return _Part("1", Fraction(1), True)
        value = bounded(aggregate.argument, self._scope)
        known = self._knows(aggregate.argument)
        if aggregate.statistic is Statistic.VALUES:
            counted = f"CASE WHEN {value.sql} IS NULL THEN 0 ELSE 1 END"
            return _Part(counted if known else "1", Fraction(1), known)
        summed = f"coalesce(abs(CAST({value.sql} AS HUGEINT)), 0)"
        return _Part(summed if known else str(value.reach), value.step, known)

    def _count_part(
        self, query: Query, part: _Part, limit: int, factor: Fraction
    ) -> NDArray[np.int64]:
        """What one row in each cell adds, in grains; held just above the limit."""
        if limit > _LARGEST:
            raise _refusal("the sensitivity is more than 2**61 lattice steps; open with a smaller")
        times = min(int(factor), limit + 1)
        most = limit // times + 1
        # Only what the cells decide; the rest of WHERE may hold anywhere.
        where = [condition(term, self._scope) for term in _conjuncts(query) if self._knows(term)]
        where += [
            f"{bounded(key.expression, self._scope).sql} IS NOT NULL"
            for key in query.keys
            if self._knows(key.expression)
        ]
        value = f"CAST(least({part.value}, {most}) AS BIGINT)"
        decided = " AND ".join(f"({term})" for term in where) or "TRUE"
        sql = f'SELECT "$cell" AS c, {value} AS v FROM cells WHERE {decided}'
        with _cells_of(self._columns).cursor() as cursor:  # threads must not share one
            columns = cursor.execute(sql).fetchnumpy()
        moved = np.zeros(len(self._load), dtype=np.int64)
        moved[np.asarray(columns["c"])] = np.asarray(columns["v"], dtype=np.int64) * times
        return moved

    def _decides(self, query: Query) -> bool:
        """Whether the cells alone say which rows are counted."""
        keys = [key.expression for key in query.keys]
        certain = [bounded(key, self._scope).missing == "never" for key in keys]
        return all(map(self._knows, _conjuncts(query))) and all(
            known or self._knows(key) for key, known in zip(keys, certain, strict=True)
        )

    def _knows(self, expression: Expression) -> bool:
        names = {column.name for column in self._columns}
        return all(name in names for name in fields_of(expression))


@lru_cache(maxsize=2)
def _cells_of(columns: tuple[Column, ...]) -> "DuckDBPyConnection":
    """A database of its own that holds a row for every cell; public facts only."""
    import duckdb

    cells, stride = [], 1
    for column in columns:
        place = f"(i // {stride}) % {_size(column)}"
        value = f"{place} + ({column.lower})"
        if column.nullable:  # the last place is that of a missing value
            value = f"CASE WHEN {place} < {_size(column) - 1} THEN {value} END"
        cells.append(f'CAST({value} AS BIGINT) AS "{column.name}"')
        stride *= _size(column)
    connection = duckdb.connect(":memory:")
    listed = ", ".join(['i AS "$cell"', *cells])
    connection.execute(f"CREATE TABLE cells AS SELECT {listed} FROM range({stride}) t(i)")
    return connection


def _conjuncts(query: Query) -> tuple[Expression, ...]:
    where = query.where
    if isinstance(where, Junction) and where.operator == "and":
        return where.parts
    return () if where is None else (where,)


def _common_step(left: Fraction, right: Fraction) -> Fraction:
    """The largest step of which both are multiples."""
    above = gcd(left.numerator * right.denominator, right.numerator * left.denominator)
    return Fraction(above, left.denominator * right.denominator)


def _rescale(load: NDArray[np.int64], factor: Fraction) -> NDArray[np.int64]:
    if int(load.max()) * factor > _LARGEST:
        raise _refusal("the steps of the sums asked for have no common size; use one step")
    return load if factor == 1 else load * int(factor)


def _refusal(what: str) -> UnsafeQuery:
    return UnsafeQuery(
        f"joint sensitivity is counted for counts and sums of one table: {what}. Nothing was run "
        "or charged."
    )


def _format(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"
