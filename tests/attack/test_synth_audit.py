"""Synthetic data audited: the choice of a round on neighbouring tables keeps its price exactly, a
planted bug beside it is caught. Whole rounds stand in the catalogue of audits.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.release.synth.rounds import SCORE_STEPS, Candidate, Cells, code_rows

SIZES = (2, 2)
GROUPS = (np.arange(2), np.arange(2))
CANDIDATES = (
    Candidate((0,), np.full(2, 500), 1, 0),
    Candidate((1,), np.full(2, 500), 1, 0),
    Candidate((0, 1), np.full(4, 256), 2, 100),
)
ROWS = list(product(range(2), repeat=2))


def cells(rows):
    return Cells(np.array(rows, dtype=np.int64).reshape(-1, 2), np.ones(len(rows), dtype=np.int64))


def law(rows, scale):
    exact, scores = cells(rows), []
    for each in CANDIDATES:
        codes, size = code_rows(exact.places, each.clique, SIZES)
        distance = np.abs(SCORE_STEPS * exact.marginal(codes, size) - each.expected).sum()
        scores.append(each.weight * (int(distance) - each.handicap) / float(scale))
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def widest(unit_rows, scale):
    """The largest range of the privacy loss of a choice over tables and units."""
    found = 0.0
    for count in range(4):
        for rows in product(ROWS, repeat=count):
            one = law(rows, scale)
            for unit in product(ROWS, repeat=unit_rows):
                other = law(rows + unit, scale)
                losses = [math.log(a / b) for a, b in zip(one, other, strict=True)]
                found = max(found, max(losses) - min(losses))
    return found


def test_the_choice_keeps_its_bounded_range():
    scale = Fraction(2 * SCORE_STEPS * 2)
    assert 0.5 < widest(1, scale) <= 1.0 + 1e-9  # 2 linf/scale, with weights up to 2


def test_a_unit_of_two_rows_at_the_price_of_one_is_caught():
    assert widest(2, Fraction(2 * SCORE_STEPS * 2)) > 1.0 + 1e-9
