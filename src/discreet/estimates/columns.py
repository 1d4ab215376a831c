"""The rows of one or two columns for a robust estimate: a planned count of rows by value, and the
public facts about it. What a measurement sees of it is exact and stays inside.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.curator.measurement import Exact
from discreet.curator.session import Session
from discreet.errors import InvalidValue, SchemaError, UnsafeQuery, with_article
from discreet.loss import Relation
from discreet.plan.parts.candidates import width_of
from discreet.plan.pipeline import Plan
from discreet.schema.column import Column
from discreet.schema.names import sql_name
from discreet.schema.table import table_named

__all__ = [
    "ColumnLattice",
    "Values",
    "another_question",
    "axis_of",
    "column_of",
    "counts_of",
    "rows_of",
    "values_of",
]

_MOST_POINTS = {1: 1 << 17, 2: 1 << 12}  # public values of each column, by the number of columns
_ORDERED = ("integer", "number")


@dataclass(frozen=True, slots=True)
class ColumnLattice:
    """The public lattice of a column: code c stands for c * unit + shift.

    Wide columns are read in buckets of a power of two steps, which then are the lattice.
    """

    name: str
    lower: int
    upper: int
    unit: Fraction
    shift: Fraction

    def value(self, code: Fraction | int) -> Fraction:
        """What a code, or a number between two codes, stands for.

        >>> ColumnLattice(name="x", lower=0, upper=9, unit=Fraction(2), shift=Fraction(1)).value(3)
        Fraction(7, 1)
        """
        return code * self.unit + self.shift


@dataclass(frozen=True, slots=True)
class Values:
    """A planned count of rows by the values of columns, and how many rows a unit may have."""

    plan: Plan
    axes: tuple[ColumnLattice, ...]

    @property
    def relation(self) -> Relation:
        """Which tables are neighbours."""
        return self.plan.contribution.relation

    @property
    def rows_per_unit(self) -> int:
        """How many rows one unit has at most."""
        return self.plan.contribution.rows_per_unit


def axis_of(column: Column, *, columns: int) -> tuple[ColumnLattice, str]:
    """The lattice that a number column is read on, and the key of its statement."""
    if column.kind not in _ORDERED:
        raise UnsafeQuery(
            f"{column.name} is {with_article(column.kind)}; a robust estimate needs numbers "
            "with declared "
            "bounds. Nothing was run or charged."
        )
    low, high = column.lower, column.upper
    width = width_of(low, high, _MOST_POINTS[columns])
    if width == 1:
        axis = ColumnLattice(column.name, low, high, column.step, Fraction(0))
        return axis, sql_name(column.name)
    bucket = width * column.step
    if bucket.denominator != 1:
        bucket = Fraction(bucket.numerator // bucket.denominator + 1)
    first, last = low * column.step // bucket, high * column.step // bucket
    axis = ColumnLattice(column.name, first, last, bucket, bucket / 2)
    return axis, f"FLOOR({sql_name(column.name)} / {bucket})"


def values_of(session: Session, table: str, columns: tuple[str, ...], where: str) -> Values:
    """Plan a count of rows by the values of one or two number columns.

    Privacy: reads the schema, no row.
    """
    keyed = [axis_of(column_of(session, table, name), columns=len(columns)) for name in columns]
    plan = _plan_count(session, table, [key for _, key in keyed], where)
    axes = tuple(axis for axis, _ in keyed)
    ends = [(domain.codes[0], domain.codes[-1]) for domain in plan.domains]
    if ends != [(axis.lower, axis.upper) for axis in axes]:
        raise another_question(where)
    return Values(plan, axes)


def counts_of(session: Session, table: str, column: str, where: str) -> Values:
    """Plan a count of rows by the public keys of one column, of whatever kind.

    Privacy: reads the schema, no row.
    """
    plan = _plan_count(session, table, [sql_name(column_of(session, table, column).name)], where)
    return Values(plan, ())


def column_of(session: Session, table: str, name: str) -> Column:
    """What is publicly known about a column.

    Privacy: reads the schema, no row.
    """
    known = table_named(session.schemas, table)
    try:
        return known.column(name)
    except SchemaError as refusal:
        raise InvalidValue(f"{refusal} Nothing was run or charged.") from None


def _plan_count(session: Session, table: str, keys: list[str], where: str) -> Plan:
    """A count of rows by these keys, and nothing else, whatever stands in the condition."""
    listed = ", ".join(f"{key} AS v{place}" for place, key in enumerate(keys))
    condition = f" WHERE {where}" if where else ""
    grouped = f"FROM {sql_name(table)}{condition} GROUP BY {', '.join(keys)}"
    sql = f"SELECT {listed}, COUNT(*) AS n {grouped}"
    plan = session.prepare(sql, most_groups=1 << 25)
    counted = [measure.terms for measure in plan.measures] == [((1, "COUNT(*)"),)]
    names = [domain.name for domain in plan.domains]
    if not counted or names != [f"v{place}" for place in range(len(keys))]:
        raise another_question(where)
    return plan


def another_question(where: str) -> UnsafeQuery:
    """The refusal of a condition that asks for more than a condition may."""
    return UnsafeQuery(
        f"the condition {where!r:.200} changes what is counted; write one condition on the "
        "columns. Nothing was run or charged."
    )


def rows_of(values: Values, exact: Exact) -> NDArray[np.int64]:
    """One code for each row, or one pair of codes; in order, so nothing of the engine shows.

    Privacy: NONE; for a measurement's release only.
    """
    places, (counts,) = exact.cells()
    starts = np.array([axis.lower for axis in values.axes], dtype=np.int64)
    codes = np.repeat(places + starts, counts.astype(np.int64), axis=0)
    return codes[:, 0] if len(values.axes) == 1 else codes
