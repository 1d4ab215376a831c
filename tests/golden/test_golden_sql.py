"""Questions and the SQL that is emitted for them, pair by pair, for the DuckDB dialect.
A pair is changed by hand, after reading the new statement.
"""

import tomllib
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from discreet.loss import Pure
from discreet.plan.draft import Draft, plan
from discreet.plan.prepare import lattice_rows
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

PAIRS = tomllib.loads((Path(__file__).parent / "duckdb.toml").read_text())
TABLE = Table(
    "visits",
    unit="patient",
    rows_per_unit=3,
    columns=(
        Column("age", "integer", lower=0, upper=110),
        Column("income", "number", step=Fraction(1, 2), lower=-20, upper=400_000, null=0),
        Column("region", "category", upper=2, keys=("north", "o'hara"), other=True),
        Column("insured", "boolean"),
        Column("day", "date", lower=19_723, upper=20_088),
    ),
)
TYPES = {
    "patient": "VARCHAR",
    "age": "BIGINT",
    "income": "DOUBLE",
    "region": "VARCHAR",
    "insured": "BOOLEAN",
    "day": "DATE",
}


@pytest.mark.parametrize("question", PAIRS["statements"])
def test_the_emitted_statement_is_the_one_written_down(question):
    query = parse(question, {"visits": TABLE})
    made = plan(Draft(query=query, table=TABLE, price=Pure(epsilon=1), question=question))
    assert made.sql == PAIRS["statements"][question]


def test_the_emitted_preparation_is_the_one_written_down():
    assert lattice_rows(TABLE, "source", TYPES) == PAIRS["preparation"]["unit"]
    rows = Table("visits", columns=TABLE.columns)
    assert lattice_rows(rows, "source", TYPES) == PAIRS["preparation"]["row"]


def test_every_statement_runs_on_an_empty_table():
    with duckdb.connect() as connection:
        named = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE source ({named})")
        connection.execute(f"CREATE TABLE prepared AS {PAIRS['preparation']['unit']}")
        for statement in PAIRS["statements"].values():
            for row in connection.execute(statement).fetchall():
                assert all(value in (0, None) for value in row)
