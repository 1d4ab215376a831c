"""Synopses draw what they say: contrasts, rounds and stated errors against their exact laws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.linear.contrasts import norms
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.streams.hypothesis.parities import Parities
from discreet.streams.svt.above_threshold import AboveThreshold
from discreet.streams.synopsis.epochs import Epoch
from support.fit import check_fit, check_rate, check_rate_at_most, rejects

MIXED = Domain(("a", "b", "c"), (2, 3, 2))
PLACES = np.array([[0, 0, 0], [1, 1, 0], [1, 2, 1]])
COUNTS = np.array([5, 11, 2])
RUNS = 3000


def gaussian(variance, centre):
    """The discrete Gaussian around a count, value by value."""
    reach = math.ceil(12 * math.sqrt(variance)) + 2
    weights = {z: math.exp(-(z**2) / (2 * float(variance))) for z in range(-reach, reach + 1)}
    mass = math.fsum(weights.values())
    return {centre + z: weight / mass for z, weight in weights.items()}


@pytest.fixture(scope="module")
def releases():
    parities = Parities.of(MIXED, order=2, rho=Fraction(1, 2))
    return parities, [parities.release(PLACES, COUNTS).noisy for _ in range(RUNS)]


def contrast(axes, place):
    """A contrast of the rows, from the definition: total, first less second, both less third."""
    rows = {2: [[1, 1], [1, -1]], 3: [[1, 1, 1], [1, -1, 0], [1, 1, -2]]}
    value = 0
    for row, count in zip(PLACES, COUNTS, strict=True):
        sign = math.prod(
            rows[MIXED.sizes[axis]][p + 1][row[axis]] for axis, p in zip(axes, place, strict=True)
        )
        value += sign * int(count)
    return value


@pytest.mark.parametrize(
    ("axes", "place"), [((), ()), ((0,), (0,)), ((1,), (1,)), ((0, 1), (0, 1)), ((0, 2), (0, 0))]
)
def test_contrasts_have_discrete_gaussian_noise_of_their_length(releases, axes, place):
    parities, found = releases
    square = math.prod(
        int(norms(MIXED.sizes[axis])[p + 1]) for axis, p in zip(axes, place, strict=True)
    )
    drawn = [int(noisy[axes][place]) for noisy in found]
    variance = parities.variances[axes] * square
    law = gaussian(variance, contrast(axes, place))
    assert check_fit(drawn, law, name=f"the contrast {axes} {place}") > 0
    assert rejects(check_fit, drawn, gaussian(variance / 4, contrast(axes, place)), name="half")


def test_the_noise_of_different_contrasts_is_independent(releases):
    """The sign of the product of two noises is even; shared noise would make it always the same."""
    _, found = releases
    products = [
        (int(noisy[(0,)][0]) - contrast((0,), (0,))) * (int(noisy[(2,)][0]) - contrast((2,), (0,)))
        for noisy in found
    ]
    positive = sum(each > 0 for each in products)
    apart = sum(each != 0 for each in products)
    assert check_rate(positive, apart, 0.5, name="two contrasts") > 0
    assert rejects(check_rate, apart, apart, 0.5, name="one noise for both")


def test_stated_errors_of_spanned_questions_cover(releases):
    """At 95%, or more."""
    parities, found = releases
    question = Predicate.where({0: 1, 1: [1, 2]}, MIXED)
    reach = parities.half_width_of(question)
    from discreet.streams.hypothesis.parities import Measured

    missed = sum(abs(Measured(parities, noisy).answer(question) - 13) > reach for noisy in found)
    assert check_rate_at_most(missed, RUNS, 0.05, name="a spanned question") > 0
    half = sum(abs(Measured(parities, noisy).answer(question) - 13) > reach / 2 for noisy in found)
    assert rejects(check_rate_at_most, half, RUNS, 0.05, name="half the half-width")


def laplace(scale, reach):
    weights = {z: math.exp(-abs(z) / float(scale)) for z in range(-reach, reach + 1)}
    mass = math.fsum(weights.values())
    return {z: weight / mass for z, weight in weights.items()}


def above_chance(gap, threshold, scales):
    """P(gap + query noise >= threshold + threshold noise), by summing over both."""
    first, second = (laplace(scale, 400) for scale in scales)
    tail, total = {}, 0.0
    for z in range(400, -401, -1):
        total += second[z]
        tail[z] = total
    return math.fsum(
        chance * (tail[max(-400, threshold + z - gap)] if threshold + z - gap <= 400 else 0.0)
        for z, chance in first.items()
    )


@pytest.mark.parametrize(("exact", "predicted"), [(40, 40), (52, 40), (27, 40)])
def test_a_round_ends_as_often_as_it_should_and_then_measures(exact, predicted):
    above = AboveThreshold.of(epsilon=Fraction(1, 2), sensitivity=Sensitivity.single(1))
    epoch = Epoch(10, above, DiscreteGaussian(sigma=3))
    said = [epoch.step(above.begin(), exact, predicted=predicted)[0] for _ in range(RUNS)]
    measured = [each for each in said if each is not None]
    scales = (above.threshold_scale, above.query_scale)
    chance = above_chance(abs(exact - predicted), 10, scales)
    assert check_rate(len(measured), RUNS, chance, name=f"rounds at {exact}") > 0
    assert check_fit(measured, gaussian(9, exact), name=f"measurements at {exact}") > 0
    one_sided = above_chance(predicted - exact - 20, 10, scales)
    assert rejects(check_rate, len(measured), RUNS, one_sided, name="the wrong gap")


def test_the_law_of_rounds_is_a_probability():
    scales = (Fraction(5), Fraction(6))
    chances = [above_chance(gap, 10, scales) for gap in range(0, 60, 10)]
    assert all(0 < a < b < 1 for a, b in itertools.pairwise(chances))
