"""Draws rows from a fitted model: spread evenly, so that each conditional share is met almost
exactly, or independently. Works on a released model only.
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import BitSource, system
from discreet.release.synth.model.graphical import Beliefs, Network

__all__ = ["Take", "draw_rows", "take_evenly", "take_independently"]

Codes = NDArray[np.int64]
# Multiples of these roots, less whole numbers, are spread evenly in every run of them, since their
# continued fractions begin with small numbers; and those of several roots evenly together, since
# no fractions of roots of primes add up to a whole number.
_PRIMES = (
    *(5, 2, 3, 3797, 7853, 8969, 9883, 12703, 353, 4567, 5437, 6653, 8231, 8581, 8699, 9859),
    *(10771, 12479, 15473, 16979, 17053, 17351, 7, 719, 829, 877, 997, 1171, 1489, 1621, 1823),
    *(2137, 2143, 3167, 3821, 4441, 4729, 5153, 5237, 6793, 6961, 7027, 7103, 7193, 8053, 9337),
)


class Take(Protocol):
    """How rows take values: for each row a column of `shares[condition]`."""

    def __call__(
        self,
        shares: NDArray[np.float64],
        condition: Codes,
        order: Codes,
        bits: BitSource | None,
        *,
        turn: int,
    ) -> Codes:
        """The columns; `order` puts rows together that agree in many values, and `turn` says how
        often these rows have taken values before.

        Privacy: post-processing.
        """
        ...


def draw_rows(
    network: Network,
    beliefs: Beliefs,
    count: int,
    bits: BitSource | None = system,
    take: Take | None = None,
) -> Codes:
    """`count` rows of attribute values, one column for each attribute; the same without bits.

    Privacy: post-processing.
    >>> from discreet.release.synth.model.graphical import network as join
    >>> net = join((2, 3), [(0, 1)])
    >>> draw_rows(net, net.propagate({}), 12).shape
    (12, 2)
    """
    tree = network.tree
    rows = np.zeros((count, len(tree.sizes)), dtype=np.int64)
    for turn, (clique, separator, table) in enumerate(
        zip(tree.cliques, tree.separators, beliefs.cliques, strict=True)
    ):
        fresh = tuple(at for at in clique if at not in separator)
        order = [clique.index(at) for at in (*separator, *fresh)]
        shares = np.ascontiguousarray(table.transpose(order))
        outer = [tree.sizes[at] for at in separator]
        inner = [tree.sizes[at] for at in fresh]
        condition = _codes(rows, separator, outer)
        shares = shares.reshape(int(np.prod(outer, initial=1)), -1)
        alike = _earlier(rows, tree.sizes)
        drawn = (take or take_evenly)(shares, condition, alike, bits, turn=turn)
        for at, size in zip(reversed(fresh), reversed(inner), strict=True):
            drawn, rows[:, at] = np.divmod(drawn, size)
    return rows


def take_evenly(
    shares: NDArray[np.float64],
    condition: Codes,
    order: Codes,
    bits: BitSource | None,
    *,
    turn: int = 0,
) -> Codes:
    """For each row a column of `shares[condition]`, so that every share is met to a few rows.

    Rows take evenly spread quantiles in the sequence of `condition`, then `order`, so that rows
    which stand together there take different ones; at every turn others, or columns that have
    nothing to do with each other would seem to have.
    Privacy: post-processing.
    >>> alike, shares = np.zeros(1000, dtype=np.int64), np.array([[1.0, 3.0]])
    >>> abs(int(take_evenly(shares, alike, alike, system).sum()) - 750) < 10
    True
    """
    sequence = np.lexsort((order, condition))
    points = np.empty(len(condition))
    # One sequence through all groups: every run of neighbouring rows is spread evenly.
    step = math.sqrt(_PRIMES[turn % len(_PRIMES)]) % 1.0
    phase = 0.5 if bits is None else bits.bits(53) * 2.0**-53
    points[sequence] = np.mod(np.arange(len(condition)) * step + phase, 1.0)
    return _columns(shares, condition, points)


def take_independently(
    shares: NDArray[np.float64],
    condition: Codes,
    order: Codes,
    bits: BitSource | None,
    *,
    turn: int = 0,
) -> Codes:
    """For each row a column of `shares[condition]`, independently of all other rows.

    Privacy: post-processing.
    >>> alike, shares = np.zeros(1000, dtype=np.int64), np.array([[1.0, 3.0]])
    >>> 400 < int(take_independently(shares, alike, alike, system).sum()) < 1000
    True
    """
    if bits is None:  # the same rows every time, which no independent draw can be
        return take_evenly(shares, condition, order, bits, turn=turn)
    words = np.empty(len(condition), dtype=np.uint64)
    bits.fill(words.view(np.uint8))
    points = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return _columns(shares, condition, points)


def _columns(shares: NDArray[np.float64], condition: Codes, points: NDArray[np.float64]) -> Codes:
    """Where each point of the unit interval lies among the shares of its row."""
    cumulative = np.cumsum(shares, axis=1)
    ends = cumulative[:, -1:]
    even = np.arange(1, shares.shape[1] + 1) / shares.shape[1]  # where no share is above zero
    cumulative = np.divide(cumulative, ends, out=np.tile(even, (len(shares), 1)), where=ends > 0)
    cumulative[:, -1] = 1.0
    lifted = cumulative + np.arange(len(shares))[:, None]
    places = np.searchsorted(lifted.ravel(), points + condition, side="right")
    drawn: Codes = np.minimum(places - condition * shares.shape[1], shares.shape[1] - 1)
    return drawn


def _codes(rows: Codes, attributes: tuple[int, ...], sizes: list[int]) -> Codes:
    code = np.zeros(len(rows), dtype=np.int64)
    for at, size in zip(attributes, sizes, strict=True):
        code = code * size + rows[:, at]
    return code


def _earlier(rows: Codes, sizes: tuple[int, ...]) -> Codes:
    """An order in which rows that agree in many attributes stand together."""
    code = np.zeros(len(rows), dtype=np.int64)
    for at, size in enumerate(sizes):
        code = np.mod(code * size, 1 << 40) + rows[:, at]
    return code
