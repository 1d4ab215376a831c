"""Bounds for units far away: kept up to a public number, then the limit. A table of any size takes
the same memory, and what neighbours may differ by stays what it is.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import Pure, Relation
from discreet.plan.parts.smoothed import Smoothed
from discreet.robust.smooth import quantile
from discreet.robust.smooth.quantile import SmoothQuantile

MOST, VALUES = 5, 3


def tables(relation):
    counts = itertools.product(range(MOST + 1), repeat=VALUES)
    whole = (MOST,) if relation is Relation.REPLACE else range(MOST + 1)
    return [each for each in counts if sum(each) in whole]


def moves(unit, relation):
    """Rows that come and go with one unit."""
    steps = itertools.product(range(-unit, unit + 1), repeat=VALUES)
    if relation is Relation.REPLACE:
        return [each for each in steps if sum(each) == 0 < sum(map(abs, each)) <= 2 * unit]
    return [each for each in steps if 0 < sum(map(abs, each)) <= unit]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("kept", [1, 2, 4])
def test_a_growth_that_is_cut_off_is_a_growth(monkeypatch, kept, relation):
    monkeypatch.setattr(quantile, "_MOST_UNITS", kept)
    for fraction, unit in itertools.product((Fraction(1, 2), Fraction(3, 4)), (1, 2)):
        query = SmoothQuantile(
            fraction=fraction, lower=0, upper=VALUES - 1, rows_per_unit=unit, relation=relation
        )
        found = {each: query.growth_of_counts(np.array(each)) for each in tables(relation)}
        for (here, growth), move in itertools.product(found.items(), moves(unit, relation)):
            other = found.get(tuple(a + b for a, b in zip(here, move, strict=True)))
            if other is not None:
                assert abs(growth.exact - other.exact) <= growth.at(0)
                assert all(other.at(k) <= growth.at(k + 1) for k in range(MOST + 4))


@pytest.mark.parametrize("fraction", [0.5, 0.9])
def test_a_trillion_rows_take_no_more_memory_than_a_million(fraction):
    made = Smoothed.of_price(
        fraction=fraction, candidates=63, moved=1, price=Pure(epsilon=Fraction(1))
    )
    growth = made.query.growth_of_counts(np.full(63, 10**12))
    assert len(growth.rungs) <= 1 << 20
    # The nearest gap is 10**12 rows away: no noise that can be told from none.
    assert made.release(np.full(63, 10**12)) == [int(growth.exact)]
