"""Contingency tables and k-way marginals of public domains, released together: the noise goes where
it hurts least, every cell has an exact variance, and all tables agree with each other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np

from discreet.errors import InvalidValue
from discreet.linear.allocation import least_shares, needs_of
from discreet.linear.components import Components
from discreet.linear.hierarchy import Cut, Hierarchy, cells_of, coarsen
from discreet.loss import Currency, Price
from discreet.mechanisms.combinations.combined import deviations_95
from discreet.noise.bits import BitSource, system
from discreet.release.tables.allocation import Counts, Measurement, Unit, contrasts_for, counts_for
from discreet.release.tables.measure import Exact, know_tables, measure_tables, sum_losses

__all__ = ["Marginals", "every", "marginal_cut"]

_LEVEL = Fraction(95, 100)
_MOST_CELLS = 1 << 28
_MOST_TABLES = 1 << 13


def marginal_cut(axes: Iterable[int], sizes: tuple[int, ...]) -> Cut:
    """The cut of a marginal over these columns; a column of one value tells nothing apart.

    >>> marginal_cut([2, 0], (4, 3, 5))
    ((0, 1), (2, 1))
    """
    chosen = sorted(set(axes))
    if chosen and not 0 <= chosen[0] <= chosen[-1] < len(sizes):
        raise InvalidValue(f"columns {chosen}; there are {len(sizes)}, numbered from 0.")
    return tuple((axis, 1) for axis in chosen if sizes[axis] > 1)


def every(sizes: tuple[int, ...], orders: Iterable[int]) -> dict[Cut, float]:
    """All marginals of these orders, each with weight 1.

    >>> len(every((2, 3, 4), [1, 2]))
    6
    """
    chosen = (axes for order in orders for axes in combinations(range(len(sizes)), order))
    return {marginal_cut(axes, sizes): 1.0 for axes in chosen}


@dataclass(frozen=True, slots=True)
class Marginals:
    """Marginals of a public domain and how they are measured.

    Under zCDP the residual basis is measured with discrete Gaussian noise on integers, in the
    proportions with the least weighted mean variance; under pure privacy tables are measured with
    discrete Laplace noise and shares of the price from a local search. Either way the estimate is
    least squares in closed form.
    Privacy: `loss` under the unit's relation; docs/proofs/releases.md.
    >>> from discreet.loss import ZCDP
    >>> family = Marginals.calibrate((2, 3), every((2, 3), [1, 2]), price=ZCDP(rho=1))
    >>> round(family.variance(((0, 1), (1, 1))), 4), family.loss.rho
    (0.6461, Fraction(1, 1))
    """

    sizes: tuple[int, ...]
    wanted: tuple[Cut, ...]
    measurements: tuple[Measurement, ...]
    _known: Components = field(repr=False, compare=False)

    @classmethod
    def calibrate(
        cls,
        sizes: tuple[int, ...],
        weights: Mapping[Cut, float],
        *,
        price: Price,
        unit: Unit | None = None,
    ) -> "Marginals":
        """Divide a price among what the wanted marginals need; weights say how much each matters.

        The price is not exceeded.
        >>> from discreet.loss import Pure
        >>> Marginals.calibrate((2,), every((2,), [1]), price=Pure(epsilon=1)).loss
        Pure(epsilon=Fraction(1, 1))
        """
        unit = Unit() if unit is None else unit
        hierarchies = tuple(Hierarchy.flat(size) for size in sizes)
        _check(weights, hierarchies)
        needs = needs_of(weights, hierarchies)
        measurements: tuple[Measurement, ...]
        if price.currency is Currency.RHO:
            measurements = contrasts_for(needs, hierarchies, rho=price.rho, unit=unit)
        else:
            shares = _shares(needs, hierarchies, unit)
            measurements = counts_for(shares, hierarchies, epsilon=price.epsilon, unit=unit)
        known = know_tables(measurements, hierarchies)
        return cls(tuple(sizes), tuple(weights), measurements, known)

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """The axes: each column's total and its values."""
        return self._known.hierarchies

    @property
    def loss(self) -> Price:
        """What a release costs.

        Privacy: under the unit's relation [DR14, Cor. 3.15], [BS16, Lemma 1.7].
        >>> from discreet.loss import Pure
        >>> Marginals.calibrate((2,), every((2,), [1]), price=Pure(epsilon=1)).loss.epsilon
        Fraction(1, 1)
        """
        return sum_losses(self.measurements)

    def variance(self, cut: Cut) -> float:
        """The variance of each cell of a marginal, known before anything is released.

        >>> from discreet.loss import Pure
        >>> family = Marginals.calibrate((2,), every((2,), [1]), price=Pure(epsilon=1))
        >>> round(family.variance(((0, 1),)), 3)
        1.841
        """
        return self._known.variance(cut)

    def half_width(self, cut: Cut) -> float:
        """How far a cell of a marginal is off at most, with at least 95%.

        Exact where the marginal is just what was measured, a certified bound otherwise.
        >>> from discreet.loss import Pure
        >>> family = Marginals.calibrate((2,), every((2,), [1]), price=Pure(epsilon=1))
        >>> family.half_width(((0, 1),))
        3.0
        """
        known = [
            measurement
            for measurement in self.measurements
            if isinstance(measurement, Counts) or measurement.cut in coarsen(cut)
        ]
        first, *others = known
        if not others and first.cut == cut and (isinstance(first, Counts) or not cut):
            return first.noise.error(_LEVEL)
        noises = [measurement.noise for measurement in known]
        return sqrt(self.variance(cut)) * deviations_95(noises)

    def release(self, exact: Exact, bits: BitSource = system) -> Components:
        """Measure; the tables of the result are consistent least-squares estimates.

        Privacy: `loss` under the unit's relation.
        >>> from discreet.loss import Pure
        >>> family = Marginals.calibrate((2,), every((2,), [1]), price=Pure(epsilon=100))
        >>> family.release(lambda cut: np.array([4, 6])).table(((0, 1),)).tolist()
        [4.0, 6.0]
        """
        return measure_tables(self.measurements, self.hierarchies, exact, bits)


def _check(weights: Mapping[Cut, float], hierarchies: tuple[Hierarchy, ...]) -> None:
    if not weights:
        raise InvalidValue("no marginal was asked for; name at least one.")
    if any(not 0 < weight < float("inf") for weight in weights.values()):
        raise InvalidValue("a weight is not a positive number; leave it at 1.")
    cells = sum(cells_of(cut, hierarchies) for cut in weights)
    if cells > _MOST_CELLS or len(weights) > _MOST_TABLES:
        raise InvalidValue(
            f"{len(weights):,} marginals with {cells:,} cells; the limits are {_MOST_TABLES:,} and "
            f"{_MOST_CELLS:,}. Ask for fewer columns or lower orders. Nothing was charged."
        )


def _shares(
    needs: Mapping[Cut, float], hierarchies: tuple[Hierarchy, ...], unit: Unit
) -> dict[Cut, float]:
    """Which tables get Laplace noise, and their shares."""
    cuts = list(needs)
    place = {cut: index for index, cut in enumerate(cuts)}
    gains = np.zeros((len(cuts), len(cuts)))
    for row, cut in enumerate(cuts):
        cells, moved = cells_of(cut, hierarchies), float(unit.cells(cells_of(cut, hierarchies)).l1)
        for part in coarsen(cut):
            merged = cells // cells_of(part, hierarchies)
            gains[row, place[part]] = 1 / (2 * moved**2 * merged)
    shares, _ = least_shares(np.array([needs[cut] for cut in cuts]), gains)
    return {cut: float(share) for cut, share in zip(cuts, shares, strict=True) if share > 0}
