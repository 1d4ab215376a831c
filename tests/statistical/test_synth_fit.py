"""The steps of a synthesis against their exact laws: which marginal a round chooses, and the noise
it adds; the wrong scale and the wrong noise are caught by the same checks.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise import system
from discreet.release.synth.grade import plan_grade
from discreet.release.synth.mwem import Worst
from discreet.release.synth.rounds import (
    SCORE_STEPS,
    Candidate,
    Cells,
    OneWayCounts,
    Round,
    code_rows,
)
from support.fit import check_fit, rejects
from support.mechanism_laws import gaussian_weights, laplace_cdf

SIZES = (2, 2, 2)
EXACT = Cells(np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]), np.array([3, 2, 1, 1]))
GROUPS = tuple(np.arange(2) for _ in SIZES)
PAIRS = ((0, 1), (0, 2), (1, 2))
SCALE = Fraction(3 * SCORE_STEPS)
DRAWS = 2000


def candidates():
    return tuple(
        Candidate(clique, np.full(4, 300 + 100 * place), 1 + place, 50 * place)
        for place, clique in enumerate(PAIRS)
    )


def law(scale):
    """The probability of each pair, by definition."""
    scores = []
    for each in candidates():
        codes, size = code_rows(EXACT.places, each.clique, SIZES)
        counts = [
            sum(
                n
                for code, n in zip(codes.tolist(), EXACT.counts.tolist(), strict=True)
                if code == c
            )
            for c in range(size)
        ]
        distance = sum(
            abs(256 * count - int(e)) for count, e in zip(counts, each.expected, strict=True)
        )
        scores.append(each.weight * (distance - each.handicap))
    weights = [math.exp((score - max(scores)) / float(scale)) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def drawn(scale=SCALE, variance=Fraction(4)):
    step = Round(
        SIZES, (0, 1, 2), GROUPS, candidates(), 1, scale, DiscreteGaussian.of_variance(variance)
    )
    return [step.release(EXACT, system)[0] for _ in range(DRAWS)]


def gaussian(variance):
    weights = gaussian_weights(variance)
    far = max(weights)
    running = np.cumsum([weights[x] for x in range(-far, far + 1)])
    return lambda value: float(running[min(value, far) + far]) if value >= -far else 0.0


@pytest.fixture(scope="module")
def found():
    return drawn()


def chosen(found):
    return np.array([PAIRS.index(each.clique) for each in found])


def noise(found):
    parts = []
    for each in found:
        codes, size = code_rows(EXACT.places, each.clique, SIZES)
        parts.append(each.counts - EXACT.marginal(codes, size))
    return np.concatenate(parts)


def test_a_round_chooses_by_the_exponential_law(found):
    assert min(law(SCALE).values()) > 0.05  # a law worth testing
    assert check_fit(chosen(found), law(SCALE), name="choice of a round") > 0
    assert rejects(check_fit, chosen(found), law(SCALE / 2), name="half the scale")


def test_a_round_adds_gaussian_noise(found):
    assert check_fit(noise(found), gaussian(4), name="noise of a round") > 0
    assert rejects(check_fit, noise(found), gaussian(2), name="less noise than said")


def test_one_way_counts_get_the_noise_they_are_priced_for():
    step = OneWayCounts(SIZES, ((0,),) * 2000, (DiscreteGaussian(sigma=3),) * 2000)
    parts = [
        each.counts - EXACT.marginal(EXACT.places[:, 0], 2) for each in step.release(EXACT, system)
    ]
    assert check_fit(np.concatenate(parts), gaussian(9), name="noise of one-way counts") > 0


def test_multiplicative_weights_add_laplace_noise():
    (only,) = (each for each in candidates() if each.clique == (0, 1))
    step = Worst(SIZES, (only,), Fraction(0), Fraction(5))
    codes, size = code_rows(EXACT.places, (0, 1), SIZES)
    exact = EXACT.marginal(codes, size)
    parts = [step.release(EXACT, system)[0].counts - exact for _ in range(3000)]
    samples = np.concatenate(parts)
    ratio = math.exp(-1 / 5)
    assert check_fit(samples, lambda value: laplace_cdf(ratio, value), name="noise of mwem") > 0
    planted = math.exp(-1 / 2)
    assert rejects(check_fit, samples, lambda value: laplace_cdf(planted, value), name="less noise")


def test_a_grade_has_the_noise_it_is_priced_for():
    rows = np.zeros((5, 3), dtype=np.int64)
    step = plan_grade(SIZES, rows, total=7.0, rho=Fraction(2000), sensitivity=Sensitivity.single(1))
    still = replace(step, variances=(Fraction(1, 10**6),) * 3)
    exact = np.array([int(each.counts[0]) for each in still.release(EXACT, system)])
    sums = np.array(
        [[int(each.counts[0]) for each in step.release(EXACT, system)] for _ in range(700)]
    )
    for noise_of, variance in zip((sums - exact).T, step.variances, strict=True):
        assert check_fit(noise_of, gaussian(float(variance)), name="noise of a grade") > 0
    assert rejects(check_fit, noise_of, gaussian(float(variance) / 8), name="less noise")
