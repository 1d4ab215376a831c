"""The dialects by name. A plan is written in one of them; DuckDB's is the default."""

from discreet.errors import InvalidValue
from discreet.plan.sql.dialects.duckdb import DUCKDB
from discreet.plan.sql.dialects.form import Dialect
from discreet.plan.sql.dialects.postgresql import POSTGRESQL
from discreet.plan.sql.dialects.spark import SPARK

__all__ = ["DIALECTS", "DUCKDB", "Dialect", "dialect_of"]

DIALECTS: tuple[Dialect, ...] = (DUCKDB, POSTGRESQL, SPARK)
"""Every dialect."""


def dialect_of(name: str) -> Dialect:
    """A dialect by its name.

    >>> dialect_of("spark").integer(2**70)
    'DECIMAL(38,0)'
    """
    for dialect in DIALECTS:
        if dialect.name == name:
            return dialect
    known = ", ".join(dialect.name for dialect in DIALECTS)
    raise InvalidValue(f"the dialect is {name!r}; known are {known}.")
