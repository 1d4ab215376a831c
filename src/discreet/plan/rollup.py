"""Totals by all combinations of a table's small keys, kept beside its prepared rows.
A question whose keys and conditions use only those reads the totals: the same integers, from a
few thousand rows instead of all of them. Knows SQL and bounds, never data.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass

from discreet.errors import UnsafeQuery
from discreet.plan.expressions import scope
from discreet.plan.measures import Contribution, Measures
from discreet.query.algebra import Aggregate, Field, Query, Statistic
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["rolled_columns", "rolled_rows", "rolled_totals"]

_MOST_CELLS = 10_000
_SMALL = ("category", "boolean")
_SUMMED = ("integer", "number")
_KEPT = (Statistic.VALUES, Statistic.SUM, Statistic.VARIANCE_POPULATION)


def rolled_columns(table: Table) -> tuple[Column, ...]:
    """The columns by whose values totals are kept: those whose combinations stay few, in order.

    Privacy: none (touches no data); the schema alone decides.
    >>> [each.name for each in rolled_columns(Table("t", columns=(Column("a", "boolean"),)))]
    ['a']
    """
    chosen, cells = [], 1
    for column in table.columns:
        values = column.upper - column.lower + 2  # and a missing one
        if column.kind in _SMALL and not column.private_keys and cells * values <= _MOST_CELLS:
            chosen.append(column)
            cells *= values
    return tuple(chosen)


def rolled_rows(table: Table, relation: str) -> str:
    """The SELECT of the totals from prepared rows.

    Privacy: none (touches no data); what it returns is exact and stays in the vault.
    >>> rolled_rows(Table("t", columns=(Column("a", "boolean"),)), '"prepared"')
    'SELECT "a", COUNT(*) AS "$t0" FROM "prepared" GROUP BY ALL'
    """
    keys = [f'"{column.name}"' for column in rolled_columns(table)]
    totals = [f"{sql} AS {name}" for sql, name in _named(table).items()]
    return f"SELECT {', '.join([*keys, *totals])} FROM {relation} GROUP BY ALL"


def _named(table: Table) -> dict[str, str]:
    """Every total that is kept, by the aggregate it is."""
    measures = Measures(scope(table), Contribution(1, 1, 1, table.neighbours), frozenset())
    measures.estimator(Aggregate(Statistic.ROWS, None))
    for column in table.columns:
        if column.kind in _SUMMED:
            for statistic in _KEPT:
                with suppress(UnsafeQuery):  # squares too large to add up: nobody can ask for them
                    measures.estimator(Aggregate(statistic, Field(column.name)))
    totals = dict.fromkeys(sql for measure in measures.found for _, sql in measure.terms)
    return {sql: f'"$t{place}"' for place, sql in enumerate(totals)}


def rolled_totals(query: Query, table: Table) -> Mapping[str, str] | None:
    """What stands for each aggregate when totals are read; None if the question needs the rows.

    Privacy: none (touches no data).
    >>> rolled_totals.__name__
    'rolled_totals'
    """
    known = {column.name for column in rolled_columns(table)}
    parts = [key.expression for key in query.keys]
    if query.where is not None:
        parts.append(query.where)
    if not known.issuperset(name for part in parts for name in _fields(part)):
        return None
    return {sql: f"SUM({name})" for sql, name in _named(table).items()}


def _fields(part: object) -> Iterator[str]:
    """The columns an expression reads."""
    if isinstance(part, Field):
        yield part.name
    elif isinstance(part, tuple):
        for each in part:
            yield from _fields(each)
    elif is_dataclass(part):
        for each in fields(part):
            yield from _fields(getattr(part, each.name))
