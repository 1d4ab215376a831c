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
    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> randomizer: Randomizer = KaryResponse(epsilon=1, categories=4)
    >>> randomizer.loss()
    Pure(epsilon=Fraction(1, 1))
    """

    @property
    def cells(self) -> int:
        """How many counts summarise any number of reports.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=1, categories=4).cells
        4
        """

    @property
    def report_bits(self) -> int:
        """How many bits one report takes.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=1, categories=4).report_bits
        2
        """

    def loss(self) -> Pure:
        """The cost of one report to the person who answers.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=0.5, categories=4).loss().epsilon
        Fraction(1, 2)
        """

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The report on one answer, or an array of reports on a list or array of answers.

        Privacy: as `loss` says, for each report.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=1, categories=4).release(3) in range(4)
        True
        """

    def count(self, reports: Any) -> NDArray[np.int64]:
        """The counts that a pile of reports adds to a tally; a malformed report is refused.

        Privacy: post-processing.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=1, categories=4).count([0, 3, 3]).tolist()
        [1, 0, 0, 2]
        """


@runtime_checkable
class CategoryRandomizer(Randomizer, Protocol):
    """A randomizer of categories 0, ..., k - 1 whose reports each support some of them.

    A report supports the person's category with one probability and each other with another,
    whichever the two are ("pure" in [WBLJ17, Sec. 3]): the counts of support, made unbiased, are
    the estimate.
    Privacy: as `loss` says, for each report.
    """

    @property
    def categories(self) -> int:
        """The number k of possible answers.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=1, categories=4).categories
        4
        """

    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities of support, for the person's category and for each other one.

        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> [round(float(chance), 3) for chance in KaryResponse(epsilon=1, categories=4).chances()]
        [0.475, 0.175]
        """

    def supported(self, reports: Any) -> NDArray[np.bool_]:
        """Which categories each report supports, one row a report.

        Privacy: post-processing.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> KaryResponse(epsilon=1, categories=3).supported([2]).tolist()
        [[False, False, True]]
        """


@runtime_checkable
class NumberRandomizer(Randomizer, Protocol):
    """A randomizer of numbers in a public range, on a public lattice.

    Privacy: as `loss` says, for each report.
    """

    @property
    def lattice(self) -> Lattice:
        """The public range and step.

        >>> from discreet.local.randomizers.one_bit import OneBit
        >>> OneBit(epsilon=1, lower=-1, upper=1, step=0.5).lattice.step
        Fraction(1, 2)
        """

    def decoded(self) -> NDArray[np.float64]:
        """The number that each cell stands for; its expectation is the answer on the lattice.

        >>> from discreet.local.randomizers.one_bit import OneBit
        >>> OneBit(epsilon=1, lower=-1, upper=1, step=1).decoded().round(3).tolist()
        [-2.164, 2.164]
        """

    def variance(self, exact: Any) -> float:
        """The variance of a decoded report on this answer.

        Privacy: none: for planning, with made-up answers.
        >>> from discreet.local.randomizers.one_bit import OneBit
        >>> round(OneBit(epsilon=1, lower=-1, upper=1, step=1).variance(0), 3)
        4.683
        """

    @property
    def rounding(self) -> Fraction:
        """The most by which an answer within the range differs from its place on the lattice.

        >>> from discreet.local.randomizers.one_bit import OneBit
        >>> OneBit(epsilon=1, lower=-1, upper=1, step=0.5).rounding
        Fraction(1, 4)
        """
