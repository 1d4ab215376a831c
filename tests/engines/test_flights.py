"""Flights out of New York, in place on three engines: one question, one set of exact integers."""

import gzip
import shutil
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from discreet.engines.origins import Origin
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

FILE = Path(__file__).parents[3] / "shared" / "data" / "flights.csv.gz"
TABLE = Table(
    "flights",
    unit="tailnum",
    rows_per_unit=20,
    columns=(
        Column("month", "integer", lower=1, upper=12),
        Column("dep_delay", "number", lower=-60, upper=180),
        Column("distance", "number", step=Fraction(10), lower=0, upper=300),
        Column("air_time", "number", lower=0, upper=400, null=0),
        Column("origin", "category", upper=2, keys=("EWR", "JFK", "LGA")),
        Column("carrier", "category", upper=3, keys=("UA", "AA", "B6"), other=True),
        Column("dest", "category", lower=0, upper=0, private_keys=True),
    ),
)
QUESTIONS = (
    "SELECT origin, COUNT(*) AS n, SUM(dep_delay) AS s, AVG(air_time) AS a FROM flights "
    "GROUP BY origin",
    "SELECT month, COUNT(DISTINCT tailnum) AS planes FROM flights WHERE dep_delay > 30 "
    "GROUP BY month",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_groups_contributed=2) carrier, month, "
    "VAR_POP(distance) AS v, COUNT(dep_delay) AS n FROM flights GROUP BY carrier, month",
)
TYPES = {
    "month": "BIGINT",
    "dep_delay": "DOUBLE",
    "distance": "DOUBLE",
    "air_time": "DOUBLE",
    "origin": "VARCHAR",
    "carrier": "VARCHAR",
    "dest": "VARCHAR",
    "tailnum": "VARCHAR",
}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as Parquet."""
    if not FILE.exists():
        pytest.skip("the flights are not beside the checkout: ../shared/data/flights.csv.gz")
    folder = tmp_path_factory.mktemp("flights")
    text = folder / "flights.csv"
    with gzip.open(FILE) as packed, text.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    columns = ", ".join(
        f"CASE WHEN \"{name}\" IN ('NA', '') THEN NULL ELSE CAST(\"{name}\" AS {kind}) END "
        f'AS "{name}"'
        for name, kind in TYPES.items()
    )
    made = folder / "flights.parquet"
    duckdb.sql(f"COPY (SELECT {columns} FROM read_csv('{text}', all_varchar = true)) TO '{made}'")
    return made


def answers(origin: Origin) -> list[list[tuple[object, ...]]]:
    """The exact rows of every question, with the engine reading its source in place."""
    rows = lattice_rows(TABLE, origin.relation("source"), origin.types(), origin.dialect)
    relation = f"({rows}) AS prepared"
    private = 'SELECT "dest" AS "$k0", COUNT(DISTINCT "$unit") AS "$s0" FROM '
    statements = [f"{private}{relation} GROUP BY 1"]
    for question in QUESTIONS:
        draft = Draft(
            query=parse(question, {"flights": TABLE}),
            table=TABLE,
            price=Pure(epsilon=1),
            relation=relation,
            question=question,
            dialect=origin.dialect,
        )
        statements.append(plan(draft).sql)
    engine = origin.engine(time_limit_seconds=300)
    try:
        return [sorted(engine.rows(sql), key=repr) for sql in statements]
    finally:
        engine.close()


@pytest.fixture(scope="module")
def expected(flights: Path) -> list[list[tuple[object, ...]]]:
    """What DuckDB answers."""
    found = answers(Origin.of(str(flights)))
    assert len(found[0]) > 90
    assert len(found[1]) == 3
    assert sum(row[1] for row in found[1]) > 60_000
    return found


def test_postgresql_has_the_answers_of_duckdb(flights, expected, postgresql):
    columns = ", ".join(f'"{n}" {"TEXT" if k == "VARCHAR" else k}' for n, k in TYPES.items())
    postgresql.run("DROP TABLE IF EXISTS flights")
    postgresql.run(f"CREATE TABLE flights ({columns.replace('DOUBLE', 'DOUBLE PRECISION')})")
    text = flights.with_suffix(".again.csv")
    duckdb.sql(f"COPY (SELECT {', '.join(TYPES)} FROM '{flights}') TO '{text}' (HEADER false)")
    postgresql.copy("COPY flights FROM STDIN (FORMAT csv)", text)
    assert answers(Origin.of(postgresql.source.replace("#source", "#flights"))) == expected


@pytest.mark.usefixtures("spark_present")
def test_spark_has_the_answers_of_duckdb(flights, expected):
    assert answers(Origin.of(f"spark:{flights}")) == expected
