"""Columns that a subquery or a join makes, with the bounds that follow from those they come from.
Knows bounds, never data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast as typed_as

from discreet.errors import SchemaError, UnsafeQuery
from discreet.plan.sql.bounds import Bounded, cast
from discreet.plan.sql.expressions import Scope, bounded
from discreet.query.algebra import Aggregate, Expression, Field, Statistic
from discreet.query.expression import aggregates_of, parts_of
from discreet.schema.column import OTHER, Column

__all__ = ["Aggregated", "allow_missing", "column_of", "without_aggregates"]


def column_of(name: str, value: Bounded) -> Column:
    """A computed column: its values lie on the lattice of the expression, inside its bounds."""
    if value.kind in ("null", "text"):
        raise UnsafeQuery(f"{name} is no value that a subquery can make. Nothing was charged.")
    # A constant for NULL is how a column says that it is never missing.
    null: str | int = value.lower if value.missing == "never" else "drop"
    low, high = value.lower, value.upper
    try:
        if value.kind == "category":
            high = len(value.labels) - 1
            return Column(name, "category", upper=high, keys=value.labels, null=null)
        if value.kind == "boolean":
            return Column(name, "boolean", null=null)
        return Column(name, value.kind, step=value.step, lower=low, upper=high, null=null)
    except SchemaError as error:
        raise UnsafeQuery(
            f"a subquery cannot make this column: {error} LEAST and GREATEST narrow its bounds. "
            "Nothing was run or charged."
        ) from None


def allow_missing(column: Column) -> Column:
    """The same column where it may be missing: on the right of a left join.

    >>> allow_missing(Column("a", "category", upper=1, keys=("x",), other=True)).keys
    ('x', 'other')
    """
    keys = (*column.keys, OTHER) if column.other else column.keys
    return replace(column, keys=keys, other=False, null="drop")


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The aggregates of one unit's rows that a subquery needs, each as a column of its own."""

    columns: Mapping[Aggregate, tuple[Column, str]]

    @classmethod
    def of(
        cls, expressions: Iterable[Expression], scope: Scope, *, rows: int, taken: Iterable[str]
    ) -> "Aggregated":
        """Every aggregate in the expressions; `rows` is how many rows one unit can have."""
        columns: dict[Aggregate, tuple[Column, str]] = {}
        used = {name.casefold() for name in taken}
        for aggregate in aggregates_of(tuple(expressions)):
            if aggregate not in columns:
                name = _free_name(used)
                value = _value(aggregate, scope, rows)
                columns[aggregate] = (column_of(name, value), f"CAST({value.sql} AS BIGINT)")
        return cls(columns)


def _free_name(used: set[str]) -> str:
    number = len(used)
    while f"aggregate_{number}" in used:
        number += 1
    used.add(f"aggregate_{number}")
    return f"aggregate_{number}"


def without_aggregates(expression: Expression, aggregated: Aggregated) -> Expression:
    """The expression over the columns that stand for its aggregates."""
    return typed_as(Expression, _replace(expression, aggregated))


def _replace(part: object, aggregated: Aggregated) -> object:
    if isinstance(part, Aggregate):
        return Field(aggregated.columns[part][0].name)
    if not any(aggregates_of(part)):
        return part
    parts = [_replace(inner, aggregated) for inner in parts_of(part)]
    return tuple(parts) if isinstance(part, tuple) else type(part)(*parts)


def _value(aggregate: Aggregate, scope: Scope, rows: int) -> Bounded:
    """An aggregate of at least one and at most `rows` rows."""
    dialect = scope.dialect
    if aggregate.statistic is Statistic.ROWS:
        return Bounded("COUNT(*)", "number", Fraction(1), 1, rows, (), "never", dialect)
    assert aggregate.argument is not None
    value = bounded(aggregate.argument, scope)
    if aggregate.statistic is Statistic.VALUES:
        sql = f"COUNT({value.sql})"
        return Bounded(sql, "number", Fraction(1), 0, rows, (), "never", dialect)
    if aggregate.statistic is Statistic.SUM and value.kind == "number":
        low, high = min(value.lower, rows * value.lower), max(value.upper, rows * value.upper)
        return replace(value, sql=value.total, lower=low, upper=high)
    if aggregate.statistic is Statistic.AVERAGE and value.kind == "number":
        return _average(value, rows)
    if aggregate.statistic in (Statistic.MINIMUM, Statistic.MAXIMUM) and value.kind != "category":
        name = "MIN" if aggregate.statistic is Statistic.MINIMUM else "MAX"
        return replace(value, sql=f"{name}({value.sql})")
    raise UnsafeQuery(
        f"{aggregate.statistic.upper()} of one unit's rows is not supported in a subquery. Use "
        "COUNT, SUM, AVG, MIN or MAX of numbers. Nothing was charged."
    )


def _average(value: Bounded, rows: int) -> Bounded:
    """The mean of at most `rows` values, rounded to a lattice step, a half away from zero.

    Between the bounds, which are steps, it stays. Divided are integers that are not negative, by
    one that is not zero, since an engine may compute a branch of CASE that it does not take.
    """
    dialect, reach = value.dialect, 2 * rows * value.reach + rows
    replace(value, lower=-reach, upper=reach)  # which refuses what no type holds
    count = cast(reach, f"COUNT({value.sql})", dialect)
    total = cast(reach, value.total, dialect)
    divisor = f"GREATEST(2 * {count}, {cast(reach, '1', dialect)})"
    mean = dialect.quotient(f"(2 * ABS({total}) + {count})", divisor, value.reach)
    signed = f"CASE WHEN {total} < 0 THEN -({mean}) ELSE ({mean}) END"
    return replace(value, sql=f"CASE WHEN {count} > 0 THEN {signed} END")
