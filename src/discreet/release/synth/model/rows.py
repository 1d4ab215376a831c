"""Draws rows from a fitted model: spread evenly, so that each conditional share is met almost
exactly, or independently. Works on a released model only.
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import BitSource, system
from discreet.release.synth.model.graphical import Beliefs, Network

__all__ = ["Take", "draw_rows", "spread", "thrown"]

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
    """How rows take values: for each row a column of `shares[given]`."""

    def __call__(
        self,
        shares: NDArray[np.float64],
        given: Codes,
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
    >>> from discreet.release.synth.model.graphical import network as made
    >>> net = made((2, 3), [(0, 1)])
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
        given = _codes(rows, separator, outer)
        shares = shares.reshape(int(np.prod(outer, initial=1)), -1)
        drawn = (take or spread)(shares, given, _earlier(rows, tree.sizes), bits, turn=turn)
        for at, size in zip(reversed(fresh), reversed(inner), strict=True):
            drawn, rows[:, at] = np.divmod(drawn, size)
    return rows


def spread(
    shares: NDArray[np.float64],
    given: Codes,
    order: Codes,
    bits: BitSource | None,
    *,
    turn: int = 0,
) -> Codes:
    """For each row a column of `shares[given]`, so that every share is met to a few rows.

    Rows take evenly spread quantiles in the sequence of `given`, then `order`, so that rows which
    stand together there take different ones; at every turn others, or columns that have nothing to
    do with each other would seem to have.
    Privacy: post-processing.
    >>> given = np.zeros(1000, dtype=np.int64)
    >>> abs(int(spread(np.array([[1.0, 3.0]]), given, given, system).sum()) - 750) < 10
    True
    """
    sequence = np.lexsort((order, given))
    points = np.empty(len(given))
    # One sequence through all groups: every run of neighbouring rows is spread evenly.
    step = math.sqrt(_PRIMES[turn % len(_PRIMES)]) % 1.0
    points[sequence] = np.mod(np.arange(len(given)) * step + _phase(bits), 1.0)
    return _columns(shares, given, points)


def thrown(
    shares: NDArray[np.float64],
    given: Codes,
    order: Codes,
    bits: BitSource | None,
    *,
    turn: int = 0,
) -> Codes:
    """For each row a column of `shares[given]`, independently of all other rows.

    Privacy: post-processing.
    >>> given = np.zeros(1000, dtype=np.int64)
    >>> 400 < int(thrown(np.array([[1.0, 3.0]]), given, given, system).sum()) < 1000
    True
    """
    if bits is None:  # the same rows every time, which no independent draw can be
        return spread(shares, given, order, bits, turn=turn)
    words = np.empty(len(given), dtype=np.uint64)
    bits.fill(words.view(np.uint8))
    points = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return _columns(shares, given, points)


def _columns(shares: NDArray[np.float64], given: Codes, points: NDArray[np.float64]) -> Codes:
    """Where each point of the unit interval lies among the shares of its row."""
    cumulative = np.cumsum(shares, axis=1)
    ends = cumulative[:, -1:]
    cumulative = np.divide(
        cumulative, ends, out=np.tile(_steps(shares.shape[1]), (len(shares), 1)), where=ends > 0
    )
    cumulative[:, -1] = 1.0
    lifted = cumulative + np.arange(len(shares))[:, None]
    found = np.searchsorted(lifted.ravel(), points + given, side="right")
    drawn: Codes = np.minimum(found - given * shares.shape[1], shares.shape[1] - 1)
    return drawn


def _steps(count: int) -> NDArray[np.float64]:
    return np.arange(1, count + 1) / count


def _phase(bits: BitSource | None) -> float:
    return 0.5 if bits is None else bits.bits(53) * 2.0**-53


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
