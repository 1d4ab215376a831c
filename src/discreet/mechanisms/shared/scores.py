"""Reads scores and turns them into weights exp(-gap), gap = (best - score)/scale.
Floats here only filter: every one has a proved error bound, and exact gaps stand behind them.
No message carries a score. docs/proofs/selection.md derives the bounds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Relation, Sensitivity
from discreet.rationals import Number, rational, whole

__all__ = [
    "FAR",
    "Gaps",
    "Scores",
    "UNIT",
    "check_candidates",
    "exp_negative",
    "monotone_epsilon",
    "read_candidates",
    "read_gaps",
    "read_score",
    "require_candidates",
]

Scores = Sequence[Number] | NDArray[Any]
"""One score for each candidate."""

UNIT = 2.0**-53
"""The relative error of one rounded operation."""
FAR = 700.0
"""Gaps beyond this get the weight 0; the true one is below 1e-304."""
_GAP_ERROR = 2.0**-41  # three roundings of a gap up to 746
_LOG2_E = 1.4426950408889634
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 33 bits, so small multiples are exact
_LN2_LOW = 1.90821492927058770002e-10  # ln 2 minus the above
_COEFFICIENTS = tuple(1.0 / math.factorial(power) for power in range(13, -1, -1))


@dataclass(frozen=True, slots=True)
class Gaps:
    """How far each score is below the best, over the scale: floats, their error, and exactly.

    `approximate` is within `error` of the truth up to 746; larger entries have truths above FAR.
    """

    approximate: NDArray[np.float64]
    error: float
    exactly: Callable[[int], Fraction]

    def __len__(self) -> int:
        return len(self.approximate)

    @property
    def weights(self) -> NDArray[np.float64]:
        """exp(-gap), within the relative `weight_error` and 1e-304 besides."""
        return exp_negative(self.approximate)

    @property
    def weight_error(self) -> float:
        """A bound on the relative error of the weights; infinite where floats say nothing."""
        return 2 * self.error + 2.0**-48 if self.error < 2.0**-10 else math.inf


def exp_negative(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-gap) for gaps >= 0 from correctly rounded operations only: relative error 2**-49."""
    near = np.minimum(gaps, FAR)
    halvings = np.rint(near * _LOG2_E)
    rest = (halvings * _LN2_HIGH - near) + halvings * _LN2_LOW  # the first difference is exact
    value = np.full(rest.shape, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        value *= rest
        value += coefficient
    scaled: NDArray[np.float64] = np.ldexp(value, -halvings.astype(np.int32))
    scaled[gaps > FAR] = 0.0
    return scaled


def read_gaps(scores: Scores, scale: Fraction) -> Gaps:
    """The gaps of a non-empty sequence or one-dimensional array of finite numbers."""
    if isinstance(scores, np.ndarray):
        if scores.ndim != 1:
            raise InvalidValue(f"scores have {scores.ndim} dimensions; pass one row of them.")
        if len(scores) and Fraction(1, 10**200) < scale < 10**200:
            if scores.dtype.kind in "iu":
                return _from_integers(scores, scale)
            if scores.dtype == np.float64 and np.all(np.abs(scores) < 1e200):
                return _from_floats(scores, scale)
        scores = scores.tolist() if scores.dtype.kind in "iuf" else list(scores)
    exact = [read_score(score) for score in scores]
    if not exact:
        raise InvalidValue("there are no scores; pass at least one.")
    best = max(exact)
    exactly = [(best - score) / scale for score in exact]
    near = np.array([float(gap) if gap < 800 else 800.0 for gap in exactly])
    return Gaps(near, _GAP_ERROR, exactly.__getitem__)


def read_score(score: Any) -> Fraction:
    """One score, exactly; the refusal does not repeat it."""
    try:
        return rational(score, "score")
    except InvalidValue:
        raise InvalidValue(
            f"a score of type {type(score).__name__} is not a finite number; nothing was released."
        ) from None


def _from_integers(scores: NDArray[Any], scale: Fraction) -> Gaps:
    best = int(scores.max())
    # The wrapped 64-bit difference read as unsigned is the true one.
    wide = scores.astype(np.uint64)
    distance = np.uint64(best % 2**64) - wide
    near = distance.astype(np.float64) / float(scale)
    return Gaps(near, _GAP_ERROR, lambda index: Fraction(best - int(scores[index])) / scale)


def _from_floats(scores: NDArray[np.float64], scale: Fraction) -> Gaps:
    best = float(scores.max())
    largest = float(np.abs(scores).max())
    with np.errstate(over="ignore"):  # an infinite gap is a large one
        near = (best - scores) / float(scale)
    # A float is read as the decimal it prints as, at most half a last place away.
    error = _GAP_ERROR + (6 * UNIT * largest + 1e-300) / float(scale)
    exact_best = read_score(best)
    return Gaps(near, error, lambda index: (exact_best - read_score(float(scores[index]))) / scale)


def read_candidates(candidates: int | None) -> int | None:
    """A declared number of candidates, or None."""
    return None if candidates is None else whole(candidates, "candidates")


def check_candidates(candidates: int | None, scores: Scores) -> None:
    """Refuse a score vector of another length than declared."""
    if candidates is not None and len(scores) != candidates:
        raise InvalidValue(
            f"there are {len(scores)} scores and candidates is {candidates}; "
            "they must agree. Nothing was released."
        )


def require_candidates(candidates: int | None, name: str) -> int:
    """The number of candidates, which an error bound needs."""
    if candidates is None:
        raise InvalidValue(
            f"the error of {name} depends on the number of candidates; "
            "declare it with candidates=..."
        )
    return candidates


def monotone_epsilon(sensitivity: Sensitivity, scale: Fraction, relation: Relation) -> Fraction:
    """linf/scale, where one unit moves all scores the same way; refused under replace."""
    if relation is not Relation.ADD_REMOVE:
        raise UnprovableRequest(
            f"the monotone loss under the relation {relation.value}: replacing a unit moves "
            "scores both ways. Use loss(sensitivity). Nothing was released."
        )
    return sensitivity.linf / scale
