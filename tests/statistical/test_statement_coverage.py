"""The simulated 95% intervals of statements cover the truth 95% of the time: for functions of one
released row, each of many groups is one run; for those of all rows together, each release is one.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import ZCDP, Pure
from discreet.noise.bits import system
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.released import Released
from discreet.schema.column import Column
from discreet.schema.table import Table
from discreet.upper.engine import UpperEngine
from discreet.upper.outcome import run_upper
from discreet.upper.plan import StatementPlan
from discreet.upper.reading.split import read_statement
from discreet.upper.simulate import LEVELS
from support.fit import check_rate_at_most, rejects

GROUPS, RUNS, RELEASES = 400, 3, 250
PRICES = {"pure": Pure(epsilon=Fraction(1, 2)), "zcdp": ZCDP(rho=Fraction(1, 50))}
MISSED = 0.055  # of at most 5%, and what 1,999 draws leave open
ROW = (
    "SELECT run, n / s AS ratio, s * 1.0 / n AS mean, n * s AS product, SQRT(GREATEST(n, 0)) AS "
    "root, ROUND(n / 7.0) AS rounded, CASE WHEN n > 900 THEN n ELSE 900 END AS held, a FROM "
    "(SELECT run, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY run) AS q"
)
ALL = (
    "SELECT run, n * 1.0 / SUM(n) OVER () AS share, SUM(n) OVER (ORDER BY run) AS running, "
    "n - LAG(n, 1, 0) OVER (ORDER BY run) AS change, MAX(n) OVER () - n AS behind FROM "
    "(SELECT run, COUNT(*) AS n FROM t GROUP BY run) AS q"
)


def planned(text, price, groups):
    columns = (Column("run", "integer", upper=groups - 1), Column("x", "integer", upper=100))
    table = Table("t", unit="who", rows_per_unit=2, columns=columns)
    statement = read_statement(text, {"t": table})
    blocks = tuple(
        plan(Draft(query=block.query, table=table, price=price, question=block.text))
        for block in statement.blocks
    )
    return StatementPlan.of(text, blocks, statement.upper)


def exact_of(made, count, total):
    """Every group has the same number of rows, and the same sum."""
    (block,) = made.blocks
    size = len(block.groups)
    exact = [count if part.sensitivity.linf <= 2 else total for part in block.measures]
    return Released(block, block.groups, tuple(np.full(size, one, dtype=np.int64) for one in exact))


def misses(engine, made, exact, noises):
    """How many intervals of each simulated column miss the truth, of how many."""
    (block,) = made.blocks
    truth = run_upper(engine, replace(made, blocks=(block,)), (exact,)).rows
    noisy = tuple(n.release(column, system) for n, column in zip(noises, exact.noisy, strict=True))
    outcome = run_upper(engine, made, (Released(block, block.groups, noisy),))
    names = [name for name, _ in outcome.columns]
    at = LEVELS.index(Fraction(95, 100))
    return {
        spread.column: sum(
            not ends[at][0] <= row[names.index(spread.column)] <= ends[at][1]
            for ends, row in zip(spread.ends, truth, strict=True)
        )
        for spread in outcome.spreads
    }


@pytest.mark.slow("thousands of samples")
@pytest.mark.parametrize("kind", PRICES)
def test_functions_of_a_released_row_cover_the_truth(kind):
    made = planned(ROW, PRICES[kind], GROUPS)
    exact, noises = exact_of(made, 1000, 40_000), made.blocks[0].noises
    with UpperEngine(seconds=120) as engine:
        runs = [misses(engine, made, exact, noises) for _ in range(RUNS)]
        assert set(runs[0]) == {"ratio", "mean", "product", "root", "rounded", "held", "a"}
        for name in runs[0]:
            missed = sum(run[name] for run in runs)
            check_rate_at_most(missed, RUNS * GROUPS, MISSED, name=f"{name}, {kind}")
        sure = planned(ROW, PRICES[kind].share(Fraction(9)), GROUPS)  # believes in less noise
        planted = misses(engine, sure, exact, noises)
        for name in ("ratio", "product", "root"):
            assert rejects(check_rate_at_most, planted[name], GROUPS, MISSED, name=name)


@pytest.mark.slow("thousands of samples")
@pytest.mark.parametrize("kind", PRICES)
def test_functions_of_all_released_rows_cover_the_truth(kind):
    made = planned(ALL, PRICES[kind], 4)
    exact, noises = exact_of(made, 1000, 0), made.blocks[0].noises
    with UpperEngine(seconds=120) as engine:
        runs = [misses(engine, made, exact, noises) for _ in range(RELEASES)]
    assert {"share", "running", "change"} <= set(runs[0])
    for name in ("share", "running", "change"):
        # Of one release the rows hang together, so one row of each is a run.
        missed = sum(run[name] for run in runs)
        check_rate_at_most(missed // 4, RELEASES, MISSED, name=f"{name}, {kind}")
