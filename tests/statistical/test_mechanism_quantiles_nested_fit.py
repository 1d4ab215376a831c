"""Quantiles by recursion against their exact joint distribution, and their stated error."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from support.fit import check_fit, check_rate_at_most, rejects
from support.mechanism_laws import division_law, nested_law, rank_distance

DRAWS = 5_500
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
CASES = [  # fractions, and the tree of relative ones
    ((Fraction(1, 4), HALF, Fraction(3, 4)), (HALF, (HALF, None, None), (HALF, None, None))),
    ((Fraction(1, 6), HALF), (HALF, (THIRD, None, None), None)),
]


def encoded(answers, candidates):
    code = 0
    for answer in answers:
        code = code * candidates + answer
    return code


def law(counts, tree, scale):
    def divide(aim, tied):
        chances = division_law(aim, tied, math.exp(-1 / (2 * scale)))
        return {(taken, tied - taken): chance for taken, chance in enumerate(chances)}

    joint = nested_law(counts, tree, lambda d: math.exp(-float(d) / scale), divide)
    return {encoded(answers, len(counts)): chance for answers, chance in joint.items()}


def draws(mechanism, counts):
    exact = np.array(counts)
    return [encoded(mechanism.release(exact), len(counts)) for _ in range(DRAWS)]


@pytest.mark.parametrize(("fractions", "tree"), CASES)
def test_nested_quantiles_fit_their_law(fractions, tree):
    counts, scale = [2, 0, 7, 1], 3
    expected = law(counts, tree, scale)
    honest = draws(NestedQuantiles(fractions=fractions, scale=scale), counts)
    assert check_fit(honest, expected, name=f"nested quantiles {fractions}") > 0
    planted = draws(NestedQuantiles(fractions=fractions, scale=scale / 2), counts)
    assert rejects(check_fit, planted, expected, name="half the scale")


@pytest.mark.parametrize("counts", [[0] * 20 + [90] + [0] * 20, [3] * 41, [50] + [0] * 39 + [50]])
def test_all_ranks_keep_the_stated_error_together(counts):
    fractions = [Fraction(place, 8) for place in range(1, 8)]
    mechanism = NestedQuantiles(fractions=fractions, scale=2, candidates=len(counts))
    limit, missed, exact = mechanism.error(0.5), 0, np.array(counts)
    distances = [
        [rank_distance(counts, fraction * sum(counts), place) for place in range(len(counts))]
        for fraction in fractions
    ]
    for _ in range(500):
        answers = mechanism.release(exact)
        worst = max(far[answer] for far, answer in zip(distances, answers, strict=True))
        missed += worst > limit
    assert check_rate_at_most(missed, 500, 0.5, name="nested rank error") > 0
