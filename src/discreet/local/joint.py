"""How two questions go together: an unbiased table from the pairs of reports of the same people."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.linear.simplex import project_to_simplex
from discreet.local.protocol import CategoryRandomizer

__all__ = ["JointTally", "Table"]

_CELLS = 1 << 22  # supports looked at at once

Counts = tuple[tuple[int, ...], ...]
Numbers = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Unbiased numbers of people for each pair of categories, with standard errors."""

    reports: int
    counts: Numbers
    standard_errors: Numbers

    def projected(self) -> Numbers:
        """The nearest table that has no negative number and adds up to the number of people.

        >>> errors = ((1.0, 1.0), (1.0, 1.0))
        >>> Table(reports=4, counts=((3.0, 1.0), (0.75, -0.5)), standard_errors=errors).projected()
        ((2.75, 0.75), (0.5, 0.0))
        """
        nearest = project_to_simplex(np.array(self.counts, dtype=np.float64), self.reports)
        return tuple(tuple(row) for row in nearest.tolist())


@dataclass(frozen=True, slots=True)
class JointTally:
    """How often pairs of reports support each pair of categories; tallies of two questions add.

    Both reports were paid for, so the person's cost is the sum.
    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> question = KaryResponse(epsilon=1)
    >>> JointTally.of(question, [0, 1], question, [0, 0]).both
    ((1, 0), (1, 0))
    """

    first: CategoryRandomizer
    second: CategoryRandomizer
    reports: int
    both: Counts
    of_first: tuple[int, ...]
    of_second: tuple[int, ...]

    @classmethod
    def of(
        cls,
        first: CategoryRandomizer,
        first_reports: Any,
        second: CategoryRandomizer,
        second_reports: Any,
    ) -> "JointTally":
        """The tally of pairs: the n-th reports of both piles come from the same person.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> question = KaryResponse(epsilon=1)
        >>> JointTally.of(question, [0, 1], question, [0, 0]).of_first
        (1, 1)
        """
        one, two = np.asarray(first_reports), np.asarray(second_reports)
        if len(one) != len(two):
            raise InvalidValue(
                f"{len(one)} reports on one question, {len(two)} on the other; pair them."
            )
        both = np.zeros((first.categories, second.categories))
        sums = [np.zeros(first.categories), np.zeros(second.categories)]
        rows = max(1, _CELLS // (first.categories + second.categories))
        for start in range(0, len(one), rows):
            one_supports = first.mark_supported(one[start : start + rows]).astype(np.float64)
            two_supports = second.mark_supported(two[start : start + rows]).astype(np.float64)
            both += one_supports.T @ two_supports  # whole numbers below 2^53, so exact
            sums[0] += one_supports.sum(axis=0)
            sums[1] += two_supports.sum(axis=0)
        whole = [[int(count) for count in row] for row in both.tolist()]
        marginals = [tuple(int(count) for count in row.tolist()) for row in sums]
        return cls(first, second, len(one), tuple(map(tuple, whole)), marginals[0], marginals[1])

    def __add__(self, other: "JointTally") -> "JointTally":
        if not isinstance(other, JointTally):
            return NotImplemented
        if (self.first, self.second) != (other.first, other.second):
            raise InvalidValue("the tallies are of other questions; merge those of one pair only.")
        both = zip(self.both, other.both, strict=True)
        return JointTally(
            self.first,
            self.second,
            self.reports + other.reports,
            tuple(_add_counts(one, two) for one, two in both),
            _add_counts(self.of_first, other.of_first),
            _add_counts(self.of_second, other.of_second),
        )

    def table(self) -> Table:
        """The unbiased joint counts: the product of the two inverted channels.

        A person's two reports are independent given the answers, so the product of the two
        unbiased indicators is an unbiased indicator of the pair. Errors are those of the reports
        seen.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> question = KaryResponse(epsilon=1)
        >>> tally = JointTally.of(question, [0, 1, 1], question, [0, 1, 1])
        >>> round(sum(sum(row) for row in tally.table().counts), 6)
        3.0
        """
        cells = [
            [self._cell(i, j) for j in range(self.second.categories)]
            for i in range(self.first.categories)
        ]
        return Table(
            self.reports,
            tuple(tuple(count for count, _ in row) for row in cells),
            tuple(tuple(error for _, error in row) for row in cells),
        )

    def _cell(self, i: int, j: int) -> tuple[float, float]:
        both, row, column = self.both[i][j], self.of_first[i], self.of_second[j]
        seen = [[self.reports - row - column + both, column - both], [row - both, both]]
        one, two = _indicators(self.first), _indicators(self.second)
        terms = [(seen[a][b], one[a] * two[b]) for a in (0, 1) for b in (0, 1)]
        total = sum((count * term for count, term in terms), Fraction(0))
        squares = sum((count * term**2 for count, term in terms), Fraction(0))
        spread = squares - total**2 / max(1, self.reports)
        return float(total), math.sqrt(spread * self.reports / max(1, self.reports - 1))


def _indicators(randomizer: CategoryRandomizer) -> tuple[Fraction, Fraction]:
    """What a report adds to the count of a category it does not support, and of one it does."""
    own, other = randomizer.chances()
    return -other / (own - other), (1 - other) / (own - other)


def _add_counts(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, two, strict=True))
