"""Randomized response, metric noise and the Hamming cube."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import BoundedRange, Pure, Sensitivity
from discreet.mechanisms.hamming import HammingNoise
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection.metric import MetricNoise
from discreet.noise.bits import SeededBits, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import exp_bounds


def test_the_two_coins_cost_ln_3_rounded_up():
    mechanism = RandomizedResponse.two_coins()
    assert mechanism.truth == Fraction(3, 4)
    low, high = exp_bounds(mechanism.epsilon)
    assert high >= 3
    assert low < 3 * (1 + Fraction(1, 10**30))


@pytest.mark.parametrize("epsilon", [0.001, 1, 30, 10**6])
@pytest.mark.parametrize("categories", [2, 7])
def test_truth_is_bracketed(epsilon, categories):
    low, high = RandomizedResponse(epsilon=epsilon, categories=categories).truth_bounds()
    assert Fraction(1, categories) < low <= high <= 1
    expected = 1 / (1 + (categories - 1) * math.exp(-epsilon))
    assert float(low) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), True, "1"])
def test_epsilon_is_refused(bad):
    with pytest.raises(InvalidValue):
        RandomizedResponse(epsilon=bad)


@pytest.mark.parametrize("truth", [0.5, 1, 0.3, 0, -1, float("nan"), True])
def test_truth_is_refused(truth):
    with pytest.raises(InvalidValue):
        RandomizedResponse.of_truth(truth)


@pytest.mark.parametrize("categories", [1, 0, True, 2.0])
def test_categories_are_refused(categories):
    with pytest.raises(InvalidValue):
        RandomizedResponse(epsilon=1, categories=categories)


def test_reports_keep_the_form_of_the_answers():
    honest = RandomizedResponse(epsilon=10**6, categories=5)
    assert honest.release(3) == 3
    assert honest.release(True) == 1
    assert honest.release([0, 4, 2]) == [0, 4, 2]
    assert honest.release(np.array([[1, 2]], dtype=np.uint8)).tolist() == [[1, 2]]
    assert honest.release(np.array([True, False])).tolist() == [1, 0]
    assert honest.release(np.array([0, 3])).dtype == np.int64


def test_what_lies_outside_counts_as_the_nearest_category():
    honest = RandomizedResponse(epsilon=10**6, categories=5)
    assert honest.release([-7, 10**40, 5]) == [0, 4, 4]
    assert honest.release(np.array([-7, 2**62])).tolist() == [0, 4]
    assert honest.release(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [4]


@pytest.mark.parametrize("exact", [1.0, "41", None, np.array([41.5]), [41.5]])
def test_answers_that_are_not_integers_are_refused(exact):
    with pytest.raises(InvalidValue) as refusal:
        RandomizedResponse(epsilon=1).release(exact)
    assert "41" not in str(refusal.value)


def test_the_estimate_inverts_the_expectation():
    mechanism = RandomizedResponse.of_truth(Fraction(7, 10), categories=4)
    # 1000 people: 400, 300, 200, 100 by category; the expected reports are exact integers.
    holders = (400, 300, 200, 100)
    expected = [int(n * Fraction(7, 10) + (1000 - n) * Fraction(1, 10)) for n in holders]
    reports = np.repeat(np.arange(4), expected)
    estimate = mechanism.estimate(reports)
    assert estimate.counts == pytest.approx(holders)
    assert estimate.standard_errors == pytest.approx(
        [mechanism.standard_deviation(1000, share=n / 1000) for n in holders]
    )
    assert mechanism.estimate(np.zeros(0, dtype=np.int64)).counts == (0, 0, 0, 0)


def test_the_binary_standard_deviation_does_not_depend_on_the_share():
    mechanism = RandomizedResponse.two_coins()
    for share in (0, 0.3, 1):
        found = mechanism.standard_deviation(400, share=share)
        assert found == pytest.approx(math.sqrt(400 * 3 / 16) / 0.5)


def test_coins_widened_to_exact_arithmetic_give_the_same_faces():
    for numerator in (1, 500, 999):
        chance = Fraction(numerator, 1000)
        fast = flips(lambda _: (chance, chance), 300, SeededBits(numerator))  # noqa: B023
        slow = flips(
            lambda _: (chance, chance),  # noqa: B023
            300,
            SeededBits(numerator),
            undecided=1 << 64,
        )
        assert fast.tolist() == slow.tolist()


def test_coins_at_the_ends_are_certain():
    assert flips(lambda _: (Fraction(1), Fraction(1)), 50, system).all()
    assert not flips(lambda _: (Fraction(0), Fraction(0)), 50, system).any()


def test_dice_have_their_sides():
    for sides in (1, 2, 3, 2**62, 2**63 - 1):
        thrown = dice(sides, 200, system)
        assert thrown.min() >= 0
        assert thrown.max() < sides
    assert set(dice(3, 400, system).tolist()) == {0, 1, 2}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([], "square"),
        ([[0, 1]], "square"),
        ([[0, 1], [2, 0]], "symmetric"),
        ([[1, 1], [1, 0]], "zero only"),
        ([[0, 0], [0, 0]], "zero only"),
        ([[0, 1, 5], [1, 0, 1], [5, 1, 0]], "triangle"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, float("nan")], [float("nan"), 0]], "finite"),
    ],
)
def test_only_metrics_are_taken(table, words):
    with pytest.raises(InvalidValue, match=words):
        MetricNoise(distances=table, scale=1)


def test_metric_noise():
    mechanism = MetricNoise.between([0, 2, 5], lambda a, b: abs(a - b), scale=0.001)
    assert [mechanism.release(point) for point in range(3)] == [0, 1, 2]
    assert mechanism.error(0.99) == 0
    assert mechanism.loss(Sensitivity.single(2)) == BoundedRange(epsilon=4000)
    for bad in (3, -1, True, 1.5, None):
        with pytest.raises(InvalidValue, match="declared"):
            mechanism.release(bad)


def test_metric_error_covers_the_worst_point():
    places = [0, 1, 2, 6]
    mechanism = MetricNoise.between(places, lambda a, b: abs(a - b), scale=2)
    error = mechanism.error(0.8)
    for centre in places:
        weights = {p: math.exp(-abs(p - centre) / 2) for p in places}
        inside = sum(w for p, w in weights.items() if abs(p - centre) <= error)
        assert inside / sum(weights.values()) >= 0.8
    assert any(
        sum(math.exp(-abs(p - c) / 2) for p in places if abs(p - c) < error)
        < 0.8 * sum(math.exp(-abs(p - c) / 2) for p in places)
        for c in places
    )


def test_the_cube_of_three_dimensions_is_metric_noise():
    points = [tuple(n >> k & 1 for k in range(3)) for n in range(8)]
    metric = MetricNoise.between(
        points, lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)), scale=1
    )
    flip = float(HammingNoise(scale=1, dimension=3).flip_bounds()[0])
    weights = [math.exp(-float(d)) for d in metric.distances[0]]
    for point, weight in zip(points, weights, strict=True):
        ones = sum(point)
        assert weight / sum(weights) == pytest.approx(flip**ones * (1 - flip) ** (3 - ones))


def test_hamming_noise():
    still = HammingNoise(scale=0.001, dimension=4)
    assert still.release([1, 0, 0, 1]).tolist() == [1, 0, 0, 1]
    assert still.release(np.array([7, 0, -3, 0])).tolist() == [1, 0, 1, 0]
    assert still.loss(Sensitivity(groups=2, per_group=1)) == Pure(epsilon=2000)
    assert still.error(0.999) == 0
    for bad in ([1, 0, 0], [1.0, 0, 0, 0], [[1, 0, 0, 1]], "1001"):
        with pytest.raises(InvalidValue):
            still.release(bad)
    for dimension in (0, True, 2.0):
        with pytest.raises(InvalidValue):
            HammingNoise(scale=1, dimension=dimension)


def test_hamming_error_is_the_binomial_quantile():
    mechanism = HammingNoise(scale=2, dimension=30)
    flip = float(mechanism.flip_bounds()[0])
    masses = [math.comb(30, k) * flip**k * (1 - flip) ** (30 - k) for k in range(31)]
    for confidence in (0.1, 0.5, 0.9, 0.999):
        error = int(mechanism.error(confidence))
        assert sum(masses[: error + 1]) >= confidence - 1e-12
        assert sum(masses[:error]) < confidence


def test_one_report_has_the_error_of_one_person():
    mechanism = RandomizedResponse.of_truth(Fraction(7, 10), categories=4)
    estimate = mechanism.estimate([2])  # unbiased shares of -1/6 and 3/2, so none and all
    assert estimate.standard_errors == pytest.approx(
        [mechanism.standard_deviation(1, share=share) for share in (0.0, 0.0, 1.0, 0.0)]
    )
    even = RandomizedResponse.of_truth(Fraction(1, 2), categories=3).estimate([1, 1, 2])
    shares = [min(max(count / 3, 0), 1) for count in even.counts]
    assert even.standard_errors == pytest.approx(
        [
            RandomizedResponse.of_truth(Fraction(1, 2), categories=3).standard_deviation(3, share=p)
            for p in shares
        ]
    )
