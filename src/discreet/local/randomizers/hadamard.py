"""Hadamard response: a column of a Hadamard matrix in which the true row is probably +1."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.answers import (
    count_codes,
    kept_bounds,
    read_codes,
    read_coin_bits,
    release,
)
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import Number, positive, whole

__all__ = ["HadamardResponse"]


@dataclass(frozen=True, slots=True)
class HadamardResponse:
    """Sends one of K columns, K the power of two above k; the true row is +1 in half of them.

    The form for strong privacy, with one block: with probability e^epsilon/(e^epsilon + 1) a
    uniform column where row x + 1 of the Sylvester matrix is +1, else one where it is -1.
    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer [ASZ19].
    >>> HadamardResponse(epsilon=1, categories=5).release(2) in range(8)
    True
    """

    epsilon: Fraction
    categories: int
    coin_bits: int | None = field(repr=False)

    def __init__(self, *, epsilon: Number, categories: int, coin_bits: int | None = None) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        most = (1 << 24) - 1
        object.__setattr__(self, "categories", whole(categories, "categories", least=2, most=most))
        object.__setattr__(self, "coin_bits", read_coin_bits(coin_bits))

    @property
    def cells(self) -> int:
        """One count for each category."""
        return self.categories

    @property
    def report_bits(self) -> int:
        """The bits of a column's number.

        >>> HadamardResponse(epsilon=1, categories=5).report_bits
        3
        """
        return self.categories.bit_length()

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [ASZ19].
        >>> HadamardResponse(epsilon=1, categories=5).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def chances(self) -> tuple[Fraction, Fraction]:
        """How probably the column is +1 in the true category's row, and in any other's.

        >>> [round(float(c), 4) for c in HadamardResponse(epsilon=1, categories=5).chances()]
        [0.7311, 0.5]
        """
        return kept_bounds(epsilon=self.epsilon, coin_bits=self.coin_bits)(40)[0], Fraction(1, 2)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The column to report, or an array of them.

        Privacy: epsilon-DP for each report [ASZ19].
        >>> HadamardResponse(epsilon=1, categories=5).release([0, 4]).shape
        (2,)
        """
        return release(exact, self.categories, 1, lambda held: self._column(held, bits))

    def _column(self, held: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
        plus = flips(kept_bounds(epsilon=self.epsilon, coin_bits=self.coin_bits), held.size, bits)
        column = dice(1 << self.report_bits, held.size, bits)
        row = held + 1
        # Flipping a column's bit at the row's lowest one swaps the +1 and the -1 columns of it.
        wrong = _minus(row, column) == plus
        return np.where(wrong, column ^ (row & -row), column)

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports are +1 in each category's row, by the fast Walsh-Hadamard transform.

        >>> HadamardResponse(epsilon=1, categories=3).count([0, 1]).tolist()
        [1, 2, 1]
        """
        columns = 1 << self.report_bits
        noisy = read_codes(reports, columns)
        sums = count_codes(noisy, columns)
        width = 1
        while width < columns:
            pairs = sums.reshape(-1, 2, width)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            width *= 2
        return (noisy.size + sums[1 : self.categories + 1]) // 2

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """The rows that are +1 in each reported column.

        >>> HadamardResponse(epsilon=1, categories=3).mark_supported([1]).tolist()
        [[False, True, False]]
        """
        column = read_codes(reports, 1 << self.report_bits)[:, None]
        return ~_minus(np.arange(1, self.categories + 1), column)


def _minus(row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the Sylvester matrix is -1."""
    odd: NDArray[np.bool_] = (np.bitwise_count(row & column) & 1).astype(np.bool_)
    return odd
