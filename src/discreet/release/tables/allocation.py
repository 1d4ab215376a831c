"""The measurements that a price buys: noisy counts or contrasts of tables, and what one unit may
contribute to them. Public shapes and prices only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

from discreet.linear.allocation import split_price
from discreet.linear.components import scale_of
from discreet.linear.hierarchy import Cut, Hierarchy, cells_of
from discreet.loss import ZCDP, Pure, Relation, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace

__all__ = ["Contrast", "Counts", "Measurement", "Unit", "contrasts_for", "counts_for"]


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
        """The variance of the noise of a cell."""
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
        """The variance of the noise of one integer."""
        return self.noise.variance


Measurement = Counts | Contrast
"""One noisy table that enters the estimate."""


def contrasts_for(
    needs: Mapping[Cut, float], hierarchies: tuple[Hierarchy, ...], *, rho: Fraction, unit: Unit
) -> tuple[Contrast, ...]:
    """Gaussian measurements of components with the least total of need times variance.

    In closed form: rho is divided in proportion to sqrt(need * cost).
    Privacy: the losses add up to at most rho under the unit's relation [CKS20, Thm. 4]; the
    basis and the allocation are those of [XHZK23, Thm. 1].
    >>> contrasts_for({(): 1.0}, (), rho=Fraction(1, 2), unit=Unit())[0].noise.sigma
    Fraction(1, 1)
    """
    moved = {
        cut: unit.contrast_squared([hierarchies[axis].branches[level - 1] for axis, level in cut])
        for cut in needs
    }
    weights = {
        cut: sqrt(need * moved[cut]) / scale_of(cut, hierarchies) for cut, need in needs.items()
    }
    return tuple(
        Contrast(cut, DiscreteGaussian.of_variance(moved[cut] / (2 * price)), ZCDP(rho=price))
        for cut, price in split_price(rho, weights).items()
    )


def counts_for(
    shares: Mapping[Cut, float],
    hierarchies: tuple[Hierarchy, ...],
    *,
    epsilon: Fraction,
    unit: Unit,
) -> tuple[Counts, ...]:
    """Laplace measurements of tables, with these shares of a price.

    Privacy: the losses add up to at most epsilon under the unit's relation [DMNS06, Prop. 3.3].
    >>> counts_for({(): 1.0}, (), epsilon=Fraction(1, 2), unit=Unit())[0].noise.scale
    Fraction(2, 1)
    """
    moved = {cut: unit.cells(cells_of(cut, hierarchies)).l1 for cut in shares}
    return tuple(
        Counts(cut, DiscreteLaplace(scale=moved[cut] / price), Pure(epsilon=price))
        for cut, price in split_price(epsilon, shares).items()
    )
