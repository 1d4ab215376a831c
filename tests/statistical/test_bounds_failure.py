"""Estimated bounds: noise alone sets one as often as stated and not much less; bounds that enough
rows have are found. Each of the runs is one noisy histogram.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.bounds import Bounds, Buckets
from discreet.loss import ZCDP, Pure, Relation
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.noise.bits import system
from discreet.plan.pipeline import Draft, plan
from discreet.query.parse import parse
from discreet.schema.column import LARGEST, Column
from discreet.schema.table import Table
from support.fit import check_rate_at_most, rejects

RUNS = 5_000
FEW = 1_000  # what is far off shows in a few
FAILURE = Fraction(1, 20)
PRICES = {"pure": Pure(epsilon=Fraction(1, 10)), "zcdp": ZCDP(rho=Fraction(1, 200))}
COLUMN = Column("x", "integer", lower=-LARGEST, upper=LARGEST)
TABLE = Table("t", unit="who", rows_per_unit=2, neighbours=Relation.REPLACE, columns=(COLUMN,))
BUCKETS = Buckets(TABLE, COLUMN)
COUNT = len(BUCKETS.ranges)


def empty(kind):
    """The bounds of a histogram without a row, and without noise yet."""
    query = parse(BUCKETS.question, {"t": TABLE})
    made = plan(Draft(query=query, table=TABLE, price=PRICES[kind], question=BUCKETS.question))
    return Bounds(
        buckets=BUCKETS,
        noisy=(0,) * COUNT,
        noise=made.noises[0],
        cost={},
        free=False,
        failure=FAILURE,
    )


def runs(bounds, exact, noise, count):
    """The bounds that runs of the mechanism find in exact counts."""
    noisy = noise.release(np.tile(np.array(exact, dtype=np.int64), (count, 1)), system)
    return [replace(bounds, noisy=tuple(row.tolist())) for row in noisy]


def found_in_nothing(bounds, noise, count):
    return sum(each.ends is not None for each in runs(bounds, bounds.noisy, noise, count))


def doubled(noise):
    if isinstance(noise, DiscreteLaplace):
        return DiscreteLaplace(scale=2 * noise.scale)
    return DiscreteGaussian.of_variance(4 * noise.sigma_squared)


@pytest.mark.parametrize("kind", PRICES)
def test_an_empty_column_has_bounds_as_seldom_as_stated_and_hardly_less(kind):
    bounds = empty(kind)
    found = found_in_nothing(bounds, bounds.noise, RUNS)
    check_rate_at_most(found, RUNS, float(FAILURE), name=f"bounds of nothing, {kind}")
    check_rate_at_most(RUNS - found, RUNS, 0.96, name=f"padding of the threshold, {kind}")


@pytest.mark.parametrize("kind", PRICES)
def test_more_noise_than_believed_is_caught(kind):
    bounds = empty(kind)
    found = found_in_nothing(bounds, doubled(bounds.noise), FEW)
    assert rejects(check_rate_at_most, found, FEW, float(FAILURE), name=kind)


@pytest.mark.parametrize("kind", PRICES)
def test_a_threshold_for_ten_buckets_only_is_caught(kind):
    bounds = empty(kind)
    alone = replace(bounds, failure=FAILURE * COUNT / 10)
    found = found_in_nothing(alone, bounds.noise, FEW)
    assert rejects(check_rate_at_most, found, FEW, float(FAILURE), name=kind)


@pytest.mark.parametrize("kind", PRICES)
def test_buckets_with_twice_the_threshold_are_found(kind):
    bounds = empty(kind)
    rows = 2 * bounds.threshold + 1
    exact = [0] * COUNT
    for place in (40, 60, 61, 70):
        exact[place] = rows
    wanted = BUCKETS.ranges[40][0], BUCKETS.ranges[70][1]
    missed = sum(each.ends != wanted for each in runs(bounds, exact, bounds.noise, FEW))
    check_rate_at_most(missed, FEW, float(FAILURE), name=f"bounds off, {kind}")
    exact[40] = exact[70] = bounds.threshold // 2
    wrong = sum(each.ends != wanted for each in runs(bounds, exact, bounds.noise, FEW))
    assert rejects(check_rate_at_most, wrong, FEW, float(FAILURE), name=f"too few rows, {kind}")
