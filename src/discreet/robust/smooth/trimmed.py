"""The trimmed mean: the mean of the rows left when the same share is cut off at both ends, with how
far one unit can move it. Exact fractions of lattice steps.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import Number, probability, whole
from discreet.robust.rows import clamp_sorted, read_bounds
from discreet.robust.smooth.growth import Growth, largest_move, per_unit
from discreet.robust.smooth.quantile import EXACT_MOVES

__all__ = ["SmoothTrimmedMean"]

_RESOLUTION = 1 << 20  # bounds are rounded up to this part of a step


@dataclass(frozen=True, slots=True)
class SmoothTrimmedMean:
    """The mean of lattice integers without the floor(share * rows) least and as many largest.

    No rows have the value `lower`. Under replace the number of rows is public: as many come as go.
    Where a unit may be replaced by one with fewer rows, take add/remove with twice the rows.
    Privacy: the growth is that of [BS19] under replace; the add/remove form, where the number of
    rows changes too, is derived in docs/proofs/robust.md.
    >>> query = SmoothTrimmedMean(share=0.25, lower=0, upper=100)
    >>> query.growth([1, 10, 20, 99]).exact
    Fraction(15, 1)
    """

    share: Fraction
    lower: int
    upper: int
    rows_per_unit: int
    relation: Relation

    def __init__(
        self,
        *,
        share: Number,
        lower: int,
        upper: int,
        rows_per_unit: int = 1,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        part = probability(share, "share")
        if not 0 <= part < Fraction(1, 2) or part.denominator > 1 << 20:
            raise InvalidValue(f"share is {share}; it must lie in [0, 1/2), with few digits.")
        low, high = read_bounds(lower, upper)
        if high - low > 1 << 40:
            raise InvalidValue(f"upper - lower is {high - low}; the limit is 2**40 steps.")
        object.__setattr__(self, "share", part)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "rows_per_unit", whole(rows_per_unit, "rows_per_unit"))
        object.__setattr__(self, "relation", Relation(relation))

    def clamp(self, noisy: int) -> int:
        """A released number held within the bounds."""
        return max(self.lower, min(self.upper, noisy))

    def growth(self, exact: Any) -> Growth:
        """The trimmed mean of some rows, and how far units can move it.

        Privacy: not private by itself: exact.
        >>> SmoothTrimmedMean(share=0.25, lower=0, upper=8).growth([4] * 40).at(0) < 1
        True
        """
        ordered = clamp_sorted(exact, self.lower, self.upper)
        cut, middle = self._cut(ordered)
        width = self.upper - self.lower
        replaced = self.relation is Relation.REPLACE
        bound = self._bound_replacing if replaced else self._bound_adding
        moved = bound(ordered, cut)
        most = width * _RESOLUTION
        if replaced:  # the number of rows is public
            most = min(most, self.rows_per_unit * -(-most // max(1, len(middle))))
        moved = np.minimum(moved, -(-most // self.rows_per_unit))  # so that no product overflows
        rungs = np.minimum(per_unit(moved, moves=self.rows_per_unit), most)
        rungs = np.maximum.accumulate(rungs)
        return Growth(
            exact=self._value(ordered),
            rungs=rungs[rungs < most],
            limit=most,
            resolution=_RESOLUTION,
        )

    def local_sensitivity(self, exact: Any) -> Fraction:
        """How far one unit can move the trimmed mean of these rows, exactly.

        Privacy: not private by itself: for the custodian.
        >>> query = SmoothTrimmedMean(share=0.25, lower=0, upper=9, relation="replace")
        >>> query.local_sensitivity([1, 2, 4, 8])
        Fraction(3, 1)
        """
        return largest_move(self._value, clamp_sorted(exact, self.lower, self.upper), self)

    def _cut(self, ordered: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
        cut = math.floor(self.share * len(ordered))
        return cut, ordered[cut : len(ordered) - cut]

    def _value(self, ordered: NDArray[np.int64]) -> Fraction:
        middle = self._cut(ordered)[1]
        if len(middle) == 0:
            return Fraction(self.lower)
        total = sum(int(part.sum()) for part in np.array_split(middle - self.lower, 64))
        return self.lower + Fraction(total, len(middle))

    def _at(self, ordered: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The values of these ranks, counted from 1; the bounds lie beyond both ends."""
        if len(ordered) == 0:
            return np.where(ranks < 1, self.lower, self.upper)
        values = ordered[np.clip(ranks, 1, len(ordered)) - 1]
        values = np.where(ranks < 1, self.lower, values)
        held: NDArray[np.int64] = np.where(ranks > len(ordered), self.upper, values)
        return held

    def _bound_replacing(self, ordered: NDArray[np.int64], cut: int) -> NDArray[Any]:
        """After j replaced rows, one more: windows of n - 2m + j gaps."""
        count = len(ordered)
        before = np.arange(0, cut + 2)
        last = count - cut
        spreads = self._at(ordered, last + before + 1) - self._at(ordered, cut - before)
        for moves in before[before <= EXACT_MOVES].tolist():
            shift = np.arange(0, moves + 2)
            tops = self._at(ordered, last + moves + 1 - shift)
            spreads[moves] = int((tops - self._at(ordered, cut + 1 - shift)).max())
        return _divide_up(spreads, np.full(len(spreads), max(1, count - 2 * cut)))

    def _bound_adding(self, ordered: NDArray[np.int64], cut: int) -> NDArray[Any]:
        """After j added or removed rows, one more; the number kept may have fallen as well."""
        count = len(ordered)
        before = np.arange(0, count + 2)
        tops = self._at(ordered, count - cut + 2 + before)
        bottoms = self._at(ordered, cut - 1 - before)
        rest = self.share.denominator - 2 * self.share.numerator
        rows = np.maximum(0, count - before - 1)
        counts = np.maximum(1, -(-rest * rows // self.share.denominator))
        return _divide_up(tops - bottoms, counts)


def _divide_up(spread: NDArray[np.int64], over: NDArray[np.int64]) -> NDArray[Any]:
    """spread/over in parts of a step, rounded up: the same rounding for every data set."""
    whole_steps, rest = spread // over, spread % over
    parts: NDArray[Any] = whole_steps * _RESOLUTION - (-rest * _RESOLUTION // over)
    return parts
