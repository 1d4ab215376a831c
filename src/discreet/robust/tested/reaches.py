"""How far rows can move a quantile, a spread or a slope: the reach of each query for
propose-test-release. Integers and exact fractions only; every reach is nested, as the proof needs.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.rationals import Number, positive, strict_probability
from discreet.robust.rows import clamp_sorted, exact_sum, read_bounds, read_integers

__all__ = ["QuantileReach", "SlopeReach", "SpreadReach"]

_LARGEST = 1 << 50  # of the products of two coordinates


@dataclass(frozen=True, slots=True, repr=False)
class _AroundQuantile:
    ordered: NDArray[np.int64]
    fraction: Fraction
    lower: int
    upper: int

    def _at(self, rank: int) -> int:
        """The value of this rank, counted from 1; the bounds lie beyond both ends."""
        if rank < 1:
            return self.lower
        return self.upper if rank > len(self.ordered) else int(self.ordered[rank - 1])

    def reach(self, moves: int) -> tuple[int, int]:
        rows, share = len(self.ordered), self.fraction
        if moves == 0:
            value = self._at(math.ceil(share * rows))
            return value, value
        if moves >= rows:  # every row may be gone, and one put in its place
            return self.lower, self.upper
        # Insert at one end and delete at the other. With a inserted below and moves - a deleted
        # above, the rank in the old rows is ceil(q (n - moves) + (2q - 1) a): extreme at an end.
        half = Fraction(1, 2)
        if share <= half:
            lowest = math.ceil(share * (rows + moves)) - moves
            highest = math.ceil(share * (rows - moves)) + moves
        else:
            lowest = math.ceil(share * (rows - moves))
            highest = math.ceil(share * (rows + moves))
        return self._at(lowest), self._at(highest)


@dataclass(frozen=True, slots=True)
class QuantileReach:
    """The value of rank ceil(fraction * rows) of lattice integers held within public bounds.

    No rows have the value `lower`. The reach is the exact one up to rounding of ranks.
    Privacy: a query for `ProposeTestRelease` [DL09].
    >>> QuantileReach(fraction=0.5, lower=0, upper=9).around([1, 5, 7]).reach(1)
    (1, 5)
    """

    fraction: Fraction
    lower: int
    upper: int

    def __init__(self, *, fraction: Number, lower: int, upper: int) -> None:
        low, high = read_bounds(lower, upper)
        object.__setattr__(self, "fraction", strict_probability(fraction, "fraction"))
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    def around(self, exact: Any) -> _AroundQuantile:
        """What can be reached from these rows.

        Privacy: not private by itself.
        >>> QuantileReach(fraction=0.5, lower=0, upper=9).around([4, 4, 4]).reach(0)
        (4, 4)
        """
        ordered = clamp_sorted(exact, self.lower, self.upper)
        return _AroundQuantile(ordered, self.fraction, self.lower, self.upper)


@dataclass(frozen=True, slots=True, repr=False)
class _AroundSpread:
    low: _AroundQuantile
    high: _AroundQuantile
    edges: tuple[Fraction, ...]

    def reach(self, moves: int) -> tuple[int, int]:
        low, high = self.low.reach(moves), self.high.reach(moves)
        return self._power(max(0, high[0] - low[1])), self._power(high[1] - low[0])

    def _power(self, spread: int) -> int:
        return bisect_right(self.edges, spread)


@dataclass(frozen=True, slots=True)
class SpreadReach:
    """The distance between two quantiles on a logarithmic scale: how many powers it reaches.

    The value k stands for a distance of at least base^(k-1) and below base^k steps; 0 for no
    distance. With the fractions 1/4 and 3/4 it is the interquartile range of [DL09].
    Privacy: a query for `ProposeTestRelease`, with the bound 1.
    >>> query = SpreadReach(lower=0, upper=100)
    >>> query.around(list(range(100))).reach(0), query.distance(6)
    ((6, 6), Fraction(32, 1))
    """

    fractions: tuple[Fraction, Fraction]
    base: Fraction
    lower: int
    upper: int

    def __init__(
        self,
        *,
        lower: int,
        upper: int,
        fractions: tuple[Number, Number] = (Fraction(1, 4), Fraction(3, 4)),
        base: Number = 2,
    ) -> None:
        first, second = (
            QuantileReach(fraction=fraction, lower=lower, upper=upper) for fraction in fractions
        )
        if first.fraction >= second.fraction:
            raise InvalidValue("fractions must be two that grow, such as (1/4, 3/4).")
        power = positive(base, "base")
        if not Fraction(101, 100) <= power <= 1024:
            raise InvalidValue(f"base is {base}; it must lie between 1.01 and 1024.")
        object.__setattr__(self, "fractions", (first.fraction, second.fraction))
        object.__setattr__(self, "base", power)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """The distances from which each further power is reached: 1, base, base^2, ...

        >>> [int(edge) for edge in SpreadReach(lower=0, upper=9).edges]
        [1, 2, 4, 8]
        """
        edges = [Fraction(1)]
        while edges[-1] * self.base <= self.upper - self.lower:
            edges.append(edges[-1] * self.base)
        return tuple(edges)

    def distance(self, noisy: int) -> Fraction:
        """The least distance that a released number of powers stands for.

        >>> SpreadReach(lower=0, upper=100).distance(3)
        Fraction(4, 1)
        """
        return self.base ** (noisy - 1) if noisy > 0 else Fraction(0)

    def around(self, exact: Any) -> _AroundSpread:
        """What can be reached from these rows.

        Privacy: not private by itself.
        >>> SpreadReach(lower=0, upper=100).around([5, 5, 5]).reach(0)
        (0, 0)
        """
        low, high = (
            QuantileReach(fraction=share, lower=self.lower, upper=self.upper).around(exact)
            for share in self.fractions
        )
        return _AroundSpread(low, high, self.edges)


@dataclass(frozen=True, slots=True, repr=False)
class _AroundSlope:
    spread: Fraction  # the sum of (x - mean)^2
    shared: Fraction  # the sum of (x - mean)(y - mean)
    query: "SlopeReach"

    def reach(self, moves: int) -> tuple[int, int]:
        width, height = (high - low for low, high in (self.query.across, self.query.up))
        least, most = self.spread - moves * width**2, self.spread + moves * width**2
        if least < self.query.least_spread:
            if moves == 0:
                return self.query.clamp(None), self.query.clamp(None)
            return self.query.clamp(None), self.query.clamp(self.query.largest)
        above, below = self.shared + moves * width * height, self.shared - moves * width * height
        return (
            self.query.clamp(below / (least if below < 0 else most)),
            self.query.clamp(above / (least if above > 0 else most)),
        )


@dataclass(frozen=True, slots=True)
class SlopeReach:
    """The slope of the least-squares line through pairs (x, y), in whole public steps.

    The slope is rounded down to multiples of `step` and held within +-`largest`; where x spreads
    by less than its range squared it is -`largest`, so no division can fail.
    Privacy: a query for `ProposeTestRelease` [DL09]. One row moves the centred sums by at most the
    product of the ranges, which gives the reach.
    >>> query = SlopeReach(across=(0, 10), up=(0, 10), step=0.5, largest=100)
    >>> query.around([(x % 11, x % 11) for x in range(110)]).reach(0)
    (2, 2)
    """

    across: tuple[int, int]
    up: tuple[int, int]
    step: Fraction
    largest: Fraction

    def __init__(
        self, *, across: tuple[int, int], up: tuple[int, int], step: Number, largest: Number
    ) -> None:
        object.__setattr__(self, "across", read_bounds(*across))
        object.__setattr__(self, "up", read_bounds(*up))
        object.__setattr__(self, "step", positive(step, "step"))
        object.__setattr__(self, "largest", positive(largest, "largest"))
        if self.across[0] == self.across[1]:
            raise InvalidValue(f"across is {across}; x must be able to vary.")
        if max(abs(value) for value in (*self.across, *self.up)) > 1 << 24:
            raise InvalidValue("across and up must lie within +-2**24, so that sums stay exact.")

    @property
    def least_spread(self) -> int:
        """The spread of x below which there is no slope: its range squared.

        >>> SlopeReach(across=(0, 10), up=(0, 1), step=1, largest=9).least_spread
        100
        """
        return (self.across[1] - self.across[0]) ** 2

    def clamp(self, slope: Fraction | None) -> int:
        """A slope as whole steps within the largest; None stands for no slope.

        >>> SlopeReach(across=(0, 10), up=(0, 1), step=0.5, largest=9).clamp(Fraction(6, 5))
        2
        """
        limit = -self.largest if slope is None else max(min(slope, self.largest), -self.largest)
        return math.floor(limit / self.step)

    def around(self, exact: Any) -> _AroundSlope:
        """What can be reached from these pairs.

        Privacy: not private by itself.
        >>> query = SlopeReach(across=(0, 10), up=(0, 10), step=1, largest=9)
        >>> query.around([(3, 4)]).reach(0)
        (-9, -9)
        """
        pairs = read_integers(exact, "the exact pairs", dimensions=2)
        if pairs.size == 0:
            return _AroundSlope(Fraction(0), Fraction(0), self)
        if pairs.shape[1] != 2:
            raise InvalidValue(
                f"the rows have {pairs.shape[1]} columns; pass pairs (x, y). Nothing was released."
            )
        x = np.clip(pairs[:, 0], *self.across) - self.across[0]
        y = np.clip(pairs[:, 1], *self.up) - self.up[0]
        rows = len(pairs)
        total_x, total_y = int(x.sum()), int(y.sum())
        spread = Fraction(rows * exact_sum(x * x, _LARGEST) - total_x**2, rows)
        shared = Fraction(rows * exact_sum(x * y, _LARGEST) - total_x * total_y, rows)
        return _AroundSlope(spread, shared, self)
