"""The exponential mechanism over a finite range, with exact weights for scores of any size."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import BoundedRange, Relation, Sensitivity
from discreet.mechanisms.shared.scores import (
    Scores,
    check_candidates,
    monotone_epsilon,
    read_candidates,
    read_gaps,
    require_candidates,
)
from discreet.mechanisms.shared.weights import choose
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_float, log_bounds, positive

__all__ = ["Exponential"]


@dataclass(frozen=True, slots=True)
class Exponential:
    """Chooses an index with probability proportional to exp(score/scale).

    Scores are ints, Fractions, Decimals or floats (read as the decimals they print as).
    Privacy: (2 linf/scale)-bounded range, hence DP, for the relation of the score sensitivity
    [MT07, Thm. 6], [DR19, Lemma 4.1].
    >>> Exponential(scale=2).release([0, -10**6, -10**308])
    0
    """

    scale: Fraction
    candidates: int | None

    def __init__(self, *, scale: Number, candidates: int | None = None) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    def loss(self, sensitivity: Sensitivity) -> BoundedRange:
        """The cost of one choice; linf is how far one unit can move any one score.

        Privacy: (2 linf/scale)-bounded range for the relation of the sensitivity
        [MT07, Thm. 6], [DR19, Lemma 4.1].
        >>> Exponential(scale=4).loss(Sensitivity.single(1))
        BoundedRange(epsilon=Fraction(1, 2))
        """
        return BoundedRange(epsilon=2 * sensitivity.linf / self.scale)

    def monotone_loss(self, sensitivity: Sensitivity, *, relation: Relation) -> BoundedRange:
        """The cost when adding one unit can only raise scores, or can only lower them.

        The caller vouches for that: counts qualify, signed sums do not.
        Privacy: (linf/scale)-bounded range under add/remove [DR19, Lemma 4.1]; refused under
        replace, which moves scores both ways.
        >>> Exponential(scale=4).monotone_loss(
        ...     Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        BoundedRange(epsilon=Fraction(1, 4))
        """
        return BoundedRange(epsilon=monotone_epsilon(sensitivity, self.scale, relation))

    def release(self, exact: Scores, bits: BitSource = system) -> int:
        """Choose one index of the score vector.

        Privacy: as `loss` says.
        >>> Exponential(scale=1, candidates=3).release([0, 0, 0]) in {0, 1, 2}
        True
        """
        check_candidates(self.candidates, exact)
        return choose(read_gaps(exact, self.scale), bits)

    def error(self, confidence: Number) -> float:
        """How far below the best score the choice may be with this probability, at worst.

        It is scale * ln((n - 1) confidence/(1 - confidence)): all other scores equally far down
        are the worst case.
        >>> round(Exponential(scale=1, candidates=100).error(0.95), 3)
        7.54
        """
        missed = tail(confidence)
        others = require_candidates(self.candidates, "the exponential mechanism") - 1
        odds = others * (1 - missed) / missed
        return ceil_float(self.scale * log_bounds(odds)[1]) if odds > 1 else 0.0

    def utility_bound(self, confidence: Number, *, best: int = 1) -> float:
        """The textbook bound scale * (ln(n/best) + ln(1/(1 - confidence))).

        `best` is how many candidates reach the best score; with 1 it is [DR14, Cor. 3.12]. The
        bound is [DR14, Thm. 3.11].
        >>> round(Exponential(scale=1, candidates=100).utility_bound(0.95), 3)
        7.601
        """
        count = require_candidates(self.candidates, "the exponential mechanism")
        if not 1 <= best <= count:
            raise InvalidValue(f"best is {best}; it must lie between 1 and {count}.")
        return ceil_float(self.scale * log_bounds(count / (best * tail(confidence)))[1])
