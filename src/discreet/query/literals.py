"""Constants that a column cannot have: no declared key, or outside of the bounds. A question that
compares a column with one would be paid for and tell nothing, so it is refused with the nearest
value that there is. Reads the question and schemas; keys that are not declared are not known here.
"""

import difflib
import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Aggregate,
    Compare,
    Expression,
    Field,
    Join,
    Literal,
    Member,
    Order,
    PerUnit,
    Query,
    Rows,
    Scan,
    Source,
    Window,
    Windowed,
)
from discreet.query.expression import aggregates_of, parts_of
from discreet.schema.column import EPOCH, MIDNIGHT, OTHER, Column
from discreet.schema.table import Table

__all__ = ["refuse_unknown_values"]

_MOST_COMPARED = 1000  # keys whose likeness to a text is computed
_LONGEST = 60
_PATTERN = "LIKE"
_OTHER_ROWS = ("lag", "lead", "first_value", "last_value", "min", "max")

_Columns = Mapping[str, Column]


def refuse_unknown_values(query: Query, tables: Iterable[Table]) -> None:
    """Refuse a question that compares a column with a value that it cannot have.

    One step beyond a bound is accepted in comparisons of order: `day < '2026-01-01'` is how
    people write the end of a year. Columns with private keys are compared with any text.
    >>> from discreet.query.parse import parse
    >>> region = Column("region", "category", upper=1, keys=("north", "south"))
    >>> visits = Table("visits", columns=(region,))
    >>> query = parse("SELECT COUNT(*) FROM visits WHERE region = 'nroth'", {"visits": visits})
    >>> refuse_unknown_values(query, [visits])
    Traceback (most recent call last):
    discreet.errors.UnsafeQuery: region has no declared key 'nroth'; the nearest is 'north'. \
Nothing was run or charged.
    """
    known = _Known({table.name: table for table in tables}, {})
    columns = known.of(query.source)
    keys = {
        key.name: columns[key.expression.name]
        for key in query.keys
        if isinstance(key.expression, Field) and key.expression.name in columns
    }
    known.check(query.where, columns, columns)
    for key in query.keys:
        known.check(key.expression, columns, columns)
    for output in query.outputs:
        known.check(output.expression, keys, columns)
    known.check(query.having, keys, columns)
    for order in query.order:
        known.check(order.expression, keys, columns)


@dataclass(frozen=True, slots=True)
class _Known:
    """The tables, and the keys of their columns in a form that is searched fast."""

    tables: Mapping[str, Table]
    keys: dict[int, frozenset[str]]  # by the identity of the column, whose hash is slow

    def of(self, source: Source) -> _Columns:
        """The declared columns of a source by their names in it; conditions within are checked."""
        match source:
            case Scan(table, names):
                new = dict(names)
                columns = self.tables[table].columns
                return {new.get(column.name, column.name): column for column in columns}
            case Join(_, left, right):
                return {**self.of(left), **self.of(right)}
            case Rows(inner, where, computed):
                columns_inside = self.of(inner)
                self.check(where, columns_inside, columns_inside)
                return self._declared_columns(computed, columns_inside, columns_inside)
            case Windowed(inner, where, windows):
                columns_inside = self.of(inner)
                self.check(where, columns_inside, columns_inside)
                return {**columns_inside, **self._declared_windows(windows, columns_inside)}
            case PerUnit(inner, where, keys, computed):
                columns_inside = self.of(inner)
                self.check(where, columns_inside, columns_inside)
                named = self._declared_columns(keys, columns_inside, columns_inside)
                return self._declared_columns(computed, named, columns_inside)

    def _declared_columns(
        self, computed: tuple[tuple[str, Expression], ...], columns: _Columns, rows: _Columns
    ) -> _Columns:
        """The columns of a subquery that are declared ones; what is computed has no declaration."""
        for _, expression in computed:
            self.check(expression, columns, rows)
        return {
            name: columns[expression.name]
            for name, expression in computed
            if isinstance(expression, Field) and expression.name in columns
        }

    def _declared_windows(
        self, windows: tuple[tuple[str, Window], ...], columns: _Columns
    ) -> _Columns:
        """The windows that are a declared column of another row."""
        for _, window in windows:
            for part in (window.argument, *window.partition, *window.order):
                self.check(part.expression if isinstance(part, Order) else part, columns, columns)
        return {
            name: columns[window.argument.name]
            for name, window in windows
            if window.function in _OTHER_ROWS
            and isinstance(window.argument, Field)
            and window.argument.name in columns
        }

    def check(self, expression: Expression | None, columns: _Columns, rows: _Columns) -> None:
        """Check all comparisons in an expression; within aggregates, names are those of rows."""
        for operator, field, literal in _comparisons(expression):
            if field.name in columns:
                self._refuse(operator, columns[field.name], literal.value)
        for inner in aggregates_of(expression):
            for part in (inner.argument, inner.second):
                self.check(part, rows, rows)

    def _refuse(self, operator: str, column: Column, value: object) -> None:
        if column.kind == "category":
            if not column.private_keys and isinstance(value, str):
                self._refuse_key(operator, column, value)
        elif column.kind != "boolean":
            _refuse_outside(operator, column, value)

    def _refuse_key(self, operator: str, column: Column, value: str) -> None:
        if id(column) not in self.keys:
            self.keys[id(column)] = frozenset(column.keys)
        if value in self.keys[id(column)] or (column.other and value == OTHER):
            return
        keys = (*column.keys, OTHER) if column.other else column.keys
        shown, near = value[:_LONGEST], value[:_LONGEST]
        said = f"{column.name} has no declared key {shown!r}"
        if operator == _PATTERN and set(value) & set("%_"):
            said = f"{column.name} has no declared key that matches the pattern {shown!r}"
            near = near.replace("%", "").replace("_", "")
        raise UnsafeQuery(
            f"{said}; the nearest is {_nearest(near, keys)[:_LONGEST]!r}. "
            "Nothing was run or charged."
        )


def _comparisons(expression: object) -> Iterator[tuple[str, Field, Literal]]:
    """Every comparison of a column with a constant that is in no aggregate."""
    match expression:
        case Aggregate():
            return
        case Compare(operator, Field() as field, Literal() as literal):
            yield operator, field, literal
        case Compare(operator, Literal() as literal, Field() as field):
            yield operator, field, literal  # of CASE x WHEN: only = stands so
        case Member(Field() as field, values):
            alone = len(values) == 1 and isinstance(values[0].value, str)
            for literal in values:
                yield _PATTERN if alone else "=", field, literal  # LIKE that fits no key is this
        case _:
            for part in parts_of(expression):
                yield from _comparisons(part)


def _nearest(word: str, keys: tuple[str, ...]) -> str:
    """The key most like a text; of very many, among those that share most pairs of letters."""
    if len(keys) > _MOST_COMPARED:
        pairs = _pairs(word)
        alike = heapq.nlargest(_MOST_COMPARED, keys, key=lambda key: len(pairs & _pairs(key)))
        keys = tuple(alike)
    folded = {key.casefold(): key for key in reversed(keys)}
    matches = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.0)
    return folded[matches[0]]


def _pairs(word: str) -> set[str]:
    folded = f" {word.casefold()} "
    return set(map("".join, pairwise(folded)))


def _refuse_outside(operator: str, column: Column, value: object) -> None:
    place = _lattice_steps(column, value)
    if place is None:
        return
    beyond = max(column.lower - place, place - column.upper)
    if beyond <= (0 if operator in ("=", "<>") else 1):
        return
    nearest = column.lower if place < column.lower else column.upper
    bounds = f"{_value_text(column, column.lower)} to {_value_text(column, column.upper)}"
    spelt = _number_text(value) if isinstance(value, Fraction) else str(value)
    raise UnsafeQuery(
        f"{spelt} lies outside the bounds of {column.name}, {bounds}; the nearest is "
        f"{_value_text(column, nearest)}. Nothing was run or charged."
    )


def _lattice_steps(column: Column, value: object) -> Fraction | None:
    """Where a constant lies on the column's lattice, exactly; None if it is of another kind."""
    if isinstance(value, datetime):
        seconds = Fraction((value - MIDNIGHT) // timedelta(microseconds=1), 10**6)
        return seconds / column.step if column.kind == "datetime" else None
    if isinstance(value, date):
        return Fraction((value - EPOCH).days) if column.kind == "date" else None
    if isinstance(value, Fraction):
        return value / column.step if column.kind in ("integer", "number") else None
    return None


def _value_text(column: Column, k: int) -> str:
    if column.kind in ("integer", "number"):
        return _number_text(k * column.step)
    return str(column.decode(k))


def _number_text(value: Fraction) -> str:
    return str(value) if value.denominator == 1 and abs(value) < 10**18 else f"{float(value):.15g}"
