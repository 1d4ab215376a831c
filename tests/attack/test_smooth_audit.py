"""Smooth noise, the ladder and node-private graphs audited: the laws of neighbours compared value
by value on small worlds, with a planted bug beside each. Sampled end to end they stand in the
catalogue of audits.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest

from discreet.audit.exact import enumerate_loss
from discreet.loss import Pure, Relation
from discreet.rationals import log_bounds
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.triangles import SmoothTriangles
from discreet.robust.smooth.growth import smooth_bound
from discreet.robust.smooth.laplace_noise import LaplaceShape, LogNormalShape
from discreet.robust.smooth.mechanism import SmoothNoise
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.student_noise import CauchyShape, StudentShape
from support.growth_brute import added_or_removed, data_sets, replaced
from support.smooth_laws import (
    cauchy,
    ladder_law,
    laplace,
    laplace_log_normal,
    lattice_pmf,
    student,
)

# Laws side by side: the worst neighbours that a growth allows.

NEAR = np.arange(-40_000, 40_001)
PURE = {
    "Cauchy": (CauchyShape.priced(epsilon=1), cauchy),
    "Cauchy, little smoothing": (CauchyShape.priced(epsilon=1, share=0.2), cauchy),
    "Student 2": (StudentShape.priced(epsilon=1, degrees=2), student(2)),
    "Student 4": (StudentShape.priced(epsilon=2, degrees=4), student(4)),
}


def worst_pairs(noise, survival, size=60.0, values=NEAR):
    """Two laws: values apart by the smaller bound at most, bounds apart by e^smoothing at most."""
    stretch = float(np.exp(float(noise.smoothing)))
    for one, two in ((size, size), (size, size * stretch), (size * stretch, size)):
        for apart in (0, 1, -1):
            shift = Fraction(apart * int(min(one, two)))
            laws = [
                lattice_pmf(survival, place, scale / float(noise.sliding), values)
                for place, scale in ((Fraction(0), one), (shift, two))
            ]
            yield laws


def largest_ratio(noise, survival):
    return max(
        float(np.abs(np.log(first) - np.log(second)).max())
        for first, second in worst_pairs(noise, survival)
    )


@pytest.mark.parametrize("name", PURE)
def test_pure_shapes_keep_their_price_at_every_value(name):
    noise, survival = PURE[name]
    found, price = largest_ratio(noise, survival), float(noise.loss.epsilon)
    assert 0.9 * price < found <= price * (1 + 1e-6)  # nearly all of it is used
    unpaid = SmoothNoise(
        shape=noise.shape, sliding=noise.sliding * 3 / 2, smoothing=noise.smoothing * 3 / 2
    )
    assert largest_ratio(unpaid, survival) > 1.2 * price


def test_the_constant_of_the_source_is_not_needed():
    """A sixth of epsilon for each is usually quoted; nearly all of it for each is enough."""
    noise = CauchyShape.priced(epsilon=1)
    assert noise.sliding > 1
    assert noise.smoothing == Fraction(3, 4)
    assert largest_ratio(noise, cauchy) <= 1 + 1e-6


def hockey_stick(first, second, epsilon):
    return float(np.maximum(first - np.exp(epsilon) * second, 0).sum())


def test_laplace_noise_keeps_its_delta_and_needs_it():
    noise = LaplaceShape.priced(epsilon=1, delta=1e-3)
    deltas = [
        hockey_stick(*laws, float(noise.loss.epsilon)) for laws in worst_pairs(noise, laplace)
    ]
    assert max(deltas) <= float(noise.loss.delta) * (1 + 1e-6)
    assert max(deltas) > 0
    stretch = [
        hockey_stick(*laws, float(noise.shape.tolerance))
        for laws in list(worst_pairs(noise, laplace, 2000.0, np.arange(-200_000, 200_001)))[::3]
    ]
    assert max(stretch) == pytest.approx(float(noise.loss.delta), rel=1e-2)  # the exact delta
    wide = LaplaceShape(tolerance=Fraction(1, 2))
    assert wide.loss(sliding=Fraction(1, 2), smoothing=Fraction(1, 2)).delta > Fraction(1, 20)


def largest_divergence(noise):
    """The largest Renyi divergence of worst neighbours, over the order."""
    found = 0.0
    for first, second in worst_pairs(noise, laplace_log_normal(0.45), 15.0, np.arange(-900, 901)):
        for order in (1.5, 2.0, 4.0, 16.0):
            power = float((first**order * second ** (1 - order)).sum())
            found = max(found, np.log(power) / (order - 1) / order)
    return found


def test_laplace_log_normal_noise_keeps_its_rho():
    noise = LogNormalShape.priced(rho=0.5)
    assert 0.1 < largest_divergence(noise) / float(noise.loss.rho) <= 1
    unpaid = SmoothNoise(shape=noise.shape, sliding=noise.sliding, smoothing=8 * noise.smoothing)
    assert largest_divergence(unpaid) > float(noise.loss.rho)


# Medians of every small data set, by smooth noise and by the ladder.

VALUES, UPPER = 3, 40


def spaced(rows):
    return np.array([20 * row for row in rows], dtype=np.int64)


def pairs_of(relation, unit):
    if relation is Relation.REPLACE:
        for rows in data_sets(VALUES, 4, 4):
            yield from ((rows, other) for other in replaced(rows, VALUES, unit))
    else:
        for rows in data_sets(VALUES, 5):
            yield from ((rows, other) for other in added_or_removed(rows, VALUES, unit, 5))


def worst_median(query, pairs, noise, bound):
    """The largest log ratio of the laws of neighbours, with noise in proportion to `bound`."""

    @cache
    def law(rows):
        growth = query.growth(spaced(rows))
        scale = max(1e-3, bound(growth)) / float(noise.sliding)
        return np.log(np.maximum(lattice_pmf(cauchy, growth.exact, scale, NEAR[::97]), 1e-300))

    return max(float((law(one) - law(two)).max()) for one, two in pairs)


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("relation", Relation)
def test_medians_of_all_small_neighbours(relation, unit):
    query = SmoothQuantile(
        fraction=0.5, lower=0, upper=UPPER, rows_per_unit=unit, relation=relation
    )
    noise, pairs = CauchyShape.priced(epsilon=1), list(pairs_of(relation, unit))

    def smooth(growth):
        return float(smooth_bound(growth, smoothing=noise.smoothing).bounds(20)[1])

    assert worst_median(query, pairs, noise, smooth) <= 1 + 1e-6
    assert worst_median(query, pairs, noise, lambda growth: float(growth.at(0))) > 2
    if unit == 2:  # a query that knows of one row per unit
        careless = SmoothQuantile(fraction=0.5, lower=0, upper=UPPER, relation=relation)
        noise = CauchyShape.priced(epsilon=1, share=0.95)
        assert worst_median(query, pairs, noise, smooth) <= 1 + 1e-6
        assert worst_median(careless, pairs, noise, smooth) > 1.2


HALF = Fraction(1, 2)  # stands for exp(-epsilon/2)
EPSILON = 2 * log_bounds(Fraction(2))[1]


def ladder_losses(growth_of, pairs, bare=0):
    """The exact privacy losses of the ladder over pairs of neighbours."""

    @cache
    def law(data):
        growth = growth_of(data)
        rungs = [growth.at(k) for k in range(len(growth.rungs))]
        width = growth.limit
        if bare:
            rungs, width = [], int(growth.at(0)) or 1
        return ladder_law(growth.exact, rungs, width, HALF, (-60, 60))

    return [enumerate_loss(law(one), law(two)) for one, two in pairs]


def test_ladders_of_medians_are_private_exactly():
    query = SmoothQuantile(fraction=0.5, lower=0, upper=4)
    pairs = list(pairs_of(Relation.ADD_REMOVE, 1))

    def growth(rows):
        return query.growth(np.array([2 * row for row in rows], dtype=np.int64))

    losses = ladder_losses(growth, pairs)
    assert not any(loss.violates(Pure(epsilon=EPSILON)) for loss in losses)
    assert max(loss.ratio for loss in losses) > 2  # of at most 4
    planted = ladder_losses(growth, pairs, bare=1)
    assert any(loss.violates(Pure(epsilon=EPSILON)) for loss in planted)


def test_ladders_of_triangles_are_private_exactly():
    query = SmoothTriangles(nodes=5)
    slots = list(combinations(range(5), 2))
    chain = [frozenset(slots[:k]) for k in range(len(slots) + 1)]
    pairs = [pair for one, two in pairwise(chain) for pair in ((one, two), (two, one))]

    def growth(edges):
        return query.growth(Graph.from_edges(sorted(edges), nodes=range(5)))

    losses = ladder_losses(growth, pairs)
    assert not any(loss.violates(Pure(epsilon=EPSILON)) for loss in losses)
    planted = ladder_losses(growth, pairs, bare=1)
    assert any(loss.violates(Pure(epsilon=EPSILON)) for loss in planted)
