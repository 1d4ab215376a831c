"""The Euclidean projection onto the simplex: the nearest counts that are not negative and have a
given total. Arrays only; no noise.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["project_to_simplex"]

Floats = NDArray[np.float64]

_SORTED = 4096  # cells that are sorted at once; of more, those that become 0 are first dropped


def project_to_simplex(table: Floats, total: float) -> Floats:
    """The nearest table without negative cells and with this total [DSSC08, Fig. 1].

    >>> project_to_simplex(np.array([3.0, -1.0, 2.0]), 4.0).tolist()
    [2.5, 0.0, 1.5]
    """
    if total <= 0:
        return np.zeros_like(table)
    candidates = table.ravel()
    while candidates.size > _SORTED:
        # What lies below the level of all candidates lies below the last level, which is higher.
        above = candidates[candidates >= (candidates.sum() - total) / candidates.size]
        if above.size == candidates.size:
            break
        candidates = above
    falling = np.sort(candidates)[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    level = levels[np.flatnonzero(falling >= levels)[-1]]
    projected: Floats = np.maximum(table - level, 0.0)
    return projected
