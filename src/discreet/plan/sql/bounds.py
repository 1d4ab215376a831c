"""Bounded integers: an engine expression, the limits between which it lies, and the type that
holds it. Knows bounds, never data.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import UnsafeQuery
from discreet.plan.sql.dialects import DUCKDB, Dialect

__all__ = ["Bounded", "LARGEST", "cast", "check_length", "floor_value"]

LARGEST = 1 << 90
"""No expression reaches this many steps, which leaves a 128-bit sum room for 2**37 rows."""

_FINEST = 10**100  # a step and its inverse; squares of it are still finite floats
_LONGEST = 1_000_000  # characters of SQL


@dataclass(frozen=True, slots=True)
class Bounded:
    """An engine expression that is an integer k in [lower, upper] or NULL; it stands for k *
    step.
    """

    sql: str
    kind: str  # number, date, boolean or category
    step: Fraction
    lower: int
    upper: int
    labels: tuple[str, ...]
    missing: str  # "never" or "possible"
    dialect: Dialect = DUCKDB

    def __post_init__(self) -> None:
        if self.reach >= LARGEST:
            raise UnsafeQuery(
                f"an expression can reach 2**{self.reach.bit_length()} "
                "lattice steps; the limit is 2**90. Use smaller factors or a coarser step. "
                "Nothing was run or charged."
            )
        if max(self.step.numerator, self.step.denominator) > _FINEST:
            raise UnsafeQuery(
                "an expression has a lattice step above 10**100 or below 10**-100. Multiply and "
                "divide by less. Nothing was run or charged."
            )
        check_length(len(self.sql))

    @property
    def reach(self) -> int:
        """The largest absolute value of k."""
        return max(abs(self.lower), abs(self.upper))

    @property
    def wide(self) -> str:
        """The expression in a type where arithmetic cannot overflow.

        >>> Bounded('"age"', "number", Fraction(1), 0, 110, (), "never").wide
        'CAST("age" AS BIGINT)'
        """
        return cast(self.reach, self.sql, self.dialect)

    @property
    def total(self) -> str:
        """The sum over the rows of a group, in a type where it cannot overflow."""
        return self.dialect.total(self.sql, self.reach)

    def times(self, factor: int) -> "Bounded":
        """The same value on a lattice `factor` times finer.

        >>> Bounded('"age"', "number", Fraction(1), 0, 110, (), "never").times(10).step
        Fraction(1, 10)
        """
        if factor == 1:
            return self
        finer = replace(
            self, lower=self.lower * factor, upper=self.upper * factor, step=self.step / factor
        )
        return replace(finer, sql=f"({cast(finer.reach, self.sql, self.dialect)} * {factor})")


def check_length(characters: int) -> None:
    """Refuse SQL so long that an engine would choke on it.

    >>> check_length(2_000_000)
    Traceback (most recent call last):
    discreet.errors.UnsafeQuery: an expression needs more than 1,000,000 characters of SQL. \
Nest less deeply. Nothing was run or charged.
    """
    if characters > _LONGEST:
        raise UnsafeQuery(
            f"an expression needs more than {_LONGEST:,} characters of SQL. "
            "Nest less deeply. Nothing was run or charged."
        )


def cast(reach: int, sql: str, dialect: Dialect = DUCKDB) -> str:
    """The expression in a type that holds every integer up to `reach`.

    >>> cast(2**70, '"x"')
    'CAST("x" AS HUGEINT)'
    """
    return f"CAST({sql} AS {dialect.integer(reach)})"


def floor_value(value: Bounded) -> Bounded:
    """The largest whole number at most k * a / b: a division of what cannot be negative.

    >>> floor_value(Bounded('"x"', "number", Fraction(1, 2), 0, 9, (), "never")).sql
    '((CAST("x" AS BIGINT) - 0) // 2 + 0)'
    """
    if value.step.denominator == 1:
        return value.times(value.step.numerator)
    fine = value.times(value.step.numerator)
    divisor = value.step.denominator
    low, high = fine.lower // divisor, fine.upper // divisor
    # Everything that stands in the division, so that its type holds all of it.
    reach = max(fine.reach, abs(low * divisor), fine.upper - low * divisor, divisor)
    if reach >= LARGEST:
        raise UnsafeQuery(
            f"FLOOR of a lattice step of 1/{divisor:.3g}; the limit is 2**-90. "
            "Divide by less. Nothing was run or charged."
        )
    dividend = f"({cast(reach, fine.sql, value.dialect)} - {low * divisor})"
    sql = f"({value.dialect.quotient(dividend, divisor, high - low)} + {low})"
    return replace(fine, sql=sql, step=Fraction(1), lower=low, upper=high)
