"""Brute force over small data: each growth bounds what a neighbour can change and carries over to
neighbours one distance on, so the smooth bound dominates and is smooth; planted ones do not.
"""

from fractions import Fraction
from math import ceil, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Relation
from discreet.robust.smooth.growth import Growth, per_unit, smooth_bound
from discreet.robust.smooth.quantile import EXACT_MOVES, SmoothQuantile
from discreet.robust.smooth.trimmed import SmoothTrimmedMean
from support.growth_brute import (
    added_or_removed,
    complaints,
    data_sets,
    local_sensitivities,
    removed,
    replaced,
)

VALUES, MOST = 4, 5
UPPER = 2 * (VALUES - 1)  # gaps of two steps, so that half a gap is seen as well


def spaced(rows):
    return np.array([2 * row for row in rows], dtype=np.int64)


def world(relation, unit, size=MOST):
    if relation is Relation.REPLACE:
        return {rows: replaced(rows, VALUES, unit) for rows in data_sets(VALUES, size, size)}
    return {rows: added_or_removed(rows, VALUES, unit, size) for rows in data_sets(VALUES, size)}


def quantile(fraction, relation, unit):
    query = SmoothQuantile(
        fraction=fraction, lower=0, upper=UPPER, rows_per_unit=unit, relation=relation
    )
    return lambda rows: query.growth(spaced(rows))


def trimmed(share, relation, unit):
    query = SmoothTrimmedMean(
        share=share, lower=0, upper=UPPER, rows_per_unit=unit, relation=relation
    )
    return lambda rows: query.growth(spaced(rows))


@pytest.mark.parametrize("unit", [1, 2, 3])
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
def test_every_small_data_set_of_a_quantile(fraction, relation, unit):
    near = world(relation, unit)
    assert complaints(quantile(fraction, relation, unit), near, distances=MOST + 2) == []


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 5), Fraction(2, 5)])
def test_every_small_data_set_of_a_trimmed_mean(share, relation, unit):
    near = world(relation, unit)
    assert complaints(trimmed(share, relation, unit), near, distances=MOST + 2) == []


@pytest.mark.parametrize("unit", [1, 2, 3])
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
def test_a_quantile_under_replace_has_the_true_local_sensitivities(fraction, unit):
    near = world(Relation.REPLACE, unit)
    growth = quantile(fraction, Relation.REPLACE, unit)
    truth = local_sensitivities(lambda rows: growth(rows).exact, near, 4)
    for rows, sizes in truth.items():
        assert [growth(rows).at(k) for k in range(5)] == sizes


def test_a_trimmed_mean_under_replace_has_the_true_local_sensitivities():
    growth = trimmed(Fraction(1, 5), Relation.REPLACE, 1)
    truth = local_sensitivities(lambda rows: growth(rows).exact, world(Relation.REPLACE, 1), 4)
    for rows, sizes in truth.items():
        for k, size in enumerate(sizes):
            assert 0 <= growth(rows).at(k) - size <= Fraction(1, 10**6)


@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4)])
def test_a_quantile_under_add_and_remove_is_at_most_one_distance_off(fraction):
    """The bounds are true local sensitivities, or those of data one row farther away."""
    near = world(Relation.ADD_REMOVE, 1, size=7)
    growth = quantile(fraction, Relation.ADD_REMOVE, 1)
    truth = local_sensitivities(lambda rows: growth(rows).exact, near, 4)
    for rows, sizes in truth.items():
        if len(rows) == 3:  # far enough from the largest data sets of this world
            assert all(growth(rows).at(k) <= sizes[k + 1] for k in range(3))


@pytest.mark.parametrize("make", [quantile, trimmed])
def test_a_unit_replaced_by_one_with_fewer_rows_is_two_units_of_moves(make):
    """Up to two rows go and up to two others come: four moves of add and remove."""
    near = {
        rows: {
            other
            for rest in removed(rows, 2)
            for other in {rest} | added_or_removed(rest, VALUES, 2, 4)
            if len(other) >= len(rest)
        }
        - {rows}
        for rows in data_sets(VALUES, 4)
    }
    growth = make(Fraction(1, 4), Relation.ADD_REMOVE, 4)
    assert complaints(growth, near, distances=3) == []
    assert complaints(make(Fraction(1, 4), Relation.ADD_REMOVE, 1), near, distances=3)


RELATIONS = st.sampled_from(list(Relation))
ROWS = st.lists(st.integers(0, 40), min_size=0, max_size=14)


@given(ROWS, RELATIONS, st.integers(1, 3), st.data())
@settings(max_examples=200)
def test_longer_data_and_one_neighbour(rows, relation, unit, data):
    if relation is Relation.REPLACE:
        places = data.draw(st.sets(st.integers(0, max(0, len(rows) - 1)), max_size=unit))
        other = [
            data.draw(st.integers(0, 40)) if place in places else row
            for place, row in enumerate(rows)
        ]
    else:
        other = rows + data.draw(st.lists(st.integers(0, 40), max_size=unit))
    fraction = data.draw(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
    share = data.draw(st.fractions(0, Fraction(12, 25), max_denominator=30))
    options = {"lower": 0, "upper": 40, "rows_per_unit": unit, "relation": relation}
    for query in (
        SmoothQuantile(fraction=fraction, **options),
        SmoothTrimmedMean(share=share, **options),
    ):
        one, two = query.growth(np.array(rows, int)), query.growth(np.array(other, int))
        gap = abs(one.exact - two.exact)
        assert gap <= min(one.at(0), two.at(0))
        for k in range(len(rows) + 4):
            assert one.at(k) <= two.at(k + 1)
            assert two.at(k) <= one.at(k + 1)
        smoothing = data.draw(st.fractions(Fraction(1, 50), 2, max_denominator=50))
        check_smooth(one, two, smoothing)


def check_smooth(one, two, smoothing):
    """The smooth bound itself: at least what changes, and within a factor exp(smoothing)."""
    first, second = (smooth_bound(each, smoothing=smoothing).bounds(40) for each in (one, two))
    assert abs(one.exact - two.exact) <= min(first[1], second[1])
    if first[0] and second[0]:
        ratio = log(first[1]) - log(second[1])
        assert abs(ratio) <= float(smoothing) + 1e-9


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 3), st.fractions(Fraction(1, 9), 3))
def test_the_smooth_bound_is_the_largest_term(steps, more, smoothing):
    rungs = np.cumsum(np.array(steps, dtype=np.int64))
    limit = (int(rungs[-1]) if len(rungs) else 0) + more
    growth = Growth(exact=0, rungs=rungs, limit=limit)
    low, high = smooth_bound(growth, smoothing=smoothing).bounds(40)
    terms = [float(growth.at(k)) * np.exp(-float(smoothing) * k) for k in range(len(steps) + 2)]
    assert low <= high <= low * (1 + Fraction(1, 10**30))
    assert abs(float(high) - max(terms)) <= 1e-9 * max(terms)


def test_far_windows_hold_the_near_ones():
    """Beyond EXACT_MOVES one window stands for all: larger bounds, still carried over."""
    rows = np.sort(np.arange(3 * EXACT_MOVES) ** 2 % 10_007)
    for fraction, relation in ((Fraction(1, 2), Relation.REPLACE), (Fraction(1, 5), "add-remove")):
        query = SmoothQuantile(fraction=fraction, lower=0, upper=10_007, relation=relation)
        one, two = query.growth(rows), query.growth(np.append(rows[1:], 10_000))
        if relation == "add-remove":
            two = query.growth(rows[1:])
        for k in range(EXACT_MOVES - 5, EXACT_MOVES + 5):
            assert one.at(k) <= two.at(k + 1)
            assert two.at(k) <= one.at(k + 1)
        assert one.at(EXACT_MOVES + 1) > one.at(EXACT_MOVES)


def test_counts_give_the_same_growth_as_rows():
    rows = np.array([3, 3, 4, 9, 9, 9, 12])
    for relation in Relation:
        query = SmoothQuantile(fraction=0.3, lower=2, upper=14, relation=relation)
        counts = np.bincount(rows - 2, minlength=13)
        one, two = query.growth(rows), query.growth_of_counts(counts)
        assert one.exact == two.exact
        assert one.rungs.tolist() == two.rungs.tolist()


# What goes wrong with a slip, so that the tests above can be seen to fail.


def test_the_add_and_remove_growth_under_replace_is_caught():
    """A replaced row is one added and one removed, so the window must open twice as fast."""
    growth = quantile(Fraction(1, 2), Relation.ADD_REMOVE, 1)
    assert complaints(growth, world(Relation.REPLACE, 1), distances=MOST)


def test_one_row_per_unit_is_caught_where_a_unit_has_two():
    for relation in Relation:
        growth = quantile(Fraction(1, 2), relation, 1)
        assert complaints(growth, world(relation, 2), distances=MOST)


def test_bare_local_sensitivity_is_caught():
    def bare(rows):
        growth = quantile(Fraction(1, 2), Relation.REPLACE, 1)(rows)
        size = int(growth.at(0))
        return Growth(exact=growth.exact, rungs=[size] * 9, limit=UPPER)

    assert complaints(bare, world(Relation.REPLACE, 1), distances=5)


def test_a_fixed_number_of_rows_is_caught_in_a_trimmed_mean():
    def careless(rows):
        """Divides by the present number of kept rows at every distance."""
        ordered, n = spaced(rows), len(rows)
        cut, exact = floor(Fraction(1, 5) * n), trimmed(Fraction(1, 5), "add-remove", 1)(rows).exact
        padded = [0] * (n + 3) + ordered.tolist() + [UPPER] * (n + 3)
        sizes = [
            ceil(Fraction(padded[n + 2 + n - cut + k + 1] - padded[n + 2 + cut - k], max(1, n)))
            for k in range(n)
        ]
        return Growth(exact=exact, rungs=np.maximum.accumulate(sizes), limit=UPPER)

    assert complaints(careless, world(Relation.ADD_REMOVE, 1), distances=3)


def test_units_of_several_moves():
    assert per_unit(np.array([1, 2, 3, 4, 5, 6]), moves=3).tolist() == [9, 18]
