"""Expressions of a question, after parsing: frozen values over columns and over aggregates.
Knows no SQL text, no bounds and no data. Only total expressions can be written down.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction

__all__ = [
    "Aggregate",
    "Arithmetic",
    "Bucket",
    "Case",
    "Compare",
    "DatePart",
    "DateTrunc",
    "Expression",
    "Extreme",
    "Field",
    "Floor",
    "IntervalEnd",
    "IsNull",
    "Junction",
    "Literal",
    "Member",
    "Negation",
    "Statistic",
    "aggregates_of",
    "fields_of",
    "parts_of",
]

Value = Fraction | str | bool | date


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is SQL's NULL. TRUE and 1 are different constants."""

    value: Value | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the table, by its name in the schema."""

    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left + right, left - right, left * right, or left / right.

    Over columns, division is by a non-zero constant only. Over aggregates it is the noisy ratio.
    """

    operator: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Floor:
    """The largest integer at most the operand."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Extreme:
    """The "least" or "greatest" of numbers; missing if any of them is, in every engine."""

    side: str
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right, with =, <>, <, <=, > or >=."""

    operator: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Junction:
    """All ("and") or any ("or") of the parts."""

    operator: str
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """Not the operand."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Member:
    """Whether the operand equals one of the constants. LIKE on a category becomes this."""

    operand: "Expression"
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether the operand is missing."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition holds, else `otherwise`."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"


@dataclass(frozen=True, slots=True)
class DatePart:
    """year, quarter, month, week, day, dayofweek (Sunday is 0) or dayofyear of a date, an integer.

    Of a datetime also hour, minute and second.
    """

    part: str
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class DateTrunc:
    """The first day of the year, quarter, month, week (Monday) or day that holds a date.

    Of a datetime also the first second of its hour, minute or second.
    """

    unit: str
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Bucket:
    """WIDTH_BUCKET: 0 below lower, 1 to count in [lower, upper), count + 1 from upper on."""

    operand: "Expression"
    lower: Fraction
    upper: Fraction
    count: int


class Statistic(StrEnum):
    """The aggregates that can be asked for."""

    ROWS = "count(*)"
    VALUES = "count"
    UNITS = "count(distinct unit)"
    SUM = "sum"
    AVERAGE = "avg"
    VARIANCE_SAMPLE = "var_samp"
    VARIANCE_POPULATION = "var_pop"
    DEVIATION_SAMPLE = "stddev_samp"
    DEVIATION_POPULATION = "stddev_pop"
    COVARIANCE_SAMPLE = "covar_samp"
    COVARIANCE_POPULATION = "covar_pop"
    CORRELATION = "corr"
    SLOPE = "regr_slope"
    INTERCEPT = "regr_intercept"
    QUANTILE = "quantile"
    MINIMUM = "min"
    MAXIMUM = "max"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A statistic of an expression over the rows of a group; ROWS and UNITS have no argument.

    Covariance, correlation and regression take a second expression, as SQL does: y, then x.
    A quantile has its fraction, between 0 and 1.
    """

    statistic: Statistic
    argument: "Expression | None"
    second: "Expression | None" = None
    fraction: Fraction | None = None


@dataclass(frozen=True, slots=True)
class IntervalEnd:
    """The lower or upper end of the 95% interval of another output, by its name."""

    side: str
    output: str


Expression = (
    Literal
    | Field
    | Arithmetic
    | Floor
    | Extreme
    | Compare
    | Junction
    | Negation
    | Member
    | IsNull
    | Case
    | DatePart
    | DateTrunc
    | Bucket
    | Aggregate
    | IntervalEnd
)
"""Anything that can stand in a question. Which of them may stand where is the parser's business."""


def parts_of(expression: object) -> Iterator[object]:
    """What an expression, or a tuple of them, is made of, one step down.

    >>> list(parts_of(Field("age")))
    ['age']
    """
    if isinstance(expression, tuple):
        yield from expression
    elif is_dataclass(expression) and not isinstance(expression, type):
        for field in fields(expression):
            yield getattr(expression, field.name)


def aggregates_of(expression: object) -> Iterator[Aggregate]:
    """Every aggregate in an expression, or in a tuple of them, from left to right."""
    if isinstance(expression, Aggregate):
        yield expression
        return
    for part in parts_of(expression):
        yield from aggregates_of(part)


def fields_of(expression: object) -> Iterator[str]:
    """The names of all columns in an expression, or in a tuple of them.

    >>> list(fields_of(Compare(">", Field("age"), Literal(Fraction(40)))))
    ['age']
    """
    if isinstance(expression, Field):
        yield expression.name
    for part in parts_of(expression):
        yield from fields_of(part)
