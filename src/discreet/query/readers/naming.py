"""Names of result columns: the analyst's aliases, or names made from the expression.
The same question always gives the same names, and no two are equal.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Bucket,
    Case,
    DatePart,
    DateTrunc,
    Expression,
    Extreme,
    Field,
    Floor,
    IntervalEnd,
    Statistic,
)

__all__ = ["check_alias", "default_name", "free_name"]

_LONGEST = 128
_AS_THEY_ARE: Mapping[str, str] = MappingProxyType({})
_STATISTICS = {Statistic.ROWS: "count", Statistic.UNITS: "count_units"}


def check_alias(name: str) -> str:
    """The alias, if it can head a column."""
    if not name.strip() or len(name) > _LONGEST or not name.isprintable():
        raise UnsafeQuery(
            f"the alias {name[:60]!r} cannot name a column: use 1 to {_LONGEST} printable "
            "characters."
        )
    return name


def _percent(share: Fraction) -> str:
    if share == Fraction(1, 2):
        return "median"
    return f"p{100 * float(share):.10g}".replace(".", "_").replace("-", "_").replace("+", "_")


def _join_names(head: str, operand: Expression | None, spelt: Mapping[str, str]) -> str:
    inner = default_name(operand, spelt) if operand is not None else ""
    return head if inner in ("", "value") else f"{head}_{inner}"[:_LONGEST]


def default_name(expression: Expression, spelt: Mapping[str, str] = _AS_THEY_ARE) -> str:
    """A name for a result column without an alias; `spelt` has the analyst's names of columns.

    >>> default_name(Aggregate(Statistic.AVERAGE, Field("income")))
    'avg_income'
    """
    match expression:
        case Field(name):
            return spelt.get(name, name)
        case Aggregate(Statistic.QUANTILE, argument, _, Fraction() as share):
            return _join_names(_percent(share), argument, spelt)
        case Aggregate(statistic, argument, second):
            first = _join_names(_STATISTICS.get(statistic, statistic.value), argument, spelt)
            return _join_names(first, second, spelt)
        case Extreme(side, parts):
            return _join_names(side, parts[0], spelt)
        case DatePart(head, operand) | DateTrunc(head, operand):
            return _join_names(head, operand, spelt)
        case Floor(Arithmetic("/", operand, _)) | Floor(operand):
            return _join_names("floor", operand, spelt)
        case Bucket(operand):
            return _join_names("bucket", operand, spelt)
        case Case():
            return "case"
        case IntervalEnd(side, output):
            return f"dp_interval_{side}_{output}"[:_LONGEST]
    return "value"


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or the name with the first number that makes it new; capitals do not count.

    >>> free_name("count", ["Count", "count_2"])
    'count_3'
    """
    folded = {name.casefold() for name in taken}
    new, number = name, 1
    while new.casefold() in folded:
        number += 1
        new = f"{name}_{number}"
    return new
