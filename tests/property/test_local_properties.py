"""Tallies merge in any order and grouping; the choice never loses."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.local import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    Piecewise,
    SubsetSelection,
    Tally,
    UnaryEncoding,
)

QUESTIONS = [
    KaryResponse(epsilon=1, categories=5),
    UnaryEncoding(epsilon=1, categories=5),
    LocalHashing(epsilon=1, categories=5),
    HadamardResponse(epsilon=1, categories=5),
    SubsetSelection(epsilon=1, categories=5),
    Piecewise(epsilon=1, lower=0, upper=4, step=1),
]
answers = st.lists(st.integers(-1, 6), max_size=12)


@settings(max_examples=30, deadline=None)
@given(piles=st.lists(answers, min_size=3, max_size=3), which=st.sampled_from(QUESTIONS))
def test_merging_is_associative_and_commutative(piles, which):
    tallies = [Tally.of(which, which.release(pile)) for pile in piles]
    totals = {a + (b + c) for a, b, c in itertools.permutations(tallies)}
    totals |= {(a + b) + c for a, b, c in itertools.permutations(tallies)}
    assert len(totals) == 1
    assert totals.pop().reports == sum(map(len, piles))
    assert tallies[0] + Tally.empty(which) == tallies[0]


@settings(max_examples=30, deadline=None)
@given(pile=answers, which=st.sampled_from(QUESTIONS[:5]))
def test_counts_are_the_sums_of_supports(pile, which):
    reports = which.release(pile)
    assert which.count(reports).tolist() == which.mark_supported(reports).sum(axis=0).tolist()
