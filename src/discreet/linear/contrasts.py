"""Orthogonal integer contrasts of an attribute's values: parities where there are two of them.
Linear algebra on public shapes; integers in, integers out.
"""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["contrast_rows", "from_contrasts", "norms", "to_contrasts"]

Array = NDArray[Any]


@lru_cache(maxsize=256)
def contrast_rows(size: int) -> Array:
    """The total and the `size` - 1 contrasts of each value with those before it, as rows.

    Row j > 0 is j ones and then -j, so rows are orthogonal, and all but the first sum to zero.
    >>> contrast_rows(3).tolist()
    [[1, 1, 1], [1, -1, 0], [1, 1, -2]]
    """
    rows = np.tri(size, size, -1, dtype=np.int64)
    rows[0] = 1
    rows[np.arange(1, size), np.arange(1, size)] = -np.arange(1, size)
    rows.setflags(write=False)
    return rows


@lru_cache(maxsize=256)
def norms(size: int) -> Array:
    """The squared lengths of the rows: `size`, then j(j + 1).

    >>> norms(3).tolist()
    [3, 2, 6]
    """
    place = np.arange(size, dtype=np.int64)
    squares = place * (place + 1)
    squares[0] = size
    squares.setflags(write=False)
    return squares


def to_contrasts(table: Array) -> Array:
    """A table of counts by contrasts of every axis; the fast Walsh-Hadamard transform where all
    axes have two values.

    >>> to_contrasts(np.array([[3, 1], [0, 2]])).tolist()
    [[6, 0], [2, 4]]
    """
    for axis, size in enumerate(table.shape):
        table = _apply_along(table, axis, size, contrast_rows(size))
    return table


def from_contrasts(coefficients: Array) -> Array:
    """The table that has these contrasts, as floats.

    >>> from_contrasts(np.array([[6, 0], [2, 4]])).tolist()
    [[3.0, 1.0], [0.0, 2.0]]
    """
    table = coefficients.astype(np.float64)
    for axis, size in enumerate(table.shape):
        table = _apply_along(table, axis, size, (contrast_rows(size) / norms(size)[:, None]).T)
    return table


def _apply_along(table: Array, axis: int, size: int, matrix: Array) -> Array:
    """The matrix applied to one axis."""
    if size == 1:
        return table
    shape = table.shape
    parts = table.reshape(prod(shape[:axis]), size, prod(shape[axis + 1 :]))
    if size == 2:
        product: Array = np.empty(parts.shape, dtype=np.result_type(table, matrix))
        np.add(parts[:, 0], parts[:, 1], out=product[:, 0])
        np.subtract(parts[:, 0], parts[:, 1], out=product[:, 1])
        if matrix.dtype.kind == "f":
            product *= 0.5
    else:
        product = np.matmul(matrix, parts)
    return product.reshape(shape)
