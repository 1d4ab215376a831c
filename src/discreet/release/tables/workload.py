"""What is asked of an ordered axis: all ranges, or all prefixes, and how much of each query lies in
each level of a hierarchy. Public shapes only.
"""

from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.hierarchy import Hierarchy

__all__ = ["Places", "Workload", "level_parts", "query_parts"]


class Workload(StrEnum):
    """Which queries count: every range of cells, or every prefix (thresholds, the CDF)."""

    RANGES = "ranges"
    PREFIXES = "prefixes"

    def queries(self, cells: int) -> int:
        """How many queries there are.

        >>> Workload.RANGES.queries(2)
        3
        """
        return cells if self is Workload.PREFIXES else cells * (cells + 1) // 2


def level_parts(workload: Workload, hierarchy: Hierarchy) -> NDArray[np.float64]:
    """For each level the mean over all queries of the squared length of their part in it.

    The part of level l is what block sums of level l tell beyond those of level l - 1.
    >>> level_parts(Workload.PREFIXES, Hierarchy.flat(2)).tolist()
    [1.25, 0.25]
    """
    lengths = [hierarchy.padded // hierarchy.blocks(level) for level in range(hierarchy.depth + 1)]
    within = [_within(workload, hierarchy.cells, hierarchy.padded, length) for length in lengths]
    return np.diff(np.array(within), prepend=0.0) / workload.queries(hierarchy.cells)


@lru_cache(maxsize=4096)
def _within(workload: Workload, cells: int, padded: int, length: int) -> float:
    """The sum over queries of the squared length of their projection onto sums of blocks.

    It is the sum over blocks of the entries of W'W inside them, over the block's length: the
    queries that hold both i <= j are n - j prefixes, or (i + 1)(n - j) ranges.
    """
    place = np.arange(cells, dtype=np.float64)
    first = np.ones(cells) if workload is Workload.PREFIXES else place + 1
    filled = np.zeros(padded)
    filled[:cells] = first
    blocks = filled.reshape(-1, length)
    earlier = (np.cumsum(blocks, axis=1) - blocks).ravel()[:cells]
    return float(((2 * earlier + first) * (cells - place)).sum()) / length


Places = int | NDArray[np.int64]
"""One place along an axis, or an array of them."""


def query_parts(hierarchy: Hierarchy, start: Places, stop: Places) -> NDArray[np.float64]:
    """For each level the squared length of the part of a range in it; `stop` is not included.

    Arrays of starts and stops give a column for each range.
    >>> query_parts(Hierarchy.flat(2), 0, 1).tolist()
    [0.5, 0.5]
    """
    starts, stops = np.asarray(start, dtype=np.int64), np.asarray(stop, dtype=np.int64)
    if not ((starts >= 0) & (starts <= stops) & (stops <= hierarchy.cells)).all():
        raise InvalidValue(
            f"a range from {starts.min()} to {stops.max()} is not within 0 to {hierarchy.cells}."
        )
    within = []
    for level in range(hierarchy.depth + 1):
        length = hierarchy.padded // hierarchy.blocks(level)
        first, last = -(-starts // length), stops // length
        ends = (first * length - starts) ** 2 + (stops - last * length) ** 2
        across = (last - first) * length + ends / length
        within.append(np.where(first > last, (stops - starts) ** 2 / length, across))
    return np.diff(np.array(within, dtype=np.float64), axis=0, prepend=0.0)
