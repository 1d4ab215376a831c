"""What is said beside an answer, in plain sentences: notes on what it leaves out, and suggestions
that would make it more exact. Public words only.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["Note", "Suggestion"]

_SHOWN = 3  # columns in one sentence
_WHAT = MappingProxyType({"max_groups_contributed": "groups", "max_rows_contributed": "rows"})


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about an answer; `ask` is a question, paid like any other, for how much it is.

    >>> print(Note("At most 2 rows count.", "SELECT COUNT(*) AS n FROM t"))
    At most 2 rows count. To ask how many: SELECT COUNT(*) AS n FROM t
    """

    text: str
    ask: str = ""

    def __str__(self) -> str:
        return f"{self.text} To ask how many: {self.ask}" if self.ask else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A limit, the errors with it and without, and how much of the noise is left.

    >>> Suggestion(option="max_rows_contributed", value=2, unit="patient", most=20, share=0.1,
    ...            before={"n": 351.0}, error={"n": 39.0}).words
    'max_rows_contributed=2: the error of n is 39 instead of 351; it uses at most 2 of up to \
20 rows of one patient and leaves out the rest.'
    """

    option: str
    value: int
    unit: str
    most: int
    share: float
    before: dict[str, float | None]
    error: dict[str, float | None]

    @property
    def words(self) -> str:
        """The suggestion as a sentence.

        >>> Suggestion(option="max_groups_contributed", value=1, unit="id", most=8, share=0.25,
        ...            before={"a": None}, error={"a": None}).words
        'max_groups_contributed=1: the noise is 4 times smaller; it uses at most 1 of up to 8 \
groups of one id and leaves out the rest.'
        """
        known = [
            f"of {name} is {_digits(after)} instead of {_digits(before)}"
            for name, after in self.error.items()
            if after is not None and (before := self.before.get(name)) is not None
        ]
        said = f"the noise is {1 / self.share:.3g} times smaller"
        if known:
            said = "the error " + ", that ".join(known[:_SHOWN])
        return (
            f"{self.option}={self.value}: {said}; it uses at most {self.value:,} of up to "
            f"{self.most:,} {_WHAT[self.option]} of one {self.unit} and leaves out the rest."
        )

    def values(self) -> dict[str, Any]:
        """The suggestion for JSON."""
        return {
            "option": self.option,
            "value": self.value,
            "error": dict(self.error),
            "words": self.words,
        }


def _digits(error: float) -> str:
    return f"{error:,.0f}" if error >= 100 else f"{error:,.3g}"
