"""The neighbours at which a function that never falls as a row grows moves the most."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Relation

__all__ = ["largest_move"]


def largest_move(
    value: Callable[[NDArray[np.int64]], Fraction],
    ordered: NDArray[np.int64],
    query: Any,
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
