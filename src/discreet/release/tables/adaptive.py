"""Histograms that adapt to the data: blocks of alike cells are chosen privately, then measured.
Pays for both steps; the part of the error that merging causes is not in its variances.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Currency, Price
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import floor_decimal, sqrt_up
from discreet.release.tables.allocation import Unit
from discreet.release.tables.blocks import Blocks
from discreet.release.tables.ordered import OrderedEstimate, ordered
from discreet.release.tables.workload import Places, Workload

__all__ = ["Adaptive", "AdaptiveEstimate"]

_CHOOSING = Fraction(1, 4)  # the share of the price that goes to the choice of blocks


@dataclass(frozen=True, slots=True)
class AdaptiveEstimate:
    """Noisy blocks, spread evenly over their cells."""

    ends: tuple[int, ...]
    blocks: OrderedEstimate

    @property
    def noises(self) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noises that an estimate combines."""
        return self.blocks.noises

    def histogram(self) -> NDArray[np.float64]:
        """The estimate of every cell."""
        lengths = np.diff(self.ends)
        return np.repeat(self.blocks.histogram() / lengths, lengths)

    def range(self, start: int, stop: int) -> float:
        """The estimate of the cells from start up to, not including, stop."""
        return float(self.histogram()[start:stop].sum())

    def variances(self, starts: Places, stops: Places) -> NDArray[np.float64]:
        """The same for many ranges."""
        pairs = zip(np.atleast_1d(starts), np.atleast_1d(stops), strict=True)
        return np.array([self.variance(int(start), int(stop)) for start, stop in pairs])

    def variance(self, start: int, stop: int) -> float:
        """The most variance by noise that a range can have; what merging adds is unknown.

        A block that is cut enters with a share, and the variance is convex in the shares: the
        largest is where cut blocks are in, or out, as a whole.
        """
        outer = int(np.searchsorted(self.ends, start, side="right")) - 1
        inner = int(np.searchsorted(self.ends, start, side="left"))
        upto = int(np.searchsorted(self.ends, stop, side="left"))
        within = int(np.searchsorted(self.ends, stop, side="right")) - 1
        return max(
            self.blocks.variance(first, last)
            for first in {outer, inner}
            for last in {within, upto}
            if first <= last
        )


@dataclass(frozen=True, slots=True)
class Adaptive:
    """A quarter of the price chooses blocks of alike cells, the rest measures them.

    Better than trees where counts are small against the noise or the histogram is piecewise even;
    elsewhere worse, by the quarter and by what merging blurs.
    Privacy: `loss` under the unit's relation: both steps, composed [DMNS06, Lemma 2.6],
    [BS16, Lemma 1.7].
    >>> from discreet.loss import Pure
    >>> Adaptive(cells=64, price=Pure(epsilon=1)).loss
    Pure(epsilon=Fraction(1, 1))
    """

    cells: int
    price: Price
    unit: Unit = Unit()  # noqa: RUF009 (a frozen value)
    workload: Workload = Workload.RANGES

    @property
    def choice(self) -> Blocks:
        """The step that chooses blocks.

        >>> from discreet.loss import Pure
        >>> Adaptive(cells=64, price=Pure(epsilon=1)).choice.epsilon
        Fraction(1, 4)
        """
        if self.price.currency is Currency.EPSILON:
            epsilon = self.price.epsilon * _CHOOSING
        else:  # bounded range costs epsilon^2/8
            square = 8 * self.price.rho * _CHOOSING
            epsilon = floor_decimal(square / sqrt_up(square), 15)
        return Blocks(cells=self.cells, epsilon=epsilon, unit=self.unit)

    @property
    def rest(self) -> Price:
        """What is left for measuring the blocks.

        Privacy: with `choice` it adds up to the whole price.
        >>> from discreet.loss import Pure
        >>> Adaptive(cells=64, price=Pure(epsilon=1)).rest
        Pure(epsilon=Fraction(3, 4))
        """
        return self.price.of(self.price.amount - self.price.total([self.choice.loss]).amount)

    @property
    def loss(self) -> Price:
        """What a release costs: the whole price.

        Privacy: under the unit's relation [DMNS06, Lemma 2.6], [BS16, Lemma 1.7].
        """
        return self.price

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> AdaptiveEstimate:
        """Choose blocks, then measure them.

        Privacy: `loss` under the unit's relation.
        >>> from discreet.loss import Pure
        >>> plan = Adaptive(cells=64, price=Pure(epsilon=1000))
        >>> round(float(plan.release(np.full(64, 5)).histogram().sum()))
        320
        """
        ends = self.choice.release(exact, bits)
        merged = np.add.reduceat(exact, ends[:-1])
        plan = ordered(len(merged), price=self.rest, unit=self.unit, workload=self.workload)
        return AdaptiveEstimate(ends, plan.release(merged, bits))
