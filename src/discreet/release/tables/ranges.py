"""Ranges over one or more ordered axes: level-weighted trees, or a factorisation, whichever has the
least computed error. Every range has an exact variance before and after the release.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.allocation import least_shares
from discreet.linear.components import Components
from discreet.linear.hierarchy import Cut, Hierarchy, cells_of, coarsen, shape_of
from discreet.loss import Currency, Price
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.release.tables.allocation import Measurement, Unit, contrasts_for, counts_for
from discreet.release.tables.measure import know_tables, measure_tables, sum_losses
from discreet.release.tables.workload import Places, Workload, level_parts, query_parts

__all__ = ["Boxes", "Trees", "TreesEstimate", "binary", "chains"]

Boxes = Sequence[tuple[int, int]]
"""One range for each axis, as start and stop; the stop is not included."""

_MOST_CELLS = 1 << 24
_LONGEST_CHAIN = 4
_SINGLE_BRANCHES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)


def binary(cells: int) -> Hierarchy:
    """The hierarchy that halves blocks down to single cells.

    >>> binary(6).branches
    (2, 2, 2)
    """
    return Hierarchy(cells=cells, branches=(2,) * (cells - 1).bit_length())


def chains(cells: int) -> Iterator[Hierarchy]:
    """Hierarchies to try for Laplace noise: powers of two with few levels, and equal branches.

    >>> [each.branches for each in chains(4)]
    [(4,), (2, 2), (3, 3)]
    """
    yield Hierarchy.flat(cells)
    seen = {Hierarchy.flat(cells).branches}
    power = (cells - 1).bit_length()
    for count in range(min(_LONGEST_CHAIN, power)):
        for steps in combinations(range(1, power), count):
            ends = (0, *steps, power)
            branches = tuple(1 << (b - a) for a, b in pairwise(ends))
            if branches not in seen and power:
                seen.add(branches)
                yield Hierarchy(cells=cells, branches=branches)
    for branch in _SINGLE_BRANCHES:
        branches = (branch,) * _digits(cells, branch)
        if branches not in seen and 1 < len(branches) <= _LONGEST_CHAIN + 4:
            seen.add(branches)
            yield Hierarchy(cells=cells, branches=branches)


def _digits(cells: int, base: int) -> int:
    digits = 0
    while base**digits < cells:
        digits += 1
    return digits


@dataclass(frozen=True, slots=True)
class TreesEstimate:
    """Noisy trees made consistent by least squares: any box, with its exact variance.

    >>> from discreet.loss import Pure
    >>> plan = Trees.calibrate((4,), price=Pure(epsilon=1000))
    >>> round(plan.release(np.array([1, 2, 3, 4])).box([(1, 3)]))
    5
    """

    plan: "Trees"
    cells: NDArray[np.float64]

    @property
    def noises(self) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noises that an estimate combines."""
        return tuple(measurement.noise for measurement in self.plan.measurements)

    def box(self, ranges: Boxes) -> float:
        """The estimate of a box, one range for each axis."""
        self.plan.parts(ranges)
        return float(self.cells[tuple(slice(start, stop) for start, stop in ranges)].sum())

    def range(self, start: int, stop: int) -> float:
        """The estimate of a range of the only axis."""
        return self.box([(start, stop)])

    def variance(self, start: int, stop: int) -> float:
        """The variance of that estimate."""
        return self.plan.box_variance([(start, stop)])

    def variances(self, starts: Places, stops: Places) -> NDArray[np.float64]:
        """The variances of many ranges."""
        return self.plan.variances(starts, stops)

    def histogram(self) -> NDArray[np.float64]:
        """The estimate of every cell."""
        return self.cells


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees over ordered axes, each level, or pair of levels, with its own noise.

    Privacy: `loss` under the unit's relation; docs/proofs/releases.md.
    >>> from discreet.loss import Pure
    >>> plan = Trees.calibrate((4096,), price=Pure(epsilon=1))
    >>> plan.hierarchies[0].branches, round(plan.rmse(), 2)
    ((16, 16, 16), 16.08)
    """

    hierarchies: tuple[Hierarchy, ...]
    workload: Workload
    measurements: tuple[Measurement, ...]
    known: Components = field(repr=False, compare=False)
    """The precision of every component."""

    @classmethod
    def calibrate(
        cls,
        cells: tuple[int, ...],
        *,
        price: Price,
        unit: Unit | None = None,
        workload: Workload = Workload.RANGES,
    ) -> "Trees":
        """The trees and the shares of the price with the least mean square error found.

        Under zCDP halving hierarchies and closed-form shares; under pure privacy the best of many
        hierarchies, each with shares from a local search. The price is not exceeded.
        >>> from discreet.loss import ZCDP
        >>> round(Trees.calibrate((256,), price=ZCDP(rho=0.5)).rmse(), 2)
        3.44
        """
        unit = Unit() if unit is None else unit
        if not cells or prod(cells) > _MOST_CELLS or min(cells) < 1:
            raise InvalidValue(
                f"axes of {cells} cells; at least one axis and at most {_MOST_CELLS:,} cells in "
                "all. Use coarser buckets. Nothing was charged."
            )
        if price.currency is Currency.RHO:
            hierarchies = tuple(binary(size) for size in cells)
            needs = _needs(hierarchies, workload)
            measurements: tuple[Measurement, ...] = contrasts_for(
                needs, hierarchies, rho=price.rho, unit=unit
            )
            return cls(hierarchies, workload, measurements, know_tables(measurements, hierarchies))
        best: tuple[float, tuple[Hierarchy, ...], dict[Cut, float]] | None = None
        for hierarchies in _propose_hierarchies(cells):
            error, shares = _laplace_shares(hierarchies, workload, unit)
            if best is None or error < best[0]:
                best = (error, hierarchies, shares)
        assert best is not None
        measurements = counts_for(best[2], best[1], epsilon=price.epsilon, unit=unit)
        return cls(best[1], workload, measurements, know_tables(measurements, best[1]))

    @property
    def loss(self) -> Price:
        """What a release costs.

        Privacy: losses add [DR14, Cor. 3.15], [BS16, Lemma 1.7].
        >>> from discreet.loss import Pure
        >>> Trees.calibrate((4,), price=Pure(epsilon=1)).loss
        Pure(epsilon=Fraction(1, 1))
        """
        return sum_losses(self.measurements)

    def rmse(self, workload: Workload | None = None) -> float:
        """The root mean square error over all queries of a workload.

        >>> from discreet.loss import Pure
        >>> round(Trees.calibrate((1,), price=Pure(epsilon=1)).rmse(), 3)
        1.357
        """
        known = self.known
        needs = _needs(self.hierarchies, self.workload if workload is None else workload)
        return sqrt(sum(need / known.precision(cut) for cut, need in needs.items()))

    def parts(self, ranges: Boxes) -> list[NDArray[np.float64]]:
        """The parts of a box in the levels of each axis.

        >>> from discreet.loss import ZCDP
        >>> len(Trees.calibrate((4, 4), price=ZCDP(rho=1)).parts([(0, 2), (1, 3)]))
        2
        """
        if len(ranges) != len(self.hierarchies):
            raise InvalidValue(f"{len(ranges)} ranges for {len(self.hierarchies)} axes.")
        return [
            query_parts(tree, *ends) for tree, ends in zip(self.hierarchies, ranges, strict=True)
        ]

    def box_variance(self, ranges: Boxes) -> float:
        """The variance of the estimate of a box.

        >>> from discreet.loss import Pure
        >>> round(Trees.calibrate((1,), price=Pure(epsilon=1)).box_variance([(0, 1)]), 3)
        1.841
        """
        known = self.known
        return sum(
            need / known.precision(cut)
            for cut, need in _products(self.hierarchies, self.parts(ranges)).items()
        )

    def variances(self, starts: Places, stops: Places) -> NDArray[np.float64]:
        """The variances of many ranges of the only axis.

        >>> from discreet.loss import Pure
        >>> plan = Trees.calibrate((1,), price=Pure(epsilon=1))
        >>> plan.variances(np.array([0]), np.array([1])).round(3).tolist()
        [1.841]
        """
        (tree,) = self.hierarchies
        totals = np.zeros(np.shape(starts))
        for level, part in enumerate(query_parts(tree, starts, stops)):
            length = tree.padded // tree.blocks(level)
            precision = self.known.precision(((0, level),) if level else ())
            totals = totals + part / (length * precision)
        return totals

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> TreesEstimate:
        """Measure a histogram with one axis for each hierarchy.

        Privacy: `loss` under the unit's relation.
        >>> from discreet.loss import ZCDP
        >>> plan = Trees.calibrate((2, 2), price=ZCDP(rho=10**6))
        >>> plan.release(np.array([[1, 2], [3, 4]])).cells.round(1).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        """
        shape = tuple(tree.cells for tree in self.hierarchies)
        if exact.shape != shape:
            raise InvalidValue(f"a histogram of shape {exact.shape}; {shape} is expected.")
        room = [(0, tree.padded - tree.cells) for tree in self.hierarchies]
        padded = np.pad(exact, room)

        def table(cut: Cut) -> NDArray[Any]:
            return _merge(padded, cut, self.hierarchies)

        parts = measure_tables(self.measurements, self.hierarchies, table, bits)
        finest = tuple(
            (axis, tree.depth) for axis, tree in enumerate(self.hierarchies) if tree.depth
        )
        cells = parts.table(finest).reshape([tree.padded for tree in self.hierarchies])
        return TreesEstimate(self, cells[tuple(slice(tree.cells) for tree in self.hierarchies)])


def _merge(padded: NDArray[Any], cut: Cut, hierarchies: tuple[Hierarchy, ...]) -> NDArray[Any]:
    """The exact table of a cut: blocks added up in integers."""
    levels = dict(cut)
    for axis, tree in enumerate(hierarchies):
        blocks = tree.blocks(levels.get(axis, 0))
        shape = (*padded.shape[:axis], blocks, -1, *padded.shape[axis + 1 :])
        padded = padded.reshape(shape).sum(axis=axis + 1)
    return padded.reshape(shape_of(cut, hierarchies))


def _products(
    hierarchies: tuple[Hierarchy, ...], parts: Sequence[NDArray[np.float64]]
) -> dict[Cut, float]:
    """What a unit of variance in each component adds: a part over the cells of its blocks."""
    products: dict[Cut, float] = {}
    for levels in product(*(range(tree.depth + 1) for tree in hierarchies)):
        cut = tuple((axis, level) for axis, level in enumerate(levels) if level)
        length = prod(
            tree.padded // tree.blocks(level)
            for tree, level in zip(hierarchies, levels, strict=True)
        )
        products[cut] = float(
            prod(parts[axis][level] for axis, level in enumerate(levels)) / length
        )
    return products


def _needs(hierarchies: tuple[Hierarchy, ...], workload: Workload) -> dict[Cut, float]:
    return _products(hierarchies, [level_parts(workload, tree) for tree in hierarchies])


def _propose_hierarchies(cells: tuple[int, ...]) -> Iterator[tuple[Hierarchy, ...]]:
    """Combinations of hierarchies: all for one axis, alike for several."""
    if len(cells) == 1:
        yield from ((tree,) for tree in chains(cells[0]))
        return
    yield tuple(Hierarchy.flat(size) for size in cells)
    for branch in _SINGLE_BRANCHES:
        yield tuple(
            Hierarchy(cells=size, branches=(branch,) * _digits(size, branch)) for size in cells
        )


def _laplace_shares(
    hierarchies: tuple[Hierarchy, ...], workload: Workload, unit: Unit
) -> tuple[float, dict[Cut, float]]:
    """The mean square error at epsilon = 1 and the shares of the cuts that reach it."""
    needs = _needs(hierarchies, workload)
    cuts = list(needs)
    place = {cut: index for index, cut in enumerate(cuts)}
    gains = np.zeros((len(cuts), len(cuts)))
    for row, cut in enumerate(cuts):
        cells = cells_of(cut, hierarchies)
        moved = float(unit.cells(cells).l1)
        for part in coarsen(cut):
            gains[row, place[part]] = cells_of(part, hierarchies) / (2 * moved**2 * cells)
    shares, error = least_shares(np.array([needs[cut] for cut in cuts]), gains)
    return error, {cut: float(share) for cut, share in zip(cuts, shares, strict=True) if share > 0}
