"""SQL as PostgreSQL reads it: BIGINT, and NUMERIC beyond. Knows SQL, never data.
Text is compared byte by byte, whatever the collation of the database.
"""

from functools import partial

from discreet.plan.sql.dialects.form import Dialect, paired_in_full

__all__ = ["POSTGRESQL"]

_SMALL = 1 << 62
_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}


def _integer(reach: int) -> str:
    return "BIGINT" if reach < _SMALL else "NUMERIC"


def _date(day: str) -> str:
    return f"(DATE '1970-01-01' + CAST({day} AS INTEGER))"


def _part(part: str, day: str) -> str:
    return f"CAST(date_part('{_PARTS.get(part, part)}', {_date(day)}) AS BIGINT)"


def _start(unit: str, day: str) -> str:
    # Without a time zone: a date alone would become midnight in the session's.
    start = f"CAST(date_trunc('{unit}', CAST({_date(day)} AS TIMESTAMP)) AS DATE)"
    return f"({start} - DATE '1970-01-01')"


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _looked_up(kind: str, columns: str, left: str, right: str, on: str) -> str:
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
        f"CAST(div({dividend}, {divisor}) AS {_integer(reach)})"
    ),
    date_part=_part,
    date_start=_start,
    sum_type=_integer,  # both sums are NUMERIC
    hash_of=lambda text: f'md5({text}) COLLATE "C"',
    literal=_literal,
    derived=lambda select, name: f"({select}) AS {name}",  # a must before version 16
    looked_up=_looked_up,
    paired=partial(paired_in_full, fence=" OFFSET 0"),
)
"""The dialect of PostgreSQL."""
