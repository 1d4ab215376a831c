"""What a respondent keeps: the last randomized answer to each question, and what was spent.

It stays with the respondent and never leaves. It holds reports and counts, no true answer.
"""

from dataclasses import dataclass, field
from typing import Any

from discreet.errors import InvalidValue
from discreet.local.protocol import Randomizer
from discreet.local.randomizers.rappor import Rappor
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system

__all__ = ["Diary"]


@dataclass(frozen=True, slots=True)
class Diary:
    """The questions one person is asked over time, what was sent last and how often it was drawn.

    `answer` draws with fresh coins and costs epsilon every time; `again` repeats what was sent
    last, whatever the truth is now, and costs nothing.
    Privacy: for each question epsilon times the number of its `answer`s, and the sum over
    questions, between any two histories of answers [DR14, Thm. 3.14]. Which of the two is called
    must not depend on the answers: to call `again` only where the answer is the same would tell
    where it is the same, and no finite epsilon covers that.
    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> diary = Diary({"smokes": KaryResponse(epsilon=1)})
    >>> first, diary = diary.answer("smokes", 1)
    >>> diary.again("smokes") == first, diary.loss()
    (True, Pure(epsilon=Fraction(1, 1)))
    """

    questions: dict[str, Randomizer]
    _sent: dict[str, tuple[int, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", dict(self.questions))

    def answer(self, question: str, exact: Any, bits: BitSource = system) -> tuple[Any, "Diary"]:
        """A fresh report on an answer, and the diary to keep.

        Keep the new diary before sending the report; a report that is sent and forgotten would be
        drawn again and cost again.
        Privacy: the question's loss, each time; only the report may be sent.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> report, diary = Diary({"smokes": KaryResponse(epsilon=1)}).answer("smokes", 0)
        >>> report in {0, 1}
        True
        """
        randomizer = self._randomizer(question)
        draw = randomizer.remember if isinstance(randomizer, Rappor) else randomizer.release
        drawn, _ = self._sent.get(question, (0, None))
        diary = Diary(self.questions, {**self._sent, question: (drawn + 1, draw(exact, bits))})
        return diary.again(question, bits), diary

    def again(self, question: str, bits: BitSource = system) -> Any:
        """What was sent last on a question, the same bytes; of RAPPOR a fresh report from the copy.

        Privacy: post-processing of what `answer` drew [DR14, Prop. 2.1], [EPK14, Thm. 1].
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> Diary({"smokes": KaryResponse(epsilon=1)}).again("smokes")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: 'smokes' has not been answered yet; call answer first.
        """
        randomizer = self._randomizer(question)
        if question not in self._sent:
            raise InvalidValue(f"{question!r} has not been answered yet; call answer first.")
        _, stored = self._sent[question]
        return randomizer.report(stored, bits) if isinstance(randomizer, Rappor) else stored

    def _randomizer(self, question: str) -> Randomizer:
        if question not in self.questions:
            raise InvalidValue(f"no question {question!r}; there are {sorted(self.questions)}.")
        return self.questions[question]

    def losses(self) -> dict[str, Pure]:
        """The loss so far on each question: its epsilon times the answers that were drawn.

        Privacy: it depends on how often was asked, not on any answer.
        """
        return self._multiply_losses({name: drawn for name, (drawn, _) in self._sent.items()})

    def loss(self) -> Pure:
        """The sum over all questions.

        Privacy: losses add [DR14, Thm. 3.14].
        >>> Diary({}).loss()
        Pure(epsilon=Fraction(0, 1))
        """
        return sum(self.losses().values(), Pure(epsilon=0))

    def limit(self, answers: dict[str, int]) -> Pure:
        """The most it can come to if each question is answered at most so many times.

        Known before anyone answers.

        Privacy: losses add [DR14, Thm. 3.14]; the answers themselves play no part.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> Diary({"smokes": KaryResponse(epsilon=0.5)}).limit({"smokes": 2})
        Pure(epsilon=Fraction(1, 1))
        """
        return sum(self._multiply_losses(answers).values(), Pure(epsilon=0))

    def _multiply_losses(self, answers: dict[str, int]) -> dict[str, Pure]:
        return {
            name: Pure(epsilon=answers.get(name, 0) * randomizer.loss().epsilon)
            for name, randomizer in self.questions.items()
        }
