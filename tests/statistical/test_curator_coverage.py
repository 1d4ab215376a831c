"""The 95% intervals of answers cover the bounded truth 95% of the time, and counts and sums not
much more often. Each of 20,000 groups with the same rows is one run.
"""

from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.loss import ZCDP, Pure, Relation
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.noise.bits import system
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.fit import check_rate_at_most, rejects
from support.plan_cases import exact_of
from support.plan_reference import aggregate

RUNS = 20_000
PRICES = {"pure": Pure(epsilon=Fraction(1, 4)), "zcdp": ZCDP(rho=Fraction(1, 50))}
COLUMNS = (
    Column("run", "integer", lower=0, upper=RUNS - 1),
    Column("x", "number", step=Fraction(1, 4), lower=-20, upper=60),
)
TABLE = Table("t", unit="who", rows_per_unit=2, neighbours=Relation.REPLACE, columns=COLUMNS)
FEW = (-20, 60, 60)
MANY = tuple((7 * place) % 81 - 20 for place in range(400))


def made(outputs, price, table=TABLE):
    """The plan of aggregates for every run."""
    text = f"SELECT run, {outputs} FROM t GROUP BY run"
    draft = Draft(query=parse(text, {"t": table}), table=table, price=price, question=text)
    return plan(draft)


def exact_measures(planned, codes):
    """The exact measures when every run has the same lattice values."""
    with duckdb.connect() as connection:
        connection.execute(
            'CREATE TABLE prepared AS SELECT run, x, row_number() OVER () AS "$unit" '
            f"FROM range({RUNS}) r(run), (SELECT unnest({list(codes)}) AS x) v"
        )
        return exact_of(planned, connection.execute(planned.sql).fetchall())


def truths(planned, codes):
    """The bounded truth of every output."""
    rows = [{"x": code * COLUMNS[1].step} for code in codes]
    return {o.name: float(aggregate(o.expression, rows)) for o in planned.query.outputs}


def covered(planned, codes, noises):
    """How many of the runs' intervals hold the truth, by output."""
    exact = exact_measures(planned, codes)
    noisy = tuple(n.release(column, system) for n, column in zip(noises, exact, strict=True))
    found = estimates(Released(planned, planned.groups, noisy))
    return {
        name: int(np.count_nonzero((found[name].low <= truth) & (truth <= found[name].high)))
        for name, truth in truths(planned, codes).items()
    }


def doubled(noise):
    """Twice as much noise as the plan believes."""
    if isinstance(noise, DiscreteLaplace):
        return DiscreteLaplace(scale=2 * noise.scale)
    return DiscreteGaussian.of_variance(4 * noise.sigma_squared)


@pytest.mark.parametrize("codes", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("kind", PRICES)
def test_intervals_of_every_statistic_cover_the_truth(kind, codes):
    planned = made(
        "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, VAR_SAMP(x) AS v, VAR_POP(x) AS p, "
        "STDDEV(x) AS d, SUM(x) / COUNT(*) AS q",
        PRICES[kind],
    )
    for name, hits in covered(planned, codes, planned.noises).items():
        check_rate_at_most(RUNS - hits, RUNS, 0.05, name=f"misses of {name}, {kind}")


@pytest.mark.parametrize("kind", PRICES)
def test_averages_alone_are_centred_and_cover_the_truth(kind):
    planned = made("AVG(x) AS a, STDDEV_POP(x) AS d", PRICES[kind])
    assert {estimator.centre for _, estimator in planned.estimators} == {20}
    for name, hits in covered(planned, MANY, planned.noises).items():
        check_rate_at_most(RUNS - hits, RUNS, 0.05, name=f"misses of centred {name}, {kind}")


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("output", ["COUNT(*)", "SUM(x)"])
def test_counts_and_sums_are_not_padded(kind, output):
    planned = made(f"{output} AS o", PRICES[kind])
    assert planned.noises[0].error(Fraction(95, 100)) > 10
    hits = covered(planned, MANY, planned.noises)["o"]
    check_rate_at_most(RUNS - hits, RUNS, 0.05, name=f"misses of {output}, {kind}")
    check_rate_at_most(hits, RUNS, 0.96, name=f"padding of {output}, {kind}")


@pytest.mark.parametrize("kind", PRICES)
def test_noise_twice_as_large_as_believed_is_caught(kind):
    planned = made("COUNT(*) AS n, SUM(x) AS s", PRICES[kind])
    for name, hits in covered(planned, MANY, map(doubled, planned.noises)).items():
        assert rejects(check_rate_at_most, RUNS - hits, RUNS, 0.05, name=name)


def test_half_the_noise_believed_is_padding_and_is_caught():
    planned = made("COUNT(*) AS n", PRICES["pure"])
    believed = replace(planned, noises=tuple(map(doubled, planned.noises)))
    hits = covered(believed, MANY, planned.noises)["n"]
    assert rejects(check_rate_at_most, hits, RUNS, 0.96, name="padding")


def test_the_sample_correction_of_two_rows_is_inside_the_interval():
    """With a sharp count of two rows the largest factor n/(n - 1) is 2, not 1."""
    planned = made("VAR_SAMP(x) AS v, STDDEV(x) AS d", Pure(epsilon=8), _row_level())
    for name, hits in covered(planned, (-20, 60), planned.noises).items():
        check_rate_at_most(RUNS - hits, RUNS, 0.05, name=f"misses of {name}, two rows")


def _row_level():
    return Table("t", columns=COLUMNS)
