"""The mean and variance of a bell-shaped column whose bounds nobody knows: its scale first, then
where it lies, then clipped sums. Owns the three steps; docs/proofs/robust.md says why they hold.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Approximate, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.selection.exponential import Exponential
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, whole
from discreet.robust.rows import count_moved_rows, exact_squares, exact_sum, read_integers
from discreet.robust.tested.histogram import StabilityHistogram
from discreet.robust.tested.outcome import Outcome, Refused, Shown

__all__ = ["BinWidth", "Location", "LocationEstimate", "fullest_bins"]

_WIDTHS = 62  # bins of width 2**61 and more hold everything within +-2**60 in two of them


def fullest_bins(exact: Any) -> list[int]:
    """How many rows the fullest bin holds, for bins of width 1, 2, 4, ... aligned at 0.

    Privacy: not private by itself. One row moves each count by at most one.
    >>> fullest_bins([4, 5, 6, 7, 100])[:4]
    [1, 2, 4, 4]
    """
    ordered = np.sort(read_integers(exact))
    return [_longest_run(ordered >> width) for width in range(_WIDTHS)]


def _longest_run(ordered: NDArray[np.int64]) -> int:
    if not len(ordered):
        return 0
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return int(np.diff(ends, prepend=-1).max())


@dataclass(frozen=True, slots=True)
class BinWidth:
    """Chooses the least power of two such that one aligned bin of that width holds half the rows.

    For a bell shape it lies between about one and six standard deviations.
    Privacy: epsilon-bounded range for the relation, with units of up to `rows_per_unit` rows: an
    exponential mechanism whose scores move by a half for each row [MT07, Thm. 6].
    >>> BinWidth(epsilon=1).release([7] * 1000)
    0
    """

    epsilon: Fraction
    moved: int

    def __init__(
        self, *, epsilon: Number, relation: Relation = Relation.ADD_REMOVE, rows_per_unit: int = 1
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "moved", count_moved_rows(relation, rows_per_unit))

    @property
    def mechanism(self) -> Exponential:
        """The exponential mechanism on scores counted in half rows.

        >>> BinWidth(epsilon=1).mechanism.scale
        Fraction(2, 1)
        """
        return Exponential(scale=2 * self.moved / self.epsilon, candidates=_WIDTHS)

    def loss(self) -> Approximate:
        """The cost of one choice.

        Privacy: epsilon-DP [MT07, Thm. 6].
        >>> BinWidth(epsilon=1).loss().epsilon
        Fraction(1, 1)
        """
        return self.mechanism.loss(Sensitivity.single(self.moved)).approximate()

    @staticmethod
    def scores(exact: Any) -> list[int]:
        """Minus how many half rows each width is off: too narrow, or wider than it has to be.

        Privacy: not private by itself.
        >>> BinWidth.scores([0, 1, 2, 3])[:4]
        [-2, 0, 0, -4]
        """
        rows, counts = len(exact), fullest_bins(exact)
        before = [0, *counts[:-1]]
        return [
            -max(0, rows - 2 * now, 2 * narrower - rows)
            for now, narrower in zip(counts, before, strict=True)
        ]

    def release(self, exact: Any, bits: BitSource = system) -> int:
        """The chosen power of two.

        Privacy: as `loss` says.
        >>> BinWidth(epsilon=1).release([5] * 1000 + [10**9])
        0
        """
        return int(self.mechanism.release(self.scores(exact), bits))


@dataclass(frozen=True, slots=True)
class LocationEstimate:
    """A noisy mean and variance in lattice steps, and what was found on the way.

    Post-processing of `Location`.
    >>> LocationEstimate(count=100, total=50, squares=425, centre=7, reach=64).mean
    Fraction(15, 2)
    """

    count: int
    total: int
    squares: int
    centre: int
    reach: int

    @property
    def mean(self) -> Fraction:
        """The mean of the clipped rows.

        >>> LocationEstimate(count=0, total=50, squares=9, centre=7, reach=8).mean
        Fraction(15, 1)
        """
        off = Fraction(self.total, max(1, self.count))
        return self.centre + min(max(off, Fraction(-self.reach)), Fraction(self.reach))

    @property
    def variance(self) -> Fraction:
        """The variance of the clipped rows; noise can bring it down to 0.

        >>> LocationEstimate(count=100, total=50, squares=425, centre=7, reach=64).variance
        Fraction(4, 1)
        """
        square = Fraction(self.squares, max(1, self.count)) - (self.mean - self.centre) ** 2
        return min(max(square, Fraction(0)), Fraction(self.reach**2))


@dataclass(frozen=True, slots=True)
class Location:
    """The mean and variance of a bell-shaped column of integers, without bounds on it.

    A sixth of epsilon finds the scale, a sixth the place, a sixth counts, a third goes to the sum
    and a sixth to the squares. Rows are clipped `reach` bin widths around the place found.
    Privacy: (epsilon, delta)-DP for the relation, with units of up to `rows_per_unit` rows
    [KV18], [DR14, Thm. 3.16]; derived for these steps in docs/proofs/robust.md. True
    for any rows; accurate where they are bell-shaped.
    >>> shown = Location(epsilon=1, delta=1e-6).release([10**9 + row % 100 for row in range(5000)])
    >>> abs(shown.value.mean - 10**9) < 1000
    True
    """

    epsilon: Fraction
    delta: Fraction
    relation: Relation
    rows_per_unit: int
    reach: int

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        relation: Relation = Relation.ADD_REMOVE,
        rows_per_unit: int = 1,
        reach: int = 6,
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "relation", Relation(relation))
        object.__setattr__(self, "rows_per_unit", whole(rows_per_unit, "rows_per_unit"))
        object.__setattr__(self, "reach", whole(reach, "reach"))
        object.__setattr__(self, "delta", positive(delta, "delta"))
        if reach > 1000:
            raise InvalidValue(f"reach is {reach}; it must be at most 1000 bin widths.")
        _ = self.place

    @property
    def scale(self) -> BinWidth:
        """The first step.

        >>> Location(epsilon=6, delta=1e-6).scale.epsilon
        Fraction(1, 1)
        """
        return BinWidth(
            epsilon=self.epsilon / 6, relation=self.relation, rows_per_unit=self.rows_per_unit
        )

    @property
    def place(self) -> StabilityHistogram:
        """The second step.

        >>> Location(epsilon=6, delta=1e-6).place.epsilon
        Fraction(1, 1)
        """
        return StabilityHistogram(
            epsilon=self.epsilon / 6,
            delta=self.delta,
            relation=self.relation,
            rows_per_unit=self.rows_per_unit,
        )

    def loss(self) -> Approximate:
        """The cost of one release, whether it refuses or not.

        Privacy: the steps add up [DR14, Thm. 3.16].
        >>> Location(epsilon=1, delta=1e-6).loss().epsilon
        Fraction(1, 1)
        """
        return Approximate(epsilon=self.epsilon, delta=self.place.loss().delta)

    def release(
        self, exact: Any, bits: BitSource = system, *, what: str = "the location"
    ) -> Outcome[LocationEstimate]:
        """The estimate, or a refusal where no bin held enough rows.

        Privacy: as `loss` says.
        >>> Location(epsilon=1, delta=1e-9).release([5, 7])
        Refused(what='the location')
        """
        rows = read_integers(exact)
        width = self.scale.release(rows, bits)
        shown = self.place.release(rows >> width, bits)
        if not shown:
            return Refused(what)
        fullest = max(shown, key=lambda key: (shown[key], key))
        centre = (fullest << width) + (1 << width >> 1)
        return Shown(self._moments(rows, centre, self.reach << width, bits))

    def _moments(
        self, rows: NDArray[np.int64], centre: int, reach: int, bits: BitSource
    ) -> LocationEstimate:
        """Noisy sums of the rows clipped around a place that is public by now."""
        moved = count_moved_rows(self.relation, self.rows_per_unit)
        clipped = np.clip(rows, max(centre - reach, -(1 << 62)), min(centre + reach, 1 << 62))
        offsets = clipped - centre  # within 2**62 of each other
        total, squares = exact_sum(offsets, reach), exact_squares(offsets, reach)

        def noisy(exact: int, largest: int, share: Fraction) -> int:
            noise = DiscreteLaplace(scale=moved * largest / (share * self.epsilon))
            return noise.release(exact, bits)

        sixth = Fraction(1, 6)
        return LocationEstimate(
            count=noisy(len(rows), 1, sixth),
            total=noisy(total, reach, 2 * sixth),
            squares=noisy(squares, reach**2, sixth),
            centre=centre,
            reach=reach,
        )
