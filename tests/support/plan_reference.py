"""What the algebra means, in plain Python on exact values: written without looking at SQL.
Numbers are Fractions, categories their labels, dates dates, and a missing value is None.
"""

import math
from collections import defaultdict
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Bucket,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Field,
    Floor,
    IsNull,
    Junction,
    Literal,
    Member,
    Negation,
    Query,
    Statistic,
)
from discreet.schema.column import Column
from discreet.schema.table import Table

EPOCH = date(1970, 1, 1)


def value_of(column: Column, code: int | None) -> Any:
    """The exact public value of a lattice integer."""
    if code is None:
        return None
    if column.kind in ("integer", "number"):
        return code * column.step
    return column.decode(code)


def code_of(column: Column, raw: Any) -> int | None:
    """The lattice integer of a raw value: NULL and NaN first, then clamp, then round."""
    code = _known(column, raw)
    if code is None and column.kind == "category" and column.other:
        return len(column.keys)
    if code is None:
        return column.null if isinstance(column.null, int) else None
    return code


def _known(column: Column, raw: Any) -> int | None:
    if raw is None:
        return None
    if column.kind == "category":
        return column.keys.index(raw) if raw in column.keys else None
    if column.kind == "boolean":
        return int(raw)
    if column.kind == "date":
        return min(max((raw - EPOCH).days, column.lower), column.upper)
    if isinstance(raw, float):
        if math.isnan(raw):
            return None
        # The documented arithmetic: one double product, one double quotient, half to even.
        try:
            steps = raw * column.step.denominator / column.step.numerator
        except OverflowError:
            steps = math.copysign(math.inf, raw)
        if math.isinf(steps):
            return column.upper if steps > 0 else column.lower
        return min(max(round(Fraction(steps)), column.lower), column.upper)
    return min(max(round(raw / column.step), column.lower), column.upper)


def evaluate(expression: Any, row: dict[str, Any]) -> Any:
    """The value of an expression on one row."""
    match expression:
        case Literal(value):
            return value
        case Field(name):
            return row[name]
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, evaluate(left, row), evaluate(right, row))
        case Floor(operand):
            inner = evaluate(operand, row)
            return None if inner is None else Fraction(math.floor(inner))
        case Bucket(operand, lower, upper, count):
            return _bucket(evaluate(operand, row), lower, upper, count)
        case Case(branches, otherwise):
            for test, value in branches:
                if evaluate(test, row) is True:
                    return evaluate(value, row)
            return evaluate(otherwise, row)
        case DatePart() | DateTrunc():
            return _calendar(expression, evaluate(expression.operand, row))
    return _truth(expression, row)


def _calendar(expression: DatePart | DateTrunc, day: date | None) -> Any:
    if day is None:
        return None
    if isinstance(expression, DatePart):
        return Fraction(_part(expression.part, day))
    return _start(expression.unit, day)


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if operator == "/":
        return Fraction(left) / Fraction(right)
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


def _bucket(value: Any, lower: Fraction, upper: Fraction, count: int) -> Any:
    if value is None:
        return None
    if value < lower:
        return Fraction(0)
    if value >= upper:
        return Fraction(count + 1)
    return Fraction(math.floor((value - lower) * count / (upper - lower)) + 1)


def _part(part: str, day: date) -> int:
    if part == "quarter":
        return -(-day.month // 3)
    if part == "week":
        return day.isocalendar()[1]
    if part == "dayofweek":
        return (day.weekday() + 1) % 7
    if part == "dayofyear":
        return (day - date(day.year, 1, 1)).days + 1
    return int(getattr(day, part))


def _start(unit: str, day: date) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "quarter":
        return date(day.year, 3 * ((day.month - 1) // 3) + 1, 1)
    parts = {"year": (day.year, 1, 1), "month": (day.year, day.month, 1)}
    return date(*parts.get(unit, (day.year, day.month, day.day)))


def _truth(expression: Any, row: dict[str, Any]) -> bool | None:
    """SQL's logic of three values."""
    match expression:
        case Compare(operator, left, right):
            return _compare(operator, evaluate(left, row), evaluate(right, row))
        case Junction("and", parts):
            found = [evaluate(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Junction("or", parts):
            found = [evaluate(part, row) for part in parts]
            return True if True in found else None if None in found else False
        case Negation(operand):
            inner = evaluate(operand, row)
            return None if inner is None else not inner
        case Member(operand, values):
            inner = evaluate(operand, row)
            return None if inner is None else any(inner == each.value for each in values)
        case IsNull(operand):
            return evaluate(operand, row) is None
    raise AssertionError(f"{expression} has no meaning on rows")


def _compare(operator: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if operator in ("=", "<>"):
        return bool((left == right) == (operator == "="))
    return bool(
        {
            "<": lambda: left < right,
            "<=": lambda: left <= right,
            ">": lambda: left > right,
            ">=": lambda: left >= right,
        }[operator]()
    )


def groups_of(query: Query, rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[Any]]:
    """The rows of every group that has some, by the values of its keys; WHERE applied."""
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        if query.where is None or evaluate(query.where, row) is True:
            found[tuple(evaluate(key.expression, row) for key in query.keys)].append(row)
    return found


def aggregate(each: Aggregate | Arithmetic, rows: list[dict[str, Any]]) -> Any:
    """An exact result; None where it has no meaning (no rows, or one for a sample)."""
    if isinstance(each, Arithmetic):
        return _arithmetic(each.operator, aggregate(each.left, rows), aggregate(each.right, rows))
    if each.statistic is Statistic.ROWS:
        return len(rows)
    if each.statistic is Statistic.UNITS:
        return len({row["$unit"] for row in rows})
    if each.second is not None:
        sides = [(evaluate(each.argument, row), evaluate(each.second, row)) for row in rows]
        return _pairs(each.statistic, [(y, x) for y, x in sides if None not in (y, x)])
    values = [v for row in rows if (v := evaluate(each.argument, row)) is not None]
    if each.statistic is Statistic.VALUES:
        return len(values)
    if each.statistic is Statistic.SUM:
        return sum(values, Fraction(0))
    return _moments(each.statistic, values)


def _moments(statistic: Statistic, values: list[Fraction]) -> Any:
    sample = statistic in (Statistic.VARIANCE_SAMPLE, Statistic.DEVIATION_SAMPLE)
    if len(values) < 1 + sample:
        return None
    mean = sum(values, Fraction(0)) / len(values)
    if statistic is Statistic.AVERAGE:
        return mean
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - sample)
    if statistic in (Statistic.DEVIATION_SAMPLE, Statistic.DEVIATION_POPULATION):
        return math.sqrt(variance)
    return variance


def _pairs(statistic: Statistic, pairs: list[tuple[Fraction, Fraction]]) -> Any:
    """By the textbook: sums of products of distances from the means."""
    count = len(pairs)
    if count < 1 + (statistic is not Statistic.COVARIANCE_POPULATION):
        return None
    means = [Fraction(sum(side)) / count for side in zip(*pairs, strict=True)]
    distances = [(y - means[0], x - means[1]) for y, x in pairs]
    products = sum(y * x for y, x in distances)
    if statistic is Statistic.COVARIANCE_POPULATION:
        return products / count
    if statistic is Statistic.COVARIANCE_SAMPLE:
        return products / (count - 1)
    squares_y, squares_x = (sum(d * d for d in side) for side in zip(*distances, strict=True))
    if not squares_x or (statistic is Statistic.CORRELATION and not squares_y):
        return None
    if statistic is Statistic.CORRELATION:
        return float(products) / (math.sqrt(squares_y) * math.sqrt(squares_x))
    slope = products / squares_x
    return slope if statistic is Statistic.SLOPE else means[0] - slope * means[1]


def decoded(table: Table, names: list[str], rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Prepared rows as exact values."""
    columns = {column.name: column for column in table.columns}
    return [
        {
            name: code if name == "$unit" else value_of(columns[name], code)
            for name, code in zip(names, row, strict=True)
        }
        for row in rows
    ]
