"""From noisy contrasts to weights that are not negative: the most even ones that agree with them,
then the nearest in least squares. Post-processing only: sees released numbers and public shapes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.contrasts import contrast_rows, norms
from discreet.streams.hypothesis.parities import Measured
from discreet.streams.hypothesis.shrinkage import posterior

__all__ = ["MOST_CELLS", "fit_counts"]

MOST_CELLS = 1 << 22
"""How many cells a hypothesis that is fitted may have."""

Floats = NDArray[np.float64]

_GROUP = 16  # cells of neighbouring attributes that are transformed together
_ENOUGH = 20  # contrasts of one order, to judge each by all
_EVEN = 1e-3  # the share of the even solution in the result: no cell is said to be impossible
_MEMORY = 10  # steps that the quasi-Newton method remembers


def fit_counts(measured: Measured, *, steps: int = 300) -> Floats:
    """Counts of all cells, none below zero, that agree with noisy contrasts as well as can be.

    Least squares, each contrast weighted by its variance, over all tables of counts that are not
    negative and have the noisy total; started where the relative entropy to even counts is traded
    against the squares, since that decides between solutions that the contrasts cannot tell apart.
    Contrasts of the highest order, which have the most noise, are first drawn towards what the
    even counts of the lower orders say, as far as all of them together suggest.
    """
    problem = _shrink(_Problem.of(measured), measured.parities.order, steps)
    even = _solve_even(problem, steps)
    nearest = _fit_nearest(problem, even, steps)
    counts: Floats = (1 - _EVEN) * nearest + _EVEN * even
    return counts.reshape(measured.parities.domain.sizes)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Contrasts, at length 1, of cells in one row: which are known, what they are, how well."""

    matrices: tuple[Floats, ...] = field(repr=False)  # of groups of neighbouring attributes
    known: NDArray[np.intp]
    target: Floats
    variance: Floats
    order: NDArray[np.intp]
    total: float
    cells: int

    @staticmethod
    def of(measured: Measured) -> "_Problem":
        domain = measured.parities.domain
        if domain.cells > MOST_CELLS:
            raise InvalidValue(
                f"the domain has {domain.cells:,} cells; at most {MOST_CELLS:,} can be fitted."
            )
        place = np.arange(domain.cells).reshape(domain.sizes)
        target, variance, known, order = [], [], [], []
        for axes, noisy in measured.noisy.items():
            if axes:
                inner = tuple(
                    slice(1, None) if axis in axes else 0 for axis in range(len(domain.sizes))
                )
                squares = reduce(
                    np.multiply.outer,
                    [
                        np.arange(1, domain.sizes[a]) * np.arange(2, domain.sizes[a] + 1)
                        for a in axes
                    ],
                )
                others = math.prod(domain.sizes) / domain.size_of(axes)
                # A contrast of the table of these attributes, as one of all cells at length 1.
                target.append((noisy / np.sqrt(squares * others)).ravel())
                spread = float(measured.parities.variances[axes]) / others
                variance.append(np.full(noisy.size, spread))
                known.append(place[inner].ravel())
                order.append(np.full(noisy.size, len(axes)))
        return _Problem(
            _build_matrices(domain.sizes),
            np.concatenate(known) if known else np.zeros(0, dtype=np.intp),
            np.concatenate(target) if target else np.zeros(0),
            np.concatenate(variance) if variance else np.zeros(0),
            np.concatenate(order) if order else np.zeros(0, dtype=np.intp),
            measured.total,
            domain.cells,
        )

    def contrasts(self, counts: Floats) -> Floats:
        """The known contrasts of counts."""
        for place, matrix in enumerate(self.matrices):
            counts = _apply(matrix, counts, self.matrices, place)
        return counts.reshape(-1)[self.known]

    def spread(self, contrasts: Floats) -> Floats:
        """The transposed operation: contrasts spread over all cells."""
        counts = np.zeros(self.cells)
        counts[self.known] = contrasts
        for place, matrix in enumerate(self.matrices):
            counts = _apply(matrix.T, counts, self.matrices, place)
        return counts.reshape(-1)


def _shrink(problem: _Problem, order: int, steps: int) -> _Problem:
    """The problem with its contrasts of the highest order drawn towards the lower ones' fit."""
    low, high = problem.order < order, problem.order == order
    if order < 2 or high.sum() < _ENOUGH:
        return problem
    lower = replace(
        problem,
        known=problem.known[low],
        target=problem.target[low],
        variance=problem.variance[low],
        order=problem.order[low],
    )
    expected = problem.contrasts(_solve_even(lower, steps))[high]
    mean, spread = posterior(problem.target[high] - expected, problem.variance[high])
    target, variance = problem.target.copy(), problem.variance.copy()
    target[high], variance[high] = expected + mean, spread
    return replace(problem, target=target, variance=variance)


def _build_matrices(sizes: tuple[int, ...]) -> tuple[Floats, ...]:
    """Orthonormal contrasts of groups of attributes, small enough to be written out."""
    matrices: list[Floats] = []
    for size in sizes:
        rows: Floats = contrast_rows(size) / np.sqrt(norms(size))[:, None]
        if matrices and len(matrices[-1]) * size <= _GROUP:
            matrices[-1] = np.kron(matrices[-1], rows).astype(np.float64)
        else:
            matrices.append(rows)
    return tuple(matrices)


def _apply(matrix: Floats, counts: Floats, matrices: tuple[Floats, ...], place: int) -> Floats:
    """A matrix applied to one group of attributes."""
    before = math.prod(map(len, matrices[:place]))
    behind = math.prod(map(len, matrices[place + 1 :]))
    if behind == 1:
        return counts.reshape(before, -1) @ matrix.T
    product: Floats = np.matmul(matrix, counts.reshape(before, len(matrix), behind))
    return product


def _solve_even(problem: _Problem, steps: int) -> Floats:
    """The counts that trade relative entropy to even ones against weighted squares.

    By its dual, which is smooth: counts are total * softmax(multipliers spread over all cells).
    """
    if not len(problem.known):
        return np.full(problem.cells, problem.total / problem.cells)
    # Small enough to fit what is measured, large enough to converge in so many steps.
    trade = 2 / math.sqrt(float(problem.variance.max()) * problem.cells)
    scale = 1 / np.sqrt(problem.total / problem.cells / trade + problem.variance)

    def to_counts(point: Floats) -> tuple[float, Floats]:
        powers = problem.spread(point * scale) / trade
        highest = float(powers.max())
        powers = np.exp(powers - highest)
        mass = float(powers.sum())
        return trade * problem.total * (math.log(mass) + highest), powers * (problem.total / mass)

    def evaluate_dual(point: Floats) -> tuple[float, Floats]:
        multipliers = point * scale
        value, counts = to_counts(point)
        value += float((multipliers**2 * problem.variance).sum()) / 2
        value -= float(multipliers @ problem.target)
        slope = problem.contrasts(counts) - problem.target + multipliers * problem.variance
        return value, slope * scale

    return to_counts(_minimise(evaluate_dual, np.zeros(len(problem.known)), steps))[1]


def _minimise(
    function: Callable[[Floats], tuple[float, Floats]], point: Floats, steps: int
) -> Floats:
    """The lowest point of a smooth convex function, by L-BFGS with halved steps."""
    value, slope = function(point)
    moves: list[tuple[Floats, Floats]] = []
    for _ in range(steps):
        direction = _find_direction(slope, moves)
        downhill, step = float(direction @ slope), 1.0
        while True:
            tried = point + step * direction
            after, steeper = function(tried)
            if after <= value + 1e-4 * step * downhill or step < 1e-9:
                break
            step /= 2
        if (tried - point) @ (steeper - slope) > 0:
            moves = [*moves[1 - _MEMORY :], (tried - point, steeper - slope)]
        gained = value - after
        if gained > 0:
            point, value, slope = tried, after, steeper
        if gained <= 1e-10 * abs(value):
            break
    return point


def _find_direction(slope: Floats, moves: list[tuple[Floats, Floats]]) -> Floats:
    """The two-loop recursion."""
    direction, used = -slope, []
    for step, bend in reversed(moves):
        factor = (step @ direction) / (bend @ step)
        direction = direction - factor * bend
        used.append(factor)
    if moves:
        step, bend = moves[-1]
        direction = direction * ((step @ bend) / (bend @ bend))
    for (step, bend), factor in zip(moves, reversed(used), strict=True):
        direction = direction + step * (factor - (bend @ direction) / (bend @ step))
    return direction


def _fit_nearest(problem: _Problem, start: Floats, steps: int) -> Floats:
    """Weighted least squares over counts that are not negative and have the total.

    Accelerated projected gradients, started again where they turn back.
    """
    if not len(problem.known):
        return start
    weight = problem.variance.min() / problem.variance  # contrasts have length 1: no step is longer
    nearest, ahead, pace = start, start, 1.0
    for _ in range(steps):
        residual = problem.contrasts(ahead) - problem.target
        after = _project(ahead - problem.spread(residual * weight), problem.total)
        quicker = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        if float((ahead - after) @ (after - nearest)) > 0:
            ahead, quicker = after, 1.0
        else:
            ahead = after + (pace - 1) / quicker * (after - nearest)
        still = float(np.abs(after - nearest).max()) <= 1e-10 * problem.total
        nearest, pace = after, quicker
        if still:
            break
    return nearest


def _project(counts: Floats, total: float) -> Floats:
    """The nearest counts that are not negative and have this sum."""
    level = (float(counts.sum()) - total) / len(counts)
    for _ in range(100):
        above = counts[counts > level]
        following = (float(above.sum()) - total) / len(above)
        if following <= level * (1 + 1e-15) + 1e-15:
            break
        level = following
    return np.maximum(counts - level, 0)
