"""The median and any quantile, with how far one unit can move them: the growth of an order
statistic in a window of the sorted rows. Sorts once; every step after that is an index.
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
from discreet.robust.rows import clamp_sorted, read_bounds, read_integers
from discreet.robust.smooth.growth import Growth, largest_move

__all__ = ["EXACT_MOVES", "SmoothQuantile"]

EXACT_MOVES = 1024
"""Up to this many moved rows every window is looked at; beyond it one that holds them all."""

_MOST_UNITS = 1 << 20  # bounds for units farther away are the limit: memory has one too

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SmoothQuantile:
    """The value of rank ceil(fraction * rows), of lattice integers held within public bounds.

    No rows have the value `lower`; the median of an even number of rows is the lower one. With
    `rows_per_unit` above 1 a unit may move that many rows, wherever they are. Under replace the
    number of rows is public: as many come as go. Where a unit may be replaced by one with fewer
    rows, take add/remove with twice the rows per unit.
    Privacy: the growth follows [NRS07, Sec. 3] under replace; the add/remove form, several rows and
    other fractions are derived in docs/proofs/robust.md.
    >>> SmoothQuantile(fraction=0.5, lower=0, upper=9).growth([2, 3, 3, 4]).at(0)
    Fraction(1, 1)
    """

    fraction: Fraction
    lower: int
    upper: int
    rows_per_unit: int
    relation: Relation

    def __init__(
        self,
        *,
        fraction: Number,
        lower: int,
        upper: int,
        rows_per_unit: int = 1,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        share = probability(fraction, "fraction")
        if not 0 < share < 1 or share.denominator > 1 << 20:
            raise InvalidValue(
                f"fraction is {fraction}; it must lie between 0 and 1, both excluded, with at most "
                "six digits."
            )
        low, high = read_bounds(lower, upper)
        object.__setattr__(self, "fraction", share)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "rows_per_unit", whole(rows_per_unit, "rows_per_unit"))
        object.__setattr__(self, "relation", Relation(relation))

    def clamp(self, noisy: int) -> int:
        """A released number held within the bounds.

        >>> SmoothQuantile(fraction=0.5, lower=0, upper=9).clamp(11)
        9
        """
        return max(self.lower, min(self.upper, noisy))

    def growth(self, exact: Any) -> Growth:
        """The quantile of some rows, and how far units can move it.

        Privacy: not private by itself: exact.
        >>> SmoothQuantile(fraction=0.5, lower=0, upper=9).growth([5]).at(1)
        Fraction(9, 1)
        """
        ordered = clamp_sorted(exact, self.lower, self.upper)
        return self._growth(_Rows(ordered, len(ordered), self.lower, self.upper))

    def local_sensitivity(self, exact: Any) -> Fraction:
        """How far one unit can move the quantile of these rows, exactly.

        Privacy: not private by itself: for the custodian.
        >>> SmoothQuantile(fraction=0.5, lower=0, upper=9).local_sensitivity([1, 5, 7])
        Fraction(4, 1)
        """
        return largest_move(self._value, clamp_sorted(exact, self.lower, self.upper), self)

    def _value(self, ordered: Integers) -> Fraction:
        rank = math.ceil(self.fraction * len(ordered))
        return Fraction(int(ordered[rank - 1]) if rank else self.lower)

    def growth_of_counts(self, exact: Any) -> Growth:
        """The same, from how many rows lie at lower, lower + 1, ..., upper.

        Privacy: not private by itself: exact.
        >>> SmoothQuantile(fraction=0.5, lower=0, upper=4).growth_of_counts([0, 1, 0, 2, 0]).exact
        Fraction(3, 1)
        """
        counts = read_integers(exact, "the exact counts")
        if len(counts) != self.upper - self.lower + 1 or (len(counts) and counts.min() < 0):
            raise InvalidValue(
                f"the counts are {len(counts)} numbers; pass {self.upper - self.lower + 1}, one "
                "for each step from lower to upper, none negative. Nothing was released."
            )
        upto = np.cumsum(counts)
        return self._growth(_Rows(upto, int(upto[-1]), self.lower, self.upper, counted=1))

    def _growth(self, rows: "_Rows") -> Growth:
        exact = int(rows.at(np.array([math.ceil(self.fraction * rows.count)]))[0])
        width = self.upper - self.lower
        replaced = self.relation is Relation.REPLACE
        moved = self._bound_replacing(rows) if replaced else self._bound_adding(rows)
        rungs = np.maximum.accumulate(np.minimum(moved, width))
        return Growth(exact=exact, rungs=rungs[rungs < width], limit=width)

    def _rows_moved_before(self, most: int) -> Integers:
        """The rows moved before: 0, r, 2r, ..., below `most`, for no more units than are kept."""
        units = min(-(-most // self.rows_per_unit), _MOST_UNITS)
        return np.arange(units, dtype=np.int64) * self.rows_per_unit

    def _bound_replacing(self, rows: "_Rows") -> Integers:
        """After j replaced rows, r more: windows of j + r gaps around the rank, as in the proof."""
        rank, unit = math.ceil(self.fraction * rows.count), self.rows_per_unit
        beyond = self._rows_moved_before(rows.count + 2 * unit)
        sizes = rows.at(rank + beyond + unit) - rows.at(rank - beyond - unit)
        for place, before in enumerate(beyond[beyond <= EXACT_MOVES]):
            start = np.arange(rank - before, rank + 1)
            upward = rows.at(start + before + unit) - rows.at(start)
            downward = rows.at(start + before) - rows.at(start - unit)
            sizes[place] = max(int(upward.max()), int(downward.max()))
        return sizes

    def _bound_adding(self, rows: "_Rows") -> Integers:
        """After j added or removed rows, r more; w of the j are removed inside the window."""
        whole_share, unit = self.fraction.denominator, self.rows_per_unit
        middle = self.fraction.numerator * rows.count  # ranks times the denominator from here on
        most = max(self.fraction.numerator, whole_share - self.fraction.numerator)
        step = -(-most * unit // whole_share)  # how far a unit can move the rank
        before = self._rows_moved_before(rows.count + 2 * unit + 2)
        low = -((most * before - middle) // whole_share)  # ceil(q n - g j)
        high = -((-most * before - middle) // whole_share)  # ceil(q n + g j)
        upward = rows.at(high + step) - rows.at(low)
        downward = rows.at(high) - rows.at(low - step)
        sizes: Integers = np.maximum(upward, downward)
        if whole_share == 2:
            return sizes  # the one window that holds the others is itself one of them
        for place, moves in enumerate(before[before <= EXACT_MOVES].tolist()):
            start = np.arange(low[place], high[place] + 1)
            inside = self._count_removed(start, middle, most, moves)
            upward = rows.at(start + inside + step) - rows.at(start)
            downward = rows.at(start + inside) - rows.at(start - step)
            sizes[place] = max(int(upward.max()), int(downward.max()))
        return sizes

    def _count_removed(self, start: Integers, middle: int, most: int, moves: int) -> Integers:
        """The most rows removed inside a window that starts here, the other moves shifting it.

        The largest w <= j with ceil(q (n-w) - g (j-w)) <= start <= ceil(q (n-w) + g (j-w)).
        """
        share, whole_share = self.fraction.numerator, self.fraction.denominator
        ahead = middle + most * moves - whole_share * (start - 1)
        inside: Integers = np.minimum(moves, -(-ahead // (most + share)) - 1)
        if most > share:
            behind = whole_share * start - middle + most * moves
            inside = np.minimum(inside, behind // (most - share))
        return inside


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Rows:
    """Sorted rows, or running counts of them, with the bounds beyond both ends."""

    data: Integers
    count: int
    lower: int
    upper: int
    counted: int = 0

    def at(self, ranks: Integers) -> Integers:
        """The values of these ranks, counted from 1."""
        inside = np.clip(ranks, 1, max(1, self.count)) - 1
        if self.count == 0:
            values = np.zeros(len(ranks), dtype=np.int64)
        elif self.counted:
            values = np.searchsorted(self.data, inside, side="right") + self.lower
        else:
            values = self.data[inside]
        values = np.where(ranks < 1, self.lower, values)
        held: Integers = np.where(ranks > self.count, self.upper, values)
        return held
