"""Sensitivities against brute force: every placement, and every pair of neighbouring data sets."""

import itertools
from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.loss import Relation, Sensitivity

small = st.integers(1, 4)


def placements(groups, per_group, total):
    """Every integer move of the coordinates within the three bounds."""
    for move in itertools.product(range(per_group + 1), repeat=groups):
        if sum(move) <= total:
            yield move


@given(groups=small, per_group=st.integers(0, 5), total=st.integers(0, 12))
@example(groups=3, per_group=2, total=5)
@example(groups=4, per_group=5, total=5)
def test_norms_are_those_of_the_worst_placement(groups, per_group, total):
    found = Sensitivity(groups=groups, per_group=per_group, total=total)
    moves = list(placements(groups, per_group, total))
    assert found.l1 == max(sum(move) for move in moves)
    assert found.linf == max(max(move) for move in moves)
    assert found.l2_squared == max(sum(step**2 for step in move) for move in moves)
    assert found.l2**2 >= found.l2_squared
    assert found.l2**2 <= found.l2_squared * (1 + Fraction(1, 10**30))


@given(
    groups=small,
    per_group=st.fractions(0, 5, max_denominator=6),
    total=st.fractions(0, 12, max_denominator=6),
    shares=st.lists(st.fractions(0, 1, max_denominator=5), min_size=4, max_size=4),
)
def test_no_rational_placement_moves_further(groups, per_group, total, shares):
    found = Sensitivity(groups=groups, per_group=per_group, total=total)
    move = [share * per_group for share in shares[:groups]]
    if sum(move) > total:
        move = [step * total / sum(move) for step in move]
    assert sum(move) <= found.l1
    assert max(move) <= found.linf
    assert sum(step**2 for step in move) <= found.l2_squared


def contributions(values, rows, groups, in_all):
    """The vectors of group sums one unit can add; rows may be fewer, or filtered away."""
    vectors = set()
    for count in range(rows + 1):
        for places in itertools.product(range(in_all), repeat=count):
            if len(set(places)) > groups:
                continue
            for amounts in itertools.product(values, repeat=count):
                vector = [0] * in_all
                for place, amount in zip(places, amounts, strict=True):
                    vector[place] += amount
                vectors.add(tuple(vector))
    return vectors


def moves(vectors, relation):
    """How far neighbours differ: one unit against none, or against another one."""
    if relation is Relation.ADD_REMOVE:
        return vectors
    return {
        tuple(one - other for one, other in zip(first, second, strict=True))
        for first, second in itertools.product(vectors, repeat=2)
    }


@settings(max_examples=60, deadline=None)
@given(
    bounds=st.tuples(st.integers(-4, 4), st.integers(-4, 4)).map(sorted),
    rows=st.integers(1, 2),
    groups=st.integers(1, 3),
    in_all=st.integers(1, 3),
    relation=st.sampled_from(Relation),
)
@example(bounds=[-3, 5], rows=1, groups=1, in_all=2, relation=Relation.REPLACE)
@example(bounds=[2, 4], rows=2, groups=1, in_all=3, relation=Relation.REPLACE)
@example(bounds=[0, 1], rows=2, groups=2, in_all=3, relation=Relation.ADD_REMOVE)
def test_sums_move_no_further_than_brute_force_over_neighbours_finds(
    bounds, rows, groups, in_all, relation
):
    lower, upper = bounds
    found = Sensitivity.of_sum(
        lower=lower,
        upper=upper,
        rows_per_unit=rows,
        groups_per_unit=groups,
        groups_in_all=in_all,
        relation=relation,
    )
    reached = moves(contributions({lower, upper}, rows, groups, in_all), relation)
    assert found.linf == max(abs(step) for move in reached for step in move)
    assert found.groups >= max(sum(step != 0 for step in move) for move in reached)
    most, squares = (
        max(sum(abs(step) ** power for step in move) for move in reached) for power in (1, 2)
    )
    assert most <= found.l1
    assert squares <= found.l2_squared
    if relation is Relation.ADD_REMOVE or in_all == 1:
        assert (most, squares) == (found.l1, found.l2_squared)


@given(lower=st.integers(-5, 5), width=st.integers(0, 5), rows=st.integers(1, 5), groups=small)
def test_an_unknown_number_of_groups_is_the_worst_number(lower, width, rows, groups):
    for relation in Relation:
        bounds = {"lower": lower, "upper": lower + width, "rows_per_unit": rows}
        free = Sensitivity.of_sum(**bounds, groups_per_unit=groups, relation=relation)
        for in_all in range(1, 2 * groups + 2):
            fixed = Sensitivity.of_sum(
                **bounds, groups_per_unit=groups, groups_in_all=in_all, relation=relation
            )
            assert fixed.l1 <= free.l1
            assert fixed.l2_squared <= free.l2_squared
            assert fixed.linf <= free.linf
