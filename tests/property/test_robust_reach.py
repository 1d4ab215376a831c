"""Reaches and distances against brute force: every multiset around a small one."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.robust.tested.bounding import AgreeingPairs
from discreet.robust.tested.property import rows_outside_clusters, rows_that_contradict
from discreet.robust.tested.propose import short_cut_distance
from discreet.robust.tested.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.tested.stable import mode_distance
from support.robust_laws import around, data_sets, one_move, spread_of

VALUES = (0, 1, 3, 4)
FRACTIONS = [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)]
rows_of = st.lists(st.sampled_from(VALUES), max_size=6).map(lambda rows: tuple(sorted(rows)))


def quantile(rows, fraction):
    return rows[ceil(fraction * len(rows)) - 1] if rows else 0


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_the_reach_of_a_quantile_is_exactly_what_moves_can_do(fraction):
    query = QuantileReach(fraction=fraction, lower=0, upper=4)
    for rows in data_sets(VALUES, 4):
        reachable = query.around(list(rows))
        for moves, near in enumerate(around(rows, VALUES, 3)):
            low, high = spread_of(lambda one: quantile(one, fraction), near)
            found = reachable.reach(moves)
            assert found[0] <= low
            assert high <= found[1]
            if moves < len(rows):  # else the reach is the whole range
                assert found == (low, high), (rows, moves)


QUERIES = {
    "quantile": QuantileReach(fraction=Fraction(1, 3), lower=0, upper=4),
    "spread": SpreadReach(lower=0, upper=4),
    "narrow spread": SpreadReach(lower=0, upper=4, base=Fraction(3, 2)),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@given(rows=rows_of, moved=st.integers(1, 2), bound=st.integers(0, 3))
@settings(max_examples=150)
def test_the_short_cut_never_overstates_and_moves_by_one_with_a_row(query, rows, moved, bound):
    def value(one):
        return query.around(list(one)).reach(0)[0]

    def distance(one):
        return short_cut_distance(query.around(list(one)), bound=bound, moved=moved)

    found = distance(rows)
    for neighbour in one_move(rows, VALUES):
        assert abs(distance(neighbour) - found) <= 1
    if found > 0:
        low, high = spread_of(value, around(rows, VALUES, moved)[-1])
        assert max(value(rows) - low, high - value(rows)) <= bound


PAIRS = ((0, 0), (0, 2), (3, 0), (3, 2), (1, 1))


@given(rows=st.lists(st.sampled_from(PAIRS), max_size=12), moved=st.integers(1, 2))
@settings(max_examples=60)
def test_the_reach_of_a_slope_holds_every_slope_around(rows, moved):
    query = SlopeReach(across=(0, 3), up=(0, 2), step=Fraction(1, 10), largest=2)

    def slope(one):
        if not one:
            return query.clamp(None)
        count = len(one)
        x, y = (Fraction(sum(row[side] for row in one), count) for side in (0, 1))
        spread = sum((row[0] - x) ** 2 for row in one)
        if spread < 9:
            return query.clamp(None)
        return query.clamp(sum((row[0] - x) * (row[1] - y) for row in one) / spread)

    start = tuple(sorted(rows))
    reachable = query.around(list(start))
    for moves, near in enumerate(around(start, PAIRS, moved)):
        low, high = reachable.reach(moves)
        assert moves or low == high == slope(start)
        assert all(low <= slope(one) <= high for one in near)
    for neighbour in one_move(start, PAIRS):  # nested, as the proof asks
        inner, outer = query.around(list(neighbour)).reach(3), reachable.reach(4)
        assert outer[0] <= inner[0]
        assert inner[1] <= outer[1]


def counts_of(rows, keys):
    return [rows.count(key) for key in keys]


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_the_distance_of_the_mode_is_exactly_that_to_instability(moved):
    keys = (0, 1, 2)

    def winner(rows):
        return mode_distance(counts_of(rows, keys), moved=moved)[0]

    def unstable(rows):
        return len({winner(one) for one in around(rows, keys, moved)[-1]}) > 1

    for rows in data_sets(keys, 4):
        distance = mode_distance(counts_of(rows, keys), moved=moved)[1]
        if distance <= 3:
            near = around(rows, keys, distance)
            assert any(unstable(one) for one in near[distance])
        if distance > 0:
            assert not any(unstable(one) for one in around(rows, keys, min(distance, 4) - 1)[-1])


@pytest.mark.parametrize("rows_per_unit", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_bound_on_agreeing_pairs_dominates_and_drifts_as_said(rows_per_unit, relation):
    query = AgreeingPairs(relation=relation, rows_per_unit=rows_per_unit)
    keys = (0, 1, 2)
    for rows in data_sets(keys, 3):
        value, bound = query.around(list(rows))
        assert value == sum(count**2 for count in counts_of(rows, keys))
        for neighbour in around(rows, keys, query.moved)[-1]:
            other, its_bound = query.around(list(neighbour))
            assert abs(other - value) <= bound
            assert abs(its_bound - bound) <= query.drift


@given(
    rows=st.lists(st.integers(0, 12), max_size=7),
    clusters=st.integers(1, 3),
    width=st.integers(0, 4),
)
def test_rows_outside_clusters_is_the_fewest_to_delete(rows, clusters, width):
    def clusterable(kept):
        needed, end = 0, None
        for value in sorted(kept):
            if end is None or value > end:
                needed, end = needed + 1, value + width
        return needed <= clusters

    kept = max(
        bin(chosen).count("1")
        for chosen in range(1 << len(rows))
        if clusterable([row for place, row in enumerate(rows) if chosen >> place & 1])
    )
    assert rows_outside_clusters(rows, clusters=clusters, width=width) == len(rows) - kept


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=7))
def test_rows_that_contradict_is_the_fewest_to_delete(rows):
    def consistent(kept):
        return len({key for key, _ in kept}) == len(set(kept))

    most = max(
        bin(chosen).count("1")
        for chosen in range(1 << len(rows))
        if consistent([row for place, row in enumerate(rows) if chosen >> place & 1])
    )
    keys, values = [key for key, _ in rows], [value for _, value in rows]
    assert rows_that_contradict(keys, values) == len(rows) - most


@given(rows=rows_of, clusters=st.integers(1, 2), width=st.integers(0, 1))
def test_one_row_moves_a_distance_from_a_property_by_one(rows, clusters, width):
    before = rows_outside_clusters(list(rows), clusters=clusters, width=width)
    for neighbour in one_move(rows, VALUES):
        after = rows_outside_clusters(list(neighbour), clusters=clusters, width=width)
        assert abs(after - before) <= 1
