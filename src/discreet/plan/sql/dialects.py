"""The dialects of SQL that plans are written in: DuckDB's, which is the default, PostgreSQL's and
Spark's in ANSI mode. They know SQL, never data. Identifiers are written in double quotes in every
dialect, texts are compared byte by byte, and an overflow is never another number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from discreet.errors import InvalidValue
from discreet.schema.column import Column

__all__ = [
    "DIALECTS",
    "DUCKDB",
    "Dialect",
    "POSTGRESQL",
    "SPARK",
    "dialect_of",
    "join_in_full",
    "join_relations",
    "quote_column",
]

_SMALL = 1 << 62


def quote_column(column: Column) -> str:
    """The name of a column as every dialect writes it."""
    return f'"{column.name}"'


def join_relations(kind: str, columns: str, left: str, right: str, on: str) -> str:
    """A join of two relations.

    >>> join_relations("inner", "a, b", "l", "r", "a = b")
    'SELECT a, b FROM l INNER JOIN r ON a = b'
    """
    return f"SELECT {columns} FROM {left} {kind.upper()} JOIN {right} ON {on}"


def join_in_full(kind: str, columns: str, left: str, right: str, on: str, fence: str = "") -> str:
    """An inner or left join that reads both sides to their ends: a full join, filtered afterwards.

    `fence` is what keeps an optimizer from seeing that rows without a match are left out again.
    >>> sql = join_in_full("inner", "a, b", "l", "r", "a = b", fence=" OFFSET 0")
    >>> print(sql.partition(" FROM ")[2])
    (SELECT a, b, "$here", "$there" FROM (SELECT *, 1 AS "$here" FROM l) AS here FULL JOIN \
(SELECT *, 1 AS "$there" FROM r) AS there ON a = b OFFSET 0) AS met WHERE "$here" = 1 AND \
"$there" = 1
    """
    here = f'(SELECT *, 1 AS "$here" FROM {left}) AS here'
    there = f'(SELECT *, 1 AS "$there" FROM {right}) AS there'
    met = f'SELECT {columns}, "$here", "$there" FROM {here} FULL JOIN {there} ON {on}{fence}'
    matched = ' AND "$there" = 1' if kind == "inner" else ""
    return f'SELECT {columns} FROM ({met}) AS met WHERE "$here" = 1{matched}'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes integers, conditions, days, sums and hashes.

    `wide` is an integer type beyond 64 bits, `null` a missing integer, `unknown` a condition that
    is neither true nor false, `boolean` the type that a condition takes as an integer.
    `quotient` divides a number from 0 on by a positive integer and cuts off; it is told how far
    the result reaches. `date_part` and `date_start` take a name and a day number. `sum_type` is
    the type in which numbers up to a reach add up without overflow, `hash_of` the md5 of a text.
    `looked_up` joins a private and a public relation so that the public one is read whole, even
    where the private one is empty: it takes a kind, columns, both relations and a condition;
    `paired` joins two private ones so that each is read whole where the other is empty; it takes
    the same.
    """

    name: str
    wide: str
    string: str
    null: str
    unknown: str
    boolean: str
    quotient: Callable[[str, int | str, int], str]
    date_part: Callable[[str, str], str]
    date_start: Callable[[str, str], str]
    sum_type: Callable[[int], str]
    hash_of: Callable[[str], str]
    literal: Callable[[str], str]
    derived: Callable[[str, str], str]
    looked_up: Callable[[str, str, str, str, str], str]
    paired: Callable[[str, str, str, str, str], str]

    def integer(self, reach: int) -> str:
        """The integer type that holds every k with |k| <= reach, below 2**90.

        >>> DUCKDB.integer(7), DUCKDB.integer(2**70)
        ('BIGINT', 'HUGEINT')
        """
        return "BIGINT" if reach < _SMALL else self.wide

    def truth(self, condition: str) -> str:
        """A condition as 1, 0 or NULL."""
        return f"CAST({condition} AS {self.boolean})"

    def total(self, sql: str, reach: int) -> str:
        """The sum of integers up to `reach`, in a type that cannot overflow.

        >>> SPARK.total("x", 2**40)
        'SUM(CAST(x AS DECIMAL(28,0)))'
        """
        kind = self.sum_type(reach)
        return f"SUM(CAST({sql} AS {kind}))" if kind else f"SUM({sql})"

    def text(self, sql: str) -> str:
        """An integer as text; a missing one is empty.

        >>> DUCKDB.text("x")
        "coalesce(CAST(x AS VARCHAR), '')"
        """
        return f"coalesce(CAST({sql} AS {self.string}), '')"

    def column_text(self, column: Column) -> str:
        """A column's value as text inside of a hash; a missing one is empty."""
        name = quote_column(column)
        # A text could hold the mark or be empty, so its own hash stands for it.
        return f"coalesce({self.hash_of(name)}, '')" if column.private_keys else self.text(name)

    def hash_texts(self, unit: str, texts: list[str], mark: str) -> str:
        """The md5 of a unit and texts joined by a mark: the same order in every engine.

        >>> DUCKDB.hash_texts('"$unit"', ["a", "b"], "'|'")
        'md5(CAST("$unit" AS VARCHAR) || \\'|\\' || a || \\'|\\' || b)'
        """
        parts = [f"CAST({unit} AS {self.string})", *texts]
        return self.hash_of(f" || {mark} || ".join(parts))


def _quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _duckdb_date(day: str) -> str:
    return f"DATE '1970-01-01' + CAST({day} AS INTEGER)"


def _duckdb_start(unit: str, day: str) -> str:
    start = f"CAST(date_trunc('{unit}', {_duckdb_date(day)}) AS DATE)"
    return f"date_diff('day', DATE '1970-01-01', {start})"


def _duckdb_paired(kind: str, columns: str, left: str, right: str, on: str) -> str:
    # The right side is hashed first, and a left join reads all of the left; OFFSET keeps the
    # optimizer from seeing that rows without a match are left out again.
    there = f'(SELECT *, 1 AS "$there" FROM {right})'
    met = f'SELECT {columns}, "$there" FROM {left} LEFT JOIN {there} ON {on} OFFSET 0'
    if kind == "left":
        return f"SELECT {columns} FROM ({met})"
    return f'SELECT {columns} FROM ({met}) WHERE "$there" = 1'


DUCKDB = Dialect(
    name="duckdb",
    wide="HUGEINT",
    string="VARCHAR",
    null="NULL",
    unknown="NULL",
    boolean="TINYINT",
    quotient=lambda dividend, divisor, _: f"{dividend} // {divisor}",
    date_part=lambda part, day: f"CAST(date_part('{part}', {_duckdb_date(day)}) AS BIGINT)",
    date_start=_duckdb_start,
    sum_type=lambda _: "",  # every sum of integers is HUGEINT
    hash_of=lambda text: f"md5({text})",
    literal=_quote,
    derived=lambda select, _: f"({select})",
    looked_up=join_relations,
    paired=_duckdb_paired,
)
"""The dialect of DuckDB."""


_POSTGRESQL_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}


def _postgresql_integer(reach: int) -> str:
    return "BIGINT" if reach < _SMALL else "NUMERIC"


def _postgresql_date(day: str) -> str:
    return f"(DATE '1970-01-01' + CAST({day} AS INTEGER))"


def _postgresql_part(part: str, day: str) -> str:
    return (
        f"CAST(date_part('{_POSTGRESQL_PARTS.get(part, part)}', {_postgresql_date(day)}) AS BIGINT)"
    )


def _postgresql_start(unit: str, day: str) -> str:
    # Without a time zone: a date alone would become midnight in the session's.
    start = f"CAST(date_trunc('{unit}', CAST({_postgresql_date(day)} AS TIMESTAMP)) AS DATE)"
    return f"({start} - DATE '1970-01-01')"


def _postgresql_looked_up(kind: str, columns: str, left: str, right: str, on: str) -> str:
    # An outer join has to read the public rows that nothing matches, and OFFSET keeps the
    # optimizer from seeing that they are left out again.
    outer = {"inner": "RIGHT", "left": "FULL"}[kind]
    here = f'(SELECT *, 1 AS "$here" FROM {left}) AS here'
    met = f'SELECT {columns}, "$here" FROM {here} {outer} JOIN {right} ON {on} OFFSET 0'
    return f'SELECT {columns} FROM ({met}) AS met WHERE "$here" = 1'


POSTGRESQL = Dialect(
    name="postgresql",
    wide="NUMERIC",
    string="TEXT",
    null="CAST(NULL AS BIGINT)",  # a bare NULL would become a text
    unknown="CAST(NULL AS BOOLEAN)",
    boolean="INTEGER",
    # div() takes NUMERIC and cuts off; "/" would keep digits of a NUMERIC.
    quotient=lambda dividend, divisor, reach: (
        f"CAST(div({dividend}, {divisor}) AS {_postgresql_integer(reach)})"
    ),
    date_part=_postgresql_part,
    date_start=_postgresql_start,
    sum_type=_postgresql_integer,  # both sums are NUMERIC
    hash_of=lambda text: f'md5({text}) COLLATE "C"',
    literal=_quote,
    derived=lambda select, name: f"({select}) AS {name}",  # a must before version 16
    looked_up=_postgresql_looked_up,
    paired=partial(join_in_full, fence=" OFFSET 0"),
)
"""The dialect of PostgreSQL."""


_SPARK_SHORT = 1 << 24  # sums of these fit BIGINT up to 2**39 rows


def _spark_quotient(dividend: str, divisor: int | str, reach: int) -> str:
    if reach < _SMALL:
        return f"({dividend} div {divisor})"  # BIGINT, whatever goes in
    whole = f"({dividend} - {dividend} % {divisor})"
    return f"CAST({whole} / {divisor} AS DECIMAL(38,0))"  # exact: nothing is left over


def _spark_date(day: str) -> str:
    return f"date_add(DATE '1970-01-01', CAST({day} AS INT))"


def _spark_part(part: str, day: str) -> str:
    if part == "dayofweek":
        return f"(dayofweek({_spark_date(day)}) - 1)"  # Sunday is 1 here
    return f"{'weekofyear' if part == 'week' else part}({_spark_date(day)})"


def _spark_start(unit: str, day: str) -> str:
    return f"unix_date(trunc({_spark_date(day)}, '{unit}'))" if unit != "day" else day


def _spark_literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SPARK = Dialect(
    name="spark",
    wide="DECIMAL(38,0)",
    string="STRING",
    null="CAST(NULL AS BIGINT)",
    unknown="CAST(NULL AS BOOLEAN)",
    boolean="INT",
    quotient=_spark_quotient,
    date_part=_spark_part,
    date_start=_spark_start,
    # A sum of BIGINT is BIGINT; of DECIMAL(28,0) it is DECIMAL(38,0).
    sum_type=lambda reach: "BIGINT" if reach < _SPARK_SHORT else "DECIMAL(28,0)",
    hash_of=lambda text: f"md5(CAST({text} AS BINARY))",
    literal=_spark_literal,
    derived=lambda select, name: f"({select}) AS {name}",
    # The rows of each public key are cut first, for which all of them are read.
    looked_up=join_relations,
    paired=join_in_full,  # the engine's sessions do without the rule that would undo it
)
"""The dialect of Spark."""

DIALECTS: tuple[Dialect, ...] = (DUCKDB, POSTGRESQL, SPARK)
"""Every dialect."""


def dialect_of(name: str) -> Dialect:
    """A dialect by its name."""
    for dialect in DIALECTS:
        if dialect.name == name:
            return dialect
    known = ", ".join(dialect.name for dialect in DIALECTS)
    raise InvalidValue(f"the dialect is {name!r}; known are {known}.")
