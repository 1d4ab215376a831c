"""Column expressions as bounded integers: what the engine computes, and between which limits.
Every expression is total: no operation here can fail on any row. Knows bounds, never data.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import reduce

from discreet.errors import UnsafeQuery, with_article
from discreet.plan.sql import calendar
from discreet.plan.sql.bounds import Bounded, cast, check_length, floor_value
from discreet.plan.sql.dialects import DUCKDB, Dialect, dialect_of
from discreet.plan.sql.periods import period
from discreet.query.algebra import (
    Arithmetic,
    Bucket,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Expression,
    Extreme,
    Field,
    Floor,
    IsNull,
    Junction,
    Literal,
    Member,
    Negation,
)
from discreet.schema.column import MIDNIGHT, Column
from discreet.schema.table import Table

__all__ = ["Scope", "bounded", "condition", "scope"]


_CONSTANT = "0"  # the code of a text constant, the only one of its labels
_DAY = Fraction(86_400)


@dataclass(frozen=True, slots=True)
class Scope(Mapping[str, Column]):
    """Columns by name, and the dialect in which they are written."""

    columns: Mapping[str, Column]
    dialect: Dialect

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def _dialect(columns: Mapping[str, Column]) -> Dialect:
    return columns.dialect if isinstance(columns, Scope) else DUCKDB


def _operation(operator: str, result: Bounded, left: Bounded, right: Bounded) -> Bounded:
    """The result with its SQL, in a type that holds it and both operands."""
    reach = max(result.reach, left.reach, right.reach)
    dialect = result.dialect
    sql = f"({cast(reach, left.sql, dialect)} {operator} {cast(reach, right.sql, dialect)})"
    return replace(result, sql=sql)


def scope(table: Table, dialect: str = "duckdb") -> Scope:
    """The columns of a table by name, for the dialect of an engine."""
    return Scope({column.name: column for column in table.columns}, dialect_of(dialect))


def bounded(expression: Expression, columns: Mapping[str, Column]) -> Bounded:
    """Translate a column expression; columns that are no `Scope` are DuckDB's.

    >>> bounded(Literal(Fraction(5, 2)), {}).step
    Fraction(1, 2)
    """
    match expression:
        case Literal():
            return _literal(expression, _dialect(columns))
        case Field(name):
            return _field(columns[name], _dialect(columns))
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, bounded(left, columns), bounded(right, columns))
        case Floor(operand):
            return floor_value(_number(bounded(operand, columns), "FLOOR"))
        case Extreme(side, parts):
            return _extreme(side, [bounded(part, columns) for part in parts])
        case Bucket():
            return _bucket(expression, columns)
        case Case():
            return _case(expression, columns)
        case DatePart() | DateTrunc():
            return period(expression, bounded(expression.operand, columns))
        case Compare() | Junction() | Negation() | Member() | IsNull():
            dialect = _dialect(columns)
            sql = dialect.truth(condition(expression, columns))
            return Bounded(sql, "boolean", Fraction(1), 0, 1, (), "possible", dialect)
    raise UnsafeQuery(f"{type(expression).__name__} cannot be used on rows.")


def _literal(literal: Literal, dialect: Dialect) -> Bounded:
    value = literal.value
    if value is None:
        return Bounded(dialect.null, "null", Fraction(1), 0, 0, (), "possible", dialect)
    if isinstance(value, bool):
        k = int(value)
        return Bounded(str(k), "boolean", Fraction(1), k, k, (), "never", dialect)
    if isinstance(value, datetime):
        k = (value - MIDNIGHT) // timedelta(microseconds=1)
        return Bounded(f"({k})", "datetime", Fraction(1, 10**6), k, k, (), "never", dialect)
    if isinstance(value, date):
        k = calendar.day_number(value)
        return Bounded(str(k), "date", Fraction(1), k, k, (), "never", dialect)
    if isinstance(value, str):
        return Bounded(_CONSTANT, "category", Fraction(1), 0, 0, (value,), "never", dialect)
    k, step = value.numerator, Fraction(1, value.denominator)
    return Bounded(f"({k})", "number", step, k, k, (), "never", dialect)


def _field(column: Column, dialect: Dialect) -> Bounded:
    kind = {"integer": "number"}.get(column.kind, column.kind)
    labels = column.keys
    if column.other:
        labels = (*labels, "other")
    missing = "possible" if column.nullable else "never"
    if column.private_keys:
        kind = "text"  # the engine has the text itself, not a code
    sql = f'"{column.name}"'
    return Bounded(sql, kind, column.step, column.lower, column.upper, labels, missing, dialect)


def _number(value: Bounded, where: str) -> Bounded:
    if value.kind not in ("number", "null"):
        raise UnsafeQuery(
            f"{where} needs a number, not {with_article(value.kind)}. Nothing was charged."
        )
    return value


def _missing(*parts: Bounded) -> str:
    return "never" if all(part.missing == "never" for part in parts) else "possible"


def _align(*parts: Bounded) -> tuple[Bounded, ...]:
    """The same values on one common lattice."""
    steps = [part.step for part in parts if part.kind != "null"] or [Fraction(1)]
    common = reduce(_common_step, steps)
    return tuple(
        replace(part, step=common) if part.kind == "null" else part.times(int(part.step / common))
        for part in parts
    )


def _common_step(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(
        math.gcd(left.numerator * right.denominator, right.numerator * left.denominator),
        left.denominator * right.denominator,
    )


def _arithmetic(operator: str, left: Bounded, right: Bounded) -> Bounded:
    _number(left, f"'{operator}'")
    _number(right, f"'{operator}'")
    missing, dialect = _missing(left, right), left.dialect
    if operator == "/":
        return _divide(left, right)
    if operator == "*":
        corners = [a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
        step, low, high = left.step * right.step, min(corners), max(corners)
        product = Bounded("", "number", step, low, high, (), missing, dialect)
        return _operation("*", product, left, right)
    left, right = _align(left, right)
    low, high = (
        (left.lower + right.lower, left.upper + right.upper)
        if operator == "+"
        else (left.lower - right.upper, left.upper - right.lower)
    )
    total = Bounded("", "number", left.step, low, high, (), missing, dialect)
    return _operation(operator, total, left, right)


def _divide(left: Bounded, right: Bounded) -> Bounded:
    divisor = right.lower * right.step
    if right.lower != right.upper or divisor == 0 or right.missing != "never":
        raise UnsafeQuery("division on rows is by a non-zero constant only.")
    if divisor > 0:
        return replace(left, step=left.step / divisor)
    flipped = replace(left, lower=-left.upper, upper=-left.lower, step=left.step / -divisor)
    return replace(flipped, sql=f"(-{left.wide})")


def _extreme(side: str, values: list[Bounded]) -> Bounded:
    """The least or greatest; the engines' own functions skip NULL, so it is tested for first."""
    for value in values:
        _number(value, side.upper())
    values = list(_align(*values))
    best = min if side == "least" else max
    low, high = best(v.lower for v in values), best(v.upper for v in values)
    first = values[0]
    extreme = Bounded("", "number", first.step, low, high, (), _missing(*values), first.dialect)
    parts = [cast(max(v.reach for v in values), v.sql, v.dialect) for v in values]
    sql = f"{side.upper()}({', '.join(parts)})"
    if extreme.missing != "never":
        tests = [f"{v.sql} IS NOT NULL" for v in values if v.missing != "never"]
        sql = f"CASE WHEN {' AND '.join(tests)} THEN {sql} END"
    return replace(extreme, sql=sql)


def _bucket(bucket: Bucket, columns: Mapping[str, Column]) -> Bounded:
    value = _number(bounded(bucket.operand, columns), "WIDTH_BUCKET")
    width = (bucket.upper - bucket.lower) / bucket.count
    shifted = _arithmetic("-", value, _literal(Literal(bucket.lower), value.dialect))
    inner = floor_value(_divide(shifted, _literal(Literal(width), value.dialect)))
    count = bucket.count
    sql = (
        f"CASE WHEN {inner.sql} < 0 THEN 0 WHEN {inner.sql} >= {count} THEN {count + 1} "
        f"ELSE {inner.sql} + 1 END"
    )
    lower = min(max(inner.lower + 1, 0), count + 1)
    upper = min(max(inner.upper + 1, 0), count + 1)
    sql = f"CASE WHEN {inner.sql} IS NOT NULL THEN ({sql}) END"
    return replace(inner, sql=sql, lower=lower, upper=upper)


def _case(case: Case, columns: Mapping[str, Column]) -> Bounded:
    conditions = [condition(test, columns) for test, _ in case.branches]
    values = [bounded(value, columns) for _, value in case.branches]
    values.append(bounded(case.otherwise, columns))
    kinds = {value.kind for value in values} - {"null"}
    if "text" in kinds:  # no cast of a text is total
        raise UnsafeQuery("CASE yields a category with private keys; group by the column itself.")
    if len(kinds) > 1:
        raise UnsafeQuery(f"CASE mixes {' and '.join(sorted(kinds))}; use one type.")
    kind = kinds.pop() if kinds else "null"
    if kind == "category":
        values = list(_relabel(values))
    values = list(_align(*values))
    known = [value for value in values if value.kind != "null"] or values
    joined = Bounded(
        "",
        kind,
        known[0].step,
        min(value.lower for value in known),
        max(value.upper for value in known),
        known[0].labels,
        _missing(*values),
        _dialect(columns),
    )
    *parts, otherwise = (cast(joined.reach, value.sql, joined.dialect) for value in values)
    arms = "".join(
        f" WHEN {test} THEN {part}" for test, part in zip(conditions, parts, strict=True)
    )
    return replace(joined, sql=f"CASE{arms} ELSE {otherwise} END")


def _relabel(values: list[Bounded]) -> list[Bounded]:
    """The same categories with codes into one list of labels."""
    labels = tuple(dict.fromkeys(label for value in values for label in value.labels))
    renamed = []
    for value in values:
        if value.kind == "null":
            renamed.append(replace(value, labels=labels))
            continue
        codes = [labels.index(label) for label in value.labels]
        if codes == list(range(len(codes))):
            sql = value.sql
        elif value.sql == _CONSTANT:
            sql = str(codes[0])
        else:
            arms = "".join(f" WHEN {old} THEN {new}" for old, new in enumerate(codes))
            sql = f"CASE {value.sql}{arms} END"
        renamed.append(replace(value, sql=sql, labels=labels, lower=min(codes), upper=max(codes)))
    return renamed


def condition(expression: Expression, columns: Mapping[str, Column]) -> str:
    """Translate a condition into an engine expression that is true, false or NULL.

    >>> condition(Compare("=", Literal(Fraction(1)), Literal(Fraction(2))), {})
    '((1) = (2))'
    """
    match expression:
        case Compare(operator, left, right):
            return _comparison(operator, bounded(left, columns), bounded(right, columns))
        case Junction(operator, parts):
            joined = f" {operator.upper()} ".join(condition(part, columns) for part in parts)
            return f"({joined})"
        case Negation(operand):
            return f"(NOT {condition(operand, columns)})"
        case Member(operand, values):
            subject = bounded(operand, columns)
            check_length(len(subject.sql) * len(values))
            constants = (_literal(value, subject.dialect) for value in values)
            tests = [_comparison("=", subject, constant) for constant in constants]
            return f"({' OR '.join(tests)})"
        case IsNull(operand):
            return f"({bounded(operand, columns).sql} IS NULL)"
        case Literal(constant) if isinstance(constant, bool) or constant is None:
            return _dialect(columns).unknown if constant is None else str(constant).upper()
    value = bounded(expression, columns)
    if value.kind != "boolean":
        raise UnsafeQuery(
            f"a condition is needed here, not {with_article(value.kind)}. Nothing was charged."
        )
    return f"({value.sql} = 1)"


def _comparison(operator: str, left: Bounded, right: Bounded) -> str:
    if "null" in (left.kind, right.kind):
        return left.dialect.unknown  # SQL: a comparison with NULL is never true
    if {left.kind, right.kind} == {"date", "datetime"}:
        left, right = _moment(left), _moment(right)
    if "text" in (left.kind, right.kind):
        return _same_text(operator, left, right)
    if left.kind != right.kind:
        raise UnsafeQuery(
            f"{with_article(left.kind)} cannot be compared with {with_article(right.kind)}."
        )
    if left.kind == "category":
        if operator not in ("=", "<>"):
            raise UnsafeQuery(f"'{operator}' on categories; use =, <> or IN.")
        left, right = _relabel([left, right])
    left, right = _align(left, right)
    return f"({left.sql} {operator} {right.sql})"


def _same_text(operator: str, left: Bounded, right: Bounded) -> str:
    """Texts with private keys, byte by byte: with one another, or with a constant."""
    sides = []
    for side in (left, right):
        constant = side.kind == "category" and side.sql == _CONSTANT
        if side.kind != "text" and not constant:
            raise UnsafeQuery(
                f"a text whose keys are private cannot be compared with {with_article(side.kind)}. "
                "Compare it with a constant. Nothing was charged."
            )
        if constant and "\0" in side.labels[0]:
            raise UnsafeQuery("a text constant holds a zero byte. Nothing was charged.")
        sides.append(side.dialect.literal(side.labels[0]) if constant else side.sql)
    if operator not in ("=", "<>"):
        raise UnsafeQuery(f"'{operator}' on texts; use =, <> or IN.")
    return f"({sides[0]} {operator} {sides[1]})"


def _moment(value: Bounded) -> Bounded:
    """A day as the second it begins with: the same integer on a lattice of days."""
    return value if value.kind == "datetime" else replace(value, kind="datetime", step=_DAY)
