"""Totals and histograms by a table's small keys, kept beside its prepared rows.
A question whose keys and conditions use only those reads them: the same integers, from a few
thousand rows instead of all of them. Knows SQL and bounds, never data.
"""

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from discreet.errors import UnsafeQuery
from discreet.plan.parts.candidates import CandidateQuery, coarse, width_of
from discreet.plan.parts.measures import Contribution, Measures
from discreet.plan.sql.bounds import Bounded
from discreet.plan.sql.dialects import quote_column
from discreet.plan.sql.expressions import bounded, scope
from discreet.query.algebra import Aggregate, Field, Query, Statistic
from discreet.query.expression import fields_of
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["TOTALS", "histogram_for", "kept_tables", "small_keys", "totals_for"]

TOTALS = "totals"
"""The rollup of totals."""

_MOST_CELLS = 10_000
_MOST_BINS = 1_000_000
_SMALL = ("category", "boolean")
_SUMMED = ("integer", "number")
_KEPT = (Statistic.VALUES, Statistic.SUM, Statistic.VARIANCE_POPULATION)


def kept_tables(table: Table, relation: str) -> dict[str, str]:
    """The tables that are kept beside prepared rows, by name, each with its SELECT.

    What they hold is exact and stays in the vault.
    >>> kept_tables(Table("t", columns=(Column("a", "boolean"),)), '"prepared"')
    {'totals': 'SELECT "a", COUNT(*) AS "$t0" FROM "prepared" GROUP BY ALL'}
    """
    listed = [quote_column(column) for column in small_keys(table)]
    listed += [f"{sql} AS {name}" for sql, name in _name_totals(table).items()]
    statements = {TOTALS: f"SELECT {', '.join(listed)} FROM {relation} GROUP BY ALL"}
    for column in table.columns:
        if column.kind in _SUMMED:
            value = bounded(Field(column.name), scope(table))
            code = coarse(value, width_of(column.lower, column.upper))
            keys = [quote_column(name) for name in small_keys(table, _bins(column))]
            listed = [*keys, f'{code} AS "$c"', 'COUNT(*) AS "$n"']
            name = _histogram(table, column)
            statements[name] = f"SELECT {', '.join(listed)} FROM {relation} GROUP BY ALL"
    return statements


def small_keys(table: Table, cells: int = 1) -> tuple[Column, ...]:
    """The columns by whose values something is kept, in order: while the combinations stay few."""
    most = _MOST_CELLS if cells == 1 else _MOST_BINS
    chosen = []
    for column in table.columns:
        values = column.upper - column.lower + 2  # and a missing one
        if column.kind in _SMALL and not column.private_keys and cells * values <= most:
            chosen.append(column)
            cells *= values
    return tuple(chosen)


def _bins(column: Column) -> int:
    width = width_of(column.lower, column.upper)
    return column.upper // width - column.lower // width + 2


def _histogram(table: Table, column: Column) -> str:
    return f"histogram_{table.columns.index(column)}"


@lru_cache(maxsize=64)
def _name_totals(table: Table) -> Mapping[str, str]:
    """Every total that is kept, by the aggregate it is."""
    measures = Measures(scope(table), Contribution(1, 1, 1, table.neighbours), frozenset())
    measures.estimator(Aggregate(Statistic.ROWS, None))
    for column in table.columns:
        if column.kind in _SUMMED:
            for statistic in _KEPT:
                with suppress(UnsafeQuery):  # squares too large to add up: nobody can ask for them
                    measures.estimator(Aggregate(statistic, Field(column.name)))
    totals = dict.fromkeys(sql for measure in measures.found for _, sql in measure.terms)
    return MappingProxyType({sql: f'"$t{place}"' for place, sql in enumerate(totals)})


def totals_for(query: Query, table: Table) -> Mapping[str, str]:
    """What stands for each aggregate when totals are read; empty if the question needs the rows."""
    if not _is_covered(query, small_keys(table)):
        return {}
    return {sql: f"SUM({name})" for sql, name in _name_totals(table).items()}


def histogram_for(query: Query, table: Table, pick: CandidateQuery) -> tuple[str, str, str] | None:
    """The rollup that counts the candidates of a query, the candidate in it, and how many rows.

    None if the question needs the rows.
    """
    column = next((column for column in table.columns if column.name == pick.column), None)
    if column is None or column.kind not in _SUMMED:
        return None
    if not _is_covered(query, small_keys(table, _bins(column))):
        return None
    # Widths are powers of two, so candidates of the rollup histogram make up those of the query.
    width = width_of(column.lower, column.upper)
    if pick.width < width:
        return None
    low, high = column.lower // width, column.upper // width
    code = Bounded('"$c"', "number", Fraction(1), low, high, (), "possible")
    return f'"{_histogram(table, column)}"', coarse(code, pick.width // width), 'SUM("$n")'


def _is_covered(query: Query, keys: tuple[Column, ...]) -> bool:
    parts = [key.expression for key in query.keys]
    if query.where is not None:
        parts.append(query.where)
    return {column.name for column in keys}.issuperset(fields_of(tuple(parts)))
