"""Blocks about several tables: each is noised by its own plan, although their SQL may be equal."""

import pandas as pd
import pytest

from discreet.curator.curator import Curator
from discreet.curator.runs.together import runs_of
from discreet.loss import ZCDP

TEXT = (
    "SELECT a.n AS zeta_n, b.m AS alpha_n FROM (SELECT COUNT(*) AS n FROM zeta) a, "
    "(SELECT COUNT(*) AS m FROM alpha) b"
)


def schema(name, rows):
    return {
        "table": {
            "name": name, "unit": "who", "rows_per_unit": rows, "population": "people",
        },
        "columns": {"x": {"type": "integer", "lower": 0, "upper": 9}},
        "budget": {"epsilon": 100_000, "delta": 1e-6},
    }  # fmt: skip


@pytest.fixture
def session(tmp_path):
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        zeta = pd.DataFrame({"who": range(1000), "x": 1})
        alpha = pd.DataFrame({"who": [5000] * 10, "x": 1})
        curator.add(schema("zeta", 1), data=zeta)
        curator.add(schema("alpha", 100), data=alpha)
        curator.grant("ana", epsilon=50_000, delta=1e-6)
        yield curator.session("ana")


def test_each_table_gets_its_own_numbers_and_its_own_noise(session):
    plan = session.explain(TEXT, rho=10_000)
    first, second = plan.blocks
    assert first.sql == second.sql  # the fault that this holds: they were told apart by it
    assert first.noises != second.noises
    (row,) = session.sql(TEXT, rho=10_000)
    assert abs(row["zeta_n"] - 1000) < 20
    assert abs(row["alpha_n"] - 10) < 40
    (zeta,) = session.sql("SELECT COUNT(*) AS n FROM zeta", rho=5_000)
    assert zeta["n"] == row["zeta_n"]


def test_every_block_runs_on_its_own_tables(session):
    plan = session.explain(TEXT, rho=1)
    assert isinstance(plan.cost, ZCDP)
    for run in runs_of(plan):
        for place, sql in zip(run.places, run.statements, strict=True):
            assert plan.blocks[place].sql == sql
            assert {table.name for table in plan.blocks[place].tables} <= set(run.names)
    assert sorted(place for run in runs_of(plan) for place in run.places) == [0, 1]


def test_blocks_that_were_released_before_leave_the_others_in_their_places(session):
    (alpha,) = session.sql("SELECT COUNT(*) AS m FROM alpha", rho=5_000)
    (row,) = session.sql(TEXT, rho=10_000)
    assert row["alpha_n"] == alpha["m"]
    assert abs(row["zeta_n"] - 1000) < 20
