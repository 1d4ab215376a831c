"""What every randomizer offers. It is a value without data that runs on the respondent's side;
only its reports leave the respondent, and everything the centre computes is post-processing.
"""

from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import BitSource, system

__all__ = ["CategoryRandomizer", "NumberRandomizer", "Randomizer"]


class Randomizer(Protocol):
    """Turns one person's answer into a report that may leave the person's device.

    Privacy: `loss` bounds what one report tells, when the answer is replaced by any other
    [DMNS06, Sec. 4.1]. Nobody has to be trusted with the answer.
    """

    @property
    def cells(self) -> int:
        """How many counts summarise any number of reports."""

    @property
    def report_bits(self) -> int:
        """How many bits one report takes."""

    def loss(self) -> Pure:
        """The cost of one report to the person who answers.

        Privacy: for each report, by replacing the answer.
        """

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The report on one answer, or an array of reports on a list or array of answers.

        Privacy: as `loss` says, for each report.
        """

    def count(self, reports: Any) -> NDArray[np.int64]:
        """The counts that a pile of reports adds to a tally; a malformed report is refused."""


@runtime_checkable
class CategoryRandomizer(Randomizer, Protocol):
    """A randomizer of categories 0, ..., k - 1 whose reports each support some of them.

    A report supports the person's category with one probability and each other with another,
    whichever the two are ("pure" in [WBLJ17, Sec. 3]): the counts of support, made unbiased, are
    the estimate.
    """

    @property
    def categories(self) -> int:
        """The number k of possible answers."""

    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities of support, for the person's category and for each other one."""

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """Which categories each report supports, one row a report."""


@runtime_checkable
class NumberRandomizer(Randomizer, Protocol):
    """A randomizer of numbers in a public range, on a public lattice.

    Privacy: as `loss` says, for each report.
    """

    @property
    def lattice(self) -> Lattice:
        """The public range and step."""

    def decode_cells(self) -> NDArray[np.float64]:
        """The number that each cell stands for; its expectation is the answer on the lattice."""

    def variance(self, exact: Any) -> float:
        """The variance of a decoded report on this answer.

        Privacy: none: for planning, with made-up answers.
        """

    @property
    def rounding(self) -> Fraction:
        """The most by which an answer within the range differs from its place on the lattice."""
