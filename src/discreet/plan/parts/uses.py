"""Which columns of registered tables a statement reads in a way that their bounds can change.
Knows expressions, sources and schemas; never data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import cast

from discreet.query.algebra import (
    Aggregate,
    Compare,
    Expression,
    Field,
    IsNull,
    Join,
    Literal,
    Member,
    PerUnit,
    Query,
    Rows,
    Scan,
    Source,
    Statistic,
    Windowed,
)
from discreet.query.expression import aggregates_of, parts_of
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["columns_read"]

Read = dict[tuple[str, str], None]  # in the order in which they are read


@dataclass(frozen=True, slots=True)
class _Origin:
    """The registered columns that a column comes from; `column` where it is one of them itself."""

    columns: tuple[tuple[str, str], ...]
    column: Column | None = None


_Names = Mapping[str, _Origin]


def columns_read(query: Query, tables: Mapping[str, Table]) -> tuple[tuple[str, str], ...]:
    """Table and column of every value that the statement computes with, each once.

    Whether a value is missing, and a comparison with a constant between the bounds, does not
    depend on them.
    >>> from discreet.query.parse import parse
    >>> known = {"t": Table("t", columns=(Column("a", "integer", upper=9),))}
    >>> columns_read(parse("SELECT SUM(a) FROM t WHERE a > 3", known), known)
    (('t', 'a'),)
    >>> columns_read(parse("SELECT COUNT(a) FROM t WHERE a > 3", known), known)
    ()
    """
    read: Read = {}
    names = _names(query.source, tables, read)
    results = (query.outputs, query.order, query.having)
    values: list[Expression] = list(aggregates_of(results))
    values += [key.expression for key in query.keys]
    if query.where is not None:
        values.append(query.where)
    for value in values:
        _mark(value, names, read)
    return tuple(read)


def _names(source: Source, tables: Mapping[str, Table], read: Read) -> _Names:
    """The columns of a source; what its own conditions read is marked."""
    match source:
        case Scan(table, renamed):
            called = dict(renamed)
            return {
                called.get(column.name, column.name): _Origin(((table, column.name),), column)
                for column in tables[table].columns
            }
        case Join(_, left, right, on):
            both = {**_names(left, tables, read), **_names(right, tables, read)}
            for pair in on:
                for name in pair:
                    _mark(Field(name), both, read)
            return both
        case Rows(inner, where, columns):
            names = _names(inner, tables, read)
            return _trace_columns(columns, names, where, read)
        case Windowed(inner):
            names = _names(inner, tables, read)
            return {**names, **_trace_windows(source, names, read)}
        case PerUnit(inner, where, keys, columns):
            names = _names(inner, tables, read)
            known = {**names, **_trace_columns(keys, names, None, read)}
            return _trace_columns(columns, known, where, read)


def _trace_windows(windowed: Windowed, names: _Names, read: Read) -> _Names:
    for _, window in windowed.columns:
        for part in (*window.partition, *(term.expression for term in window.order)):
            _mark(part, names, read)
    values = tuple(
        (name, window.argument)
        for name, window in windowed.columns
        if window.argument is not None and window.function != "count"
    )
    return _trace_columns(values, names, windowed.where, read)


def _trace_columns(
    columns: tuple[tuple[str, Expression], ...], names: _Names, where: Expression | None, read: Read
) -> _Names:
    if where is not None:
        _mark(where, names, read)
    return {name: _origin(expression, names) for name, expression in columns}


def _origin(expression: Expression, names: _Names) -> _Origin:
    if isinstance(expression, Field):
        return names.get(expression.name, _Origin(()))
    inside: Read = {}
    _mark(expression, names, inside)
    return _Origin(tuple(inside))


def _mark(expression: object, names: _Names, read: Read) -> None:
    match expression:
        case Field(name):
            read |= dict.fromkeys(names[name].columns if name in names else ())
        case IsNull(Field()) | Aggregate(Statistic.VALUES, Field()):
            pass
        case Compare(_, Field(name), Literal() as constant) if _inside(names, name, constant):
            pass
        case Compare(_, Literal() as constant, Field(name)) if _inside(names, name, constant):
            pass
        case Member(Field(name), values) if all(_inside(names, name, value) for value in values):
            pass
        case _:
            for part in parts_of(expression):
                _mark(part, names, read)


def _inside(names: _Names, name: str, constant: Literal) -> bool:
    """Whether a constant lies between the bounds of a registered column, at neither of them."""
    column = names[name].column if name in names else None
    if column is None or column.private_keys:
        return False
    value = constant.value
    if column.kind in ("integer", "number") and isinstance(value, Fraction):
        return column.lower * column.step < value < column.upper * column.step
    wanted = {"date": date, "datetime": datetime}.get(column.kind)
    if wanted is None or type(value) is not wanted:
        return False
    low, high = (cast(date, column.decode(end)) for end in (column.lower, column.upper))
    return low < value < high
