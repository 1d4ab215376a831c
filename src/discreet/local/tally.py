"""A partial aggregate of reports: add, merge in any order, anywhere, and estimate at the end."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.local.protocol import Randomizer

__all__ = ["Tally"]

_MOST_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class Tally:
    """How many reports came in, and the counts of their cells; tallies of one question add.

    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> question = KaryResponse(epsilon=1)
    >>> Tally.of(question, [0, 1]) + Tally.of(question, [1]) == Tally.of(question, [1, 1, 0])
    True
    """

    randomizer: Randomizer
    reports: int
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.counts) != self.randomizer.cells:
            raise InvalidValue(
                f"{len(self.counts)} counts; this randomizer has {self.randomizer.cells} cells."
            )
        if self.reports < 0 or any(not 0 <= count <= self.reports for count in self.counts):
            raise InvalidValue(f"each count must lie between 0 and {self.reports}, the reports.")

    @classmethod
    def of(cls, randomizer: Randomizer, reports: Any) -> "Tally":
        """The tally of a pile of reports; one malformed report refuses the pile.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> Tally.of(KaryResponse(epsilon=1), [0, 1, 1]).counts
        (1, 2)
        """
        _check_cells(randomizer)
        noisy = np.asarray(reports)
        return cls(randomizer, len(noisy), tuple(randomizer.count(noisy).tolist()))

    @classmethod
    def empty(cls, randomizer: Randomizer) -> "Tally":
        """The tally of no report."""
        _check_cells(randomizer)
        return cls(randomizer, 0, (0,) * randomizer.cells)

    def add(self, reports: Any) -> "Tally":
        """The tally with these reports as well.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> Tally.empty(KaryResponse(epsilon=1)).add([0, 1, 1]).reports
        3
        """
        return self + Tally.of(self.randomizer, reports)

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        if self.randomizer != other.randomizer:
            raise InvalidValue(
                f"a tally of {self.randomizer} and one of {other.randomizer} do not add; "
                "merge tallies of one question only."
            )
        counts = zip(self.counts, other.counts, strict=True)
        return Tally(self.randomizer, self.reports + other.reports, tuple(a + b for a, b in counts))


def _check_cells(randomizer: Randomizer) -> None:
    if randomizer.cells > _MOST_CELLS:
        raise InvalidValue(
            f"this randomizer has {randomizer.cells} cells; tallies stop at {_MOST_CELLS}. Count "
            "chosen categories with LocalHashing.count_of, or find the frequent ones with "
            "PrefixExtension."
        )
