"""What a respondent keeps: the answers already randomized, so that asking again costs nothing.

It stays with the respondent and never leaves; a repeated answer is the stored report, the same
bytes, or for RAPPOR a fresh report from the stored permanent copy.
"""

from dataclasses import dataclass, field
from typing import Any

from discreet.errors import InvalidValue
from discreet.local._answers import clamped
from discreet.local.protocol import CategoryRandomizer, NumberRandomizer, Randomizer
from discreet.local.rappor import Rappor
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system

__all__ = ["Diary"]


@dataclass(frozen=True, slots=True)
class Diary:
    """The questions one person is asked over time, and the randomized answers given so far.

    Privacy: for each question epsilon times the number of distinct true answers, and the sum over
    questions, between histories that repeat and change their answers at the same moments
    [EPK14, Thm. 1], [DR14, Thm. 3.14]. The moments themselves are not hidden: a changed report
    shows that the answer changed. Where that matters, ask once or pay for fresh reports.
    >>> from discreet.local.kary import KaryResponse
    >>> diary = Diary({"smokes": KaryResponse(epsilon=1)})
    >>> first, diary = diary.answer("smokes", 1)
    >>> again, diary = diary.answer("smokes", 1)
    >>> first == again, diary.loss()
    (True, Pure(epsilon=Fraction(1, 1)))
    """

    questions: dict[str, Randomizer]
    _kept: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", dict(self.questions))

    def answer(self, question: str, exact: Any, bits: BitSource = system) -> tuple[Any, "Diary"]:
        """The report on an answer, and the diary to keep: a new one if the answer is new.

        Keep the new diary before sending the report; a report that is sent and forgotten would be
        drawn again and cost again.
        Privacy: as the diary says; only the report may be sent.
        >>> from discreet.local.kary import KaryResponse
        >>> report, kept = Diary({"smokes": KaryResponse(epsilon=1)}).answer("smokes", 0)
        >>> report in {0, 1}
        True
        """
        if question not in self.questions:
            raise InvalidValue(f"no question {question!r}; there are {sorted(self.questions)}.")
        randomizer = self.questions[question]
        place = (question, _place(randomizer, exact))
        kept = dict(self._kept)
        if place not in kept:
            draw = randomizer.remember if isinstance(randomizer, Rappor) else randomizer.release
            kept[place] = draw(exact, bits)
        stored = kept[place]
        noisy = randomizer.report(stored, bits) if isinstance(randomizer, Rappor) else stored
        return noisy, Diary(self.questions, kept)

    def losses(self) -> dict[str, Pure]:
        """The loss so far on each question: its epsilon times the distinct true answers.

        The number of distinct answers is the respondent's own: show it to nobody else.
        Privacy: not private by itself; for the respondent only.
        >>> from discreet.local.kary import KaryResponse
        >>> _, diary = Diary({"a": KaryResponse(epsilon=1), "b": KaryResponse(epsilon=2)}).answer(
        ...     "b", 1)
        >>> diary.losses()["a"].epsilon, diary.losses()["b"].epsilon
        (Fraction(0, 1), Fraction(2, 1))
        """
        distinct = dict.fromkeys(self.questions, 0)
        for name, _ in self._kept:
            distinct[name] += 1
        return {
            name: Pure(epsilon=distinct[name] * randomizer.loss().epsilon)
            for name, randomizer in self.questions.items()
        }

    def loss(self) -> Pure:
        """The sum over all questions.

        Privacy: not private by itself; for the respondent only. Losses add [DR14, Thm. 3.14].
        >>> Diary({}).loss()
        Pure(epsilon=Fraction(0, 1))
        """
        return sum(self.losses().values(), Pure(epsilon=0))

    def limit(self, distinct: dict[str, int]) -> Pure:
        """The most it can come to if each question has at most so many distinct true answers.

        Known before anyone answers; a question with k categories has at most k.
        Privacy: none (touches no data).
        >>> from discreet.local.kary import KaryResponse
        >>> Diary({"smokes": KaryResponse(epsilon=0.5)}).limit({"smokes": 2})
        Pure(epsilon=Fraction(1, 1))
        """
        return sum(
            (
                Pure(epsilon=distinct[name] * randomizer.loss().epsilon)
                for name, randomizer in self.questions.items()
            ),
            Pure(epsilon=0),
        )


def _place(randomizer: Randomizer, exact: Any) -> int:
    """What an answer counts as: its category, or its place on the lattice."""
    if isinstance(randomizer, CategoryRandomizer):
        return int(clamped([exact], randomizer.categories)[0])
    if isinstance(randomizer, NumberRandomizer):
        return int(randomizer.lattice.steps(exact))
    raise InvalidValue(f"a diary cannot hold answers for {type(randomizer).__name__}.")
