"""Quantiles of one column from its exact histogram over a public, ordered list of candidates.
Each fraction is one exponential mechanism on exact rank distances, whatever the ties; answers are
put in order afterwards. docs/proofs/quantiles.md holds the proofs. Never sees a row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms._integers import integer_list
from discreet.mechanisms._scores import (
    Gaps,
    check_candidates,
    declared,
    read_candidates,
    read_gaps,
)
from discreet.mechanisms._selection import choose
from discreet.mechanisms._tails import tail
from discreet.mechanisms.exponential import Exponential
from discreet.noise.bits import BitSource, system
from discreet.rationals import (
    Number,
    ceil_decimal,
    ceil_float,
    log_bounds,
    positive,
    probability,
    sqrt_up,
)

__all__ = ["Quantiles"]

_SMALL = 1 << 62  # products below this need no more than 64 bits
_ORDINARY = Fraction(1, 10**100), Fraction(10**100)  # scales whose quotients floats can hold
_FARTHEST = 1 << 400  # a distance beyond this is as good as this
_GAP_ERROR = 2.0**-41  # three roundings of a gap up to 746


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Names one candidate for each fraction q, in proportion to exp(-rank distance/scale).

    The rank distance of a candidate is how far q times the number of rows lies outside the ranks
    its own rows take up; answers grow with the fraction. Fractions 0 and 1 aim `inward` rows
    inside the extremes, because nothing private tells the last few rows from none.
    Privacy: one row moves a rank distance by at most max(q, 1 - q), so each fraction is an
    exponential mechanism [MT07, Thm. 6] with the score of [Smi11, Sec. 4]; see `loss`.
    >>> Quantiles(fractions=(0.5, 0.25), scale=1).release(np.array([0, 900, 0, 900, 900]))
    [3, 1]
    """

    fractions: tuple[Fraction, ...]
    scale: Fraction
    candidates: int | None

    def __init__(
        self, *, fractions: Sequence[Number], scale: Number, candidates: int | None = None
    ) -> None:
        object.__setattr__(self, "fractions", _read_fractions(fractions))
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    @classmethod
    def of_price(
        cls,
        *,
        fractions: Sequence[Number],
        sensitivity: Sensitivity,
        price: Pure | ZCDP,
        candidates: int | None = None,
    ) -> "Quantiles":
        """The mechanism with the least noise whose loss is at most the price.

        Privacy: none (touches no data); the scale is rounded up.
        >>> mechanism = Quantiles.of_price(
        ...     fractions=(0.5,), sensitivity=Sensitivity.single(1), price=Pure(epsilon=0.5))
        >>> mechanism.scale, mechanism.pure_loss(Sensitivity.single(1))
        (Fraction(2, 1), Pure(epsilon=Fraction(1, 2)))
        """
        if not sensitivity.l1:
            raise InvalidValue("the sensitivity is 0: the answer is public and needs no noise.")
        unit = cls(fractions=fractions, scale=1, candidates=candidates)
        if isinstance(price, Pure):
            scale = unit.pure_loss(sensitivity).epsilon / positive(price.epsilon, "epsilon")
        else:
            square = unit.loss(sensitivity).rho / positive(price.rho, "rho")
            scale = ceil_decimal(sqrt_up(square))
        return cls(fractions=fractions, scale=scale, candidates=candidates)

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of all fractions in zCDP; l1 is how many rows of the histograms can change.

        With several groups l1 counts the rows of one unit in all of them together.
        Privacy: the sum over fractions q of epsilon^2/8 with epsilon = 2 max(q, 1-q) l1/scale,
        for the relation of the sensitivity [CR21, Lemma 3.4].
        >>> Quantiles(fractions=(0.5,), scale=1).loss(Sensitivity.single(1)).rho
        Fraction(1, 8)
        """
        squares = sum((_reach(fraction) ** 2 for fraction in self.fractions), Fraction(0))
        return ZCDP(rho=squares * (2 * sensitivity.l1 / self.scale) ** 2 / 8)

    def pure_loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of all fractions in a pure account.

        Privacy: the sum over fractions q of 2 max(q, 1-q) l1/scale, for the relation of the
        sensitivity [MT07, Thm. 6].
        >>> Quantiles(fractions=(0.5, 1), scale=4).pure_loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(3, 4))
        """
        reaches = sum((_reach(fraction) for fraction in self.fractions), Fraction(0))
        return Pure(epsilon=reaches * 2 * sensitivity.l1 / self.scale)

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> list[int]:
        """An index of the histogram for each fraction, in the order of `fractions`.

        `exact` holds the number of rows at each candidate, candidates in ascending order.
        Privacy: as `loss` says; putting the answers in order is post-processing.
        >>> Quantiles(fractions=(0, 0.5, 1), scale=1).release(np.array([0, 10**6, 10**6, 10**6]))
        [1, 2, 3]
        """
        check_candidates(self.candidates, exact)
        below, upto = _ranks(exact)
        answers = [self._choose(q, below, upto, bits) for q in self.fractions]
        order = sorted(range(len(answers)), key=self.fractions.__getitem__)
        for place, answer in zip(order, sorted(answers), strict=True):
            answers[place] = answer
        return answers

    def _choose(self, q: Fraction, below: NDArray[Any], upto: NDArray[Any], bits: BitSource) -> int:
        rows, steps = int(upto[-1]), 2 if q in (0, 1) else q.denominator
        if rows * steps >= _SMALL:
            below, upto = below.astype(object), upto.astype(object)
        target = rows * steps * q
        if q in (0, 1):
            inside = min(2 * self.inward(len(upto)), rows)
            target += inside if q == 0 else -inside
        return choose(_gaps(below, upto, int(target), steps, self.scale), bits)

    def inward(self, candidates: int) -> int:
        """How many rows inside the extremes 0 and 1 aim: scale * ln(20 candidates), rounded up.

        With that many rows beyond the target, all candidates outside the data together are chosen
        at most once in 20 times.
        Privacy: none (touches no data).
        >>> Quantiles(fractions=(0, 1), scale=2).inward(100)
        16
        """
        return math.ceil(self.scale * log_bounds(20 * Fraction(candidates))[1])

    def error(self, confidence: Number) -> float:
        """How many rows any of the ranks may be off with this probability, whatever the data.

        Privacy: none (touches no data).
        >>> round(Quantiles(fractions=(0.5,), scale=2, candidates=100).error(0.95), 2)
        15.08
        """
        count = declared(self.candidates, "quantiles")
        single = Exponential(scale=self.scale, candidates=count)
        shortfall = single.error(1 - tail(confidence) / len(self.fractions))
        extreme = not {Fraction(0), Fraction(1)}.isdisjoint(self.fractions)
        return ceil_float(Fraction(shortfall) + (self.inward(count) if extreme else 0))


def _reach(fraction: Fraction) -> Fraction:
    """How far one row can move a rank distance."""
    return max(fraction, 1 - fraction)


def _gaps(
    below: NDArray[Any], upto: NDArray[Any], target: int, steps: int, scale: Fraction
) -> Gaps:
    """How far target/steps lies outside [below, upto], over the scale; the least is always 0."""
    distance = np.maximum(below * steps - target, target - upto * steps)
    np.maximum(distance, 0, out=distance)
    if not _ORDINARY[0] < scale * steps < _ORDINARY[1]:
        return read_gaps([-int(entry) for entry in distance], scale * steps)
    near = np.minimum(distance, _FARTHEST) if distance.dtype == object else distance
    return Gaps(
        near.astype(np.float64) / float(scale * steps),
        _GAP_ERROR,
        lambda place: Fraction(int(distance[place])) / (scale * steps),
    )


def _read_fractions(fractions: Sequence[Number]) -> tuple[Fraction, ...]:
    read = tuple(probability(fraction, "a fraction") for fraction in fractions)
    if not read:
        raise InvalidValue("there are no fractions; ask for at least one quantile.")
    if len(set(read)) < len(read):
        raise InvalidValue("a fraction is given twice; each answer costs, so ask for it once.")
    return read


def _ranks(exact: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many rows lie below each candidate, and below or at it."""
    counts = exact if isinstance(exact, np.ndarray) else np.array(exact, dtype=object)
    if counts.ndim != 1:
        raise InvalidValue(f"the histogram has {counts.ndim} dimensions; pass one row of counts.")
    if not len(counts):
        raise InvalidValue("the histogram has no candidates; pass at least one.")
    if counts.dtype.kind not in "iu" or int(counts.max()) * len(counts) >= _SMALL:
        counts = np.array(integer_list(counts), dtype=object)
    else:
        counts = counts.astype(np.int64)
    if counts.min() < 0:
        raise InvalidValue("a count in the histogram is negative. Nothing was released.")
    upto = np.cumsum(counts)
    return upto - counts, upto
