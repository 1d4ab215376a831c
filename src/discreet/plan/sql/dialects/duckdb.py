"""SQL as DuckDB reads it: integers of 64 and 128 bits. Knows SQL, never data."""

from discreet.plan.sql.dialects.form import Dialect, joined

__all__ = ["DUCKDB"]


def _date(day: str) -> str:
    return f"DATE '1970-01-01' + CAST({day} AS INTEGER)"


def _start(unit: str, day: str) -> str:
    start = f"CAST(date_trunc('{unit}', {_date(day)}) AS DATE)"
    return f"date_diff('day', DATE '1970-01-01', {start})"


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _paired(columns: str, left: str, right: str, on: str) -> str:
    # The right side is hashed first, and a left join reads all of the left; OFFSET keeps the
    # optimizer from seeing that rows without a match are left out again.
    there = f'(SELECT *, 1 AS "$there" FROM {right})'
    met = f'SELECT {columns}, "$there" FROM {left} LEFT JOIN {there} ON {on} OFFSET 0'
    return f'SELECT {columns} FROM ({met}) WHERE "$there" = 1'


DUCKDB = Dialect(
    name="duckdb",
    wide="HUGEINT",
    string="VARCHAR",
    null="NULL",
    unknown="NULL",
    boolean="TINYINT",
    quotient=lambda dividend, divisor, _: f"{dividend} // {divisor}",
    date_part=lambda part, day: f"CAST(date_part('{part}', {_date(day)}) AS BIGINT)",
    date_start=_start,
    sum_type=lambda _: "",  # every sum of integers is HUGEINT
    hash_of=lambda text: f"md5({text})",
    literal=_literal,
    derived=lambda select, _: f"({select})",
    looked_up=joined,
    paired=_paired,
)
"""The dialect of DuckDB."""
