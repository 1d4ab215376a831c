"""Quantiles by recursion audited exactly: the joint law on small neighbours keeps both prices;
rows on both sides, a division at the exact rank and levels that are not counted are caught.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from unittest.mock import patch

import pytest

from discreet.audit import exact
from discreet.audit.exact import enumerate_loss
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from discreet.rationals import floor_decimal, log_bounds
from support.mechanism_laws import division_law, nested_law

HALF = Fraction(1, 2)  # stands for exp(-1/(2 scale)): half a row, or one step of a division
SCALE = floor_decimal(1 / (2 * log_bounds(Fraction(2))[1]))  # so a claim is a hair too large
LEAF = (HALF, None, None)
QUARTERS = (HALF, LEAF, LEAF)
EIGHTHS = (HALF, QUARTERS, QUARTERS)
HISTOGRAMS = [counts for counts in product(range(4), repeat=3) if sum(counts) <= 3]


@pytest.fixture(scope="module", autouse=True)
def _claims_are_read_once():
    """What a claim states depends on the claim alone, and is asked for each pair of neighbours."""
    with patch.object(exact, "statements", cache(exact.statements)):
        yield


def weight(distance):
    return HALF ** int(2 * distance)


def noisy(aim, tied):
    chances = division_law(aim, tied, HALF)
    return {(taken, tied - taken): chance for taken, chance in enumerate(chances)}


def doubled(_aim, tied):
    return {(tied, tied): Fraction(1)}


@cache
def law(counts, tree, divide=noisy):
    return nested_law(list(counts), tree, weight, divide)


def added(rows):
    for counts, move in product(HISTOGRAMS, HISTOGRAMS):
        if sum(move) == rows:
            yield counts, tuple(a + b for a, b in zip(counts, move, strict=True))


def replaced():
    for counts, one, two in product(HISTOGRAMS[:12], range(3), range(3)):
        yield tuple(
            tuple(count + (place == at) for place, count in enumerate(counts)) for at in (one, two)
        )


def contradictions(pairs, tree, claims, divide=noisy):
    """How many pairs contradict a claim; both directions of a pair are looked at together."""
    apart = {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}
    losses = [enumerate_loss(law(a, tree, divide), law(b, tree, divide)) for a, b in apart]
    return sum(loss.violates(claim) for loss in losses for claim in claims)


def claims_of(count, moved):
    fractions = [Fraction(place, count + 1) for place in range(1, count + 1)]
    mechanism = NestedQuantiles(fractions=fractions, scale=SCALE)
    sensitivity = Sensitivity.single(moved)
    return mechanism.pure_loss(sensitivity), mechanism.loss(sensitivity)


@pytest.mark.parametrize("rows", [1, 2])
def test_adding_a_unit_keeps_the_price_of_three_quantiles(rows):
    assert contradictions(list(added(rows)), QUARTERS, claims_of(3, rows)) == 0


def test_adding_a_unit_keeps_the_price_of_seven_quantiles():
    pairs = [pair for pair in added(1) if sum(pair[0]) in (0, 2)]
    assert contradictions(pairs, EIGHTHS, claims_of(7, 1)) == 0


def test_replacing_a_unit_keeps_the_price_of_two_rows():
    assert contradictions(list(replaced()), QUARTERS, claims_of(3, 2)) == 0


def test_a_level_that_is_not_counted_is_caught():
    pure, _ = claims_of(3, 1)
    one_level = claims_of(1, 1)[0]
    assert one_level.epsilon < pure.epsilon
    assert contradictions(list(added(1)), QUARTERS, [one_level]) > 0


def downwards(_aim, tied):
    return {(tied, 0): Fraction(1)}


@pytest.mark.parametrize("rows", [8, 12])
def test_rows_of_the_split_point_on_both_sides_are_caught(rows):
    """From no rows to some, distances only grow, so a level costs half its price at most; ties
    that all go to one side by a public rule need no noise. With both sides they cost twice.
    """
    empty, full = (0, 0, 0), (0, rows, 0)
    allowed = Pure(epsilon=3 * claims_of(1, rows)[0].epsilon / 2)
    assert contradictions([(empty, full)], EIGHTHS, [allowed], downwards) == 0
    assert contradictions([(empty, full)], EIGHTHS, [allowed], doubled) > 0


def sides(counts, place, fraction, noise):
    """The two sides as the mechanism makes them; without noise the division follows the data."""
    tied = counts[place]
    aim = min(max(int(fraction * sum(counts)) - sum(counts[:place]), 0), tied)
    taken = min(max(aim if noise is None else noise, 0), tied)
    return [*counts[:place], taken, tied - taken, *counts[place + 1 :]]


def farthest(noise):
    """How many rows of the two sides one more row changes at most."""
    changes = []
    for (counts, more), place in product(added(1), range(3)):
        first, second = (sides(list(side), place, HALF, noise) for side in (counts, more))
        changes.append(sum(abs(a - b) for a, b in zip(first, second, strict=True)))
    return max(changes)


def test_given_the_noisy_rank_a_row_is_on_one_side_and_given_the_exact_one_it_is_not():
    assert {farthest(noise) for noise in range(-2, 7)} == {1}
    assert farthest(None) > 1
