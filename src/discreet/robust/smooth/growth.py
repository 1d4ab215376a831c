"""How far one unit can move a value, and how that grows with the distance from the data: the
common input of smooth sensitivity and of the ladder. Exact integers; shows none of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import exp_bounds

__all__ = ["Growth", "Query", "SmoothBound", "largest_move", "per_unit", "smooth_bound"]

_NEAR = 1e-6  # candidates this close to the largest in log size are compared exactly


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Growth:
    """A value, and bounds A_0 <= A_1 <= ... on what one unit changes at most k units away.

    What every maker of one proves (docs/proofs/robust.md): the value differs by at most A_0(x)
    between x and a neighbour x', and A_k(x) <= A_{k+1}(x'). `rungs` holds A_k times `resolution`
    for k = 0, 1, ...; from there on it is `limit`, in the same parts of a step, which is public.
    Privacy: not private by itself: exact; it goes to a mechanism. Its repr shows nothing.
    >>> Growth(exact=Fraction(3), rungs=[0, 1], limit=5)
    Growth(...)
    """

    exact: Fraction
    rungs: NDArray[Any]
    limit: int
    resolution: int

    def __init__(
        self,
        *,
        exact: Fraction | int,
        rungs: Sequence[int] | NDArray[Any],
        limit: int,
        resolution: int = 1,
    ) -> None:
        bounds = rungs if isinstance(rungs, np.ndarray) else np.array(rungs, dtype=object)
        if not _never_falls(bounds, limit):
            raise InvalidValue(
                "the bounds of a growth must be integers that never fall, from 0 up to the limit. "
                "Nothing was released."
            )
        object.__setattr__(self, "exact", Fraction(exact))
        object.__setattr__(self, "rungs", bounds)
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "resolution", resolution)

    def __repr__(self) -> str:
        return "Growth(...)"

    def at(self, distance: int) -> Fraction:
        """A_k at this distance, in steps. The result is exact.

        >>> Growth(exact=3, rungs=[1, 2], limit=5).at(7)
        Fraction(5, 1)
        """
        if distance < len(self.rungs):
            return Fraction(int(self.rungs[distance]), self.resolution)
        return Fraction(self.limit, self.resolution)


def _never_falls(rungs: NDArray[Any], most: int) -> bool:
    if len(rungs) == 0:
        return most >= 0
    ordered = bool(np.all(rungs[1:] >= rungs[:-1]))
    return ordered and int(rungs[0]) >= 0 and int(rungs[-1]) <= most


class Query(Protocol):
    """A function of exact data whose growth is known.

    Privacy: `growth` gives exact numbers to a mechanism.
    """

    @property
    def relation(self) -> Relation:
        """Which data sets are neighbours."""

    def growth(self, exact: Any) -> Growth:
        """The value and its bounds.

        Privacy: not private by itself: exact.
        """

    def clamp(self, noisy: int) -> int:
        """A released number of steps, held within what is publicly possible."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SmoothBound:
    """The largest A_k exp(-smoothing * k), a real number between certified rationals.

    The result is exact; its repr shows nothing.
    >>> smooth_bound(Growth(exact=0, rungs=[1], limit=1), smoothing=Fraction(1))
    SmoothBound(...)
    """

    candidates: tuple[tuple[int, Fraction], ...]
    smoothing: Fraction

    def __repr__(self) -> str:
        return "SmoothBound(...)"

    def bounds(self, digits: int) -> tuple[Fraction, Fraction]:
        """Rationals below and above it, about `digits` decimal digits apart. The result is exact.

        >>> bound = smooth_bound(Growth(exact=0, rungs=[1], limit=3), smoothing=Fraction(1))
        >>> [round(float(end), 6) for end in bound.bounds(20)]
        [1.103638, 1.103638]
        """
        low = high = Fraction(0)
        for distance, size in self.candidates:
            below, above = Fraction(1), Fraction(1)
            if distance:
                below, above = exp_bounds(-self.smoothing * distance, digits)
            low, high = max(low, size * below), max(high, size * above)
        return low, high


def smooth_bound(growth: Growth, *, smoothing: Fraction) -> SmoothBound:
    """The smooth bound of a growth: at least A_0, and within exp(+-smoothing) of a neighbour's.

    It is the exact real number: nothing is rounded, so smoothness is not either. Floats only drop
    distances whose term is smaller than the largest by far more than their error. Not private by
    itself. S(x) <= exp(smoothing) S(x') [NRS07, Sec. 2].
    >>> bound = smooth_bound(Growth(exact=0, rungs=[0, 4], limit=9), smoothing=Fraction(1, 2))
    >>> round(float(bound.bounds(20)[1]), 6)
    3.310915
    """
    first = np.ones(len(growth.rungs), dtype=bool)
    first[1:] = growth.rungs[1:] != growth.rungs[:-1]  # of equal bounds the nearest counts
    first &= growth.rungs > 0
    distances = np.flatnonzero(first)
    sizes = growth.rungs[distances]
    # Counted from the nearest distance that has a term, so that the floats compared are small.
    nearest = int(distances[0]) if len(distances) else len(growth.rungs)
    logs = _logs_of(sizes) - float(smoothing) * (distances - nearest)
    last = growth.limit
    far = -np.inf
    if last > 0:
        beyond = len(growth.rungs) - nearest
        far = float(_logs_of(np.array([last], dtype=object))[0]) - float(smoothing) * beyond
    best = max(float(logs.max()) if len(logs) else -np.inf, far)
    candidates = [
        (int(distances[place]), Fraction(int(sizes[place]), growth.resolution))
        for place in np.flatnonzero(logs >= best - _NEAR)
    ]
    if last > 0 and far >= best - _NEAR:
        candidates.append((len(growth.rungs), Fraction(last, growth.resolution)))
    return SmoothBound(tuple(candidates), smoothing)


def _logs_of(sizes: NDArray[Any]) -> NDArray[np.float64]:
    if sizes.dtype == object:
        return np.array([_log_of(int(size)) for size in sizes], dtype=np.float64)
    logs: NDArray[np.float64] = np.log(sizes.astype(np.float64))
    return logs


def _log_of(size: int) -> float:
    shift = max(0, size.bit_length() - 60)
    return float(np.log(float(size >> shift))) + shift * float(np.log(2.0))


def per_unit(rungs: NDArray[Any], *, moves: int) -> NDArray[Any]:
    """The bounds for units that make this many single moves: A_k = moves * G_{(k+1) moves - 1}.

    Any single-move bounds G give unit bounds this way, since a unit's step is `moves` steps of
    which the last starts at most (k + 1) moves - 1 away. A replacement counts as two moves. The
    result is exact.
    >>> per_unit(np.array([1, 2, 3, 4, 5]), moves=2).tolist()
    [4, 8]
    """
    if moves == 1:
        return rungs
    picked: NDArray[Any] = rungs[moves - 1 :: moves] * moves
    return picked


def largest_move(
    value: Callable[[NDArray[np.int64]], Fraction], ordered: NDArray[np.int64], query: Any
) -> Fraction:
    """The local sensitivity of a monotone function of sorted rows held within bounds."""
    here = value(ordered)
    near = _neighbours(ordered, query.lower, query.upper, query.rows_per_unit, query.relation)
    return max((abs(value(other) - here) for other in near), default=Fraction(0))


def _neighbours(
    ordered: NDArray[np.int64], lower: int, upper: int, unit: int, relation: Relation
) -> Iterator[NDArray[np.int64]]:
    for moved in range(1, unit + 1):
        low, high = np.full(moved, lower), np.full(moved, upper)
        if relation is Relation.ADD_REMOVE:
            yield np.concatenate([low, ordered])
            yield np.concatenate([ordered, high])
        if moved <= len(ordered):
            without_low, without_high = ordered[moved:], ordered[: len(ordered) - moved]
            if relation is Relation.ADD_REMOVE:
                yield without_low
                yield without_high
            else:
                yield np.concatenate([without_low, high])
                yield np.concatenate([low, without_high])
