"""Quantiles against their exact joint distribution, and rank errors against the stated bound."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.selection.quantiles import Quantiles
from support.fit import check_fit, check_rate_at_most, rejects
from support.mechanism_laws import quantile_law, rank_distance

DRAWS = 5_000
CASES = [
    ((Fraction(1, 2),), [2, 0, 3, 1, 0], Fraction(2)),
    ((Fraction(1, 4), Fraction(9, 10)), [4, 0, 1, 1], Fraction(3, 2)),
    ((Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)), [1, 1, 5], Fraction(4)),
]


def encoded(answers, candidates):
    code = 0
    for answer in answers:
        code = code * candidates + answer
    return code


def draws(mechanism, counts):
    exact = np.array(counts)
    return [encoded(mechanism.release(exact), len(counts)) for _ in range(DRAWS)]


def law(counts, targets, scale):
    steps = math.lcm(*(Fraction(target).denominator for target in targets))
    joint = quantile_law(counts, targets, math.exp(-1 / (steps * scale)), steps)
    return {encoded(answers, len(counts)): chance for answers, chance in joint.items()}


@pytest.mark.parametrize(("fractions", "counts", "scale"), CASES)
def test_quantiles_fit_their_law(fractions, counts, scale):
    expected = law(counts, [q * sum(counts) for q in fractions], scale)
    honest = draws(Quantiles(fractions=fractions, scale=scale), counts)
    assert check_fit(honest, expected, name=f"quantiles {fractions}") > 0
    planted = draws(Quantiles(fractions=fractions, scale=scale / 2), counts)
    assert rejects(check_fit, planted, expected, name="half the scale")


def test_minimum_and_maximum_fit_their_law():
    counts, scale = [0, 3, 40, 5, 30, 0], Fraction(1)
    mechanism = Quantiles(fractions=(0, 1), scale=scale)
    inward = mechanism.inward(len(counts))
    assert inward == 5
    samples = draws(mechanism, counts)
    expected = law(counts, [inward, sum(counts) - inward], scale)
    assert check_fit(samples, expected, name="minimum and maximum") > 0
    assert rejects(check_fit, samples, law(counts, [0, sum(counts)], scale), name="rank 0 itself")


@pytest.mark.parametrize("counts", [[0] * 20 + [9] + [0] * 20, [1] * 41, [50] + [0] * 39 + [50]])
def test_all_ranks_keep_the_stated_error_together(counts):
    fractions = (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5))
    mechanism = Quantiles(fractions=fractions, scale=2, candidates=len(counts))
    exact = np.array(counts)
    missed = {0.9: 0, 0.5: 0}
    limits = {confidence: mechanism.error(confidence) for confidence in missed}
    distances = [
        [rank_distance(counts, q * sum(counts), place) for place in range(len(counts))]
        for q in fractions
    ]
    for _ in range(2000):
        answers = mechanism.release(exact)
        worst = max(far[answer] for far, answer in zip(distances, answers, strict=True))
        for confidence, limit in limits.items():
            missed[confidence] += worst > limit
    for confidence, times in missed.items():
        assert check_rate_at_most(times, 2000, 1 - confidence, name="rank error") > 0
