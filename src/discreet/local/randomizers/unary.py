"""Optimised unary encoding: one bit for each category, the true one's told by a fair coin."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.answers import (
    kept_bounds,
    read_bit_rows,
    read_coin_bits,
    release,
    sum_columns,
)
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import Number, positive, whole

__all__ = ["UnaryEncoding"]


@dataclass(frozen=True, slots=True)
class UnaryEncoding:
    """Sends k bits: 1 for the true category with probability 1/2, for others 1/(e^epsilon + 1).

    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer: two answers differ in two bits,
    whose odds ratios multiply to e^epsilon [WBLJ17, Sec. 4.2].
    >>> UnaryEncoding(epsilon=1, categories=5).release(2).shape
    (5,)
    """

    epsilon: Fraction
    categories: int
    coin_bits: int | None = field(repr=False)

    def __init__(self, *, epsilon: Number, categories: int, coin_bits: int | None = None) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        most = 1 << 20
        object.__setattr__(self, "categories", whole(categories, "categories", least=2, most=most))
        object.__setattr__(self, "coin_bits", read_coin_bits(coin_bits))

    @property
    def cells(self) -> int:
        """One count for each category."""
        return self.categories

    @property
    def report_bits(self) -> int:
        """One bit for each category."""
        return self.categories

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [WBLJ17, Sec. 4.2].
        >>> UnaryEncoding(epsilon=1, categories=5).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def chances(self) -> tuple[Fraction, Fraction]:
        """How probably the true category's bit is set, and each other one's.

        >>> [round(float(c), 4) for c in UnaryEncoding(epsilon=1, categories=5).chances()]
        [0.5, 0.2689]
        """
        stays = kept_bounds(epsilon=self.epsilon, coin_bits=self.coin_bits)(40)[0]
        return Fraction(1, 2), 1 - stays

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The row of bits for one answer, or a row for each of several.

        Privacy: epsilon-DP for each report [WBLJ17, Sec. 4.2].
        >>> UnaryEncoding(epsilon=1, categories=5).release([0, 4]).shape
        (2, 5)
        """
        return release(exact, self.categories, self.categories, lambda held: self._row(held, bits))

    def _row(self, held: NDArray[np.int64], bits: BitSource) -> NDArray[np.uint8]:
        stays = flips(
            kept_bounds(epsilon=self.epsilon, coin_bits=self.coin_bits),
            held.size * self.categories,
            bits,
        )
        noisy = (~stays).astype(np.uint8).reshape(held.size, self.categories)
        noisy[np.arange(held.size), held] = dice(2, held.size, bits)
        return noisy

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports set each category's bit.

        >>> UnaryEncoding(epsilon=1, categories=2).count([[1, 1], [0, 1]]).tolist()
        [1, 2]
        """
        return sum_columns(read_bit_rows(reports, self.categories))

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """The bits themselves.

        >>> UnaryEncoding(epsilon=1, categories=2).mark_supported([[0, 1]]).tolist()
        [[False, True]]
        """
        return read_bit_rows(reports, self.categories).astype(np.bool_)
