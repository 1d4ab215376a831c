"""Subset selection: a random set of categories that probably holds the true one."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.randomizers.answers import (
    Bounds,
    kept_bounds,
    read_bit_rows,
    read_coin_bits,
    release,
    sum_columns,
)
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import Number, exp_bounds, positive, whole

__all__ = ["SubsetSelection"]


@dataclass(frozen=True, slots=True)
class SubsetSelection:
    """Sends a set of `size` categories; sets with the true one are e^epsilon times as likely.

    The size defaults to k/(e^epsilon + 1), rounded, at least 1; size 1 is k-ary response.
    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer [YB18, Sec. III].
    >>> int(SubsetSelection(epsilon=1, categories=11).release(2).sum())
    3
    """

    epsilon: Fraction
    categories: int
    size: int
    coin_bits: int | None = field(repr=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        categories: int,
        size: int | None = None,
        coin_bits: int | None = None,
    ) -> None:
        value = positive(epsilon, "epsilon")
        held = whole(categories, "categories", least=2, most=1 << 20)
        if size is None:
            ratio = exp_bounds(-value)[0]
            size = max(1, math.floor(held * ratio / (1 + ratio) + Fraction(1, 2)))
        if whole(size, "size", least=1, most=1 << 20) >= held:
            raise InvalidValue(f"size is {size}; a set of all {held} categories says nothing.")
        object.__setattr__(self, "epsilon", value)
        object.__setattr__(self, "categories", held)
        object.__setattr__(self, "size", size)
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

        Privacy: epsilon-DP, by replacing the answer [YB18, Sec. III].
        >>> SubsetSelection(epsilon=1, categories=5).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def chances(self) -> tuple[Fraction, Fraction]:
        """How probably the set holds the true category, and each other one.

        >>> [round(float(c), 4) for c in SubsetSelection(epsilon=1, categories=11).chances()]
        [0.5048, 0.2495]
        """
        truth = self._bounds()(40)[0]
        return truth, (self.size - truth) / (self.categories - 1)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The set for one answer as a row of zeros and ones, or a row for each of several.

        Privacy: epsilon-DP for each report [YB18, Sec. III].
        >>> SubsetSelection(epsilon=1, categories=5).release([0, 4]).shape
        (2, 5)
        """
        return release(
            exact, self.categories, self.categories, lambda held: self._draw_set(held, bits)
        )

    def _draw_set(self, held: NDArray[np.int64], bits: BitSource) -> NDArray[np.uint8]:
        everyone = np.arange(held.size)
        joins = flips(self._bounds(), held.size, bits)
        others = self._draw_others(held.size, bits)
        # Where the true category joins, one uniform member of the others makes room for it.
        leaves = dice(self.size, held.size, bits)
        rank = others.cumsum(axis=1, dtype=np.int32) - 1
        others &= ~((rank == leaves[:, None]) & joins[:, None])
        noisy = np.zeros((held.size, self.categories), dtype=np.bool_)
        noisy[:, 1:] = others
        # Column 0 is the true category; turn each row so that it comes to its place.
        noisy[:, 0] = joins
        places = (np.arange(self.categories) - held[:, None]) % self.categories
        turned: NDArray[np.uint8] = noisy[everyone[:, None], places].astype(np.uint8)
        return turned

    def _draw_others(self, rows: int, bits: BitSource) -> NDArray[np.bool_]:
        """Uniform sets of `size` of the k - 1 other categories: Floyd's algorithm, row by row."""
        everyone = np.arange(rows)
        chosen = np.zeros((rows, self.categories - 1), dtype=np.bool_)
        for newest in range(self.categories - 1 - self.size, self.categories - 1):
            drawn = dice(newest + 1, rows, bits)
            already = chosen[everyone, drawn]
            chosen[everyone, np.where(already, newest, drawn)] = True
        return chosen

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many sets hold each category.

        >>> SubsetSelection(epsilon=1, categories=3).count([[1, 0, 0], [0, 0, 1]]).tolist()
        [1, 0, 1]
        """
        return sum_columns(self._read(reports))

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """The members of each set.

        >>> SubsetSelection(epsilon=1, categories=3).mark_supported([[0, 1, 0]]).tolist()
        [[False, True, False]]
        """
        return self._read(reports).astype(np.bool_)

    def _read(self, reports: Any) -> NDArray[np.uint8]:
        noisy = read_bit_rows(reports, self.categories)
        if (noisy.sum(axis=1, dtype=np.int64) != self.size).any():
            raise InvalidValue(f"a report is malformed; each is a set of {self.size} categories.")
        return noisy

    def _bounds(self) -> Bounds:
        rest = self.categories - self.size
        return kept_bounds(
            epsilon=self.epsilon, weight=self.size, rest=rest, coin_bits=self.coin_bits
        )
