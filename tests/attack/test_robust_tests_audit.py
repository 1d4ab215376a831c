"""Mechanisms that may refuse, audited exactly: their laws on all small neighbours keep the stated
(epsilon, delta), for units of several rows too; planted variants do not.
"""

import math
from fractions import Fraction

import pytest

from discreet.audit.exact import enumerate_loss
from discreet.loss import Approximate
from discreet.rationals import ceil_decimal, log_bounds
from discreet.robust.tested.bounding import AgreeingPairs, LocalBound
from discreet.robust.tested.propose import ProposeTestRelease, short_cut_distance
from discreet.robust.tested.reaches import QuantileReach, SpreadReach
from discreet.robust.tested.stable import StableValue, mode_distance
from support.robust_laws import around, checked_law, data_sets

HALF = Fraction(1, 2)
LN2 = ceil_decimal(log_bounds(Fraction(2))[1])  # so a claim is a hair too large
DELTA = Fraction(1, 50)
KEYS = (0, 1, 2)


def contradicted(laws, neighbours, claim):
    """Whether any pair of neighbours contradicts the claim, in either direction."""
    return any(
        enumerate_loss(laws[rows], laws[other]).violates(claim)
        for rows in laws
        for other in neighbours(rows)
        if rows < other and other in laws
    )


def within(values, moved):
    return lambda rows: around(rows, values, moved)[-1]


def mode_laws(moved, *, distance=None, threshold=0, ratio=HALF):
    """The laws of the stable mode; every part can be replaced by a planted one."""
    mechanism = StableValue(epsilon=moved * LN2, delta=DELTA, rows_per_unit=moved)
    laws = {}
    for rows in data_sets(KEYS, 7):
        counts = [rows.count(key) for key in KEYS]
        winner, far = mode_distance(counts, moved=moved)
        far = far if distance is None else distance(counts)
        limit = mechanism.test.threshold + threshold
        laws[rows] = checked_law(winner, far, threshold=limit, test=ratio, noise=None, reach=0)
    return laws, mechanism.loss()


@pytest.mark.parametrize("moved", [1, 2])
def test_the_stable_mode_keeps_its_claim_on_all_neighbours(moved):
    laws, claim = mode_laws(moved)
    assert claim == Approximate(epsilon=moved * LN2, delta=DELTA)
    assert not contradicted(laws, within(KEYS, moved), claim)
    shown = [1 - law["refused"] for law in laws.values()]
    assert max(shown) > Fraction(1, 2)  # it does not keep its claim by always refusing


def plain_gap(counts):
    """Forgets that a step must not change the winner: the distance is never 0."""
    first, second = sorted(counts, reverse=True)[:2]
    return first - second + 1


@pytest.mark.parametrize(
    "planted",
    [
        {"distance": plain_gap},
        {"threshold": -1},
        {"ratio": HALF**2},  # half the noise
        {"distance": lambda counts: 9 * mode_distance(counts)[1]},
    ],
    ids=["never unstable", "threshold one too low", "half the noise", "a distance nine times"],
)
def test_planted_bugs_of_the_stable_mode_are_caught(planted):
    laws, claim = mode_laws(1, **planted)
    assert contradicted(laws, within(KEYS, 1), claim)


def test_a_mode_that_forgets_the_rows_of_a_unit_is_caught():
    laws, claim = mode_laws(1)
    assert contradicted(laws, within(KEYS, 2), claim)


VALUES = (0, 2, 9)
BOUND = 2
QUERIES = {
    "median": QuantileReach(fraction=HALF, lower=0, upper=9),
    "third": QuantileReach(fraction=Fraction(1, 3), lower=0, upper=9),
    "spread": SpreadReach(lower=0, upper=9, base=Fraction(3, 2)),
}


def proposed_laws(query, moved, *, distance=None, noise=HALF, bound=BOUND):
    mechanism = ProposeTestRelease(
        bound=bound,
        epsilon=(moved + bound) * LN2,
        delta=DELTA,
        rows_per_unit=moved,
        test_share=Fraction(moved, moved + bound),
    )
    laws = {}
    for rows in data_sets(VALUES, 6):
        around_rows = query.around(list(rows))
        far = short_cut_distance(around_rows, bound=bound, moved=moved)
        far = far if distance is None else distance(around_rows, far)
        laws[rows] = checked_law(
            around_rows.reach(0)[0],
            far,
            threshold=mechanism.test.threshold,
            test=HALF,
            noise=noise,
            reach=25,
        )
    return laws, mechanism.loss()


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("moved", [1, 2])
def test_propose_test_release_keeps_its_claim_on_all_neighbours(query, moved):
    laws, claim = proposed_laws(query, moved)
    assert claim == Approximate(epsilon=(moved + BOUND) * LN2, delta=DELTA)
    assert not contradicted(laws, within(VALUES, moved), claim)


def local_only(reachable, _):
    """Looks at the local sensitivity alone: far whenever it is small here."""
    low, high = reachable.reach(1)
    return 1000 if high - low <= BOUND else 0


@pytest.mark.parametrize(
    "planted",
    [
        {"distance": local_only},
        {"distance": lambda _, far: far + 9},
        {"noise": HALF**4},
    ],
    ids=["local sensitivity only", "never zero", "a quarter of the noise"],
)
def test_planted_bugs_of_propose_test_release_are_caught(planted):
    laws, claim = proposed_laws(QUERIES["median"], 1, **planted)
    assert contradicted(laws, within(VALUES, 1), claim)


def test_a_proposal_that_forgets_the_rows_of_a_unit_is_caught():
    laws, claim = proposed_laws(QUERIES["median"], 1)
    assert contradicted(laws, within(VALUES, 3), claim)


def laplace_at(scale, value):
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def bounded_law(value, local, mechanism, *, margin=None, factor=1.0):
    """Joint law of the noisy bound and the noisy value, on a window that holds nearly all."""
    margin = mechanism.margin if margin is None else margin
    law = {}
    for noise in range(-30, 31):
        bound = max(1, local + noise + margin)
        chance = laplace_at(float(mechanism.bound_noise.scale), noise)
        scale = factor * bound / float((1 - mechanism.bound_share) * mechanism.epsilon)
        for output in range(-100, 140):
            law[bound, output] = law.get((bound, output), 0.0) + chance * laplace_at(
                scale, output - value
            )
    return law


def hockey_stick(first, second, factor):
    keys = {*first, *second}
    return sum(max(0.0, first.get(k, 0.0) - factor * second.get(k, 0.0)) for k in keys)


def worst_delta(pairs, mechanism, **planted):
    """The largest delta at the claimed epsilon; windows of two laws are not quite the same."""
    factor = math.exp(float(mechanism.epsilon))
    found = 0.0
    for first, second in pairs:
        laws = [bounded_law(*one, mechanism, **planted) for one in (first, second)]
        found = max(found, hockey_stick(*laws, factor), hockey_stick(*reversed(laws), factor))
    return found


def test_bounding_local_sensitivity_keeps_its_delta_and_planted_bugs_do_not():
    query = AgreeingPairs()
    mechanism = LocalBound(epsilon=2, delta=DELTA, drift=query.drift)
    data = [((), (0,)), ((0, 0), (0, 0, 0)), ((0, 1), (0, 1, 1)), ((0,) * 5, (0,) * 6)]
    pairs = [(query.around(list(a)), query.around(list(b))) for a, b in data]
    assert 0 < worst_delta(pairs, mechanism) <= float(DELTA)
    assert worst_delta(pairs, mechanism, margin=-4) > float(DELTA)
    assert worst_delta(pairs, mechanism, factor=0.3) > float(DELTA)
    understated = [((value, 1), (other, 1)) for (value, _), (other, _) in pairs]
    assert worst_delta(understated, mechanism) > float(DELTA)
