"""What local surveys cannot tell: parities that were not known when the answers were randomized.
Bounds that hold for every local randomizer, and a survey that tries; nothing here sees real data.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.randomizers.kary import KaryResponse
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice
from discreet.rationals import Number, exp_bounds, positive, probability, whole

__all__ = ["parity_by_curator", "parity_by_survey", "parity_information", "parity_people"]

_WIDEST = 20


def parity_information(*, width: int, epsilon: Number) -> Fraction:
    """The most that one report of any local randomizer tells about a parity, on average.

    The chi-square divergence of a report on answers with that parity from one on uniform answers,
    averaged over the 2^width - 1 parities, is at most sinh(epsilon/2)^2/(2^width - 1), rounded up
    here; docs/proofs/local_parities.md has the proof, by Parseval. It sharpens [DMNS06, Lemma 4.3].

    Privacy: holds for every epsilon-DP report, by replacing the answer.
    >>> round(float(parity_information(width=1, epsilon=1)), 4)
    0.2715
    """
    whole(width, "width", least=1, most=60)
    value = positive(epsilon, "epsilon")
    low, high = exp_bounds(value)
    return (high - 1) ** 2 / (4 * low) / ((1 << width) - 1)


def parity_people(*, width: int, epsilon: Number, right: Number = 0.9) -> int:
    """How many people a local survey needs at least to tell most parities, whatever it reports.

    With fewer, no analyst of the reports is right with probability `right` about more than a third
    of the parities, between answers that all have the parity and answers that all have not. Grows
    as 2^width; a curator who hears the question needs a number that does not grow at all. Sharper
    than the order 2^(width/3) of [DMNS06, Prop. 4.2].
    >>> [parity_people(width=width, epsilon=1) for width in (4, 8, 16)]
    [6, 101, 25744]
    """
    chance = probability(right, "right")
    if not Fraction(1, 2) < chance <= 1:
        raise InvalidValue(f"right is {right}; it must lie above 1/2, the chance of a guess.")
    # Pinsker twice, and Markov over the parities: 2 right - 1 <= sqrt(6 n information).
    return math.ceil((2 * chance - 1) ** 2 / (6 * parity_information(width=width, epsilon=epsilon)))


def parity_by_survey(
    *, width: int, people: int, epsilon: Number, trials: int = 100, bits: BitSource = system
) -> int:
    """How often, in so many trials, a survey of made-up people tells a parity asked afterwards.

    Everybody reports one random parity of their own bits by randomized response; then a parity is
    drawn and asked for, and the reports that happen to be about it vote.
    Privacy: each report is epsilon-DP [War65].
    >>> parity_by_survey(width=1, people=400, epsilon=2, trials=20) > 15
    True
    """
    whole(width, "width", least=1, most=_WIDEST)
    whole(people, "people", least=1, most=1 << 24)
    whole(trials, "trials", least=1, most=1 << 20)
    response = KaryResponse(epsilon=epsilon)
    right = 0
    for _ in range(trials):
        asked, case = 1 + int(dice((1 << width) - 1, 1, bits)[0]), int(dice(2, 1, bits)[0])
        answers = _draw_case(asked, case, width, people, bits)
        told = 1 + dice((1 << width) - 1, people, bits)
        reports = response.release(_parity_of(answers & told), bits)[told == asked]
        votes = int((2 * reports - 1).sum())
        guess = int(votes > 0) if votes else int(dice(2, 1, bits)[0])
        right += guess == case
    return right


def parity_by_curator(
    *, width: int, people: int, epsilon: Number, trials: int = 100, bits: BitSource = system
) -> int:
    """How often a curator who hears the question tells the same parity, with noise 1/epsilon.

    Privacy: each answer is epsilon-DP [DMNS06, Prop. 3.3].
    >>> parity_by_curator(width=20, people=100, epsilon=1, trials=20)
    20
    """
    whole(width, "width", least=1, most=_WIDEST)
    mechanism = DiscreteLaplace(scale=1 / positive(epsilon, "epsilon"))
    right = 0
    for _ in range(trials):
        asked, case = 1 + int(dice((1 << width) - 1, 1, bits)[0]), int(dice(2, 1, bits)[0])
        exact = int(_parity_of(_draw_case(asked, case, width, people, bits) & asked).sum())
        right += int(int(mechanism.release(exact, bits)) > people / 2) == case
    return right


def _draw_case(
    asked: int, case: int, width: int, people: int, bits: BitSource
) -> NDArray[np.int64]:
    """Uniform answers among those whose parity `asked` is the case."""
    answers = dice(1 << width, people, bits)
    wrong = _parity_of(answers & asked) != case
    return np.where(wrong, answers ^ (asked & -asked), answers)


def _parity_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    odd: NDArray[np.int64] = (np.bitwise_count(values) & 1).astype(np.int64)
    return odd
