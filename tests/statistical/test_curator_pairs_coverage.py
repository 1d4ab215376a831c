"""The 95% intervals of covariances, correlations and lines cover the bounded truth 95% of the time,
and say something where there are many rows. Each of 20,000 draws of the noise is one run.
"""

from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.loss import ZCDP, Pure, Relation
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.noise.bits import system
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.explain import error_of
from discreet.plan.results.released import Released
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.fit import check_rate_at_most, rejects
from support.plan_cases import exact_of
from support.plan_reference import aggregate

pytestmark = pytest.mark.slow("coverage of errors")

RUNS = 20_000
COLUMNS = (
    Column("x", "number", step=Fraction(1, 4), lower=-20, upper=61),
    Column("y", "integer", lower=100, upper=141),
)
TABLE = Table("t", unit="who", rows_per_unit=2, neighbours=Relation.REPLACE, columns=COLUMNS)
PRICES = {"pure": Pure(epsilon=2), "zcdp": ZCDP(rho=Fraction(1, 2))}
STATISTICS = (
    "COVAR_POP(y, x) AS p, COVAR_SAMP(y, x) AS s, CORR(y, x) AS r, REGR_SLOPE(y, x) AS b, "
    "REGR_INTERCEPT(y, x) AS a"
)
MANY = tuple(
    (
        None if place % 17 == 3 else (7 * place) % 82 - 20,
        None if place % 13 == 5 else 100 + ((7 * place) % 82 + place % 11) * 41 // 92,
    )
    for place in range(4000)
)
DATA = {
    "few": ((-20, 100), (61, 141), (3, 120), (None, 100), (61, None)),
    "some": MANY[:200],
    "flat": tuple((20 + (place == 0), 100 + place % 42) for place in range(400)),
}


def made(outputs, price, table=TABLE):
    """The plan of aggregates of all rows."""
    text = f"SELECT {outputs} FROM t"
    draft = Draft(query=parse(text, {"t": table}), table=table, price=price, question=text)
    return plan(draft)


def exact_measures(planned, codes):
    """The exact measures of lattice values."""
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE prepared (x BIGINT, y BIGINT, "$unit" BIGINT)')
        rows = [f"({x}, {y}, {place})" for place, (x, y) in enumerate(codes)]
        values = ", ".join(rows).replace("None", "NULL")
        connection.execute(f"INSERT INTO prepared VALUES {values}")
        found = connection.execute(planned.sql).fetchall()
    return [int(column[0]) for column in exact_of(planned, found)]


def truths(planned, codes):
    """The bounded truth of every output."""
    rows = [{"x": None if x is None else x * COLUMNS[0].step, "y": y} for x, y in codes]
    return {o.name: float(aggregate(o.expression, rows)) for o in planned.query.outputs}


def runs(planned, codes, noises):
    """Every output's estimates over all runs."""
    exact = (np.full(RUNS, value) for value in exact_measures(planned, codes))
    noisy = tuple(n.release(column, system) for n, column in zip(noises, exact, strict=True))
    return estimates(Released(planned, ((),) * RUNS, noisy))


def missed(planned, codes, noises):
    """How many of the runs' intervals do not hold the truth, by output."""
    found = runs(planned, codes, noises)
    return {
        name: int(np.count_nonzero(~((found[name].low <= truth) & (truth <= found[name].high))))
        for name, truth in truths(planned, codes).items()
    }


def louder(noise, factor):
    """More noise than the plan believes."""
    if isinstance(noise, DiscreteLaplace):
        return DiscreteLaplace(scale=factor * noise.scale)
    return DiscreteGaussian.of_variance(factor**2 * noise.sigma_squared)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kind", PRICES)
def test_intervals_of_every_statistic_cover_the_truth(kind, data):
    planned = made(STATISTICS, PRICES[kind])
    for name, misses in missed(planned, DATA[data], planned.noises).items():
        check_rate_at_most(misses, RUNS, 0.05, name=f"misses of {name}, {data}, {kind}")


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize(
    ("output", "widest"),
    [
        ("COVAR_POP(y, x)", 7.0),
        ("COVAR_SAMP(y, x)", 7.0),
        ("CORR(y, x)", 0.15),
        ("REGR_SLOPE(y, x)", 0.4),
        ("REGR_INTERCEPT(y, x)", 3.5),
    ],
)
def test_intervals_of_many_rows_are_narrow_and_cover_the_truth(kind, output, widest):
    planned = made(f"{output} AS o", PRICES[kind])
    found = runs(planned, MANY, planned.noises)["o"]
    assert float(np.median(found.high - found.low)) < widest
    truth = truths(planned, MANY)["o"]
    misses = int(np.count_nonzero((truth < found.low) | (found.high < truth)))
    check_rate_at_most(misses, RUNS, 0.05, name=f"misses of {output} alone, {kind}")


@pytest.mark.parametrize("kind", PRICES)
def test_noise_larger_than_believed_is_caught(kind):
    planned = made(STATISTICS, PRICES[kind])
    noises = [louder(noise, 6) for noise in planned.noises]
    for name, misses in missed(planned, MANY, noises).items():
        assert rejects(check_rate_at_most, misses, RUNS, 0.05, name=name), name


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("output", ["COVAR_POP(y, x)", "COVAR_SAMP(y, x)"])
def test_the_error_told_in_advance_is_kept(kind, output):
    planned = made(f"{output} AS o", PRICES[kind])
    count = sum(None not in pair for pair in MANY)
    believed, truth = error_of(planned, count)["o"], truths(planned, MANY)["o"]
    off = np.abs(runs(planned, MANY, planned.noises)["o"].value - truth)
    misses = int(np.count_nonzero(off > believed))
    check_rate_at_most(misses, RUNS, 0.05, name=f"error of {output} in advance, {kind}")
    assert float(np.quantile(off, 0.95)) > believed / 20


def test_the_sample_correction_of_two_rows_is_inside_the_interval():
    """With a sharp count of two rows the largest factor n/(n - 1) is 2, not 1."""
    rows = Table("t", columns=COLUMNS)
    planned = made("COVAR_SAMP(y, x) AS s, REGR_SLOPE(y, x) AS b", Pure(epsilon=12), rows)
    for name, misses in missed(planned, ((-20, 100), (61, 141)), planned.noises).items():
        check_rate_at_most(misses, RUNS, 0.05, name=f"misses of {name}, two rows")
