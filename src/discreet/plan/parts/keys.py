"""Which groups a question has: every key that public bounds allow, whether or not data holds it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import product
from math import prod

from discreet.errors import UnsafeQuery
from discreet.plan.sql import calendar
from discreet.plan.sql.expressions import bounded
from discreet.query.algebra import DateTrunc, Field, Key
from discreet.schema.column import MIDNIGHT, Column

__all__ = ["Code", "KeyDomain", "Label", "check_groups", "domain", "groups", "label"]

Label = int | float | str | bool | date
"""What a key is called in an answer."""

Code = int | str
"""What a key is in the engine: a lattice integer, or the text itself where keys are private."""


@dataclass(frozen=True, slots=True)
class KeyDomain:
    """The values one GROUP BY expression can take: engine codes and what they are called.

    A domain of private keys has no codes: they become known only through a release.
    """

    name: str
    sql: str
    codes: tuple[int, ...]
    labels: tuple[Label, ...]

    @property
    def private(self) -> bool:
        """Whether the keys are not known in advance."""
        return not self.codes

    def name_codes(self, codes: Iterable[Code]) -> list[Label]:
        """What these codes are called.

        >>> KeyDomain("region", '"region"', (0, 1), ("north", "south")).name_codes([1, 1])
        ['south', 'south']
        """
        if self.private:
            return list(codes)
        known = dict(zip(self.codes, self.labels, strict=True))
        return [known[int(code)] for code in codes]


def domain(key: Key, columns: Mapping[str, Column], *, limit: int) -> KeyDomain:
    """The values of a key, from the declared bounds of the columns in it."""
    if isinstance(key.expression, Field) and columns[key.expression.name].private_keys:
        return KeyDomain(key.name, f'"{key.expression.name}"', (), ())
    value = bounded(key.expression, columns)
    first, last = value.lower, value.upper
    if isinstance(key.expression, DateTrunc) and value.kind == "date":
        # The bounds are themselves first days, of a date and of a datetime alike.
        _check_count(key, calendar.units_between(key.expression.unit, first, last), limit)
        codes = calendar.starts(key.expression.unit, first, last)
    else:
        if value.kind == "category":
            first, last = 0, len(value.labels) - 1
        _check_count(key, last - first + 1, limit)
        codes = list(range(first, last + 1))
    labels = tuple(label(value.kind, value.labels, value.step, code) for code in codes)
    return KeyDomain(key.name, value.sql, tuple(codes), labels)


def _check_count(key: Key, count: int, limit: int) -> None:
    if count > limit:
        raise UnsafeQuery(
            f"GROUP BY {key.name} has {count:,} public keys; the limit is "
            f"{limit:,}. Use buckets such as FLOOR(x/10) or DATE_TRUNC. Nothing was charged."
        )


def label(kind: str, labels: tuple[str, ...], step: Fraction, code: int) -> Label:
    """What a lattice integer of this kind is called.

    >>> label("number", (), Fraction(1, 2), 3), label("boolean", (), Fraction(1), 1)
    (1.5, True)
    """
    if kind == "category":
        return labels[code]
    if kind == "boolean":
        return bool(code)
    if kind == "date":
        return calendar.day_of(code)
    if kind == "datetime":
        return MIDNIGHT + timedelta(microseconds=int(code * step * 10**6))
    whole, rest = divmod(code * step.numerator, step.denominator)
    return code * step.numerator / step.denominator if rest else whole


def groups(domains: tuple[KeyDomain, ...], *, limit: int) -> tuple[tuple[int, ...], ...]:
    """All combinations of codes, in the order of the result; none while keys are private."""
    if any(domain.private for domain in domains):
        return ()
    check_groups(domains, limit=limit)
    return tuple(product(*(domain.codes for domain in domains)))


def check_groups(domains: tuple[KeyDomain, ...], *, limit: int) -> None:
    """Refuse more public groups than the limit, without listing them."""
    count = prod(len(domain.codes) for domain in domains if not domain.private)
    if count > limit and not any(domain.private for domain in domains):
        raise UnsafeQuery(
            f"the question has {count:,} groups; the limit is {limit:,}. "
            "Group by fewer or coarser keys. Nothing was charged."
        )
