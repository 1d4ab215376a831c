"""The stage after least squares: no negative counts, one total, tables that still agree.
Projections that are repeated until they settle. Sees released numbers only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.components import Components
from discreet.linear.hierarchy import Cut, Hierarchy, cells_of, coarsen, shape_of
from discreet.linear.marginals import Axes
from discreet.linear.simplex import project_to_simplex

__all__ = ["ConsistentTables", "agree_marginals", "make_consistent"]

Floats = NDArray[np.float64]

_ROUNDS = 500
_CHECKED = 5  # rounds from one look at the gap to the next
_PLAIN = 10  # rounds of plain projections
_BEYOND = 1.8  # then how far steps go; below 2 none leads away from a point of both sets


@dataclass(frozen=True, slots=True)
class ConsistentTables:
    """Tables without negative cells that agree with each other up to `gap` in every cell.

    `error` bounds the root mean square error of a cell over all measured tables.
    """

    parts: Components
    tables: Mapping[Cut, Floats]
    total: float
    error: float
    gap: float
    rounds: int

    def table(self, cut: Cut) -> Floats:
        """The table of a cut: one of those that settled, or the sums of one."""
        settled = self.tables.get(cut)
        return np.maximum(self.parts.table(cut), 0.0) if settled is None else settled


def _find_finest(cuts: Iterable[Cut]) -> list[Cut]:
    """The cuts that no other one refines."""
    wanted = sorted(set(cuts), key=len, reverse=True)
    covered: set[Cut] = set()
    finest = []
    for cut in wanted:
        if cut not in covered:
            finest.append(cut)
            covered.update(coarsen(cut))
    return finest


def make_consistent(
    parts: Components, cuts: Iterable[Cut], *, tolerance: float = 0.01, rounds: int = _ROUNDS
) -> ConsistentTables:
    """Project onto tables without negative cells, and onto tables that agree, until both hold.

    The total is the least-squares total. Each projection brings tables nearer to every set of
    tables that is consistent, non-negative and has that total; so the root mean square error is at
    most the one before plus twice that of the total, spread over cells: docs/proofs/releases.md.
    >>> from discreet.linear.hierarchy import Hierarchy
    >>> parts = Components((Hierarchy.flat(3),))
    >>> parts.add_table(((0, 1),), np.array([3.0, -1.0, 2.0]), variance=1.0)
    >>> settled = make_consistent(parts, [((0, 1),)])
    >>> settled.table(((0, 1),)).tolist(), settled.rounds
    ([2.5, 0.0, 1.5], 1)
    """
    if not tolerance > 0:
        raise InvalidValue(f"tolerance is {tolerance}; it must be above 0.")
    finest = _find_finest(cuts)
    total = max(0.0, float(parts.table(())))
    tables = {cut: np.asarray(parts.table(cut)) for cut in finest}
    error = _bound_error(parts, finest)
    for turn in range(1, rounds + 1):
        nearest = {cut: project_to_simplex(table, total) for cut, table in tables.items()}
        if turn % _CHECKED == 1 or turn == rounds or len(finest) == 1:
            agreed = _make_agree(parts, nearest)
            gap = max(float(np.abs(agreed.table(cut) - nearest[cut]).max()) for cut in finest)
            if gap <= tolerance or turn == rounds or len(finest) == 1:
                break
        # Long steps from the start would settle farther from the estimate, so plain ones go first.
        step = 1.0 if turn <= _PLAIN else _BEYOND
        beyond = {cut: table + step * (nearest[cut] - table) for cut, table in tables.items()}
        agreeing = _make_agree(parts, beyond)
        tables = {cut: far + step * (agreeing.table(cut) - far) for cut, far in beyond.items()}
    return ConsistentTables(agreed, nearest, total, error, gap, turn)


def _make_agree(parts: Components, tables: Mapping[Cut, Floats]) -> Components:
    """The nearest tables that agree, all cells counting alike."""
    agreed = Components(parts.hierarchies)
    for cut, table in tables.items():
        agreed.add_table(cut, table, variance=1.0)
    return agreed


def _bound_error(parts: Components, cuts: list[Cut]) -> float:
    cells = sum(cells_of(cut, parts.hierarchies) for cut in cuts)
    squares = sum(cells_of(cut, parts.hierarchies) * parts.variance(cut) for cut in cuts)
    return sqrt(squares / cells) + 2 * sqrt(parts.variance(()) * len(cuts) / cells)


def agree_marginals(noisy: Mapping[Axes, tuple[Floats, float]]) -> dict[Axes, Floats]:
    """Marginals that sum to one and agree where they overlap, from values and variances.

    Components that several marginals tell are averaged by their precision [XHZK23, Sec. 4]. For
    equal variances within a marginal this is the projection in units of the noise, so a model fits
    the result exactly as well as what was measured.
    >>> agreed = agree_marginals({(0,): (np.array([0.2, 0.8]), 1.0), (0, 1): (np.eye(2) / 2, 0.5)})
    >>> agreed[(0,)].round(6).tolist(), agreed[(0, 1)].sum(axis=1).round(6).tolist()
    ([0.35, 0.65], [0.35, 0.65])
    """
    sizes: dict[int, int] = {}
    for axes, (table, _) in noisy.items():
        sizes.update(zip(axes, table.shape, strict=True))
    hierarchies = tuple(
        Hierarchy.flat(sizes.get(axis, 1)) for axis in range(1 + max(sizes, default=0))
    )
    parts = Components(hierarchies)
    cuts = {axes: tuple((axis, 1) for axis in axes if sizes[axis] > 1) for axes in noisy}
    for axes, (table, variance) in noisy.items():
        flat = table.reshape(shape_of(cuts[axes], hierarchies))
        parts.add_table(cuts[axes], flat, variance=variance)
    parts.fix_total(1.0)
    return {
        axes: parts.table(cuts[axes]).reshape(table.shape) for axes, (table, _) in noisy.items()
    }
