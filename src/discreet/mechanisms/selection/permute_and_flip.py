"""Permute-and-flip: never worse than the exponential mechanism, for pure budgets only."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.shared.scores import (
    Scores,
    check_candidates,
    monotone_epsilon,
    read_candidates,
    read_gaps,
    require_candidates,
)
from discreet.mechanisms.shared.weights import flip
from discreet.noise.bits import BitSource, system
from discreet.noise.coins import uniform
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_float, log_bounds, positive

__all__ = ["PermuteAndFlip"]

_SMALLEST_FLOAT_TAIL = 1e-290


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Goes through the candidates in random order, accepts each with exp((score - best)/scale).

    The same distribution as noisy max with exponential noise of this scale [DKSSWXZ21].
    Privacy: (2 linf/scale)-DP for the relation of the score sensitivity [MS20, Thm. 1]. It is not
    bounded range: never price it at epsilon^2/8.
    >>> PermuteAndFlip(scale=2).release([0, -10**6, -10**308])
    0
    """

    scale: Fraction
    candidates: int | None

    def __init__(self, *, scale: Number, candidates: int | None = None) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of one choice; linf is how far one unit can move any one score.

        Privacy: (2 linf/scale)-DP for the relation of the sensitivity [MS20, Thm. 1].
        >>> PermuteAndFlip(scale=4).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 2))
        """
        return Pure(epsilon=2 * sensitivity.linf / self.scale)

    def monotone_loss(self, sensitivity: Sensitivity, *, relation: Relation) -> Pure:
        """The cost when adding one unit can only raise scores, or can only lower them.

        The caller vouches for that: counts qualify, signed sums do not.
        Privacy: (linf/scale)-DP under add/remove, by the shift argument of [DR14, Claim 3.9];
        refused under replace.
        >>> PermuteAndFlip(scale=4).monotone_loss(
        ...     Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        Pure(epsilon=Fraction(1, 4))
        """
        return Pure(epsilon=monotone_epsilon(sensitivity, self.scale, relation))

    def release(self, exact: Scores, bits: BitSource = system) -> int:
        """Choose one index of the score vector.

        The first accepted in random order is a uniform choice among all that would be accepted,
        so every coin is flipped at once.
        Privacy: as `loss` says [MS20, Thm. 1].
        >>> PermuteAndFlip(scale=1, candidates=3).release([0, 0, 0]) in {0, 1, 2}
        True
        """
        check_candidates(self.candidates, exact)
        accepted = np.flatnonzero(flip(read_gaps(exact, self.scale), bits))
        return int(accepted[uniform(len(accepted), bits)])

    def error(self, confidence: Number) -> float:
        """How far below the best score the choice may be with this probability, at worst.

        The worst case is n - 1 candidates at one distance, accepted with probability y each; the
        best is then missed with probability 1 - (1 - (1-y)^n)/(n y) [MS20, Sec. 4].
        >>> round(PermuteAndFlip(scale=1, candidates=100).error(0.95), 3)
        6.864
        """
        missed = float(tail(confidence)) * (1 - 1e-9)
        count = require_candidates(self.candidates, "permute-and-flip")
        if count == 1:
            return 0.0
        if missed < _SMALLEST_FLOAT_TAIL:  # (n-1) y/2 is an upper bound
            logarithm = log_bounds((count - 1) / (2 * tail(confidence)))[1]
            return ceil_float(self.scale * logarithm)
        low, high = -1e5, 0.0  # ln y; the chance of missing the best grows with y
        if _chance_of_missing(count, high) <= missed:
            return 0.0
        for _ in range(200):
            middle = (low + high) / 2
            if _chance_of_missing(count, middle) <= missed:
                low = middle
            else:
                high = middle
        return float(self.scale) * -low * (1 + 1e-12)


def _chance_of_missing(count: int, log_acceptance: float) -> float:
    acceptance = math.exp(log_acceptance)
    if count * acceptance < 1e-4:  # (n-1) y/2 is an upper bound, and exact enough here
        return (count - 1) * acceptance / 2
    none = math.exp(count * math.log1p(-acceptance)) if acceptance < 1 else 0.0
    return 1 - (1 - none) / (count * acceptance)
