"""The exact loss of the sparse vector technique between neighbouring values, by enumeration: the
correct forms stay within their claims and come near them; each of the four broken ones does not.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss import Relation, Sensitivity
from discreet.streams import Sparse
from support.sparse_laws import at_least, below, chance, laplace, law_of_fresh, law_of_one, loss

ONE = Sensitivity.single(1)
SLACK = 1e-9


def claim(sparse):
    return float(sparse.loss(ONE).epsilon)


def moved(margins, move):
    return [value + step for value, step in zip(margins, move, strict=True)]


def worst(law, sparse, moves, levels=(-12, -3, 0, 6), length=4):
    """The largest loss over values of two heights and the given moves."""
    scales = float(sparse.threshold_scale), float(sparse.query_scale)
    found = 0.0
    for low, high, split in itertools.product(levels, levels, (1, length - 1)):
        margins = [low] * (length - split) + [high] * split
        first = law(margins, *scales, sparse.alarms)
        for move in moves:
            found = max(found, loss(first, law(moved(margins, move), *scales, sparse.alarms)))
    return found


MOVES = [*itertools.product((-1, 1), repeat=4), (1, 0, -1, 0), (0, 0, 0, 1)]
UP = [(1,) * 4, (0, 1, 1, 1), (1, 0, 1, 1), (0, 0, 0, 1), (1, 1, 1, 0), (1, 1, 0, 0)]


@pytest.mark.parametrize("alarms", [1, 2, 3])
def test_one_threshold_keeps_its_claim(alarms):
    sparse = Sparse.of(epsilon=2, alarms=alarms, sensitivity=ONE)
    assert worst(law_of_one, sparse, MOVES) <= claim(sparse) + SLACK


@pytest.mark.parametrize("alarms", [1, 2, 3])
def test_fresh_thresholds_keep_their_claim(alarms):
    sparse = Sparse.textbook(epsilon=2, alarms=alarms, sensitivity=ONE)
    assert worst(law_of_fresh, sparse, MOVES) <= claim(sparse) + SLACK


@pytest.mark.parametrize("alarms", [1, 2, 3])
def test_the_monotone_form_is_right_for_moves_one_way_and_wrong_for_others(alarms):
    add = Relation.ADD_REMOVE
    sparse = Sparse.monotone(epsilon=2, alarms=alarms, sensitivity=ONE, relation=add)
    down = [tuple(-step for step in move) for move in UP]
    assert worst(law_of_one, sparse, UP + down) <= 2 + SLACK
    assert extreme(sparse, 1, -1) > 2.5
    assert 1.8 < extreme(sparse, 1, 0) <= 2 + SLACK


def extreme(sparse, first, second):
    """The loss where many high values are said to be below, then very low ones to be above."""
    margins, said = [30] * 20 + [-60] * sparse.alarms, [False] * 20 + [True] * sparse.alarms
    scales = float(sparse.threshold_scale), float(sparse.query_scale)
    other = moved(margins, [first] * 20 + [second] * sparse.alarms)
    chances = [chance(each, said, *scales) for each in (margins, other)]
    return abs(math.log(chances[0] / chances[1]))


@pytest.mark.parametrize("alarms", [1, 2, 3, 10])
def test_the_claim_is_nearly_used_up(alarms):
    sparse = Sparse.of(epsilon=2, alarms=alarms, sensitivity=ONE)
    assert 0.95 * claim(sparse) < extreme(sparse, 1, -1) <= claim(sparse) + SLACK


@given(
    margins=st.lists(st.integers(-15, 15), min_size=1, max_size=5),
    move=st.lists(st.integers(-1, 1), min_size=5, max_size=5),
    alarms=st.integers(1, 3),
    scales=st.tuples(st.floats(0.3, 8), st.floats(0.3, 8)),
)
def test_no_values_and_no_move_exceed_the_claim(margins, move, alarms, scales):
    other = moved(margins, move[: len(margins)])
    one = loss(law_of_one(margins, *scales, alarms), law_of_one(other, *scales, alarms))
    assert one <= 1 / scales[0] + 2 * alarms / scales[1] + SLACK
    fresh = loss(law_of_fresh(margins, *scales, alarms), law_of_fresh(other, *scales, alarms))
    assert fresh <= alarms * (1 / scales[0] + 2 / scales[1]) + SLACK
    if min(move) >= 0 or max(move) <= 0:
        assert one <= 1 / scales[0] + alarms / scales[1] + SLACK


def zero_against_split(half, threshold, query, alarms):
    """0^2m against 1^m (-1)^m, said: m times below, then m times above."""
    said = (False,) * half + (True,) * half
    laws = []
    for margins in ([0] * (2 * half), [1] * half + [-1] * half):
        noise, mass = laplace(threshold)
        for margin, above in zip(margins, said, strict=True):
            mass = mass * (at_least if above else below)(noise - margin, query)
        laws.append(float(np.sum(mass)))
    assert sum(said) <= alarms
    return abs(math.log(laws[0] / laws[1]))


@pytest.mark.parametrize("half", [1, 2, 5, 10, 20])
def test_the_published_pattern_stays_within_epsilon(half):
    sparse = Sparse.of(epsilon=1, alarms=half, sensitivity=ONE)
    scales = float(sparse.threshold_scale), float(sparse.query_scale)
    assert zero_against_split(half, *scales, half) <= 1 + SLACK


def test_query_noise_without_the_count_is_caught():
    for half in (5, 10, 20):  # noise for one alarm, used for many
        assert zero_against_split(half, 2.0, 4.0, half) > 1.0 + half / 20


def test_a_run_without_a_cut_off_is_caught():
    """The noise of two alarms, and answers go on: the loss grows with the questions."""
    sparse = Sparse.of(epsilon=1, alarms=2, sensitivity=ONE)
    scales = float(sparse.threshold_scale), float(sparse.query_scale)
    found = [zero_against_split(half, *scales, half) for half in (2, 10, 40)]
    assert found[0] <= 1 + SLACK
    assert found[0] < found[1] < found[2]
    assert found[2] > 2


def test_a_run_without_query_noise_is_caught():
    """Two values that pass each other: above for the second alone is impossible on one side."""
    noise, mass = laplace(2.0)

    def second_alone(margins):
        return float(np.sum(mass * (margins[0] < noise) * (margins[1] >= noise)))

    assert second_alone((0, 1)) > 0.1
    assert second_alone((1, 0)) == 0


def test_releasing_the_value_that_was_compared_is_caught():
    """What was compared tells where the threshold is not: every "below" then costs again."""
    epsilon, length = 1.0, 12
    noise, mass = laplace(2 / epsilon)
    scale = 4 / epsilon

    def told(margins, value):
        """P(all but the last below, the last above with exactly this noisy value)."""
        silent = np.prod([below(noise - margin, scale) for margin in margins[:-1]], axis=0)
        compared = math.tanh(0.5 / scale) * math.exp(-abs(value - margins[-1]) / scale)
        return float(np.sum(mass * silent * (noise <= value))) * compared

    ratios = [
        math.log(told([0] * length, value) / told([1] * length, value)) for value in (-8, -4, 0)
    ]
    assert max(ratios) > 1.5 * epsilon
    # Without the value the same answers keep the claim.
    laws = [law_of_one([margin] * 4, 2 / epsilon, scale, 1) for margin in (0, 1)]
    assert loss(*laws) <= epsilon + SLACK
