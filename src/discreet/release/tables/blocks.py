"""Which neighbouring cells look alike: a private choice among all ways to halve an axis into
blocks, by the exponential mechanism over the whole set. Exact probabilities; releases no count.
"""

import decimal
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import BoundedRange
from discreet.noise.bits import BitSource, system
from discreet.noise.coins import below
from discreet.rationals import Number, positive
from discreet.release.tables.allocation import Unit

__all__ = ["Blocks", "deviations"]

_STOP = Fraction(4, 5)  # the prior chance that a block is not halved
_LARGEST = 10**6
_MOST_CELLS = 1 << 20

Interval = tuple[Decimal, Decimal]
Level = list[Interval]


def deviations(exact: NDArray[Any]) -> list[list[int]]:
    """For every block of 1, 2, 4, ... cells the sum of distances to its median cell.

    One row more or less in a cell moves each of them by at most 1, and only in the blocks that
    hold the cell: the sum of distances to the best centre cannot move by more than the cell does.
    Privacy: none: the result is exact.
    >>> deviations(np.array([3, 3, 0, 4]))
    [[0, 0, 0, 0], [0, 4], [4]]
    """
    sums = [[0] * len(exact)]
    length = 2
    while length <= len(exact):
        rows = np.sort(exact.reshape(-1, length), axis=1)
        centre = rows[:, length // 2, np.newaxis]
        sums.append(np.abs(rows - centre).sum(axis=1).tolist())
        length *= 2
    return sums


@dataclass(frozen=True, slots=True)
class Blocks:
    """Chooses blocks of cells: P(blocks) proportional to prior * exp(-epsilon * badness / (2 D)).

    The badness of a choice is the sum of its blocks' deviations, so one unit moves it by at most
    D, its number of rows (twice that under replace), whatever the depth. The prior halves a block
    with chance 1/5, and always until there are `least` of them.
    Privacy: epsilon-bounded range, so epsilon-DP, under the unit's relation [MT07, Thm. 6],
    [DR19, Lemma 4.1]; docs/proofs/releases.md.
    >>> 2 in Blocks(cells=4, epsilon=1000, least=1).release(np.array([7, 7, 0, 0]))
    True
    """

    cells: int
    epsilon: Fraction
    unit: Unit
    least: int

    def __init__(
        self, *, cells: int, epsilon: Number, unit: Unit | None = None, least: int = 32
    ) -> None:
        if not 1 <= cells <= _MOST_CELLS:
            raise InvalidValue(f"{cells:,} cells; blocks are chosen among 1 to {_MOST_CELLS:,}.")
        price = positive(epsilon, "epsilon")
        if price > _LARGEST:
            raise InvalidValue(f"epsilon is {epsilon}; above {_LARGEST:,} choosing blocks is idle.")
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "epsilon", price)
        object.__setattr__(self, "unit", Unit() if unit is None else unit)
        object.__setattr__(self, "least", least)

    @property
    def loss(self) -> BoundedRange:
        """What a choice costs.

        Privacy: epsilon-bounded range under the unit's relation [DR19, Lemma 4.1].
        >>> Blocks(cells=4, epsilon=1).loss.zcdp().rho
        Fraction(1, 8)
        """
        return BoundedRange(epsilon=self.epsilon)

    @property
    def rate(self) -> Fraction:
        """The factor of a block's deviation in the exponent.

        >>> Blocks(cells=4, epsilon=1).rate
        Fraction(1, 2)
        """
        moved = self.unit.rows * self.unit.relation.steps
        return self.epsilon / (2 * moved)

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> tuple[int, ...]:
        """The ends of the chosen blocks: 0, where each begins after another, the number of cells.

        Privacy: `loss` under the unit's relation.
        >>> Blocks(cells=3, epsilon=1000, least=1).release(np.array([9, 9, 9]))[-1]
        3
        """
        if exact.shape != (self.cells,):
            raise InvalidValue(f"a histogram of shape {exact.shape}; {self.cells} cells expected.")
        padded = np.zeros(1 << (self.cells - 1).bit_length(), dtype=np.int64)
        padded[: self.cells] = exact
        tree = _Tree(deviations(padded), self.rate, len(padded) // max(self.least, 1))
        ends = [0]
        pending = [(len(tree.badness) - 1, 0)]
        while pending:
            level, place = pending.pop()
            if level and not below(tree.stopping(level, place), bits):
                pending += [(level - 1, 2 * place + 1), (level - 1, 2 * place)]
                continue
            ends.append((place + 1) << level)
        return tuple(dict.fromkeys(min(end, self.cells) for end in ends))


class _Tree:
    """The weights of all choices below every block, bracketed to any number of digits."""

    __slots__ = ("_known", "_longest", "_rate", "badness")

    def __init__(self, badness: list[list[int]], rate: Fraction, longest: int) -> None:
        self.badness = badness
        self._rate = rate
        self._longest = longest  # no longer block may stay whole
        self._known: dict[int, tuple[list[Level], list[Level]]] = {}

    def stopping(self, level: int, place: int) -> Callable[[int], tuple[Fraction, Fraction]]:
        """Brackets of the probability that a block is kept whole, given that it was reached."""

        def bounds(digits: int) -> tuple[Fraction, Fraction]:
            whole, total = self._weights(digits)
            undivided, every = whole[level][place], total[level][place]
            if not undivided[1]:
                return Fraction(0), Fraction(0)
            floor, ceiling = _contexts(digits)
            return (
                Fraction(floor.divide(undivided[0], every[1])),
                min(Fraction(1), Fraction(ceiling.divide(undivided[1], every[0]))),
            )

        return bounds

    def _weights(self, digits: int) -> tuple[list[Level], list[Level]]:
        """For each block the weight of keeping it whole, and that of all ways to divide it."""
        if digits in self._known:
            return self._known[digits]
        floor, ceiling = _contexts(digits)
        stop, split = Decimal(_STOP.numerator) / _STOP.denominator, Decimal(1) / 5
        one = (Decimal(1), Decimal(1))
        whole: list[Level] = [[one] * len(self.badness[0])]
        total: list[Level] = [[one] * len(self.badness[0])]
        seen: dict[int, Interval] = {}
        for level, row in enumerate(self.badness[1:], 1):
            allowed = 1 << level <= self._longest
            below_, undivided, every = total[-1], [], []
            for place, badness in enumerate(row):
                left, right = below_[2 * place], below_[2 * place + 1]
                low, high = floor.multiply(left[0], right[0]), ceiling.multiply(left[1], right[1])
                alone = (Decimal(0), Decimal(0))
                if allowed:
                    if badness not in seen:
                        seen[badness] = _decay(self._rate * badness, digits)
                    near = seen[badness]
                    alone = (floor.multiply(stop, near[0]), ceiling.multiply(stop, near[1]))
                    low, high = floor.multiply(split, low), ceiling.multiply(split, high)
                undivided.append(alone)
                every.append((floor.add(alone[0], low), ceiling.add(alone[1], high)))
            whole.append(undivided)
            total.append(every)
        self._known[digits] = whole, total
        return whole, total


def _contexts(digits: int) -> tuple[decimal.Context, decimal.Context]:
    contexts = [
        decimal.Context(
            prec=digits + 12,
            rounding=rounding,
            Emin=decimal.MIN_EMIN,
            Emax=decimal.MAX_EMAX,
            traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
        )
        for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING)
    ]
    return contexts[0], contexts[1]


def _decay(exponent: Fraction, digits: int) -> Interval:
    """Bounds on exp(-exponent) to a relative precision: decimal's exp is correctly rounded."""
    floor, ceiling = _contexts(digits + 30)  # an exponent of up to 10**18 loses as many digits
    top, bottom = Decimal(-exponent.numerator), Decimal(exponent.denominator)
    return (
        floor.next_minus(floor.exp(floor.divide(top, bottom))),
        min(Decimal(1), ceiling.next_plus(ceiling.exp(ceiling.divide(top, bottom)))),
    )
