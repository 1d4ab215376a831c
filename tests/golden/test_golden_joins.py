"""Joins and subqueries, and the SQL that is emitted for them, in every dialect.
A statement is changed by hand, after reading the new one.
"""

import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.join_bench import Bench

PAIRS = tomllib.loads((Path(__file__).parent / "joins.toml").read_text())
AGE = Column("age", "integer", upper=110)
WARD = Column("ward", "category", upper=2, keys=("a", "b", "c"))
VISITS = Table("visits", unit="patient", rows_per_unit=3, population="p", columns=(AGE, WARD))
TABLES = {
    "visits": VISITS,
    "bills": Table(
        "bills",
        unit="payer",
        rows_per_unit=2,
        population="p",
        columns=(Column("amount", "number", step=Fraction(1, 2), upper=2000),),
    ),
    "codes": Table(
        "codes",
        kind="public",
        key=("ward",),
        columns=(
            Column("ward", "category", upper=1, keys=("c", "a")),
            Column("beds", "integer", upper=9),
        ),
    ),
}
CASES = [(dialect, question) for dialect, pairs in PAIRS.items() for question in pairs]


def statement(dialect, question):
    query = parse(question, TABLES)
    first, *rest = (TABLES[name] for name in query.tables)
    return plan(
        Draft(
            query=query,
            table=first,
            price=Pure(epsilon=1),
            relation=f'"{first.name}"',
            others=tuple((each, f'"{each.name}"') for each in rest),
            dialect=dialect,
        )
    ).sql


@pytest.mark.parametrize(("dialect", "question"), CASES, ids=range(len(CASES)))
def test_the_emitted_statement_is_the_one_written_down(dialect, question):
    assert statement(dialect, question) == PAIRS[dialect][question]


def test_every_dialect_is_written_down_for_every_question():
    assert list(PAIRS) == ["duckdb", "postgresql", "spark"]
    assert len({tuple(pairs) for pairs in PAIRS.values()}) == 1


def test_every_statement_runs_on_empty_tables():
    bench = Bench(TABLES)
    try:
        bench.load({name: [] for name in TABLES})
        for written in PAIRS["duckdb"].values():
            assert all(value in (0, None) for row in bench.rows(written) for value in row)
    finally:
        bench.close()
