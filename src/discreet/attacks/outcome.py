"""What an attack achieved, against what, beside guessing and beside what privacy allows. One type
for all attacks, so that tables and charts are drawn once. Holds results about made-up people only.
"""

import math
from dataclasses import dataclass
from typing import Any

from discreet.accounting.meaning import explain
from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import Number

__all__ = ["Outcome", "Study", "member_bound", "power_bound", "value_bound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One attack on one interface: how often it was right, out of how many attempts.

    `bound` is the most that the interface's privacy admits in expectation, None where it promises
    nothing; `at` is the number that a curve is drawn over.
    >>> one = Outcome(attack="a", interface="b", right=8, attempts=10, baseline=0.5)
    >>> one.accuracy, one.within
    (0.8, None)
    """

    attack: str
    interface: str
    right: int
    attempts: int
    baseline: float
    bound: float | None = None
    at: float | None = None
    parameters: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 <= self.right <= self.attempts:
            raise InvalidValue(
                f"{self.attack}: {self.right} right of {self.attempts} attempts; give at least one "
                "attempt, and no more successes than attempts."
            )

    @property
    def accuracy(self) -> float:
        """The share of attempts that were right.

        >>> Outcome(attack="a", interface="b", right=1, attempts=4, baseline=0.5).accuracy
        0.25
        """
        return self.right / self.attempts

    @property
    def within(self) -> bool | None:
        """Whether the accuracy is within the bound, up to four standard deviations of chance.

        >>> Outcome(attack="a", interface="b", right=1, attempts=9, baseline=0.5, bound=0.7).within
        True
        """
        if self.bound is None:
            return None
        spread = math.sqrt(self.bound * (1 - self.bound) / self.attempts)
        return self.accuracy <= self.bound + 4 * spread

    @property
    def admitted(self) -> str:
        """The bound in words, and whether the outcome is beyond what chance explains.

        >>> Outcome(attack="a", interface="b", right=9, attempts=9, baseline=0.5).admitted
        'no limit'
        >>> Outcome(attack="a", interface="b", right=99, attempts=99, baseline=0.5,
        ...         bound=0.6).admitted
        '60.0%, exceeded'
        """
        if self.bound is None:
            return "no limit"
        return f"{self.bound:.1%}" if self.within else f"{self.bound:.1%}, exceeded"

    def to_dict(self) -> dict[str, Any]:
        """The outcome as values ready for JSON.

        >>> one = Outcome(attack="a", interface="b", right=1, attempts=4, baseline=0.5)
        >>> one.to_dict()["accuracy"]
        0.25
        """
        return {
            "attack": self.attack,
            "interface": self.interface,
            "accuracy": self.accuracy,
            "right": self.right,
            "attempts": self.attempts,
            "baseline": self.baseline,
            "bound": self.bound,
            "at": self.at,
            "parameters": dict(self.parameters),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """An attack against every interface it was tried on, and a curve where there is one."""

    name: str
    title: str
    words: str
    """What the attack does, for a custodian."""
    measure: str
    """What the accuracy is a share of."""
    outcomes: tuple[Outcome, ...]
    curve: tuple[Outcome, ...] = ()
    curve_title: str = ""
    curve_words: str = ""
    lesson: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The study as values ready for JSON.

        >>> Study(name="n", title="t", words="w", measure="m", outcomes=()).to_dict()["name"]
        'n'
        """
        return {
            "name": self.name,
            "title": self.title,
            "measure": self.measure,
            "outcomes": [one.to_dict() for one in self.outcomes],
            "curve": {"over": self.curve_title, "points": [one.to_dict() for one in self.curve]},
            "lesson": self.lesson,
        }


def value_bound(*, epsilon: Number, relation: Relation = Relation.ADD_REMOVE) -> float:
    """The largest share of fair secret bits that anybody guesses in expectation, rounded up.

    The odds of each bit, given everything else, move by e^(2 epsilon) under add/remove, because
    another value is two steps, and by e^epsilon under replace [DMNS06, Prop. A-5]; so the number of
    right guesses is at most a binomial's [SNJ23, Sec. 5].
    >>> round(value_bound(epsilon=1), 4)
    0.8808
    >>> round(value_bound(epsilon=1, relation=Relation.REPLACE), 4)
    0.7311
    """
    return explain(epsilon=epsilon, relation=relation).value.guess


def member_bound(*, epsilon: Number) -> float:
    """The largest share of members and strangers told apart, one half of each, rounded up.

    The odds of membership move by e^epsilon under add/remove [DMNS06, Prop. A-5].
    >>> round(member_bound(epsilon=1), 4)
    0.7311
    """
    return explain(epsilon=epsilon).membership.guess


def power_bound(*, epsilon: Number, delta: Number = 0) -> float:
    """The highest power of a test of membership with 5% false alarms, rounded up.

    At most e^epsilon/20 + delta [DMNS06, Sec. 2.2], and the tighter form of [KOV15, Thm. 2.1].
    >>> round(power_bound(epsilon=1), 4)
    0.1359
    """
    return explain(epsilon=epsilon, delta=delta).membership.power
