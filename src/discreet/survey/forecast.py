"""What a survey will be able to tell, known before anyone is asked: errors by closed forms.
Touches no answer and no report.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.local.frequencies import count_interval, count_variance
from discreet.local.mean import Mean
from discreet.local.protocol import CategoryRandomizer, NumberRandomizer
from discreet.local.randomizers.numbers import largest_variance
from discreet.local.tally import Tally
from discreet.rationals import Number, exp_bounds, positive, whole
from discreet.survey.definition import Survey
from discreet.survey.question import Choice, Question

__all__ = ["Expected", "forecast", "part_of_range", "people_for"]

_MOST_PEOPLE = 10**12
_SHARES = 32  # between 0 and 1, where widths are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The errors to expect of one question.

    `error` is the standard error of a share or mean, for the answers that make it largest;
    `half_width` that of the interval in the report; `central` the standard error of a curator who
    is trusted with the answers, at the same epsilon.
    >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
    >>> Expected(question=asked, people=9, error=0.3, half_width=0.7, central=0.1).ratio
    3.0
    """

    question: Question
    people: int
    error: float
    half_width: float
    central: float

    @property
    def ratio(self) -> float:
        """How many times larger the error is than a trusted curator's.

        >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
        >>> Expected(question=asked, people=9, error=0.5, half_width=1, central=0.1).ratio
        5.0
        """
        return round(self.error / self.central, 9)

    def to_dict(self) -> dict[str, Any]:
        """The errors as plain values, for JSON.

        >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
        >>> expected = Expected(question=asked, people=9, error=0.3, half_width=0.7, central=0.1)
        >>> expected.to_dict()["of"]
        'share'
        """
        return {
            "question": self.question.name,
            "of": "share" if isinstance(self.question, Choice) else "mean",
            "randomizer": type(self.question.randomizer).__name__,
            "report_bits": self.question.randomizer.report_bits,
            "epsilon": float(self.question.loss),
            "people": self.people,
            "error": self.error,
            "half_width": self.half_width,
            "central": self.central,
            "ratio": self.ratio,
        }


def forecast(survey: Survey, *, people: int, confidence: Number = 0.95) -> tuple[Expected, ...]:
    """The errors to expect of every question when so many people answer.

    The variances are those of [WBLJ17, Thm. 2] and [WXYZ19, Sec. III].
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> forecasts = forecast(read_survey_text(SKELETON), people=10_000)
    >>> [round(one.error, 4) for one in forecasts]
    [0.0096, 0.0166, 0.2486]
    """
    whole(people, "people", most=_MOST_PEOPLE)
    return tuple(_forecast_question(question, people, confidence) for question in survey.questions)


def part_of_range(question: Question, error: float) -> float:
    """An error of a mean as a part of the question's range; one of a share as it is.

    >>> from discreet.survey.question import Scale
    >>> part_of_range(Scale(name="n", text="?", lower=0, upper=24, epsilon=1), 6.0)
    0.25
    """
    return error / float(_range(question))


def people_for(survey: Survey, *, error: Number) -> int:
    """How many people are needed for standard errors of shares no larger than this.

    Of means, no larger than this part of the range.
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> people_for(read_survey_text(SKELETON), error=0.01)
    27621
    """
    wanted = positive(error, "error")
    needed = []
    for question in survey.questions:
        variance = Fraction(_variance(question)) / _range(question) ** 2
        needed.append(math.ceil(variance / wanted**2))
    return max(needed)


def _forecast_question(question: Question, people: int, confidence: Number) -> Expected:
    return Expected(
        question=question,
        people=people,
        error=math.sqrt(_variance(question) / people),
        half_width=_half_width(question, people, confidence),
        central=_central(question) / people,
    )


def _variance(question: Question) -> float:
    """Of one report's share or number, for the answers that make it largest."""
    randomizer = question.randomizer
    if isinstance(randomizer, NumberRandomizer):
        return largest_variance(randomizer)
    return max(count_variance(randomizer, share=share) for share in (Fraction(0), Fraction(1)))


def _range(question: Question) -> Fraction:
    randomizer = question.randomizer
    if isinstance(randomizer, NumberRandomizer):
        return randomizer.lattice.upper - randomizer.lattice.lower
    return Fraction(1)


def _half_width(question: Question, people: int, confidence: Number) -> float:
    """Of the interval in a report, for the share that makes it widest."""
    randomizer = question.randomizer
    if isinstance(randomizer, CategoryRandomizer):
        keep, other = randomizer.chances()
        widths = []
        for share in range(_SHARES + 1):
            rate = other + (keep - other) * Fraction(share, _SHARES)
            supports = math.floor(people * rate)
            low, high = count_interval(randomizer, supports, people, confidence=confidence)
            widths.append(high - low)
        return max(widths) / 2 / people
    middle = Mean(Tally(randomizer, people, (0,) * randomizer.cells), 0.0, 0.0)
    low, high = middle.interval(confidence)
    return (high - low) / 2


def _central(question: Question) -> float:
    """The standard deviation of a curator's count or sum: discrete Laplace noise on the lattice."""
    randomizer = question.randomizer
    if isinstance(randomizer, NumberRandomizer):
        step, span = randomizer.lattice.step, _range(question)
        low = exp_bounds(-question.loss * step / span)[0]
        return float(step) * math.sqrt(2 * low) / float(1 - low)
    low = exp_bounds(-question.loss)[0]
    return math.sqrt(2 * low) / float(1 - low)
