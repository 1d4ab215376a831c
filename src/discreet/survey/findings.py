"""What the reports say: shares of options and means of numbers, with errors and intervals.
All of it is post-processing of randomized reports.
"""

from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import InvalidValue
from discreet.local.frequencies import frequencies
from discreet.local.joint import JointTally
from discreet.local.mean import mean
from discreet.local.tally import Tally
from discreet.rationals import Number
from discreet.survey.definition import Survey
from discreet.survey.question import Choice, Question, Scale

__all__ = ["Estimated", "Finding", "Pairs", "findings", "pairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """One number of a finding: an option's share of the respondents, or a mean.

    `value` is unbiased and may lie outside of what is possible; `adjusted` does not.
    """

    label: str
    value: float
    error: float
    low: float
    high: float
    adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found about one question.

    >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
    >>> Finding(question=asked, people=0, confidence=0.95, rows=()).to_dict()["question"]
    'smokes'
    """

    question: Question
    people: int
    confidence: float
    rows: tuple[Estimated, ...]

    @property
    def is_share(self) -> bool:
        """Whether the rows are shares of the respondents, rather than means."""
        return isinstance(self.question, Choice)

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values, for JSON.

        >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
        >>> Finding(question=asked, people=0, confidence=0.95, rows=()).to_dict()["people"]
        0
        """
        return {
            "question": self.question.name,
            "text": self.question.text,
            "epsilon": float(self.question.loss),
            "people": self.people,
            "confidence": self.confidence,
            "of": "share" if self.is_share else "mean",
            "rows": [asdict(row) for row in self.rows],
        }


def findings(
    survey: Survey, piles: dict[str, Any], *, confidence: Number = 0.95
) -> tuple[Finding, ...]:
    """The estimates of every question from the piles of reports that respondents sent.

    Intervals are about those who reported, and hold one by one with at least this probability
    [Hoe63, Thm. 1 and 2]; who reports, and who does not, is not in them.
    """
    return tuple(
        _estimate(question, piles[question.name], confidence) for question in survey.questions
    )


def _estimate(question: Question, reports: Any, confidence: Number) -> Finding:
    tally = Tally.of(question.randomizer, reports)
    if not tally.reports:
        raise InvalidValue("no report has come in yet; there is nothing to estimate.")
    rows = (
        (_estimate_mean(question, tally, confidence),)
        if isinstance(question, Scale)
        else _estimate_shares(question, tally, confidence)
    )
    return Finding(question=question, people=tally.reports, confidence=float(confidence), rows=rows)


def _estimate_shares(question: Choice, tally: Tally, confidence: Number) -> tuple[Estimated, ...]:
    estimate = frequencies(tally)
    ends, adjusted, people = estimate.intervals(confidence), estimate.projected(), tally.reports
    return tuple(
        Estimated(
            label=option,
            value=estimate.counts[place] / people,
            error=estimate.standard_errors[place] / people,
            low=ends[place][0] / people,
            high=ends[place][1] / people,
            adjusted=adjusted[place] / people,
        )
        for place, option in enumerate(question.options)
    )


def _estimate_mean(question: Scale, tally: Tally, confidence: Number) -> Estimated:
    estimate = mean(tally)
    lattice = question.randomizer.lattice
    lower, upper = float(lattice.lower), float(lattice.upper)
    low, high = (min(max(end, lower), upper) for end in estimate.interval(confidence))
    return Estimated(
        label="mean",
        value=estimate.value,
        error=estimate.standard_error,
        low=low,
        high=high,
        adjusted=min(max(estimate.value, lower), upper),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """How two questions go together: shares of each pair of options, and their errors."""

    first: Choice
    second: Choice
    people: int
    shares: tuple[tuple[float, ...], ...]
    errors: tuple[tuple[float, ...], ...]
    adjusted: tuple[tuple[float, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, for JSON.

        >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
        >>> pairs = Pairs(first=asked, second=asked, people=0, shares=(), errors=(), adjusted=())
        >>> pairs.to_dict()["columns"]
        ['no', 'yes']
        """
        return {
            "first": self.first.name,
            "second": self.second.name,
            "people": self.people,
            "rows": list(self.first.options),
            "columns": list(self.second.options),
            "shares": [list(row) for row in self.shares],
            "errors": [list(row) for row in self.errors],
            "adjusted": [list(row) for row in self.adjusted],
        }


def pairs(survey: Survey, piles: dict[str, Any], first: str, second: str) -> Pairs:
    """The joint table of two questions with options, from the reports of the same people.

    The two reports were paid for one by one.
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> survey = read_survey_text(SKELETON)
    >>> piles = {q.name: q.randomizer.release([0] * 500) for q in survey.questions}
    >>> len(pairs(survey, piles, "smokes", "diet").shares)
    2
    """
    one, two = survey.question(first), survey.question(second)
    if not isinstance(one, Choice) or not isinstance(two, Choice) or one == two:
        raise InvalidValue(
            f"{first} and {second}: a joint table is of two different questions with options."
        )
    if not len(piles[first]):
        raise InvalidValue("no report has come in yet; there is nothing to estimate.")
    tally = JointTally.of(one.randomizer, piles[first], two.randomizer, piles[second])
    table = tally.table()
    shares, errors, adjusted = (
        tuple(tuple(count / tally.reports for count in row) for row in counts)
        for counts in (table.counts, table.standard_errors, table.projected())
    )
    return Pairs(
        first=one, second=two, people=tally.reports, shares=shares, errors=errors, adjusted=adjusted
    )
