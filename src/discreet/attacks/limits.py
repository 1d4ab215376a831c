"""Limits that no cleverness removes, measured: how much noise many answers need, and how many
people a non-interactive mechanism needs for sums of parities [DMNS06, Sec. 4].
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.attacks import _draws
from discreet.attacks.interfaces import noisy
from discreet.attacks.outcome import Outcome, Study
from discreet.attacks.people import made_up
from discreet.attacks.reconstruction import reconstruction
from discreet.local.randomizers.kary import KaryResponse
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.rationals import Number, positive, whole

__all__ = [
    "HARDNESS",
    "law",
    "law_of_reconstruction",
    "parities",
    "parity_by_curator",
    "parity_by_reports",
    "people_for_parities",
]

HARDNESS = (
    "Private synthetic rows that keep all pairs of columns right cannot be made in time polynomial "
    "in the number of columns, whatever the algorithm, if digital signatures exist: roughly, "
    "signed rows must stay signed, and only rows that were there are [UV11].",
    "Nor can every large family of counts be answered from any kind of synopsis in such time, if "
    "traitor tracing exists: a synopsis that decrypts is a pirate box, and the tracer names a row "
    "that went into it [DNRRV09]. Those families are not natural ones.",
    "These are statements about the worst table and the worst family, and about time, not about "
    "people: with time exponential in the columns both are possible. Methods for real tables "
    "measure a few marginals and say which; what they do not measure is not promised.",
)
"""What cryptography says about synthetic data and synopses, in words."""

_NOISE = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # in units of the square root of the people
_QUESTIONS = (0.5, 1.0, 2.0, 4.0, 8.0)  # in units of the people
_WIDEST = 16
_OFTEN = 0.9

Step = Callable[[float], None]


def _silent(share: float) -> None:
    del share


def law_of_reconstruction(*, people: int = 256, on_progress: Step = _silent) -> tuple[Outcome, ...]:
    """The share of secrets recovered, over noise in units of sqrt(n) and questions in units of n.

    n questions with noise far below sqrt(n) give nearly every secret away, whatever the mechanism
    [DN03].
    >>> outcomes = law_of_reconstruction(people=64)
    >>> len(outcomes), outcomes[0].interface
    (30, '0.5 n questions')
    """
    crowd = made_up(people)
    outcomes: list[Outcome] = []
    for place, times in enumerate(_QUESTIONS):
        for noise in _NOISE:
            # The standard deviation is scale * sqrt(2).
            scale = Fraction(round(noise * people**0.5 / 2**0.5, 6))
            one = reconstruction(crowd, noisy(scale), questions=max(1, round(times * people)))
            name = f"{times:g} n questions"
            outcomes.append(replace(one, attack="law of reconstruction", interface=name, at=noise))
        on_progress((place + 1) / len(_QUESTIONS))
    return tuple(outcomes)


def law(*, people: int = 256, on_progress: Step = _silent) -> Study:
    """The law of reconstruction as a study with its curve.

    >>> law(people=64).name
    'law'
    """
    curve = law_of_reconstruction(people=people, on_progress=on_progress)
    return Study(
        name="law",
        title="Overly accurate answers to too many questions",
        words=(
            f"Counts over random subsets of {people} people, each with fresh noise of the standard "
            "deviation shown, solved by least squares."
        ),
        measure="secrets recovered",
        outcomes=tuple(one for one in curve if one.at in (0.1, 4.0)),
        curve=curve,
        curve_title="standard deviation of the noise, in units of sqrt(n)",
        curve_words="Each line is a number of questions, in units of the number n of people.",
        lesson=(
            "Below sqrt(n) the table is given away once there are a few times n answers. Noise "
            "must grow with the number of answers, or the answers must end: that is a budget."
        ),
    )


def parity_by_reports(*, width: int, people: int, epsilon: Number, trials: int = 100) -> Outcome:
    """Tell a parity sum of 0 from one of n, when each person reports once, before being asked.

    Everyone reports one random parity of their `width` bits by randomized response. Afterwards the
    question names a parity for each person; only reports that happen to be about it help. Costs
    epsilon for each report, by replacing an answer [War65]; for every non-interactive mechanism the
    cases differ by O(n^(4/3) epsilon^(2/3) 2^(-d/3)) [DMNS06, Thm. 4.1].
    >>> parity_by_reports(width=1, people=500, epsilon=1, trials=20).accuracy > 0.9
    True
    """
    span, response = 1 << whole(width, "width", most=_WIDEST), KaryResponse(epsilon=epsilon)
    truth = _draws.coins(trials)
    right = 0
    for case in truth:
        asked, reported = _draws.integers(span, people), _draws.integers(span, people)
        answers = _draw_fitting(asked, bool(case), span)
        parity = np.bitwise_count(answers & reported).astype(np.int64) % 2
        reports = np.asarray(response.release(parity))
        useful = (asked == reported) & (asked > 0)
        votes = int((2 * reports[useful] - 1).sum())
        guess = votes > 0 if votes else bool(_draws.coins(1)[0])
        right += guess == bool(case)
    return _parity(f"reports made before the question, {people:,} people", right, trials, width)


def _draw_fitting(asked: np.ndarray, case: bool, span: int) -> np.ndarray:
    """Answers drawn at random whose named parity is the case for everybody who is asked one."""
    answers = _draws.integers(span, len(asked))
    wrong = (np.bitwise_count(answers & asked) % 2 != int(case)) & (asked > 0)
    lowest = asked & -asked  # flipping one bit of the parity turns it round
    return np.where(wrong, answers ^ lowest, answers)


def parity_by_curator(*, width: int, people: int, epsilon: Number, trials: int = 100) -> Outcome:
    """The same question asked of a curator, who answers it with noise 1/epsilon.

    Costs epsilon [DMNS06, Obs. 1].
    >>> parity_by_curator(width=16, people=100, epsilon=1, trials=20).accuracy
    1.0
    """
    mechanism = DiscreteLaplace(scale=1 / positive(epsilon, "epsilon"))
    span = 1 << whole(width, "width", most=_WIDEST)
    right = 0
    for case in _draws.coins(trials):
        asked = _draws.integers(span, people)
        answers = _draw_fitting(asked, bool(case), span)
        parity = int((np.bitwise_count(answers & asked) % 2).sum())
        right += (int(mechanism.release(parity)) > people / 2) == bool(case)
    return _parity(f"a curator asked afterwards, {people:,} people", right, trials, width)


def _parity(name: str, right: int, trials: int, width: int) -> Outcome:
    return Outcome(
        attack="parities",
        interface=name,
        right=right,
        attempts=trials,
        baseline=0.5,
        at=float(width),
        parameters=(("bits", str(width)),),
    )


def people_for_parities(*, width: int, epsilon: Number, trials: int = 60) -> int:
    """How many people reports made beforehand need to be right nine times in ten, by doubling.

    >>> people_for_parities(width=1, epsilon=1, trials=20) < 1000
    True
    """
    people = 1 << whole(width, "width", most=_WIDEST)
    while True:
        outcome = parity_by_reports(width=width, people=people, epsilon=epsilon, trials=trials)
        if outcome.accuracy >= _OFTEN:
            return people
        people *= 2


def parities(
    *,
    epsilon: Number = 1,
    crowds: Sequence[int] = (1_000, 30_000),
    trials: int = 100,
    on_progress: Step = _silent,
) -> Study:
    """Parity sums over strings of up to 16 bits: reports made beforehand, and a curator."""
    widths = range(2, _WIDEST + 1, 2)
    curve: list[Outcome] = []
    needed: dict[int, int] = {}
    for width in widths:
        curve += [
            parity_by_reports(width=width, people=people, epsilon=epsilon, trials=trials)
            for people in crowds
        ]
        curve.append(
            parity_by_curator(width=width, people=min(crowds), epsilon=epsilon, trials=trials)
        )
        needed[width] = people_for_parities(width=width, epsilon=epsilon)
        on_progress((width - 1) / (_WIDEST - 1))
    counted = ", ".join(f"{people:,} for d = {width}" for width, people in needed.items())
    return Study(
        name="parities",
        title="Some questions must be known before they can be answered",
        words=(
            "Everybody holds d bits. A question names a parity of the bits of each person, and is "
            "true of all or of none. Can it be told which?"
        ),
        measure="cases told apart",
        outcomes=tuple(one for one in curve if one.at in (2.0, 16.0)),
        curve=tuple(curve),
        curve_title="bits d of each person",
        curve_words="Above: a curator who hears the question. Below: reports that came before it.",
        lesson=(
            "A mechanism that publishes first and is asked later needs a number of people that "
            "grows exponentially in d; a curator answers any one such "
            "question with an error of 1/epsilon. The reports here needed, to be right nine times "
            f"in ten: {counted}."
        ),
    )
