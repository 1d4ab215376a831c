"""Inversion by integer thresholds: which cell of a law a uniform number falls into.
A decision is made only when the known bits settle it; everything else goes to a longer table.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import BitSource
from discreet.noise.laws import Law, Weights

__all__ = ["FIRST", "Guide", "Table", "resolve", "tabulate"]

FIRST = 32
"""How many bits of a uniform the vectorised path looks at."""


@dataclass(frozen=True)
class Table:
    """Thresholds of a law's distribution function over cells, cut to `length` bits.

    Threshold i is floor(2**length * F(first + i)) for the distribution function F; the uniform u
    lies in cell first + (number of thresholds at or below it). A prefix equal to a threshold
    decides nothing. docs/proofs/noise.md proves it.
    >>> from fractions import Fraction; from discreet.noise.laws import Laplace
    >>> table = tabulate(Laplace(Fraction(1)), stride=1, centre=1, length=32)
    >>> table.first, len(table.thresholds)
    (-22, 44)
    """

    length: int
    first: int
    thresholds: tuple[int, ...]

    @cached_property
    def array(self) -> NDArray[np.uint32]:
        """The thresholds of a table of at most 32 bits, and one that is never reached."""
        return np.array([*self.thresholds, (1 << FIRST) - 1], dtype=np.uint32)

    @cached_property
    def guide(self) -> "Guide":
        """The table indexed by the leading 16 bits, for large samples.

        >>> from fractions import Fraction; from discreet.noise.laws import Laplace
        >>> len(tabulate(Laplace(Fraction(1)), stride=1, centre=1, length=32).guide.start)
        65536
        """
        leading = (self.array[:-1] >> np.uint32(16)).astype(np.intp)
        count = np.bincount(leading, minlength=1 << 16)
        start = np.cumsum(count) - count
        return Guide(
            start=np.where(count > 1, -1 - start, start).astype(np.int32),
            threshold=self.array[start],
        )


@lru_cache(maxsize=64)
def tabulate(law: Law, *, stride: int, centre: int, length: int) -> Table:
    """The table of the cells [h * stride, (h + 1) * stride) of a law, weighted at their start.

    With `centre` 1 (and stride 1) the cells are the integers themselves; with 0, cell h and
    cell -1 - h weigh the same.
    >>> from fractions import Fraction; from discreet.noise.laws import Laplace
    >>> tabulate(Laplace(Fraction(1)), stride=1, centre=0, length=64).length
    64
    """
    precision = length + 64
    tails = None
    while tails is None:  # a threshold too close to a multiple of 2**-length: look closer
        weights = law.weights(stride=stride, precision=precision, until=length)
        tails = _tails(weights, centre, length)
        precision += 64
    top = (1 << length) - 1
    right = [top - tail for tail in (tails if centre else tails[1:])]
    return Table(length, -len(tails), (*reversed(tails), *right))


@dataclass(frozen=True)
class Guide:
    """For each 16-bit prefix the first threshold it may meet; negative where it meets several.

    >>> Guide(np.zeros(2, np.int32), np.zeros(2, np.uint32)).start.tolist()
    [0, 0]
    """

    start: NDArray[np.int32]
    threshold: NDArray[np.uint32]


def _tails(weights: Weights, centre: int, length: int) -> list[int] | None:
    """floor(2**length * P(X <= -1 - h)) for h = 0, 1, ...; None if a bracket straddles integers."""
    low, high = weights.rest
    sums = [(low, high)]
    for below, above in zip(reversed(weights.lower), reversed(weights.upper), strict=True):
        low, high = low + below, high + above
        sums.append((low, high))
    sums.reverse()  # sums[h] brackets the total weight of magnitudes h, h + 1, ...
    if centre:
        total = (weights.lower[0] + 2 * sums[1][0], weights.upper[0] + 2 * sums[1][1])
    else:
        total = (2 * sums[0][0], 2 * sums[0][1])
    tails = []
    for low, high in sums[1:]:
        floor = (low << length) // total[1]
        if floor != (high << length) // total[0]:
            return None
        tails.append(floor)
        if floor == 0:
            break  # from here on a prefix of zeros decides nothing
    return tails if centre else [1 << (length - 1), *tails]


def resolve(
    law: Law, bits: BitSource, *, stride: int, centre: int, prefix: int, length: int
) -> int:
    """The cell of a uniform whose first `length` bits are `prefix`, drawing more as needed.

    Privacy: the decision is exact.
    >>> from fractions import Fraction; from discreet.noise.laws import Laplace
    >>> from discreet.noise.bits import system
    >>> resolve(Laplace(Fraction(1)), system, stride=1, centre=1, prefix=2**31, length=32)
    0
    """
    while True:
        prefix = prefix << length | bits.bits(length) if length else bits.bits(FIRST)
        length = 2 * length or FIRST
        table = tabulate(law, stride=stride, centre=centre, length=length)
        index = bisect_left(table.thresholds, prefix)
        if index == len(table.thresholds) or table.thresholds[index] != prefix:
            return table.first + index
