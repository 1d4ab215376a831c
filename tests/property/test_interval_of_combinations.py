"""Half-widths of everything that is linear in its noise hold with 95%: marginals, ranges, boxes,
counting queries, synopses, counters. Such errors do not depend on data, so one computation with the
exact law of the noise stands for every column. Nothing is sampled.
"""

import ast
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfc

from discreet.linear.components import Components
from discreet.linear.domain import Domain
from discreet.linear.hierarchy import shape_of
from discreet.linear.predicates import Predicate
from discreet.loss import ZCDP, Pure
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.mechanisms.combinations import combined as _combined
from discreet.mechanisms.combinations.combined import deviations_95
from discreet.release.parts.counts import widen_intervals
from discreet.release.tables.allocation import Counts
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.ordered import ordered
from discreet.release.tables.ranges import Trees
from discreet.release.tables.workload import Workload
from discreet.streams.counter.running_sums import RunningSums
from discreet.streams.hypothesis.parities import Parities, _factors, _squared_norms
from discreet.streams.synopsis.snapshot import Update
from support.combination_laws import beyond
from support.surface import ROOT

PRICES = [
    *(Pure(epsilon=Fraction(each)) for each in ("0.05", "1", "3", "20")),
    *(ZCDP(rho=Fraction(each)) for each in ("0.0005", "0.05", "0.5", "10")),
]


def _named(price):
    return f"{type(price).__name__} {float(getattr(price, 'epsilon', getattr(price, 'rho', 0))):g}"


def _influence(measurements, hierarchies, read):
    """The noises of an estimate one by one, and how much each moves what is read from it."""
    noises, rows = [], []
    for here, each in enumerate(measurements):
        for place in np.ndindex(shape_of(each.cut, hierarchies)):
            parts = Components(hierarchies)
            for other, measured in enumerate(measurements):
                table = np.zeros(shape_of(measured.cut, hierarchies))
                if other == here:
                    table[place] = 1.0
                add = parts.add_table if isinstance(measured, Counts) else parts.add_contrast
                add(measured.cut, table, variance=measured.variance)
            noises.append(each.noise)
            rows.append(np.ravel(read(parts)))
    return noises, np.array(rows)


def _worst(noises, influence, reaches):
    """The largest chance that one of the estimates is farther off than its half-width."""
    found, seen = 0.0, set()
    for column, reach in zip(
        influence.T, np.broadcast_to(reaches, influence.shape[1]), strict=True
    ):
        known = tuple(np.round(np.sort(np.abs(column)), 9)), round(float(reach), 9)
        if known not in seen:
            seen.add(known)
            found = max(found, beyond(noises, column, float(reach)))
    return found


@pytest.mark.parametrize("price", PRICES, ids=_named)
@pytest.mark.parametrize(
    ("sizes", "orders"), [((3,), [1]), ((2, 3), [1, 2]), ((2, 2, 2), [0, 1, 2])]
)
def test_marginals_are_within_their_half_widths(sizes, orders, price):
    family = Marginals.calibrate(sizes, every(sizes, orders), price=price)
    for cut in family.wanted:
        noises, influence = _influence(
            family.measurements, family.hierarchies, lambda parts, cut=cut: parts.table(cut)
        )
        reach = family.half_width(cut)
        alone = np.flatnonzero(influence[:, 0])
        if len(alone) == 1 and influence[alone[0], 0] == 1:
            assert reach == noises[alone[0]].error(0.95)  # one noise by itself: exact
            continue
        assert _worst(noises, influence, reach) <= 0.05


@pytest.mark.parametrize("price", PRICES, ids=_named)
@pytest.mark.parametrize("workload", Workload)
def test_counts_up_to_each_value_are_within_their_half_widths(workload, price):
    plan = ordered(6, price=price, workload=workload)
    starts, stops = np.zeros(6, dtype=int), np.arange(1, 7)
    found = plan.release(np.zeros(6, dtype=np.int64))
    reaches = np.sqrt(found.variances(starts, stops)) * deviations_95(found.noises)
    if not isinstance(plan, Trees):
        decode = np.array([plan.variance(0, stop) - plan.variance(0, stop - 1) for stop in stops])
        weights = np.sqrt(decode / plan.noise.variance)
        rows = np.array([[weights[k] if k < stop else 0.0 for stop in stops] for k in range(6)])
        assert _worst([plan.noise] * 6, rows, reaches) <= 0.05
        return
    (hierarchy,) = plan.hierarchies
    finest = ((0, hierarchy.depth),)

    def read(parts):
        return np.cumsum(parts.table(finest))[:6]

    assert _worst(*_influence(plan.measurements, plan.hierarchies, read), reaches) <= 0.05


@pytest.mark.parametrize("price", PRICES, ids=_named)
def test_cells_over_two_axes_are_within_their_half_widths(price):
    plan = Trees.calibrate((2, 3), price=price)
    found = plan.release(np.zeros((2, 3), dtype=np.int64))
    reach = math.sqrt(plan.box_variance([(0, 1), (0, 1)])) * deviations_95(found.noises)
    finest = tuple((axis, each.depth) for axis, each in enumerate(plan.hierarchies))
    noises, influence = _influence(plan.measurements, plan.hierarchies, lambda p: p.table(finest))
    assert _worst(noises, influence, reach) <= 0.05


@pytest.mark.parametrize("cells", [2, 3, 10, 100])
@pytest.mark.parametrize("scale", ["0.1", "0.3", "0.6", "1", "2", "5", "100"])
def test_sums_of_equal_noises_are_within_their_half_widths(scale, cells):
    for noise in (DiscreteLaplace(scale=Fraction(scale)), DiscreteGaussian(sigma=Fraction(scale))):
        reach = noise.standard_deviation * math.sqrt(cells) * deviations_95([noise])
        assert beyond([noise] * cells, [1.0] * cells, reach) <= 0.05


@settings(max_examples=30)
@given(
    st.lists(st.floats(min_value=0.01, max_value=1), min_size=1, max_size=5),
    st.lists(st.sampled_from(["0.2", "0.7", "1.5", "4", "6", "200"]), min_size=5, max_size=5),
    st.sampled_from([DiscreteLaplace, DiscreteGaussian]),
)
def test_any_combination_is_within_its_half_width(coefficients, scales, kind):
    name = "scale" if kind is DiscreteLaplace else "sigma"
    noises = [kind(**{name: Fraction(scale)}) for scale in scales[: len(coefficients)]]
    variance = sum(a**2 * n.variance for a, n in zip(coefficients, noises, strict=True))
    reach = math.sqrt(variance) * deviations_95(noises)
    assert beyond(noises, coefficients, reach) <= 0.05


def test_the_same_factor_for_every_law_would_be_found():
    """What was told before: 1.96 deviations, right for wide Gaussian noise only."""
    laplace, gaussian = DiscreteLaplace(scale=50), DiscreteGaussian(sigma=50)
    assert beyond([laplace], [1.0], 1.96 * laplace.standard_deviation) > 0.06
    assert beyond([gaussian], [1.0], 1.97 * gaussian.standard_deviation) <= 0.05
    small = DiscreteGaussian(sigma=Fraction(1, 2))
    assert beyond([small], [1.0], 1.96 * small.standard_deviation) > 0.2


def test_no_other_module_has_a_factor_of_the_normal_law():
    """Two files prove theirs; a half-width anywhere else comes from a mechanism or from them."""
    proved = {"mechanisms/combinations/combined.py", "streams/counter/running_sums.py"}
    words = ("NormalDist", "ndtri", "norm.ppf", "erfinv", "inv_cdf")
    source = ROOT / "src" / "discreet"
    found = []
    for path in sorted(source.rglob("*.py")):
        text, name = path.read_text(), path.relative_to(source).as_posix()
        if name in proved:
            continue
        numbers = [
            node.value
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant) and isinstance(node.value, float)
        ]
        factors = [each for each in numbers if 1.955 < each < 1.965 or 1.64 < each < 1.65]
        found += [(name, each) for each in factors]
        found += [(name, word) for word in words if word in text]
    assert not found


def test_the_factors_are_those_of_the_proof():
    """docs/proofs/releases.md: Laplace sums by convex order, Gaussian ones by smoothing."""
    for factor, lattice in _combined._LAPLACE:
        allowed = 0.05 * (0.5 if lattice == 0 else 1 - math.exp(-(lattice**2)))
        assert allowed - 1e-4 < _laplace_tail(factor) <= allowed
    for factor, lattice in _combined._GAUSSIAN:
        kept = erfc(-lattice / 1.6 / math.sqrt(2)) / 2
        assert erfc(factor / math.sqrt(2)) <= 0.05 * kept * (1 - 1e-6)
    for pairs in (_combined._LAPLACE, _combined._GAUSSIAN):
        assert all(one[0] > other[0] and one[1] < other[1] for one, other in pairwise(pairs))
    assert _combined._ANY**2 * 0.05 >= 1
    assert 2 * math.exp(-(_combined._SUBGAUSSIAN**2) / 2) <= 0.05
    sigma, smoothing = _combined._SMOOTHED, _combined._GAUSSIAN_SMOOTHING
    together = sigma**2 * smoothing / (sigma**2 + smoothing)
    assert 2.01 * math.exp(-2 * math.pi**2 * together) * 2**31 < 1e-6


def _laplace_tail(factor):
    """A bound on P(|X| > factor), X any combination of Laplace noises of variance 1."""
    turn = factor**2 / 3
    places = np.linspace(1e-9, turn, 400_001)
    inner = np.trapezoid(erfc(factor / np.sqrt(2 * places)) * np.exp(-places), places)
    slope = factor * turn**-1.5 * math.exp(-1.5) / math.sqrt(2 * math.pi)
    return inner + math.exp(-turn) * (erfc(math.sqrt(1.5)) + slope)


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e6)),
        min_size=1,
        max_size=9,
    )
)
def test_finished_counts_lie_in_intervals_that_hold_what_unbiased_ones_hold(rows):
    """Whatever finishing does, a count in the unbiased interval is in the one that is told."""
    told, unbiased, reach = (np.array(column) for column in zip(*rows, strict=True))
    low, high = widen_intervals(told, unbiased, reach, finish="non-negative")
    assert (low <= told).all()
    assert (told <= high).all()
    assert (low <= np.maximum(unbiased - reach, 0)).all()
    assert (high >= np.maximum(unbiased + reach, 0)).all()
    plain = widen_intervals(unbiased, unbiased, reach, finish="least-squares")
    assert (plain[0] == unbiased - reach).all()
    assert (plain[1] == unbiased + reach).all()


@pytest.mark.parametrize("rho", ["0.0001", "0.05", "1", "30"])
@pytest.mark.parametrize("where", [{0: 1}, {1: 2}, {0: 1, 1: [1, 2]}])
def test_what_a_synopsis_has_measured_is_within_its_half_width(where, rho):
    domain = Domain(("a", "b", "c"), (2, 3, 2))
    made = Parities.of(domain, order=2, rho=Fraction(rho))
    question = Predicate.where(where, domain)
    noises, factors = [], []
    for axes, part in _factors(made, question).items():
        for square, factor in zip(
            np.ravel(_squared_norms(domain, axes)), np.ravel(part), strict=True
        ):
            noises.append(DiscreteGaussian.of_variance(made.variances[axes] * int(square)))
            factors.append(float(factor))
    assert beyond(noises, factors, made.half_width_of(question)) <= 0.05


@pytest.mark.parametrize("sigma", ["0.25", "0.5", "1", "1.9", "2.1", "3", "17", "4000"])
def test_what_a_round_has_measured_is_within_its_half_width(sigma):
    noise = DiscreteGaussian(sigma=Fraction(sigma))
    update = Update("SELECT COUNT(*) FROM t", 0, noise.standard_deviation)
    kept = math.floor(update.half_width)
    if float(noise.sigma) > 2:
        assert kept == noise.error(0.95)
    weights = [math.exp(-(k**2) / (2 * noise.sigma_squared)) for k in range(6 * 4000)]
    missed = 2 * sum(weights[kept + 1 :]) / (2 * sum(weights) - 1)
    assert missed <= 0.05


@pytest.mark.parametrize("variance", [2**20, 2**44])
def test_running_sums_are_within_their_half_widths(variance):
    running = RunningSums(steps=9, variance=variance)
    decoder = running.factorisation.decoder
    rows = np.array([[decoder[at - k] if k <= at else 0.0 for at in range(9)] for k in range(9)])
    noises = [DiscreteGaussian.of_variance(variance)] * 9
    assert _worst(noises, rows, running.errors(0.95)) <= 0.05
