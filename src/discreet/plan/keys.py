"""Which groups a question has: every key that public bounds allow, whether or not data holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import product
from math import prod

from discreet.errors import UnsafeQuery
from discreet.plan import calendar
from discreet.plan.bounds import Bounded
from discreet.plan.expressions import bounded
from discreet.query.algebra import DateTrunc, Key
from discreet.schema.column import Column

__all__ = ["Domain", "Label", "domain", "groups"]

Label = int | float | str | bool | date
"""What a key is called in an answer."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The values one GROUP BY expression can take: engine codes and what they are called.

    Privacy: none (touches no data).
    >>> Domain("region", '"region"', (0, 1), ("north", "south")).labels
    ('north', 'south')
    """

    name: str
    sql: str
    codes: tuple[int, ...]
    labels: tuple[Label, ...]


def domain(key: Key, columns: Mapping[str, Column], *, limit: int) -> Domain:
    """The values of a key, from the declared bounds of the columns in it.

    Privacy: none (touches no data).
    >>> from fractions import Fraction
    >>> from discreet.query.algebra import Literal
    >>> domain(Key("yes", Literal(True)), {}, limit=10).labels
    (True,)
    """
    value = bounded(key.expression, columns)
    if isinstance(key.expression, DateTrunc):
        operand = bounded(key.expression.operand, columns)
        count = calendar.units_between(key.expression.unit, operand.lower, operand.upper)
        _check_count(key, count, limit)
        codes = calendar.starts(key.expression.unit, operand.lower, operand.upper)
    else:
        first, last = value.lower, value.upper
        if value.kind == "category":
            first, last = 0, len(value.labels) - 1
        _check_count(key, last - first + 1, limit)
        codes = list(range(first, last + 1))
    return Domain(key.name, value.sql, tuple(codes), tuple(_label(value, code) for code in codes))


def _check_count(key: Key, count: int, limit: int) -> None:
    if count > limit:
        raise UnsafeQuery(
            f"GROUP BY {key.name} has {count:,} public keys; the limit is "
            f"{limit:,}. Use buckets such as FLOOR(x/10) or DATE_TRUNC. Nothing was charged."
        )


def _label(value: Bounded, code: int) -> Label:
    if value.kind == "category":
        return value.labels[code]
    if value.kind == "boolean":
        return bool(code)
    if value.kind == "date":
        return calendar.day_of(code)
    number = code * value.step
    return int(number) if number.denominator == 1 else float(number)


def groups(domains: tuple[Domain, ...], *, limit: int) -> tuple[tuple[int, ...], ...]:
    """All combinations of codes, in the order of the result.

    Privacy: none (touches no data).
    >>> groups((), limit=10)
    ((),)
    """
    count = prod(len(domain.codes) for domain in domains)
    if count > limit:
        raise UnsafeQuery(
            f"the question has {count:,} groups; the limit is {limit:,}. "
            "Group by fewer or coarser keys. Nothing was charged."
        )
    return tuple(product(*(domain.codes for domain in domains)))
