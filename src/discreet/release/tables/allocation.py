"""How a price is divided among measurements so that the error of a workload is least. Public shapes
and prices only. Shares are decimals rounded down, so a price is never exceeded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Relation, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.rationals import floor_decimal
from discreet.release.tables.components import scale_of, share
from discreet.release.tables.hierarchy import Cut, Ladder, below, cells_of

__all__ = [
    "Contrast",
    "Counts",
    "Measurement",
    "Unit",
    "contrasts_for",
    "counts_for",
    "least_shares",
    "needs_of",
]

_DIGITS = 15
_ROUNDS = 500
_LEAST_SHARE = 1e-3  # of a price; what has less is not measured


@dataclass(frozen=True, slots=True)
class Unit:
    """What one unit may contribute: how many rows, and what neighbours are.

    >>> Unit().cells(4).l1
    Fraction(1, 1)
    """

    rows: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def cells(self, count: int) -> Sensitivity:
        """How far a unit moves a table of this many cells.

        >>> Unit(rows=3, relation=Relation.REPLACE).cells(4).l1
        Fraction(6, 1)
        """
        return Sensitivity.of_sum(
            lower=0,
            upper=1,
            rows_per_unit=self.rows,
            groups_per_unit=self.rows,
            groups_in_all=count,
            relation=self.relation,
        )

    def contrast_squared(self, branches: Sequence[int]) -> int:
        """The square of how far a unit moves the contrast over these branches, in l2.

        Row a is the product of vectors b e_a - 1, of squared length b(b-1), and two different
        cells have inner products of -b or 0 along an axis: docs/proofs/releases.md.
        >>> Unit().contrast_squared([3]), Unit(relation=Relation.REPLACE).contrast_squared([3])
        (6, 18)
        """
        alone = prod(branch * (branch - 1) for branch in branches)
        if self.relation is Relation.ADD_REMOVE or not branches:
            return self.rows**2 * alone
        apart = prod(branches) * prod(sorted(branch - 1 for branch in branches)[1:])
        return self.rows**2 * 2 * (alone + apart)


@dataclass(frozen=True, slots=True)
class Counts:
    """The table of a cut, with independent discrete Laplace noise on every cell.

    Privacy: `loss` under the relation of its unit [DMNS06, Prop. 3.3].
    >>> Counts(((0, 1),), DiscreteLaplace(scale=2), Pure(epsilon=Fraction(1, 2))).variance > 7
    True
    """

    cut: Cut
    noise: DiscreteLaplace
    loss: Pure

    @property
    def variance(self) -> float:
        """The variance of the noise of a cell.

        >>> round(Counts((), DiscreteLaplace(scale=2), Pure(epsilon=1)).variance, 3)
        7.835
        """
        return self.noise.variance


@dataclass(frozen=True, slots=True)
class Contrast:
    """The contrast of a cut, with independent discrete Gaussian noise on every integer of it.

    Privacy: `loss` under the relation of its unit [CKS20, Thm. 4].
    >>> Contrast((), DiscreteGaussian(sigma=2), ZCDP(rho=Fraction(1, 8))).variance
    4.0
    """

    cut: Cut
    noise: DiscreteGaussian
    loss: ZCDP

    @property
    def variance(self) -> float:
        """The variance of the noise of one integer.

        >>> Contrast((), DiscreteGaussian(sigma=3), ZCDP(rho=1)).variance
        9.0
        """
        return self.noise.variance


Measurement = Counts | Contrast
"""One noisy table that enters the estimate."""


def needs_of(weights: Mapping[Cut, float], ladders: tuple[Ladder, ...]) -> dict[Cut, float]:
    """What a unit of variance in each component adds to the weighted variance of wanted tables.

    A table counts with the mean variance of its cells times its weight.
    >>> needs_of({((0, 1),): 1.0}, (Ladder.flat(4),))
    {(): 0.0625, ((0, 1),): 0.75}
    """
    needs: dict[Cut, float] = {}
    for cut, weight in weights.items():
        for part in below(cut):
            needs[part] = needs.get(part, 0.0) + weight * share(part, cut, ladders)
    return needs


def contrasts_for(
    needs: Mapping[Cut, float], ladders: tuple[Ladder, ...], *, rho: Fraction, unit: Unit
) -> tuple[Contrast, ...]:
    """Gaussian measurements of components with the least total of need times variance.

    In closed form: rho is divided in proportion to sqrt(need * cost).
    Privacy: the losses add up to at most rho under the unit's relation [CKS20, Thm. 4]; the
    basis and the allocation are those of [XHZK23, Thm. 1].
    >>> contrasts_for({(): 1.0}, (), rho=Fraction(1, 2), unit=Unit())[0].noise.sigma
    Fraction(1, 1)
    """
    moved = {cut: unit.contrast_squared(_branches(cut, ladders)) for cut in needs}
    weights = {cut: sqrt(need * moved[cut]) / scale_of(cut, ladders) for cut, need in needs.items()}
    return tuple(
        Contrast(cut, DiscreteGaussian.of_variance(moved[cut] / (2 * price)), ZCDP(rho=price))
        for cut, price in _shares(rho, weights).items()
    )


def counts_for(
    shares: Mapping[Cut, float], ladders: tuple[Ladder, ...], *, epsilon: Fraction, unit: Unit
) -> tuple[Counts, ...]:
    """Laplace measurements of tables, with these shares of a price.

    Privacy: the losses add up to at most epsilon under the unit's relation [DMNS06, Prop. 3.3].
    >>> counts_for({(): 1.0}, (), epsilon=Fraction(1, 2), unit=Unit())[0].noise.scale
    Fraction(2, 1)
    """
    moved = {cut: unit.cells(cells_of(cut, ladders)).l1 for cut in shares}
    return tuple(
        Counts(cut, DiscreteLaplace(scale=moved[cut] / price), Pure(epsilon=price))
        for cut, price in _shares(epsilon, shares).items()
    )


def _branches(cut: Cut, ladders: tuple[Ladder, ...]) -> list[int]:
    return [ladders[axis].branches[level - 1] for axis, level in cut]


def _shares(price: Fraction, weights: Mapping[Cut, float]) -> dict[Cut, Fraction]:
    """A price divided in proportion to weights, in decimals; rounding never exceeds the price."""
    if len(weights) == 1:
        return dict.fromkeys(weights, price)
    total = sum(weights.values())
    room = price * (1 - Fraction(1, 10**12))  # the sum of rounded proportions may be above 1
    shares = {
        cut: floor_decimal(room * Fraction(weight / total), _DIGITS)
        for cut, weight in weights.items()
    }
    rest = price - sum(shares.values())
    if rest < 0:
        raise InvalidValue(f"{len(weights):,} parts of one price are too many. Release fewer.")
    shares[max(shares, key=lambda cut: shares[cut])] += rest
    return shares


def least_shares(
    needs: NDArray[np.float64], gains: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Shares s of a price with a small sum of needs[c] / sum_m gains[m, c] s_m^2.

    A fixed point of s_m <- s_m (s_m g_m)^(1/3), where g is minus the slope: it is where no share
    gains from another. Exact for components that one measurement each informs; otherwise a local
    minimum. Measurements that end below a thousandth are dropped.
    >>> shares, _ = least_shares(np.array([1.0, 8.0]), np.eye(2))
    >>> shares.round(6).tolist()
    [0.333333, 0.666667]
    """
    kept = np.arange(len(gains))
    while True:
        shares = _settled(needs, gains[kept])
        large = shares >= _LEAST_SHARE
        if large.all() or not (gains[kept[large]] > 0).any(axis=0).all():
            break
        kept = kept[large]
    found = np.zeros(len(gains))
    found[kept] = shares
    return found, float((needs / (gains.T @ found**2)).sum())


def _settled(needs: NDArray[np.float64], gains: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.full(len(gains), 1 / len(gains))
    for _ in range(_ROUNDS):
        slope = gains @ (needs / (gains.T @ shares**2) ** 2)
        better = np.maximum(shares * np.cbrt(shares * slope), 1e-9)
        better /= better.sum()
        change = float(np.abs(better - shares).max())
        shares = better
        if change < 1e-9:
            break
    return shares
