"""Propose-test-release by growth, audited exactly on all small neighbours of both relations, and
refusals end to end.
"""

from fractions import Fraction

import pytest

from discreet.audit.exact import enumerate_loss
from discreet.loss import Approximate, Relation
from discreet.rationals import ceil_decimal, log_bounds
from discreet.robust.smooth.growth import Growth
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.trimmed import SmoothTrimmedMean
from discreet.robust.tested.outcome import Refused
from discreet.robust.tested.proposals import GrowthProposal, growth_distance
from support.robust_laws import around, checked_law, data_sets

HALF = Fraction(1, 2)
LN2 = ceil_decimal(log_bounds(Fraction(2))[1])
DELTA = Fraction(1, 50)
VALUES = (0, 2, 9)
BOUND = 2


def replaced(rows):
    """Same number of rows, one of them another."""
    return {one for one in around(rows, VALUES, 2)[-1] if len(one) == len(rows)}


def added(rows):
    return around(rows, VALUES, 1)[-1]


def laws_of(relation, *, more=0):
    query = SmoothQuantile(fraction=HALF, lower=0, upper=9, relation=relation)
    proposal = GrowthProposal(
        query=query,
        bound=BOUND,
        epsilon=(1 + BOUND) * LN2,
        delta=DELTA,
        test_share=Fraction(1, 1 + BOUND),
    )
    laws = {}
    for rows in data_sets(VALUES, 7):
        growth = query.growth(list(rows))
        laws[rows] = checked_law(
            int(growth.exact),
            growth_distance(growth, bound=BOUND) + more,
            threshold=proposal.mechanism.test.threshold,
            test=HALF,
            noise=HALF,
            reach=25,
        )
    return laws, proposal.loss()


def contradicted(laws, neighbours, claim):
    return any(
        enumerate_loss(laws[rows], laws[other]).violates(claim)
        for rows in laws
        for other in neighbours(rows)
        if rows < other and other in laws  # both directions are looked at together
    )


@pytest.mark.parametrize(
    ("relation", "neighbours"), [(Relation.ADD_REMOVE, added), (Relation.REPLACE, replaced)]
)
def test_a_proposed_median_keeps_its_claim_and_a_distance_never_0_does_not(relation, neighbours):
    laws, claim = laws_of(relation)
    assert claim == Approximate(epsilon=(1 + BOUND) * LN2, delta=DELTA)
    assert not contradicted(laws, neighbours, claim)
    planted, _ = laws_of(relation, more=9)
    assert contradicted(planted, neighbours, claim)


def test_the_distance_is_where_the_growth_passes_the_bound():
    growth = Growth(exact=0, rungs=[2, 2, 6, 8], limit=10, resolution=2)
    assert [growth_distance(growth, bound=bound) for bound in (0, 1, 3, 4)] == [0, 2, 3, 4]
    assert growth_distance(growth, bound=5) == 1 << 40  # never more than the limit


def test_a_trimmed_mean_is_shown_for_calm_rows_and_refused_for_wild_ones():
    query = SmoothTrimmedMean(share=Fraction(1, 10), lower=0, upper=10**6)
    proposal = GrowthProposal(query=query, bound=50, epsilon=2, delta=1e-12)
    assert abs(proposal.release(list(range(4000, 6000))).value - 5000) < 2000
    assert isinstance(proposal.release([0, 10**6] * 30), Refused)
