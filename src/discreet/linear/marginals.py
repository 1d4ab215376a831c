"""Tables of some attributes: counted from rows, summed from larger ones, and spread over them.
An attribute is known by its place; arrays only, exact or noisy as what comes in.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Axes", "count_cells", "expand", "sum_to"]

Axes = tuple[int, ...]
"""The attributes of a table, by their places."""
Floats = NDArray[np.float64]


def count_cells(
    exact_codes: Sequence[NDArray[Any]], exact_counts: NDArray[Any], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """How many rows each cell has: for every attribute the code of each row, and how often it is.

    Privacy: NONE; the table is exact.
    >>> count_cells([np.array([0, 2, 0])], np.array([5, 1, 1]), (3,)).tolist()
    [6, 0, 1]
    """
    if not sizes:
        return np.asarray(exact_counts.sum(), dtype=np.int64)
    table = np.zeros(math.prod(sizes), dtype=np.int64)
    np.add.at(table, np.ravel_multi_index(tuple(exact_codes), sizes), exact_counts)
    return table.reshape(sizes)


def expand(table: Floats, inner: Axes, outer: Axes) -> Floats:
    """A view of a table with axes of length one for the attributes that it lacks.

    >>> expand(np.ones(3), (1,), (0, 1, 2)).shape
    (1, 3, 1)
    """
    lengths = dict(zip(inner, table.shape, strict=True))
    return table.reshape(tuple(lengths.get(at, 1) for at in outer))


def sum_to(table: Floats, outer: Axes, inner: Axes) -> Floats:
    """Sum out every attribute that is not in `inner`, the last ones first.

    >>> sum_to(np.ones((2, 3)), (0, 1), (1,)).tolist()
    [2.0, 2.0, 2.0]
    """
    wanted = set(inner)
    shape = list(table.shape)
    shape_kept = tuple(length for at, length in zip(outer, shape, strict=True) if at in wanted)
    end = len(outer)
    while end:
        if outer[end - 1] in wanted:
            end -= 1
            continue
        start = end - 1
        while start and outer[start - 1] not in wanted:
            start -= 1
        length = math.prod(shape[start:end])
        before, after = math.prod(shape[:start]), math.prod(shape[end:])
        del shape[start:end]
        if after == 1:
            table = table.reshape(before, length) @ np.ones(length)
        else:
            table = np.add.reduce(table.reshape(before, length, after), axis=1)
        outer = outer[:start] + outer[end:]
        end = start
    return table.reshape(shape_kept)
