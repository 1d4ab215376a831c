"""The rank of a released quantile, and the count of a released mode, are off by no more than the
plan says in at least 95% of all runs; sampling and pricing are those of the curator. Each of
4,000 groups with the same rows is one run.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.curator.noising import add_noise
from discreet.loss import ZCDP, Pure, Relation
from discreet.noise.bits import system
from discreet.plan.parts.candidates import chooser
from discreet.plan.pipeline import Draft, plan
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.fit import check_rate_at_most, rejects

pytestmark = pytest.mark.slow("coverage of errors")

RUNS = 4_000
PRICES = {"pure": Pure(epsilon=Fraction(1, 4)), "zcdp": ZCDP(rho=Fraction(1, 100))}
COLUMNS = (
    Column("run", "integer", lower=0, upper=RUNS - 1),
    Column("x", "integer", lower=-3, upper=12),
)
TABLE = Table("t", unit="who", rows_per_unit=2, neighbours=Relation.REPLACE, columns=COLUMNS)
SPREAD = {value: 40 + 3 * value for value in range(-3, 13)}
HEAPED = {-3: 5, 2: 300, 7: 1, 12: 294}
NOBODY: dict[int, int] = {}
TABLES = {"spread": SPREAD, "heaped": HEAPED, "nobody": NOBODY}
LADDER = {"a": Fraction(1, 10), "b": Fraction(1, 2), "c": Fraction(9, 10)}
EXTREMES = {"low": Fraction(0), "high": Fraction(1)}
QUANTILES = ", ".join(f"QUANTILE_CONT(x, {float(q)}) AS {name}" for name, q in LADDER.items())
OUTPUTS = {"ladder": QUANTILES, "extremes": "MIN(x) AS low, MAX(x) AS high"}
FRACTIONS = {"ladder": LADDER, "extremes": EXTREMES}


def made(outputs, price):
    text = f"SELECT run, {outputs} FROM t GROUP BY run"
    query = parse(text, {"t": TABLE})
    return plan(Draft(query=query, table=TABLE, price=price, question=text))


def rows_of(planned, counts):
    """What the engine would say: the branch, the run, the candidate and its rows."""
    pick = planned.picks[0]
    assert pick.width == 1
    return [(1, run, value, count) for run in range(RUNS) for value, count in counts.items()]


def released(planned, counts):
    return add_noise(planned, rows_of(planned, counts), system).noisy


def ranks_off(counts, fraction, candidates):
    """How far the target rank lies outside the ranks of each released value."""
    histogram = np.array([counts.get(value, 0) for value in range(-3, 13)])
    upto = np.cumsum(histogram)
    target = float(fraction) * histogram.sum()
    distance = np.maximum(0.0, np.maximum(upto - histogram - target, target - upto))
    return distance[candidates]


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_ranks_of_quantiles_are_off_by_no_more_than_the_plan_says(outputs, data, kind):
    planned = made(OUTPUTS[outputs], PRICES[kind])
    noisy, counts = released(planned, TABLES[data]), TABLES[data]
    bound = planned.error[next(iter(FRACTIONS[outputs]))]
    off = [
        ranks_off(counts, fraction, column)
        for fraction, column in zip(FRACTIONS[outputs].values(), noisy, strict=True)
    ]
    misses = int(np.count_nonzero(np.max(off, axis=0) > bound))  # of all fractions together
    check_rate_at_most(misses, RUNS, 0.05, name=f"ranks of {outputs}, {data}, {kind}")
    assert all((first <= second).all() for first, second in pairwise(noisy))


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("data", ["spread", "heaped"])
def test_modes_are_behind_by_no_more_than_the_plan_says(data, kind):
    planned = made("MODE(x) AS o", PRICES[kind])
    histogram = np.array([TABLES[data].get(value, 0) for value in range(-3, 13)])
    [column] = released(planned, TABLES[data])
    behind = histogram.max() - histogram[column]
    misses = int(np.count_nonzero(behind > planned.error["o"]))
    check_rate_at_most(misses, RUNS, 0.05, name=f"mode, {data}, {kind}")


@pytest.mark.parametrize("kind", PRICES)
def test_choices_that_are_noisier_than_believed_are_caught(kind):
    """A tenth of the price buys the choices, and the whole of it the promise."""
    planned = made("QUANTILE_CONT(x, 0.5) AS b", PRICES[kind])
    part = PRICES[kind].share(Fraction(1, 10 if kind == "pure" else 100))
    worse = replace(planned, choices=tuple(chooser(pick, part) for pick in planned.picks))
    [column] = released(worse, SPREAD)
    off = ranks_off(SPREAD, Fraction(1, 2), column)
    misses = int(np.count_nonzero(off > planned.error["b"]))
    assert rejects(check_rate_at_most, misses, RUNS, 0.05, name="noisier")
