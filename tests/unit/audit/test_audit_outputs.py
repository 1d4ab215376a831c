"""Outputs of every kind become columns; pairs of inputs are neighbours; events are chosen blind."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.evidence.events import Direction, choose
from discreet.audit.evidence.outputs import tabulate, to_batch
from discreet.audit.pairs import (
    Pair,
    as_pairs,
    data_set_pairs,
    number_pairs,
    vary_numbers,
    vector_pairs,
)
from discreet.errors import InvalidValue
from discreet.loss import Approximate, Relation
from discreet.mechanisms.additive.laplace import DiscreteLaplace

LOW = "the lowest set bit of the output"


def test_mechanisms_of_one_and_of_many_outputs():
    assert to_batch(lambda exact: (exact, 0))(5, 2) == [(5, 0), (5, 0)]
    assert to_batch(lambda exact, count: np.full(count, exact))(5, 2).tolist() == [5, 5]
    assert len(to_batch(DiscreteLaplace(scale=1).release)(5, 3)) == 3  # `bits` has a default
    assert to_batch(abs)(-1, 2) == [1, 1]
    with pytest.raises(InvalidValue, match="cannot be called"):
        to_batch(3)


def test_numbers_tuples_and_missing_parts():
    table = tabulate([(1, None), (2, 3.5), (2,)])
    assert table.numbers["part 0"].tolist() == [1, 2, 2]
    assert table.numbers["the largest part"].tolist() == [1, 3.5, 2]
    assert table.numbers["the sum"].tolist() == [1, 5.5, 2]
    missing = table.labels["which parts are missing"]
    assert missing[0] == missing[2] != missing[1]
    whole = table.labels["the whole output"]
    assert len(set(whole.tolist())) == 3


@pytest.mark.parametrize(
    "outputs",
    [
        ["a", "b", "a"],
        [("x", 1), ("y", 2), ("x", 1)],
        [None, frozenset({1}), None],
        [np.array(["u"]), np.array(["v"]), np.array(["u"])],
        [[1, "p"], [2, "p"], [1, "p"]],
        np.array(["s", "t", "s"]),
        np.array([[True, False], [True, True], [True, False]]),
    ],
)
def test_anything_hashable_is_counted(outputs):
    codes = tabulate(outputs).labels["the whole output"].tolist()
    assert codes[0] == codes[2] != codes[1]


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(InvalidValue, match="a dict, which is not hashable"):
        tabulate([{}, {}])


def test_extreme_numbers():
    table = tabulate([10**400, -(10**400), float("inf"), float("nan"), Fraction(1, 2), True])
    assert table.numbers["the output"].tolist()[:3] == [np.inf, -np.inf, np.inf]
    assert table.numbers[LOW][4] == -1
    assert tabulate(np.zeros((4, 0))).labels["the whole output"].tolist() == [0, 0, 0, 0]


def test_the_lowest_set_bit():
    values = [1.0, 0.5, 3.0, 0.75, 2.0**-60, 6.0, 1 + 2.0**-52, 5e-324, -0.75, 1e308]
    found = tabulate(values).numbers[LOW].tolist()
    for value, power in zip(values[:-1], found[:-1], strict=True):
        assert (Fraction(value) / Fraction(2) ** int(power)).numerator % 2 == 1
        assert (Fraction(value) / Fraction(2) ** int(power)).denominator == 1
    assert tabulate([0.0, 0.5]).numbers[LOW][0] > 1000
    assert LOW not in tabulate([1.0, 2.0]).numbers  # whole numbers have no room for it


def test_columns_are_decided_by_the_first_half_alone():
    first = np.array([True, True, False, False])
    assert LOW not in tabulate([1.0, 2.0, 0.5, 0.25], first).numbers
    assert "which parts are missing" not in tabulate([1, 2, None, 3], first).labels
    odd = tabulate([1, 2, "text", 3], first)
    assert odd.numbers["the output"].tolist()[:2] == [1, 2]
    assert np.isnan(odd.numbers["the output"][2])


CLAIM = [Approximate(epsilon=1, delta=0)]


def chosen(left, right, claims=CLAIM):
    samples = len(left)
    first = np.arange(2 * samples) % samples < samples // 2
    outputs = [*left, *right]
    return choose(tabulate(outputs, first), samples, claims, failure=1e-3)


def test_the_choice_does_not_see_the_second_half():
    fair = [0, 1] * 100
    kept = chosen(fair + [0] * 200, fair + [1] * 200)
    swapped = chosen(fair + [1] * 200, fair + [0] * 200)
    assert [one.event for one in kept] == [one.event for one in swapped]
    assert [one.promise for one in kept] == [one.promise for one in swapped]
    new = chosen(fair + [7] * 200, fair + [8] * 200)
    for one in new:
        assert one.promise == kept[0].promise
        assert one.trials == 200
        # A value that only the second half holds is never what the event was made of.
        assert "7" not in one.event
        assert "8" not in one.event


def test_both_directions_are_counted_on_the_second_half():
    left, right = chosen([0] * 400, [0] * 200 + [1] * 200)
    assert (left.direction, right.direction) == (Direction.LEFT, Direction.RIGHT)
    left, right = chosen([0] * 400, [1] * 400)
    assert (left.likely, left.rare) == (200, 0)
    assert (right.likely, right.rare) == (200, 0)
    assert left.promise > 0
    assert left.tried > 5


def test_the_statement_with_the_largest_excess_is_picked():
    claims = [Approximate(epsilon=5, delta=0), Approximate(epsilon=0, delta=0.5)]
    assert chosen([0] * 400, [1] * 400, claims)[0].statement == claims[1]


def test_number_and_vector_pairs_are_neighbours():
    for pair in number_pairs(2.5):
        assert pair.right - pair.left == 2.5
    assert all(isinstance(pair.left, int) for pair in number_pairs())
    for length in (1, 2, 5):
        pairs = vector_pairs(length, 2)
        assert len({(pair.left, pair.right) for pair in pairs}) == len(pairs) >= min(length, 3)
        for pair in pairs:
            moves = [abs(a - b) for a, b in zip(pair.left, pair.right, strict=True)]
            assert 0 < max(moves) <= 2
            assert len(moves) == length
    with pytest.raises(InvalidValue, match="length is 0"):
        vector_pairs(0)


def test_data_sets_differ_in_one_record():
    for pair in data_set_pairs([0, 5, 9], size=2):
        assert len(pair.right) == len(pair.left) + 1
        assert pair.right[:-1] == pair.left
    replaced = data_set_pairs([0, 9], size=2, relation=Relation.REPLACE)
    assert [(p.left[-1], p.right[-1]) for p in replaced] == [(0, 9), (0, 9)]
    with pytest.raises(InvalidValue, match="no records"):
        data_set_pairs([])
    with pytest.raises(InvalidValue, match="at least two"):
        data_set_pairs([1], relation=Relation.REPLACE)


def test_variations_keep_the_difference():
    for pair in vary_numbers(Pair(0, 1)):
        assert abs(pair.right - pair.left) == 1
    for pair in vary_numbers(Pair((0, 0, 3), (1, 0, 2))):
        assert [b - a for a, b in zip(pair.left, pair.right, strict=True)] == [1, 0, -1]
    assert vary_numbers(Pair("a", "b")) == ()
    assert vary_numbers(Pair((1,), (1, 2))) == ()
    assert vary_numbers(Pair((1,), ("a",))) == ()


def test_pairs_are_read_and_named():
    assert as_pairs([(0, 1), Pair(1, 2, "mine")])[1].name == "mine"
    assert len(Pair((0,) * 1000, 1).name) < 80
    for nonsense in ([], [3], [(1, 2, 3)]):
        with pytest.raises(InvalidValue, match="pair"):
            as_pairs(nonsense)
