"""Questions and the SQL that is emitted for them, pair by pair, in every dialect.
A pair is changed by hand, after reading the new statement.
"""

import tomllib
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

DIALECTS = ("duckdb", "postgresql", "spark")
PAIRS = {
    dialect: tomllib.loads((Path(__file__).parent / f"{dialect}.toml").read_text())
    for dialect in DIALECTS
}
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
SPELT = {
    "duckdb": {},
    "postgresql": {"VARCHAR": "text", "DOUBLE": "double precision"},
    "spark": {"VARCHAR": "string"},
}
CASES = [(dialect, question) for dialect in DIALECTS for question in PAIRS[dialect]["statements"]]


def types(dialect):
    return {name: SPELT[dialect].get(kind, kind) for name, kind in TYPES.items()}


def emitted(dialect, question):
    query = parse(question, {"visits": TABLE})
    price = Pure(epsilon=1)
    return plan(
        Draft(query=query, table=TABLE, price=price, question=question, dialect=dialect)
    ).sql


@pytest.mark.parametrize(("dialect", "question"), CASES)
def test_the_emitted_statement_is_the_one_written_down(dialect, question):
    assert emitted(dialect, question) == PAIRS[dialect]["statements"][question]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_emitted_preparation_is_the_one_written_down(dialect):
    pairs = PAIRS[dialect]["preparation"]
    assert lattice_rows(TABLE, "source", types(dialect), dialect) == pairs["unit"]
    rows = Table("visits", columns=TABLE.columns)
    assert lattice_rows(rows, "source", types(dialect), dialect) == pairs["row"]


def test_every_dialect_answers_the_same_questions():
    assert len({tuple(PAIRS[dialect]["statements"]) for dialect in DIALECTS}) == 1


def test_every_statement_runs_on_an_empty_table():
    pairs = PAIRS["duckdb"]
    with duckdb.connect() as connection:
        named = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE source ({named})")
        connection.execute(f"CREATE TABLE prepared AS {pairs['preparation']['unit']}")
        for statement in pairs["statements"].values():
            for row in connection.execute(statement).fetchall():
                assert all(value in (0, None) for value in row)
