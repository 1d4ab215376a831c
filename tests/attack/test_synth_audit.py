"""Synthetic data audited: the choice of a round on neighbouring tables keeps its price exactly, a
whole round keeps it in a black-box audit, and planted bugs beside both are caught.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.audit.blackbox import audit
from discreet.audit.pairs import Pair
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.noise import system
from discreet.release.synth_mwem import Worst
from discreet.release.synth_rounds import SCORE_STEPS, Candidate, Cells, Round, coded
from support.fit import counted

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
        codes, size = coded(exact.places, each.clique, SIZES)
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


def as_words(found):
    return " ".join(f"{each.clique}:{each.counts.tolist()}" for each in found)


def chosen(step, rows):
    found = step.release(cells(rows), system)
    return as_words(found)


def step(variance):
    noise = DiscreteGaussian.of_variance(variance)
    return Round(SIZES, (0, 1), GROUPS, CANDIDATES[:2], 1, Fraction(2 * SCORE_STEPS), noise)


PAIRS = [Pair(((0, 0),) * 3, ((0, 0),) * 4), Pair((), ((1, 1),))]


def test_a_round_keeps_its_price():
    made = step(Fraction(2))
    claim = made.loss(Sensitivity.single(1))
    assert isinstance(claim, ZCDP)
    found = audit(
        lambda rows: chosen(made, rows),
        claim,
        pairs=PAIRS,
        samples=1200,
        false_alarm=counted("audit of a synthesis"),
    )
    assert not found.violated


def test_a_round_without_enough_noise_is_caught():
    claim = step(Fraction(2)).loss(Sensitivity.single(1))
    planted = step(Fraction(1, 50))
    found = audit(lambda rows: chosen(planted, rows), claim, pairs=PAIRS, samples=1200)
    assert found.violated


def test_multiplicative_weights_keep_their_price():
    made = Worst(SIZES, CANDIDATES[:2], Fraction(4 * SCORE_STEPS), Fraction(2))
    claim = made.loss(Sensitivity.single(1))
    assert claim == Pure(epsilon=1)
    found = audit(
        lambda rows: chosen(made, rows),
        claim,
        pairs=PAIRS,
        samples=1200,
        false_alarm=counted("audit of a synthesis"),
    )
    assert not found.violated
    planted = Worst(SIZES, CANDIDATES[:2], Fraction(4 * SCORE_STEPS), Fraction(1, 4))
    assert audit(lambda rows: chosen(planted, rows), claim, pairs=PAIRS, samples=1200).violated
