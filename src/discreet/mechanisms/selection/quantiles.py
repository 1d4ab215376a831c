"""Quantiles of one column from its exact histogram over a public, ordered list of candidates.
Each fraction is one exponential mechanism on exact rank distances, whatever the ties; answers are
put in order afterwards. docs/proofs/quantiles.md holds the proofs. Never sees a row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.loss import ZCDP, Price, Pure, Sensitivity
from discreet.mechanisms.priced import scale_for
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.shared.ranks import rank_gaps, ranks, reach, read_fractions
from discreet.mechanisms.shared.scores import check_candidates, read_candidates, require_candidates
from discreet.mechanisms.shared.weights import choose
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_float, log_bounds, positive

__all__ = ["Quantiles"]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Names one candidate for each fraction q, in proportion to exp(-rank distance/scale).

    The rank distance of a candidate is how far q times the number of rows lies outside the ranks
    its own rows take up; answers grow with the fraction. Fractions 0 and 1 aim `inward` rows
    inside the extremes, because nothing private tells the last few rows from none.
    Privacy: one row moves a rank distance by at most max(q, 1 - q), so each fraction is an
    exponential mechanism [MT07, Thm. 6] with the score of [Smi11]; see `loss`.
    >>> import numpy as np
    >>> Quantiles(fractions=(0.5, 0.25), scale=1).release(np.array([0, 900, 0, 900, 900]))
    [3, 1]
    """

    fractions: tuple[Fraction, ...]
    scale: Fraction
    candidates: int | None

    def __init__(
        self, *, fractions: Sequence[Number], scale: Number, candidates: int | None = None
    ) -> None:
        object.__setattr__(self, "fractions", read_fractions(fractions))
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    @classmethod
    def of_price(
        cls,
        *,
        fractions: Sequence[Number],
        sensitivity: Sensitivity,
        price: Price,
        candidates: int | None = None,
    ) -> "Quantiles":
        """The mechanism with the least noise whose loss is at most the price.

        The scale is rounded up.
        >>> mechanism = Quantiles.of_price(
        ...     fractions=(0.5,), sensitivity=Sensitivity.single(1), price=Pure(epsilon=0.5))
        >>> mechanism.scale, mechanism.pure_loss(Sensitivity.single(1))
        (Fraction(2, 1), Pure(epsilon=Fraction(1, 2)))
        """
        unit = cls(fractions=fractions, scale=1, candidates=candidates)
        scale = scale_for(
            price, pure=unit.pure_loss(sensitivity), concentrated=unit.loss(sensitivity)
        )
        return cls(fractions=fractions, scale=scale, candidates=candidates)

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of all fractions in zCDP; l1 is how many rows of the histograms can change.

        With several groups l1 counts the rows of one unit in all of them together.
        Privacy: the sum over fractions q of epsilon^2/8 with epsilon = 2 max(q, 1-q) l1/scale,
        for the relation of the sensitivity [CR21, Lemma 3.4].
        >>> Quantiles(fractions=(0.5,), scale=1).loss(Sensitivity.single(1)).rho
        Fraction(1, 8)
        """
        squares = sum((reach(fraction) ** 2 for fraction in self.fractions), Fraction(0))
        return ZCDP(rho=squares * (2 * sensitivity.l1 / self.scale) ** 2 / 8)

    def pure_loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of all fractions in a pure account.

        Privacy: the sum over fractions q of 2 max(q, 1-q) l1/scale, for the relation of the
        sensitivity [MT07, Thm. 6].
        >>> Quantiles(fractions=(0.5, 1), scale=4).pure_loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(3, 4))
        """
        reaches = sum((reach(fraction) for fraction in self.fractions), Fraction(0))
        return Pure(epsilon=reaches * 2 * sensitivity.l1 / self.scale)

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> list[int]:
        """An index of the histogram for each fraction, in the order of `fractions`.

        `exact` holds the number of rows at each candidate, candidates in ascending order.
        Privacy: as `loss` says; putting the answers in order is post-processing.
        >>> import numpy as np
        >>> Quantiles(fractions=(0, 0.5, 1), scale=1).release(np.array([10**6, 0, 10**6, 10**6]))
        [0, 2, 3]
        """
        check_candidates(self.candidates, exact)
        below, upto = ranks(exact)
        answers = [self._choose(q, below, upto, bits) for q in self.fractions]
        order = sorted(range(len(answers)), key=self.fractions.__getitem__)
        for place, answer in zip(order, sorted(answers), strict=True):
            answers[place] = answer
        return answers

    def _choose(self, q: Fraction, below: NDArray[Any], upto: NDArray[Any], bits: BitSource) -> int:
        rows = int(upto[-1])
        target = rows * q
        if q in (0, 1):
            inside = min(Fraction(self.inward(len(upto))), Fraction(rows, 2))
            target += inside if q == 0 else -inside
        steps = 2 if q in (0, 1) else q.denominator
        return choose(rank_gaps(below, upto, int(target * steps), steps, self.scale), bits)

    def inward(self, candidates: int) -> int:
        """How many rows inside the extremes 0 and 1 aim: scale * ln(20 candidates), rounded up.

        With that many rows beyond the target, all candidates outside the data together are chosen
        at most once in 20 times.
        >>> Quantiles(fractions=(0, 1), scale=2).inward(100)
        16
        """
        return math.ceil(self.scale * log_bounds(20 * Fraction(candidates))[1])

    def error(self, confidence: Number) -> float:
        """How many rows any of the ranks may be off with this probability, whatever the data.

        >>> round(Quantiles(fractions=(0.5,), scale=2, candidates=100).error(0.95), 2)
        15.08
        """
        count = require_candidates(self.candidates, "quantiles")
        single = Exponential(scale=self.scale, candidates=count)
        shortfall = single.error(1 - tail(confidence) / len(self.fractions))
        extreme = not {Fraction(0), Fraction(1)}.isdisjoint(self.fractions)
        return ceil_float(Fraction(shortfall) + (self.inward(count) if extreme else 0))
