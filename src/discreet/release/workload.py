"""What is asked of an ordered axis: all ranges, or all prefixes, and how much of each query lies in
each level of a ladder. Public shapes only.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.release.ladder import Ladder

__all__ = ["Workload", "level_parts", "query_parts"]


class Workload(StrEnum):
    """Which queries count: every range of cells, or every prefix (thresholds, the CDF).

    Privacy: none (touches no data).
    >>> Workload("prefixes").queries(4), Workload.RANGES.queries(4)
    (4, 10)
    """

    RANGES = "ranges"
    PREFIXES = "prefixes"

    def queries(self, cells: int) -> int:
        """How many queries there are.

        Privacy: none (touches no data).
        >>> Workload.RANGES.queries(2)
        3
        """
        return cells if self is Workload.PREFIXES else cells * (cells + 1) // 2


def level_parts(workload: Workload, ladder: Ladder) -> NDArray[np.float64]:
    """For each level the mean over all queries of the squared length of their part in it.

    The part of level l is what block sums of level l tell beyond those of level l - 1.
    Privacy: none (touches no data).
    >>> level_parts(Workload.PREFIXES, Ladder.flat(2)).tolist()
    [1.25, 0.25]
    """
    cells = ladder.cells
    place = np.arange(cells, dtype=np.float64)
    within = np.array([_within(workload, place, ladder, level) for level in _levels(ladder)])
    return np.diff(within, prepend=0.0) / workload.queries(cells)


def _levels(ladder: Ladder) -> range:
    return range(ladder.depth + 1)


def _within(workload: Workload, place: NDArray[np.float64], ladder: Ladder, level: int) -> float:
    """The sum over queries of the squared length of their projection onto block sums.

    It is the sum over blocks of the entries of W'W inside them, over the block's length: the
    queries that hold both i <= j are n - j prefixes, or (i + 1)(n - j) ranges.
    """
    length = ladder.padded // ladder.blocks(level)
    cells = ladder.cells
    first = np.ones(cells) if workload is Workload.PREFIXES else place + 1
    padded = np.zeros(ladder.padded)
    padded[:cells] = first
    blocks = padded.reshape(-1, length)
    earlier = (np.cumsum(blocks, axis=1) - blocks).ravel()[:cells]
    return float(((2 * earlier + first) * (cells - place)).sum()) / length


def query_parts(ladder: Ladder, start: int, stop: int) -> NDArray[np.float64]:
    """For each level the squared length of the part of one range in it; `stop` is not included.

    Privacy: none (touches no data).
    >>> query_parts(Ladder.flat(2), 0, 1).tolist()
    [0.5, 0.5]
    """
    if not 0 <= start <= stop <= ladder.cells:
        raise InvalidValue(f"the range {start} to {stop} is not within 0 to {ladder.cells}.")
    within = []
    for level in _levels(ladder):
        length = ladder.padded // ladder.blocks(level)
        first, last = -(-start // length), stop // length
        if first > last:  # inside one block
            within.append((stop - start) ** 2 / length)
            continue
        ends = (first * length - start) ** 2 + (stop - last * length) ** 2
        within.append((last - first) * length + ends / length)
    return np.diff(np.array(within, dtype=np.float64), prepend=0.0)
