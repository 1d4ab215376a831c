"""Many exact coins and dice at once: 64-bit words against certified bounds, no floating point."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import BitSource
from discreet.noise.coins import below

__all__ = ["dice", "flips"]

_WORDS = 1 << 64


def flips(
    bounds: Callable[[int], tuple[Fraction, Fraction]],
    size: int,
    bits: BitSource,
    *,
    undecided: int = 0,
) -> NDArray[np.bool_]:
    """Independent coins whose probability `bounds(digits)` brackets.

    `undecided` widens the run of words, on both sides of the bracket, that draws more bits.

    Privacy: the distribution is exact.
    """
    words = np.empty(size, dtype=np.uint64)
    bits.fill(words.view(np.uint8))
    low, high = bounds(40)
    surely = max(0, math.floor(low * _WORDS) - undecided)  # words below this are heads
    never = min(_WORDS, math.ceil(high * _WORDS) + undecided)  # from this on they are tails
    came_up = np.ones(size, dtype=np.bool_)
    if surely < _WORDS:
        came_up = words < np.uint64(surely)
        open_words = ~came_up
        if never < _WORDS:
            open_words &= words < np.uint64(never)
        for index in np.flatnonzero(open_words):
            came_up[index] = below(bounds, bits, prefix=int(words[index]), length=64)
    return came_up


def dice(sides: int, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Independent uniform integers in [0, sides), by rejection; sides below 2**63.

    Privacy: the distribution is exact.
    """
    accepted = _WORDS - _WORDS % sides
    result = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        words = np.empty(size - done, dtype=np.uint64)
        bits.fill(words.view(np.uint8))
        if accepted < _WORDS:
            words = words[words < np.uint64(accepted)]
        result[done : done + len(words)] = (words % np.uint64(sides)).astype(np.int64)
        done += len(words)
    return result
