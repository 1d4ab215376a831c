"""An expression over rows as the text of a question: what is read from it is the expression again.
For questions that are offered to people; nothing here is run.
"""

from datetime import date, datetime
from fractions import Fraction

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
from discreet.rationals import decimal_text
from discreet.schema.names import sql_name

__all__ = ["conjunction", "written"]


def written(expression: Expression) -> str:
    """The expression as SQL; columns stand by their own names, of one table.

    >>> written(Compare(">", Field("select"), Literal(Fraction(-5, 2))))
    '"select" > -2.5'
    """
    match expression:
        case Literal(value):
            return _constant(value)
        case Field(name):
            return sql_name(name)
        case Arithmetic(operator, left, right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case Floor(operand):
            return f"FLOOR({written(operand)})"
        case Extreme(side, parts):
            return f"{side.upper()}({', '.join(map(written, parts))})"
        case Bucket(operand, lower, upper, count):
            ends = f"{_constant(lower)}, {_constant(upper)}"
            return f"WIDTH_BUCKET({written(operand)}, {ends}, {count})"
        case DatePart(part, operand):
            return f"EXTRACT({part.upper()} FROM {written(operand)})"
        case DateTrunc(unit, operand):
            return f"DATE_TRUNC('{unit}', {written(operand)})"
        case Case(branches, otherwise):
            arms = " ".join(
                f"WHEN {written(test)} THEN {written(value)}" for test, value in branches
            )
            return f"CASE {arms} ELSE {written(otherwise)} END"
        case _:
            return _condition(expression)


def conjunction(*conditions: str) -> str:
    """All of these conditions, as SQL; empty ones are left out.

    >>> conjunction("", "a = 1 OR b = 1"), conjunction("a = 1", "b = 1 OR c = 1")
    ('a = 1 OR b = 1', '(a = 1) AND (b = 1 OR c = 1)')
    """
    stated = [condition for condition in conditions if condition]
    return stated[0] if len(stated) == 1 else " AND ".join(f"({condition})" for condition in stated)


def _condition(expression: Expression) -> str:
    match expression:
        case Compare(operator, left, right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case Junction(operator, parts):
            return f" {operator.upper()} ".join(map(_inner, parts))
        case Negation(operand):
            return f"NOT ({written(operand)})"
        case Member(operand, values):
            return f"{_inner(operand)} IN ({', '.join(map(written, values))})"
        case IsNull(operand):
            return f"{_inner(operand)} IS NULL"
    raise TypeError(f"{type(expression).__name__} is no expression over rows")


def _inner(expression: Expression) -> str:
    """As a part of a larger expression."""
    text = written(expression)
    alone = isinstance(
        expression, Literal | Field | Floor | Extreme | Bucket | DatePart | DateTrunc
    )
    return text if alone else f"({text})"


def _constant(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case Fraction():
            return decimal_text(value) or f"({value.numerator} / {value.denominator})"
        case datetime():
            return f"TIMESTAMP '{value}'"
        case date():
            return f"DATE '{value}'"
    text = str(value).replace("'", "''")
    return f"'{text}'"
