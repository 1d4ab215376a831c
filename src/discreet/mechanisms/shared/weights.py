"""Exact sampling in proportion to exp(-gap), and exact coins of probability exp(-gap).
A float filter decides only outside a proved margin; inside it exact arithmetic on the same
uniform bits does, so the margin changes the time taken and never the choice.
"""

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.shared.scores import UNIT, Gaps
from discreet.noise.bits import BitSource
from discreet.noise.coins import below
from discreet.rationals import exp_bounds

__all__ = ["choose", "flip"]

_WORD = 64


def choose(gaps: Gaps, bits: BitSource, *, margin: float = 0.0) -> int:
    """An index with probability proportional to exp(-gap), by inverting one uniform number.

    `margin`, a share of the total weight, widens the zone that goes to exact arithmetic.

    Privacy: the exponential mechanism with these gaps; the distribution is exact [MT07, Thm. 6].
    """
    prefix = bits.bits(_WORD)
    index = _choose_by_floats(gaps, prefix, margin)
    return _choose_exactly(gaps, prefix, bits) if index is None else index


def _choose_by_floats(gaps: Gaps, prefix: int, margin: float) -> int | None:
    """The index at the uniform number, unless it is too close to a boundary to say."""
    if math.isinf(gaps.weight_error):
        return None
    # Summing by rows keeps the number of roundings behind each partial sum near 2 sqrt(n).
    width = math.isqrt(len(gaps) - 1) + 1
    weights = np.zeros(width * width)
    weights[: len(gaps)] = gaps.weights
    inner = np.cumsum(weights.reshape(width, width), axis=1)
    outer = np.cumsum(inner[:, -1])
    total = float(outer[-1])
    error = 4 * (gaps.weight_error + (2 * width + 8) * UNIT)
    zone = total * max(margin, error)
    point = total * (prefix / 2.0**_WORD)
    row = int(np.searchsorted(outer, point, side="right"))
    if row == width:
        return None
    start = float(outer[row - 1]) if row else 0.0
    place = int(np.searchsorted(inner[row], point - start, side="right"))
    if place == width:
        return None
    low = start + (float(inner[row, place - 1]) if place else 0.0)
    high = start + float(inner[row, place])
    index = row * width + place
    clear_below = index == 0 or point - low > zone
    return index if clear_below and high - point > zone and margin < 1 else None


def _choose_exactly(gaps: Gaps, prefix: int, bits: BitSource) -> int:
    """The same index in exact arithmetic, with more bits and digits until it is certain."""
    exact = [gaps.exactly(index) for index in range(len(gaps))]
    length, digits = _WORD, 30
    while True:
        unit = 10 ** (digits + 10)
        bounds = {gap: _scale_bounds(gap, digits, unit) for gap in set(exact)}
        lows = list(accumulate(bounds[gap][0] for gap in exact))
        highs = list(accumulate(bounds[gap][1] for gap in exact))
        # The uniform number lies in [prefix, prefix + 1) / 2**length.
        index = bisect_left(lows, (prefix + 1) * highs[-1], key=lambda low: low << length)
        if index < len(exact) and (index == 0 or highs[index - 1] << length <= prefix * lows[-1]):
            return index
        prefix = (prefix << _WORD) | bits.bits(_WORD)
        length, digits = length + _WORD, digits + 20


def _scale_bounds(gap: Fraction, digits: int, unit: int) -> tuple[int, int]:
    if gap == 0:
        return unit, unit
    low, high = exp_bounds(-gap, digits)
    return math.floor(low * unit), math.ceil(high * unit)


def flip(gaps: Gaps, bits: BitSource, *, margin: float = 0.0) -> NDArray[np.bool_]:
    """Independent coins, one per gap, that come up True with probability exactly exp(-gap).

    Privacy: the coins of permute-and-flip; the distribution is exact [MS20, Thm. 1].
    """
    words = np.empty(len(gaps), dtype=np.uint64)
    bits.fill(words.view(np.uint8))
    weights = gaps.weights
    uniform = words.astype(np.float64) * 2.0**-_WORD
    error = min(1.0, max(margin, 2 * gaps.weight_error + 8 * UNIT))  # 1: nothing is decided
    zone = error * np.maximum(weights, uniform) + 2.0**-60
    came_up: NDArray[np.bool_] = uniform < weights
    for index in np.flatnonzero(np.abs(uniform - weights) <= zone):
        came_up[index] = _flip_exactly(gaps.exactly(int(index)), int(words[index]), bits)
    return came_up


def _flip_exactly(gap: Fraction, word: int, bits: BitSource) -> bool:
    if gap == 0:
        return True
    return below(lambda digits: exp_bounds(-gap, digits), bits, prefix=word, length=_WORD)
