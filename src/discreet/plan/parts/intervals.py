"""Interval arithmetic on noisy columns: if every interval that goes in holds its truth, so does the
one that comes out. Post-processing only: nothing in this file ever sees an exact value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Estimate",
    "Floats",
    "at_least",
    "box",
    "correct_for_sample",
    "difference",
    "finite",
    "hold_within",
    "quotient",
    "square",
]

Floats = NDArray[np.float64]
"""One number for each group."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A noisy column and an interval around each value."""

    value: Floats
    low: Floats
    high: Floats


def box(operation: Callable[..., Any], left: Estimate, right: Estimate) -> Estimate:
    """An operation that is monotone in each operand, which a quotient is away from zero.

    >>> one = Estimate(*(np.array([float(end)]) for end in (1, -2, 3)))
    >>> box(np.multiply, one, one).low.tolist()
    [-6.0]
    """
    corners = [operation(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    value = operation(left.value, right.value)
    return Estimate(value, np.minimum.reduce(corners), np.maximum.reduce(corners))


def difference(left: Estimate, right: Estimate) -> Estimate:
    """One minus the other.

    >>> one = Estimate(*(np.array([float(end)]) for end in (1, -2, 3)))
    >>> difference(one, one).high.tolist()
    [5.0]
    """
    return Estimate(left.value - right.value, left.low - right.high, left.high - right.low)


def quotient(left: Estimate, right: Estimate) -> Estimate:
    """A ratio; where the denominator may be zero the interval is everything.

    >>> one = Estimate(*(np.array([float(end)]) for end in (1, -2, 3)))
    >>> quotient(one, one).high.tolist()
    [inf]
    """
    unsure = (right.low <= 0) & (right.high >= 0)
    safe = Estimate(
        np.where(right.value == 0, 1.0, right.value),
        np.where(unsure, 1.0, right.low),
        np.where(unsure, 1.0, right.high),
    )
    ratio = box(np.divide, left, safe)
    return Estimate(
        ratio.value, np.where(unsure, -np.inf, ratio.low), np.where(unsure, np.inf, ratio.high)
    )


def square(estimate: Estimate) -> Estimate:
    """Times itself, which is never negative.

    >>> square(Estimate(*(np.array([float(end)]) for end in (1, -2, 3)))).low.tolist()
    [0.0]
    """
    ends = np.abs(estimate.low), np.abs(estimate.high)
    inside = (estimate.low <= 0) & (estimate.high >= 0)
    least = np.where(inside, 0.0, np.minimum(*ends))
    return Estimate(estimate.value**2, least**2, np.maximum(*ends) ** 2)


def at_least(least: float, count: Estimate) -> Estimate:
    """An average is of one row or more, a sample variance of two: lower counts say no more.

    >>> at_least(1.0, Estimate(*(np.array([float(end)]) for end in (1, -2, 3)))).low.tolist()
    [1.0]
    """
    return Estimate(*(np.maximum(end, least) for end in (count.value, count.low, count.high)))


def correct_for_sample(estimate: Estimate, count: Estimate) -> Estimate:
    """Times n/(n - 1), which falls with n; the count is 2 or more.

    >>> two = Estimate(*(np.array([2.0]) for _ in range(3)))
    >>> correct_for_sample(two, two).value.tolist()
    [4.0]
    """
    factor = Estimate(*(n / (n - 1) for n in (count.value, count.high, count.low)))
    return box(np.multiply, estimate, factor)


def hold_within(estimate: Estimate, count: Estimate, low: float, high: float) -> Estimate:
    """Inside [low, high]; with no noisy rows the middle and all of it.

    >>> none = Estimate(*(np.array([0.0]) for _ in range(3)))
    >>> hold_within(none, none, 2.0, 4.0).value.tolist()
    [3.0]
    """
    empty = count.value <= 0
    return Estimate(
        np.where(empty, (low + high) / 2, np.clip(estimate.value, low, high)),
        np.where(empty, low, np.clip(estimate.low, low, high)),
        np.where(empty, high, np.clip(estimate.high, low, high)),
    )


def finite(estimate: Estimate) -> Estimate:
    """Values that are numbers, whatever overflowed; an end that is none becomes infinite.

    >>> none = Estimate(*(np.array([np.nan]) for _ in range(3)))
    >>> finite(none).value.tolist(), finite(none).low.tolist()
    ([0.0], [-inf])
    """
    return Estimate(
        np.nan_to_num(estimate.value),
        np.where(np.isnan(estimate.low), -np.inf, estimate.low),
        np.where(np.isnan(estimate.high), np.inf, estimate.high),
    )
