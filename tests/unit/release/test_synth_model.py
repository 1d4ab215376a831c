"""Models: belief propagation against brute force, fits against what they must reproduce, rows and
counts against the model they come from.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.simplex import project_to_simplex
from discreet.noise import SeededBits
from discreet.release.synth.domain import Attribute, Binning, bin_values
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.model.fit import Fitted, Measured, combine, fit
from discreet.release.synth.model.folds import fold
from discreet.release.synth.model.graphical import network
from discreet.release.synth.model.rows import draw_rows, take_evenly
from discreet.release.synth.one_way import estimate_counts
from discreet.release.synth.spread import replicas

SIZES = (2, 3, 2, 4, 3, 2)
FACTORS = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 5), (1, 3, 4)]


def values(count, seed):
    """Numbers between -1 and 1 without a pattern, the same every time."""
    words = np.empty(count, dtype=np.uint64)
    SeededBits(seed).fill(words.view(np.uint8))
    return words * 2.0**-63 - 1


def factors_of(net, seed, scale=2.0):
    shapes = {clique: tuple(net.tree.sizes[at] for at in clique) for clique in net.factors}
    return {
        clique: scale * values(math.prod(shape), seed + place).reshape(shape)
        for place, (clique, shape) in enumerate(shapes.items())
    }


def joint(sizes, factors):
    """The whole distribution, by definition, and its log partition function."""
    table = np.zeros(sizes)
    for clique, factor in factors.items():
        table = table + factor.reshape(
            [sizes[at] if at in clique else 1 for at in range(len(sizes))]
        )
    weights = np.exp(table)
    return weights / weights.sum(), math.log(weights.sum())


def summed(table, clique):
    return table.sum(axis=tuple(at for at in range(table.ndim) if at not in clique))


@pytest.mark.parametrize("factors", [[], FACTORS, [(0, 1, 2, 3, 4, 5)], [(0, 5), (1, 4)]])
def test_propagation_is_exact(factors):
    net = network(SIZES, factors)
    given = factors_of(net, 5)
    found = net.propagate(given)
    table, logarithm = joint(SIZES, given)
    assert math.isclose(found.log_partition, logarithm, rel_tol=1e-12)
    for clique in net.factors:
        assert np.allclose(found.marginals[clique], summed(table, clique), atol=1e-13)
    for clique, belief in zip(net.tree.cliques, found.cliques, strict=True):
        assert np.allclose(belief, summed(table, clique), atol=1e-13)


def test_propagation_leaves_the_factors_as_they_were():
    net = network((3,), [])
    given = {(0,): np.array([1.0, 2.0, 3.0])}
    net.propagate(given)
    assert given[(0,)].tolist() == [1.0, 2.0, 3.0]


def test_propagation_survives_large_factors():
    net = network((2, 2, 2), [(0, 1), (1, 2)])
    given = {(0, 1): np.array([[900.0, -900.0], [0.0, 0.0]]), (1, 2): np.full((2, 2), -5000.0)}
    found = net.propagate(given)
    assert math.isclose(found.log_partition, 900 - 5000 + math.log(2), rel_tol=1e-12)
    assert np.isfinite(found.marginals[(1, 2)]).all()


def test_a_fold_sums_like_numpy():
    table = values(math.prod(SIZES), 3).reshape(SIZES)
    targets = [c for k in (0, 1, 2, 3) for c in itertools.combinations(range(6), k)]
    found = fold(tuple(range(6)), SIZES, targets).collapse(table)
    assert all(np.allclose(found[target], summed(table, target)) for target in targets)


def measured_from(table, cliques, variance=1e-10):
    return [
        Measured(clique, summed(table, clique), np.full(summed(table, clique).shape, variance))
        for clique in cliques
    ]


def test_a_fit_reproduces_the_model_behind_exact_marginals():
    net = network(SIZES, FACTORS)
    table, _ = joint(SIZES, factors_of(net, 9, 1.0))
    found = fit(net, measured_from(table, net.factors), strength=1, steps=2000, tolerance=1e-4)
    again, _ = joint(SIZES, found.factors)
    assert np.abs(again - table).sum() < 1e-3  # the log-linear model itself, not only marginals


def test_without_evidence_the_fit_is_independent():
    table = np.outer([0.3, 0.7], [0.1, 0.2, 0.7])
    net = network((2, 3), [(0, 1)])
    found = fit(net, measured_from(table, [(0,), (1,)]), strength=1, steps=200, tolerance=1e-4)
    whole, _ = joint((2, 3), found.factors)
    assert np.allclose(whole, table, atol=1e-4)


def test_the_stationary_point_balances_misfit_and_entropy():
    """At the optimum a factor is its misfit over the penalty: checked without the solver."""
    noisy, variance, strength = np.array([0.9, 0.3, -0.2]), np.full(3, 1e-2), 30.0
    found = fit(
        network((3,), []), [Measured((0,), noisy, variance)], strength=strength, tolerance=1e-9
    )
    misfit = noisy - found.beliefs.marginals[(0,)]
    assert np.allclose(found.factors[(0,)] * strength * variance, misfit, atol=1e-8)


def test_more_strength_is_more_entropy():
    given = [Measured((0,), np.array([0.9, 0.1, 0.0]), np.full(3, 1e-2))]

    def entropy(strength):
        found = fit(network((3,), []), given, strength=strength).beliefs.marginals[(0,)]
        return -float((found * np.log(found)).sum())

    assert entropy(1) < entropy(30) < entropy(1000) < math.log(3)


def test_measurements_of_one_marginal_count_together():
    one = Measured((0,), np.array([0.2, 0.8]), np.full(2, 1.0))
    two = Measured((0,), np.array([0.5, 0.5]), np.full(2, 0.5))
    assert np.allclose(combine([one, two])[(0,)].noisy, [0.4, 0.6])


@pytest.mark.parametrize(
    ("noisy", "variance"),
    [([0.5, np.nan], [1.0, 1.0]), ([0.5, 0.5], [1.0, 0.0]), ([0.5], [1.0, 1.0])],
)
def test_measurements_are_checked(noisy, variance):
    with pytest.raises(InvalidValue):
        Measured((0,), np.array(noisy), np.array(variance))


def test_rows_meet_the_model_s_shares():
    net = network(SIZES, FACTORS)
    given = factors_of(net, 11)
    table, _ = joint(SIZES, given)
    rows = draw_rows(net, net.propagate(given), 40_000)
    for clique in [(0, 1), (1, 3, 4), (0, 5), (2, 4)]:
        counts = np.zeros([SIZES[at] for at in clique])
        np.add.at(counts, tuple(rows[:, at] for at in clique), 1 / len(rows))
        assert np.abs(counts - summed(table, clique)).sum() / 2 < 0.01


def test_columns_that_have_nothing_to_do_with_each_other_stay_so():
    """Late columns find every row in an order of its own; a sequence that all of them take would
    tie them together, as it does where the turn is withheld.
    """
    net = network((6,) * 10, [])
    found = net.propagate({})

    def tied(shares, given, order, bits, *, turn):
        return take_evenly(shares, given, order, bits, turn=0 * turn)

    def farthest(take):
        rows = draw_rows(net, found, 30_000, None, take)
        tables = [
            np.bincount(6 * rows[:, a] + rows[:, b], minlength=36) / len(rows)
            for a, b in itertools.combinations(range(10), 2)
        ]
        return max(np.abs(table - 1 / 36).sum() / 2 for table in tables)

    assert farthest(None) < 0.03  # of independent rows: 0.018
    assert farthest(tied) > 0.5


def test_rows_without_bits_are_the_same_and_with_bits_are_not():
    net = network(SIZES, FACTORS)
    found = net.propagate(factors_of(net, 1))
    assert (draw_rows(net, found, 500, None) == draw_rows(net, found, 500, None)).all()
    assert (draw_rows(net, found, 500) != draw_rows(net, found, 500)).any()


def model(strength=10.0):
    """Three attributes, the second one bin_values, with a known joint distribution of groups."""
    attributes = (Attribute("a", 2), Attribute("b", 4, ordered=True), Attribute("c", 3))
    binnings = (
        Binning(np.array([0, 1]), np.ones(2)),
        Binning(np.array([0, 0, 1, 1]), np.array([0.25, 0.75, 0.5, 0.5])),
        Binning(np.arange(3), np.ones(3)),
    )
    net = network((2, 2, 3), [(0, 1), (1, 2)])
    given = factors_of(net, 2)
    fitted = Fitted(net, given, net.propagate(given))
    measured = tuple(
        Measured(clique, table, np.full(table.shape, 1e-5))
        for clique, table in fitted.beliefs.marginals.items()
    )
    return Synthetic(attributes, (0, 1, 2), binnings, 1000.0, fitted, measured, strength)


def test_counts_are_those_of_the_joint_distribution():
    made = model()
    table, _ = joint((2, 2, 3), made.fitted.factors)
    values_of_b = np.array([0.0, 1.0, 1.0, 0.0])  # three quarters of one group, half of the other
    expected = 1000 * (0.75 * table[1, 0, [0, 2]].sum() + 0.5 * table[1, 1, [0, 2]].sum())
    found = made.count({0: np.array([0.0, 1.0]), 1: values_of_b, 2: np.array([1.0, 0.0, 1.0])})
    assert math.isclose(found, expected, rel_tol=1e-9)
    assert math.isclose(made.count({}), 1000, rel_tol=1e-9)
    assert made.count({0: np.zeros(2)}) == 0


def test_marginals_are_spread_over_values():
    made = model()
    table, _ = joint((2, 2, 3), made.fitted.factors)
    groups = summed(table, (0, 1)) * 1000
    expected = np.stack(
        [groups[:, 0] * 0.25, groups[:, 0] * 0.75, groups[:, 1] * 0.5, groups[:, 1] * 0.5], axis=1
    )
    assert np.allclose(made.marginal((0, 1)), expected)
    assert np.allclose(made.marginal((1, 0)), expected.T)


def test_synthetic_rows_have_values_in_their_domains():
    made = model()
    rows = made.codes(20_000)
    assert rows.min() == 0
    assert rows.max(axis=0).tolist() == [1, 3, 2]
    share = np.bincount(rows[:, 1], minlength=4) / len(rows)
    assert np.abs(share - made.marginal((1,)) / 1000).sum() < 0.01


def test_the_deviation_of_replicas_is_that_of_the_noise():
    """A count of one measured cell moves as its noise does, or a little less."""
    whole = model()
    pairs = tuple(each for each in whole.measured if len(each.clique) == 2)
    made = replicas(replace(whole, measured=pairs), 60)
    chosen = {0: np.array([0.0, 1.0]), 1: np.array([1.0, 1.0, 0.0, 0.0])}
    noise = 1000 * math.sqrt(1e-5)
    assert 0.3 * noise < made.deviation(chosen) < 1.6 * noise


def test_smooth_counts_are_smoothed_and_rough_ones_kept():
    places = np.arange(128)
    smooth = 1000 * np.exp(-(((places - 50) / 25) ** 2))
    rough = np.where(places % 2, 0.0, 800.0)
    for truth, least in ((smooth, 0.7), (rough, 1.1)):
        noisy = truth + 200 * values(128, 8)
        sigma = 200 / math.sqrt(3)
        total = float(truth.sum())
        found = estimate_counts(noisy, Attribute("x", 128, ordered=True), sigma=sigma, total=total)
        plain = project_to_simplex(noisy, total)
        assert np.abs(found - truth).sum() < least * np.abs(plain - truth).sum()


def test_binning_keeps_peaks_and_pools_what_is_rare():
    counts = np.array([5, 5, 5, 400, 5, 5, 5, 5])
    peaked = bin_values(Attribute("x", 8, ordered=True), counts, most=4, least=10)
    assert peaked.groups.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert np.allclose(np.bincount(peaked.groups, weights=peaked.shares), 1)
    pooled = bin_values(Attribute("x", 4), [100, 1, 100, 2], most=2, least=10)
    assert pooled.groups.tolist() == [0, 2, 1, 2]
