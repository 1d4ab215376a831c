"""Intervals of statistics and surveys hold on every column: crowded, with gaps, of two points,
heavy in the tails, constant, of one row, empty, all missing. Nothing is sampled: each noise is
within its half-width with the probability that is needed, by its exact law; and wherever in there
the noises are, ends included, the interval made of them holds the truth.
"""

import math
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pytest

from discreet.local import KaryResponse, OneBit, Tally, UnaryEncoding, frequencies, mean
from discreet.loss import ZCDP, Pure
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.plan_cases import exact_of
from support.plan_reference import aggregate

COLUMNS = (
    Column("x", "integer", lower=0, upper=1000),
    Column("y", "integer", lower=-50, upper=50),
)
TABLE = Table("t", unit="who", rows_per_unit=2, columns=COLUMNS)
PRICES = {
    "pure": Pure(epsilon=Fraction(1, 2)),
    "dear": Pure(epsilon=9),
    "zcdp": ZCDP(rho=Fraction(1, 20)),
}
SHAPES = {
    "crowded": [(500, place % 3 - 1) for place in range(300)] + [(0, -50), (1000, 50)],
    "gappy": [(place % 7, 50 - place % 5) for place in range(100)] + [(1000, -50)] * 100,
    "two points": [(0, -50)] * 130 + [(1000, 50)] * 70,
    "heavy tails": [(1000 // (1 + place), 50 // (1 + place // 4)) for place in range(300)],
    "constant": [(317, 7)] * 200,
    "one row": [(317, 7)],
    "empty": [],
    "all missing": [(None, None)] * 200,
    "some missing": [(None, 1), (5, None), (700, -20), (3, 4)] * 40,
}
OUTPUTS = (
    "COUNT(*)",
    "COUNT(x)",
    "SUM(x)",
    "SUM(y)",
    "AVG(x)",
    "AVG(y)",
    "VAR_POP(x)",
    "VAR_SAMP(y)",
    "STDDEV_POP(y)",
    "STDDEV(x)",
    "SUM(x) / COUNT(*)",
    "COVAR_POP(x, y)",
    "COVAR_SAMP(x, y)",
    "CORR(x, y)",
    "REGR_SLOPE(x, y)",
    "REGR_INTERCEPT(x, y)",
)


def _planned(output, price):
    text = f"SELECT {output} AS o FROM t"
    return plan(Draft(query=parse(text, {"t": TABLE}), table=TABLE, price=price, question=text))


@pytest.fixture(scope="module")
def engines():
    """One DuckDB for each column."""
    opened = {}
    for shape, rows in SHAPES.items():
        opened[shape] = duckdb.connect()
        opened[shape].execute('CREATE TABLE prepared (x BIGINT, y BIGINT, "$unit" BIGINT)')
        if rows:
            values = ", ".join(f"({x}, {y}, {place})" for place, (x, y) in enumerate(rows))
            opened[shape].execute(f"INSERT INTO prepared VALUES {values}".replace("None", "NULL"))
    yield opened
    for each in opened.values():
        each.close()


def _exact(made, engine):
    return [int(each[0]) for each in exact_of(made, engine.execute(made.sql).fetchall())]


def _truth(made, rows):
    """None where there is none: the average of no rows, the slope of a constant."""
    [output] = made.query.outputs
    try:
        found = aggregate(output.expression, [{"x": x, "y": y} for x, y in rows])
    except ZeroDivisionError:
        return None
    return None if found is None or math.isnan(float(found)) else float(found)


def _missed(noise, steps):
    """The exact probability that a noise is farther from zero than so many steps."""
    if isinstance(noise, DiscreteLaplace):
        ratio = math.exp(-1 / noise.scale)
        return 2 * ratio ** (steps + 1) / (1 + ratio)
    assert isinstance(noise, DiscreteGaussian)
    variance = float(noise.sigma_squared)
    if variance > 10**6:  # beyond one deviation each weight is below the integral around it
        return math.erfc((steps + 0.5) / math.sqrt(2 * variance))
    weights = [math.exp(-(k**2) / (2 * variance)) for k in range(int(steps + 40 * variance**0.5))]
    return 2 * math.fsum(weights[steps + 1 :]) / (2 * math.fsum(weights) - 1)


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_intervals_of_statistics_hold_on_every_column(output, kind, engines):
    made = _planned(output, PRICES[kind])
    level = 1 - Fraction(5, 100) / len(made.noises)
    widths = [int(noise.error(level)) for noise in made.noises]
    for noise, width in zip(made.noises, widths, strict=True):
        assert _missed(noise, width) <= 1 - level
    places = [sorted({-width, -width // 3, width}) for width in widths]
    corners = np.array(list(product(*places)))
    for shape, rows in SHAPES.items():
        truth = _truth(made, rows)
        if truth is None:
            continue
        exact = np.array(_exact(made, engines[shape]))
        noisy = tuple(exact[place] + corners[:, place] for place in range(len(widths)))
        found = estimates(Released(made, ((),) * len(corners), noisy))["o"]
        slack = 1e-9 * max(1.0, abs(truth))
        assert (found.low <= truth + slack).all(), shape
        assert (found.high >= truth - slack).all(), shape


def test_a_width_of_another_law_would_be_found():
    """1.96 deviations of Laplace noise miss more than 5%."""
    [noise] = _planned("COUNT(*)", PRICES["pure"]).noises
    assert _missed(noise, math.floor(1.96 * noise.standard_deviation)) > 0.055


def _binomial(trials, chance):
    law = np.array([1.0])
    for _ in range(trials):
        law = np.convolve(law, [1 - chance, chance])
    return law


@pytest.mark.parametrize("people", [1, 2, 30, 200])
@pytest.mark.parametrize(
    "question",
    [KaryResponse(epsilon=1), KaryResponse(epsilon=5), UnaryEncoding(epsilon=1, categories=3)],
    ids=repr,
)
def test_intervals_of_shares_hold_whoever_answers(question, people):
    """Supports come from those who hold the category and from those who do not: two binomials."""
    kept, other = (float(chance) for chance in question.chances())
    rest = (0,) * (question.categories - 1)
    ends = [
        frequencies(Tally(question, people, (supports, *rest))).intervals()[0]
        for supports in range(people + 1)
    ]
    for holders in {0, 1, people // 2, people}:
        law = np.convolve(_binomial(holders, kept), _binomial(people - holders, other))
        outside = [not low - 1e-9 <= holders <= high + 1e-9 for low, high in ends]
        assert law[outside].sum() <= 0.05


@pytest.mark.parametrize("people", [1, 30, 200])
@pytest.mark.parametrize("epsilon", [1, 6])
def test_intervals_of_means_hold_whoever_answers(epsilon, people):
    """All at one end, at the other, or divided between them: the reports are binomials."""
    question = OneBit(epsilon=epsilon, lower=0, upper=10, step=1)
    ends = [
        mean(Tally(question, people, (people - ones, ones))).interval()
        for ones in range(people + 1)
    ]
    low, high = question.decode_cells()
    likely = float((10 - low) / (high - low))  # the chance of a one at the upper end: unbiased
    for top in {0, people // 2, people}:
        law = np.convolve(_binomial(top, likely), _binomial(people - top, 1 - likely))
        outside = [not a <= 10 * top / people <= b for a, b in ends]
        assert law[outside].sum() <= 0.05
