"""Chances of an attack: coins, numbers and orders for made-up people and random questions. Drawn
from the package's one source of bits, and never used as noise that protects anybody.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import system

_UNIT = 2.0**-53


def words(size: int) -> NDArray[np.uint64]:
    """Uniform 64-bit words."""
    buffer = np.empty(8 * size, dtype=np.uint8)
    system.fill(buffer)
    return buffer.view(np.uint64)


def floats(size: int) -> NDArray[np.float64]:
    """Uniform multiples of 2^-53 in (0, 1], as a textbook would draw them."""
    return ((words(size) >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * _UNIT


def coins(*shape: int, chance: float = 0.5) -> NDArray[np.bool_]:
    """True with this probability."""
    size = int(np.prod(shape))
    if chance == 0.5:
        bits = np.unpackbits(words((size + 63) // 64).view(np.uint8))
        return bits[:size].reshape(shape).astype(np.bool_)
    return (floats(size) <= chance).reshape(shape)


def integers(bound: int, size: int) -> NDArray[np.int64]:
    """Integers from 0 to bound - 1; uniform enough for what is made up."""
    return (floats(size) * bound).astype(np.int64) % bound


def order(size: int) -> NDArray[np.int64]:
    """The numbers from 0 to size - 1 in random order."""
    return np.argsort(words(size)).astype(np.int64)


def distinct(bound: int, size: int) -> NDArray[np.int64]:
    """So many different integers below a bound, in random order."""
    if bound <= 4 * size:
        return order(bound)[:size]
    chosen: NDArray[np.int64] = np.unique(integers(bound, size))
    while len(chosen) < size:
        chosen = np.unique(np.concatenate([chosen, integers(bound, size)]))
    return chosen[order(len(chosen))[:size]]
