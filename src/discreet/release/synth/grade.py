"""Tells how far synthetic rows are from the data: the mean total variation of all one-, two- and
three-way tables, each one noisy number. It sees exact counts inside `release` only.
"""

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.loss import ZCDP, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise.bits import BitSource
from discreet.rationals import ceil_decimal
from discreet.release.synth.model.junction import Clique
from discreet.release.synth.rounds import SCORE_STEPS, Cells, Noisy, code_rows, to_steps

__all__ = ["Grade", "Mark", "plan_grade"]

_LEVEL = Fraction(95, 100)
_MOST_TABLES = 400  # of one order; more are thinned out evenly
_MOST_CELLS = 4_000_000  # of one table


@dataclass(frozen=True, slots=True)
class Mark:
    """The mean total variation over tables of one order, and how far noise has moved it.

    `error` is the half-width that holds with 95%.
    """

    order: int
    distance: float
    deviation: float
    error: float


@dataclass(frozen=True, slots=True)
class Grade:
    """The step that compares synthetic rows with the data.

    Privacy: `loss`: one unit moves each table's distance from a fixed one by at most its l1, so
    a sum over tables by that times their number [CKS20, Thm. 4].
    >>> step = plan_grade((2,), np.array([[0]]), total=9, rho=Fraction(1), sensitivity=_ONE)
    >>> step.loss(_ONE).rho <= 1
    True
    """

    sizes: tuple[int, ...]
    rows: NDArray[np.int64] = field(repr=False)
    total: float
    orders: tuple[tuple[Clique, ...], ...] = field(repr=False)
    variances: tuple[Fraction, ...]

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """What the three numbers cost.

        Privacy: the sum of their losses [BS16, Lemma 1.7].
        """
        rho = Fraction(0)
        for cliques, variance in zip(self.orders, self.variances, strict=True):
            rho += (len(cliques) * SCORE_STEPS * sensitivity.l1) ** 2 / (2 * variance)
        return ZCDP(rho=rho)

    def release(self, exact: Cells, bits: BitSource) -> tuple[Noisy, ...]:
        """The noisy sums of distances, in 1/256 rows, for each order.

        Privacy: as `loss` says.
        """
        answers = []
        factor = self.total / len(self.rows)
        for cliques, variance in zip(self.orders, self.variances, strict=True):
            distances = 0
            for clique in cliques:
                codes, size = code_rows(self.rows, clique, self.sizes)
                expected = to_steps(np.bincount(codes, minlength=size) * factor)
                exact_codes, _ = code_rows(exact.places, clique, self.sizes)
                counts = exact.marginal(exact_codes, size)
                distances += int(np.abs(SCORE_STEPS * counts - expected).sum())
            noise = DiscreteGaussian.of_variance(variance)
            answers.append(Noisy((), np.array([noise.release(distances, bits)]), variance))
        return tuple(answers)

    def marks(self, noisy: tuple[Noisy, ...]) -> tuple[Mark, ...]:
        """What the noisy sums say."""
        marks = []
        for order, (cliques, answer) in enumerate(zip(self.orders, noisy, strict=True), start=1):
            unit = 2 * SCORE_STEPS * self.total * max(1, len(cliques))
            distance = min(1.0, max(0.0, int(answer.counts[0]) / unit))
            noise = DiscreteGaussian.of_variance(answer.variance)
            errors = (math.sqrt(float(answer.variance)), noise.error(_LEVEL))
            marks.append(Mark(order, distance, *(error / unit for error in errors)))
        return tuple(marks)


def plan_grade(
    sizes: tuple[int, ...],
    rows: NDArray[np.int64],
    *,
    total: float,
    rho: Fraction,
    sensitivity: Sensitivity,
) -> Grade:
    """The step that compares these rows for this much rho.

    Privacy: rho-zCDP under the relation of the sensitivity [CKS20, Thm. 4].
    >>> len(plan_grade((2,), np.array([[0]]), total=9, rho=Fraction(1), sensitivity=_ONE).orders)
    1
    """
    orders = []
    for order in range(1, min(3, len(sizes)) + 1):
        cliques = [
            clique
            for clique in itertools.combinations(range(len(sizes)), order)
            if math.prod(sizes[at] for at in clique) <= _MOST_CELLS
        ]
        thinned = cliques[:: -(-len(cliques) // _MOST_TABLES)] if cliques else []
        if thinned:
            orders.append(tuple(thinned))
    share = rho / max(1, len(orders))
    variances = [
        ceil_decimal((len(cliques) * SCORE_STEPS * sensitivity.l1) ** 2 / (2 * share), 12)
        for cliques in orders
    ]
    return Grade(sizes, rows, total, tuple(orders), tuple(variances))


_ONE = Sensitivity.single(1)
