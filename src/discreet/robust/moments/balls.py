"""Integer vectors held within a ball: each row on its own, by integer arithmetic alone, so that its
length is at most the radius whatever the row was.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.robust.rows import read_integers

__all__ = ["MOST_COLUMNS", "coarseness", "rows_of", "shrink_to_ball"]

MOST_COLUMNS = 256
"""Squared distances in more columns might not fit 64 bits."""
_FARTHEST = 1 << 27


def rows_of(exact: Any, columns: int) -> NDArray[np.int64]:
    """Integer rows of a public number of columns.

    Privacy: NONE: the result is exact.
    """
    rows = read_integers(exact, "the exact rows", dimensions=2)
    if rows.size == 0:
        return np.zeros((0, columns), dtype=np.int64)
    if rows.shape[1] != columns:
        raise InvalidValue(
            f"the rows have {rows.shape[1]} columns and {columns} were declared; "
            "they must agree. Nothing was released."
        )
    return rows


def coarseness(radius: int, most: int) -> int:
    """By how many bits to coarsen so that the radius becomes at most `most`."""
    bits = 0
    while radius >> bits > most:
        bits += 1
    return bits


def shrink_to_ball(
    rows: NDArray[np.int64], centre: NDArray[np.int64], radius: int, bits: int
) -> NDArray[np.int64]:
    """Rows minus the centre in steps of 2**bits, shrunk to the radius (in those steps).

    The radius is at most 2**26; entries are first clamped to 2**27, so the squares of 256 columns
    stay below 2**62.
    """
    half = (1 << bits) >> 1
    coarse = np.clip(((rows - centre) + half) >> bits, -_FARTHEST, _FARTHEST)
    squares = (coarse * coarse).sum(axis=1)
    length = _root_up(squares)
    outside = squares > radius**2
    short = np.sign(coarse) * (np.abs(coarse) * radius // np.maximum(length, 1)[:, None])
    shrunk: NDArray[np.int64] = np.where(outside[:, None], short, coarse)
    return shrunk


def _root_up(squares: NDArray[np.int64]) -> NDArray[np.int64]:
    """The square roots rounded up: a float's guess, put right by integers."""
    root = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root = np.where(root * root > squares, root - 1, root)
    return np.where(root * root < squares, root + 1, root)
