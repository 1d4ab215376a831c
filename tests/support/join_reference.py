"""What sources mean, in plain Python on exact values: joins and subqueries, without any SQL.
A row is a dict of exact values; "$unit" is whose it is, where the table has a unit.
"""

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.query.algebra import (
    Aggregate,
    Extreme,
    Join,
    Literal,
    PerUnit,
    Rows,
    Scan,
    Source,
    Statistic,
    Window,
    Windowed,
)
from support.plan_reference import evaluate

Row = dict[str, Any]


def rows_of(source: Source, database: dict[str, list[Row]]) -> list[Row]:
    """All rows of a source."""
    match source:
        case Scan(table, names):
            new = dict(names)
            return [
                {new.get(name, name): value for name, value in row.items()}
                for row in database[table]
            ]
        case Join():
            return _joined(source, database)
        case Rows(inner, where, columns):
            return [
                {**_unit(row), **{name: value_of(each, row) for name, each in columns}}
                for row in rows_of(inner, database)
                if where is None or value_of(where, row) is True
            ]
        case PerUnit():
            return _per_unit(source, database)
        case Windowed():
            return _windowed(source, database)
    raise AssertionError(source)


def _unit(row: Row) -> Row:
    return {"$unit": row["$unit"]} if "$unit" in row else {}


def _joined(join: Join, database: dict[str, list[Row]]) -> list[Row]:
    left, right = rows_of(join.left, database), rows_of(join.right, database)
    found = []
    for one in left:
        partners = [other for other in right if _meet(one, other, join.on)]
        found += [{**other, **one} for other in partners]
        if not partners and join.kind == "left":
            found.append({**dict.fromkeys(_names(join.right, database)), **one})
    return found


def _meet(one: Row, other: Row, on: tuple[tuple[str, str], ...]) -> bool:
    if "$unit" in one and "$unit" in other and str(one["$unit"]) != str(other["$unit"]):
        return False
    return all(one[a] is not None and one[a] == other[b] for a, b in on)


def _names(source: Source, database: dict[str, list[Row]]) -> list[str]:
    """The columns of a source, which need not have any row."""
    match source:
        case Scan(table, names):
            return [dict(names).get(name, name) for name in database[f"{table} columns"]]
        case Rows(columns=columns) | PerUnit(columns=columns):
            return [name for name, _ in columns]
        case Windowed(inner, _, columns):
            return [*_names(inner, database), *(name for name, _ in columns)]
        case Join(_, left, right):
            return [*_names(left, database), *_names(right, database)]
    raise AssertionError(source)


def _per_unit(per: PerUnit, database: dict[str, list[Row]]) -> list[Row]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows_of(per.source, database):
        if per.where is None or value_of(per.where, row) is True:
            keys = tuple(value_of(each, row) for _, each in per.keys)
            found.setdefault((row["$unit"], *keys), []).append(row)
    made = []
    for (unit, *keys), rows in found.items():
        known = dict(zip((name for name, _ in per.keys), keys, strict=True))
        shown = {name: value_of(each, known, rows) for name, each in per.columns}
        made.append({"$unit": unit, **shown})
    return made


def _windowed(windowed: Windowed, database: dict[str, list[Row]]) -> list[Row]:
    rows = [
        row
        for row in rows_of(windowed.source, database)
        if windowed.where is None or value_of(windowed.where, row) is True
    ]
    return [
        {**row, **{name: _window(window, row, rows) for name, window in windowed.columns}}
        for row in rows
    ]


def _window(window: Window, row: Row, rows: list[Row]) -> Any:
    """What a row gets from its peers; functions that tell equal rows apart are not known here."""

    def keys(one: Row) -> list[Any]:
        return [str(one["$unit"]), *(value_of(each, one) for each in window.partition)]

    alike = [one for one in rows if keys(one) == keys(row)]
    before = [one for one in alike if _comes_before(window, one, row)]
    if window.function == "rank":
        return Fraction(len(before) + 1)
    if window.function == "dense_rank":
        orders = {tuple(value_of(each.expression, one) for each in window.order) for one in before}
        return Fraction(len(orders) + 1)
    seen = (
        alike
        if window.frame == "all"
        else [one for one in alike if one in before or (not _comes_before(window, row, one))]
    )
    names = {"count": Statistic.VALUES, "sum": Statistic.SUM, "min": Statistic.MINIMUM}
    statistic = names.get(window.function, Statistic.MAXIMUM)
    if window.argument is None:
        statistic = Statistic.ROWS
    return _aggregate(Aggregate(statistic, window.argument), seen)


def _comes_before(window: Window, one: Row, other: Row) -> bool:
    """Whether a row is strictly before another; missing values are last."""
    for term in window.order:
        first, second = value_of(term.expression, one), value_of(term.expression, other)
        if first == second:
            continue
        if first is None or second is None:
            return second is None
        return bool(first > second if term.direction == "descending" else first < second)
    return False


def value_of(expression: Any, row: Row, rows: list[Row] | None = None) -> Any:
    """The value on a row, or over the rows of one unit where the expression has aggregates."""
    return evaluate(_plain(expression, row, rows), row)


def _plain(part: Any, row: Row, rows: list[Row] | None) -> Any:
    """The same with values instead of what the evaluator of rows does not know."""
    if isinstance(part, tuple):
        return tuple(_plain(each, row, rows) for each in part)
    if isinstance(part, Aggregate):
        assert rows is not None
        return Literal(_aggregate(part, rows))
    if isinstance(part, Extreme):
        values = [value_of(each, row, rows) for each in part.parts]
        best = min if part.side == "least" else max
        return Literal(None if None in values else best(values))
    if is_dataclass(part) and not isinstance(part, Literal):
        changed = {each.name: _plain(getattr(part, each.name), row, rows) for each in fields(part)}
        return replace(part, **changed)
    return part


def _aggregate(each: Aggregate, rows: list[Row]) -> Any:
    if each.statistic is Statistic.ROWS:
        return Fraction(len(rows))
    values = [v for row in rows if (v := value_of(each.argument, row)) is not None]
    if each.statistic is Statistic.VALUES:
        return Fraction(len(values))
    if not values:
        return None
    return {Statistic.SUM: sum, Statistic.MINIMUM: min, Statistic.MAXIMUM: max}[each.statistic](
        values
    )
