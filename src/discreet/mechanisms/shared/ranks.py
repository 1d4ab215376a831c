"""Ranks of candidates in an exact histogram, and how far a target rank lies outside them.
All of it is integer arithmetic; floats only filter (docs/proofs/selection.md, section 6).
No message carries a count.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.mechanisms.shared.integers import integer_list
from discreet.mechanisms.shared.scores import Gaps, read_gaps
from discreet.rationals import Number, probability

__all__ = ["rank_gaps", "ranks", "reach", "read_fractions"]

_SMALL = 1 << 62  # products below this need no more than 64 bits
_ORDINARY = Fraction(1, 10**100), Fraction(10**100)  # scales whose quotients floats can hold
_FARTHEST = 1 << 400  # a distance beyond this is as good as this
_GAP_ERROR = 2.0**-41  # three roundings of a gap up to 746


def read_fractions(fractions: Sequence[Number]) -> tuple[Fraction, ...]:
    """One or more different fractions."""
    read = tuple(probability(fraction, "a fraction") for fraction in fractions)
    if not read:
        raise InvalidValue("there are no fractions; ask for at least one quantile.")
    if len(set(read)) < len(read):
        raise InvalidValue("a fraction is given twice; each answer costs, so ask for it once.")
    return read


def reach(fraction: Fraction) -> Fraction:
    """How far one row can move a rank distance."""
    return max(fraction, 1 - fraction)


def ranks(exact: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many rows lie below each candidate, and below or at it.

    Privacy: NONE: the result is exact.
    """
    counts = exact if isinstance(exact, np.ndarray) else np.array(exact, dtype=object)
    if counts.ndim != 1:
        raise InvalidValue(f"the histogram has {counts.ndim} dimensions; pass one row of counts.")
    if not len(counts):
        raise InvalidValue("the histogram has no candidates; pass at least one.")
    if counts.dtype.kind not in "iu" or int(counts.max()) * len(counts) >= _SMALL:
        counts = np.array(integer_list(counts), dtype=object)
    else:
        counts = counts.astype(np.int64)
    if counts.min() < 0:
        raise InvalidValue("a count in the histogram is negative. Nothing was released.")
    upto = np.cumsum(counts)
    return upto - counts, upto


def rank_gaps(
    below: NDArray[Any], upto: NDArray[Any], target: int, steps: int, scale: Fraction
) -> Gaps:
    """How far target/steps lies outside [below, upto], over the scale; the least is always 0."""
    if int(upto[-1]) * steps >= _SMALL:
        below, upto = below.astype(object), upto.astype(object)
    distance = np.maximum(below * steps - target, target - upto * steps)
    np.maximum(distance, 0, out=distance)
    if not _ORDINARY[0] < scale * steps < _ORDINARY[1]:
        return read_gaps([-int(entry) for entry in distance], scale * steps)
    near = np.minimum(distance, _FARTHEST) if distance.dtype == object else distance
    return Gaps(
        near.astype(np.float64) / float(scale * steps),
        _GAP_ERROR,
        lambda place: Fraction(int(distance[place])) / (scale * steps),
    )
