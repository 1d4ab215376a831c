"""What a dialect of SQL has to say so that plans can be written in it. Knows SQL, never data.
Identifiers are written in double quotes in every dialect. Whatever is made here is total.
"""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Dialect", "joined", "paired_in_full"]

_SMALL = 1 << 62


def joined(kind: str, columns: str, left: str, right: str, on: str) -> str:
    """A join of two relations.

    >>> joined("inner", "a, b", "l", "r", "a = b")
    'SELECT a, b FROM l INNER JOIN r ON a = b'
    """
    return f"SELECT {columns} FROM {left} {kind.upper()} JOIN {right} ON {on}"


def paired_in_full(columns: str, left: str, right: str, on: str, fence: str = "") -> str:
    """An inner join that reads both sides to their ends: a full join, filtered afterwards.

    `fence` is what keeps an optimizer from seeing that rows without a match are left out again.
    >>> print(paired_in_full("a, b", "l", "r", "a = b", fence=" OFFSET 0").partition(" FROM ")[2])
    (SELECT a, b, "$here", "$there" FROM (SELECT *, 1 AS "$here" FROM l) AS here FULL JOIN \
(SELECT *, 1 AS "$there" FROM r) AS there ON a = b OFFSET 0) AS met WHERE "$here" = 1 AND \
"$there" = 1
    """
    here = f'(SELECT *, 1 AS "$here" FROM {left}) AS here'
    there = f'(SELECT *, 1 AS "$there" FROM {right}) AS there'
    met = f'SELECT {columns}, "$here", "$there" FROM {here} FULL JOIN {there} ON {on}{fence}'
    return f'SELECT {columns} FROM ({met}) AS met WHERE "$here" = 1 AND "$there" = 1'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes integers, conditions, days, sums and hashes.

    `wide` is an integer type beyond 64 bits, `null` a missing integer, `unknown` a condition that
    is neither true nor false, `boolean` the type that a condition takes as an integer.
    `quotient` divides a number from 0 on by a positive constant and cuts off; it is told how far
    the result reaches. `date_part` and `date_start` take a name and a day number. `sum_type` is
    the type in which numbers up to a reach add up without overflow, `hash_of` the md5 of a text.
    `looked_up` joins a private and a public relation so that the public one is read whole, even
    where the private one is empty: it takes a kind, columns, both relations and a condition;
    `paired` joins two private ones so that each is read whole where the other is empty.
    >>> from discreet.plan.sql.dialects.spark import SPARK
    >>> SPARK.wide
    'DECIMAL(38,0)'
    """

    name: str
    wide: str
    string: str
    null: str
    unknown: str
    boolean: str
    quotient: Callable[[str, int, int], str]
    date_part: Callable[[str, str], str]
    date_start: Callable[[str, str], str]
    sum_type: Callable[[int], str]
    hash_of: Callable[[str], str]
    literal: Callable[[str], str]
    derived: Callable[[str, str], str]
    looked_up: Callable[[str, str, str, str, str], str]
    paired: Callable[[str, str, str, str], str]

    def integer(self, reach: int) -> str:
        """The integer type that holds every k with |k| <= reach, below 2**90.

        >>> from discreet.plan.sql.dialects.duckdb import DUCKDB
        >>> DUCKDB.integer(7), DUCKDB.integer(2**70)
        ('BIGINT', 'HUGEINT')
        """
        return "BIGINT" if reach < _SMALL else self.wide

    def truth(self, condition: str) -> str:
        """A condition as 1, 0 or NULL.

        >>> from discreet.plan.sql.dialects.postgresql import POSTGRESQL
        >>> POSTGRESQL.truth("TRUE")
        'CAST(TRUE AS INTEGER)'
        """
        return f"CAST({condition} AS {self.boolean})"

    def total(self, sql: str, reach: int) -> str:
        """The sum of integers up to `reach`, in a type that cannot overflow.

        >>> from discreet.plan.sql.dialects.spark import SPARK
        >>> SPARK.total("x", 2**40)
        'SUM(CAST(x AS DECIMAL(28,0)))'
        """
        kind = self.sum_type(reach)
        return f"SUM(CAST({sql} AS {kind}))" if kind else f"SUM({sql})"

    def text(self, sql: str) -> str:
        """An integer as text; a missing one is empty.

        >>> from discreet.plan.sql.dialects.duckdb import DUCKDB
        >>> DUCKDB.text("x")
        "coalesce(CAST(x AS VARCHAR), '')"
        """
        return f"coalesce(CAST({sql} AS {self.string}), '')"

    def hashed(self, unit: str, texts: list[str], mark: str) -> str:
        """The md5 of a unit and texts joined by a mark: the same order in every engine.

        >>> from discreet.plan.sql.dialects.duckdb import DUCKDB
        >>> DUCKDB.hashed('"$unit"', ["a", "b"], "'|'")
        'md5(CAST("$unit" AS VARCHAR) || \\'|\\' || a || \\'|\\' || b)'
        """
        parts = [f"CAST({unit} AS {self.string})", *texts]
        return self.hash_of(f" || {mark} || ".join(parts))
