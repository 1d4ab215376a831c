"""Quantiles audited exactly: the joint law on all small neighbours keeps both stated prices, for
both relations and several rows of one unit; planted variants do not.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from unittest.mock import patch

import pytest

from discreet.audit import exact
from discreet.audit.exact import enumerate_loss
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.rationals import floor_decimal, log_bounds
from support.mechanism_laws import quantile_law

HALF = Fraction(1, 2)  # stands for exp(-1/(scale * STEPS))
STEPS = 4
SCALE = floor_decimal(1 / (STEPS * log_bounds(Fraction(2))[1]))  # so a claim is a hair too large
HISTOGRAMS = [counts for counts in product(range(4), repeat=3) if sum(counts) <= 3]
FRACTIONS = [
    (Fraction(1, 2),),
    (Fraction(1, 4),),
    (Fraction(1, 4), Fraction(1, 2)),
    (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
]


@pytest.fixture(scope="module", autouse=True)
def _claims_are_read_once():
    """What a claim states depends on the claim alone, and is asked for each pair of neighbours."""
    with patch.object(exact, "statements", cache(exact.statements)):
        yield


def law(counts, fractions):
    return quantile_law(counts, [q * sum(counts) for q in fractions], HALF, STEPS)


def added(rows):
    """Histograms and what a unit of this many rows makes of them."""
    for counts, move in product(HISTOGRAMS, HISTOGRAMS):
        if sum(move) == rows:
            yield counts, tuple(a + b for a, b in zip(counts, move, strict=True))


def replaced(rows):
    """Pairs that differ by a unit of this many rows in both, placed differently."""
    for (first, one), (second, other) in product(added(rows), repeat=2):
        if first == second:
            yield one, other


def contradictions(pairs, fractions, claims, law=law):
    """How many pairs contradict a claim; both directions of a pair are looked at together."""
    apart = {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}
    laws = {counts: law(counts, fractions) for counts in {one for pair in apart for one in pair}}
    losses = [enumerate_loss(laws[one], laws[other]) for one, other in apart]
    return sum(loss.violates(claim) for loss in losses for claim in claims)


def claims_of(fractions, moved):
    mechanism = Quantiles(fractions=fractions, scale=SCALE)
    sensitivity = Sensitivity.single(moved)
    return mechanism.pure_loss(sensitivity), mechanism.loss(sensitivity)


@pytest.mark.parametrize("fractions", FRACTIONS, ids=len)
@pytest.mark.parametrize("rows", [1, 2])
def test_adding_a_unit_keeps_the_price(fractions, rows):
    pairs = list(added(rows))
    assert len(pairs) >= 60
    assert contradictions(pairs, fractions, claims_of(fractions, rows)) == 0


@pytest.mark.parametrize("fractions", FRACTIONS[1:3], ids=len)
def test_replacing_a_unit_keeps_the_price_of_twice_the_rows(fractions):
    pairs = list(replaced(1))
    assert contradictions(pairs, fractions, claims_of(fractions, 2)) == 0


def widest(fractions, pairs):
    """The largest range of the privacy loss over outcomes, as a ratio."""
    found = Fraction(1)
    for one, other in pairs:
        first, second = law(one, fractions), law(other, fractions)
        quotients = [first[key] / second[key] for key in first]
        found = max(found, max(quotients) / min(quotients))
    return found


@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)])
def test_the_range_of_one_quantile_is_used_up(fraction):
    """So the loss cannot be stated smaller: 2 max(q, 1 - q), in steps of a factor 2."""
    reach = max(fraction, 1 - fraction)
    assert widest((fraction,), list(added(1))) == 2 ** int(2 * STEPS * reach)


def test_an_understated_sensitivity_is_caught():
    """Half the claim is below the divergences found: with one sensitivity the claims are tight."""
    quarter = (Fraction(1, 4),)
    epsilon = claims_of(quarter, 1)[0].epsilon
    assert contradictions(list(added(1)), quarter, [Pure(epsilon=epsilon / 3)]) > 0  # min(q, 1-q)
    assert contradictions(list(added(2)), quarter, [claims_of(quarter, 1)[0]]) > 0  # one row of two


def test_several_quantiles_for_the_price_of_one_are_caught():
    three = FRACTIONS[3]
    one = Quantiles(fractions=three[1:2], scale=SCALE).pure_loss(Sensitivity.single(1))
    assert contradictions(list(added(1)), three, [one]) > 0
