"""Smooth noise and the ladder have exactly the laws they state: the ideal draw, rounded to the
lattice; and a wrong scale, a wrong shape or a missing factor is seen.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise.bits import system
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.projection import BoundedEdges
from discreet.robust.graph.triangles import SmoothTriangles
from discreet.robust.smooth.growth import Growth, smooth_bound
from discreet.robust.smooth.ladder import LadderMechanism
from discreet.robust.smooth.laplace_noise import LaplaceShape, LogNormalShape
from discreet.robust.smooth.mechanism import estimate
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.student_noise import CauchyShape, StudentShape
from support.fit import check_fit, rejects
from support.mechanism_laws import laplace_cdf
from support.smooth_laws import (
    cauchy,
    ladder_law,
    laplace,
    laplace_log_normal,
    lattice_cdf,
    student,
)

DRAWS = 2000
SHAPES = {
    "Cauchy": (CauchyShape.priced(epsilon=1), cauchy),
    "Student 3": (StudentShape.priced(epsilon=1), student(3)),
    "Laplace": (LaplaceShape.priced(epsilon=1, delta=1e-6), laplace),
    "Laplace-log-normal": (LogNormalShape.priced(rho=0.5), laplace_log_normal(0.45)),
}
GROWTH = Growth(exact=Fraction(7, 3), rungs=[2, 3, 11, 12], limit=40)


def scale_of(noise, growth):
    return float(smooth_bound(growth, smoothing=noise.smoothing).bounds(30)[1] / noise.sliding)


def drawn(mechanism, growth, count=DRAWS):
    return np.array([mechanism.release(growth, system) for _ in range(count)])


@pytest.mark.parametrize("name", SHAPES)
def test_each_noise_has_its_law(name):
    noise, survival = SHAPES[name]
    scale = scale_of(noise, GROWTH)
    samples = drawn(noise, GROWTH)
    check_fit(samples, lattice_cdf(survival, GROWTH.exact, scale), name=name)
    planted = lattice_cdf(survival, GROWTH.exact, 4 * scale)
    assert rejects(check_fit, samples, planted, name="four times the scale")
    if name == "Cauchy":
        wrong = lattice_cdf(laplace, GROWTH.exact, scale)
        assert rejects(check_fit, samples, wrong, name="another shape")


@pytest.mark.soak
@pytest.mark.parametrize("name", SHAPES)
def test_each_noise_has_its_law_at_length(name):
    noise, survival = SHAPES[name]
    cdf = lattice_cdf(survival, GROWTH.exact, scale_of(noise, GROWTH))
    samples = drawn(noise, GROWTH, 30_000)
    check_fit(samples, cdf, name=f"{name}, at length")
    wider = lattice_cdf(survival, GROWTH.exact, 1.2 * scale_of(noise, GROWTH))
    assert rejects(check_fit, samples, wider, name="a fifth more")


def test_a_scale_below_one_step_is_rounded_right():
    """Most of the mass on one value, a location between two lattice points."""
    noise = CauchyShape.priced(epsilon=8)
    growth = Growth(exact=Fraction(5, 2), rungs=[1], limit=1, resolution=10)
    scale = scale_of(noise, growth)
    assert scale < 0.05
    samples = drawn(noise, growth)
    check_fit(samples, lattice_cdf(cauchy, growth.exact, scale), name="a narrow Cauchy draw")
    assert {2, 3} <= set(samples.tolist())  # 2.5 goes either way, evenly


LADDERS = {
    "whole numbers": Growth(exact=5, rungs=[0, 1, 4], limit=6),
    "a fraction": Growth(exact=Fraction(4, 3), rungs=[3, 5], limit=12, resolution=3),
    "flat": Growth(exact=0, rungs=[], limit=2),
}


def law_of(growth, epsilon, reach=400):
    rungs = [Fraction(int(rung), growth.resolution) for rung in growth.rungs]
    width = -(-growth.limit // growth.resolution)
    centre = int(growth.exact)
    span = (centre - reach, centre + reach)
    return ladder_law(growth.exact, rungs, width, np.exp(-epsilon / 2), span)


@pytest.mark.parametrize("name", LADDERS)
def test_the_ladder_has_its_law(name):
    growth = LADDERS[name]
    samples = drawn(LadderMechanism(epsilon=1), growth, 2 * DRAWS)
    law = law_of(growth, 1.0)
    held = np.clip(samples, min(law), max(law))
    check_fit(held, law, name=f"the ladder, {name}")
    twice = law_of(growth, 2.0)
    assert rejects(check_fit, held, twice, name="without the half")


def test_a_long_ladder_is_cut_short_without_changing_its_law():
    """Thousands of rungs, of which an ordinary draw looks at a few hundred."""
    growth = Growth(exact=50, rungs=np.full(2000, 1), limit=3)
    samples = drawn(LadderMechanism(epsilon=1), growth, 1000)
    flat = law_of(Growth(exact=50, rungs=[], limit=1), 1.0)
    check_fit(np.clip(samples, min(flat), max(flat)), flat, name="a long ladder")


def held_law(cdf, lower, upper):
    """The law of a number held within bounds."""
    law = {value: cdf(value) - cdf(value - 1) for value in range(lower + 1, upper)}
    law[lower] = cdf(lower)
    law[upper] = 1 - cdf(upper - 1)
    return law


def test_a_median_end_to_end():
    rows = np.array([10, 20, 30, 30, 31, 33, 36, 60, 75])
    query = SmoothQuantile(fraction=0.5, lower=0, upper=100)
    noise = CauchyShape.priced(epsilon=0.3)
    growth = query.growth(rows)
    cdf = lattice_cdf(cauchy, Fraction(31), scale_of(noise, growth))
    samples = [estimate(query, rows, noise).noisy for _ in range(DRAWS)]
    check_fit(samples, held_law(cdf, 0, 100), name="a median")
    bare = lattice_cdf(cauchy, Fraction(31), float(growth.at(0) / noise.sliding))
    assert rejects(check_fit, samples, held_law(bare, 0, 100), name="bare local sensitivity")


def test_triangles_end_to_end():
    graph = Graph.from_edges(
        [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (3, 4), (4, 5)], nodes=range(8)
    )
    query = SmoothTriangles(nodes=8)
    growth = query.growth(graph)
    law = law_of(growth, 1.0)
    top = query.clamp(10**9)
    held = dict.fromkeys(range(top + 1), 0.0)
    for value, chance in law.items():
        held[query.clamp(value)] += chance
    samples = [estimate(query, graph, LadderMechanism(epsilon=1)).noisy for _ in range(1500)]
    check_fit(samples, held, name="triangles by the ladder")
    narrow = law_of(Growth(exact=growth.exact, rungs=[], limit=1), 1.0)
    planted = dict.fromkeys(range(top + 1), 0.0)
    for value, chance in narrow.items():
        planted[query.clamp(value)] += chance
    assert rejects(check_fit, samples, planted, name="one triangle an edge")


def test_edges_under_node_privacy_end_to_end():
    graph = Graph.from_edges([(0, node) for node in range(1, 60)] + [(1, 2), (3, 4)])
    query = BoundedEdges(degree=5)
    exact, ratio = query.measure(graph), float(np.exp(-1 / 5))
    samples = [query.release(graph, epsilon=1).noisy for _ in range(DRAWS)]
    cdf = lambda value: 0.0 if value < 0 else laplace_cdf(ratio, value - exact)  # noqa: E731
    check_fit(samples, cdf, name="projected edges")
    assert exact <= 7
