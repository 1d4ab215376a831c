"""The best k candidates in one shot: Gumbel noise once, the same as peeling the exponential
mechanism k times without replacement.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.shared.scores import (
    Scores,
    check_candidates,
    read_candidates,
    read_gaps,
    require_candidates,
)
from discreet.mechanisms.shared.weights import choose
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import tail
from discreet.rationals import Number, positive, whole

__all__ = ["TopK"]


@dataclass(frozen=True, slots=True)
class TopK:
    """Names `count` different indices, best first, each in proportion to exp(score/scale).

    Privacy: count choices of (2 linf/scale)-bounded range each: rho = count * epsilon^2/8
    [DR19, Lemma 4.2], [CR21, Lemma 3.4].
    >>> sorted(TopK(scale=1, count=2).release([0, 1000, 0, 1000]))
    [1, 3]
    """

    scale: Fraction
    count: int
    candidates: int | None

    def __init__(self, *, scale: Number, count: int, candidates: int | None = None) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "count", whole(count, "count"))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of the whole list in zCDP.

        Privacy: count * epsilon^2/8 with epsilon = 2 linf/scale, for the relation of the
        sensitivity [CR21, Lemma 3.4].
        >>> TopK(scale=4, count=8).loss(Sensitivity.single(1)).rho
        Fraction(1, 4)
        """
        return ZCDP(rho=self.count * (2 * sensitivity.linf / self.scale) ** 2 / 8)

    def pure_loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of the whole list in a pure account.

        Privacy: (count * 2 linf/scale)-DP [DMNS06, Lemma 2.6].
        >>> TopK(scale=4, count=8).pure_loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(4, 1))
        """
        return Pure(epsilon=self.count * 2 * sensitivity.linf / self.scale)

    def release(self, exact: Scores, bits: BitSource = system) -> list[int]:
        """Choose `count` different indices, best first.

        Privacy: as `loss` says [DR19, Lemma 4.2].
        >>> TopK(scale=1, count=3).release([0, 10**6, 2 * 10**6])
        [2, 1, 0]
        """
        check_candidates(self.candidates, exact)
        if len(exact) < self.count:
            raise InvalidValue(
                f"there are {len(exact)} scores and count is {self.count}; ask for fewer."
            )
        rest = np.arange(len(exact))
        chosen = []
        for _ in range(self.count):
            scores = exact[rest] if isinstance(exact, np.ndarray) else [exact[int(i)] for i in rest]
            place = choose(read_gaps(scores, self.scale), bits)
            chosen.append(int(rest[place]))
            rest = np.delete(rest, place)
        return chosen

    def error(self, confidence: Number) -> float:
        """How far below the i-th best score the i-th choice may be, for all i together.

        >>> round(TopK(scale=1, count=5, candidates=100).error(0.95), 2)
        9.19
        """
        count = require_candidates(self.candidates, "top-k")
        single = Exponential(scale=self.scale, candidates=count)
        return single.error(1 - tail(confidence) / self.count)
