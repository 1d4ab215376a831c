"""Report noisy max: the index of the largest noisy score, and nothing else but the free gap.
The proofs for integer noise with ties are in docs/proofs/selection.md.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import BoundedRange, Pure, Relation, Sensitivity
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.shared.integers import integer_list
from discreet.mechanisms.shared.scores import (
    Scores,
    check_candidates,
    monotone_epsilon,
    read_candidates,
    require_candidates,
)
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_laplace
from discreet.noise.tails import tail
from discreet.rationals import Number, least_integer, log_float, positive

__all__ = ["MaxNoise", "NoisyMax"]

_SAFE = 1 << 62
_SUMMED_SCALE = 1 << 12  # up to this scale the worst case is summed, above it is bounded


class MaxNoise(StrEnum):
    """Which noise is added to each score before the largest is found."""

    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """Adds noise to every score and names the largest; ties go to the lowest index.

    Laplace noise is discrete and takes integer scores. Exponential noise is sampled as
    permute-and-flip, Gumbel noise as the exponential mechanism: the same distributions.
    Privacy: (2 linf/scale)-DP for the relation of the score sensitivity: docs/proofs/selection.md
    for Laplace noise, [DR14, Thm. 3.13] and [DKSSWXZ21] for exponential noise, [DR14, Rem. 3.1]
    for Gumbel noise, which has bounded range. The noisy maximum itself must not be released.
    >>> NoisyMax(scale=2).release([0, -10**6, -10**308])
    0
    """

    scale: Fraction
    noise: MaxNoise
    candidates: int | None

    def __init__(
        self, *, scale: Number, noise: MaxNoise = MaxNoise.LAPLACE, candidates: int | None = None
    ) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "noise", MaxNoise(noise))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    def loss(self, sensitivity: Sensitivity) -> Pure | BoundedRange:
        """The cost of one choice, gap included; linf is how far a unit moves any one score.

        Privacy: (2 linf/scale)-DP for the relation of the sensitivity, docs/proofs/selection.md and
        [DR14, Thm. 3.13]; with Gumbel noise it is bounded range [DR19, Lemma 4.2].
        >>> NoisyMax(scale=4).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 2))
        """
        return self._make_loss(2 * sensitivity.linf / self.scale)

    def monotone_loss(self, sensitivity: Sensitivity, *, relation: Relation) -> Pure | BoundedRange:
        """The cost when adding one unit can only raise scores, or can only lower them.

        Privacy: (linf/scale)-DP under add/remove [DR14, Claim 3.9]; refused under replace.
        >>> NoisyMax(scale=4).monotone_loss(
        ...     Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        Pure(epsilon=Fraction(1, 4))
        """
        return self._make_loss(monotone_epsilon(sensitivity, self.scale, relation))

    def _make_loss(self, epsilon: Fraction) -> Pure | BoundedRange:
        if self.noise is MaxNoise.GUMBEL:
            return BoundedRange(epsilon=epsilon)
        return Pure(epsilon=epsilon)

    def release(self, exact: Scores, bits: BitSource = system) -> int:
        """The index of the largest noisy score.

        Privacy: as `loss` says.
        >>> NoisyMax(scale=1, candidates=2).release([0, 0]) in {0, 1}
        True
        """
        if self.noise is MaxNoise.EXPONENTIAL:
            return PermuteAndFlip(scale=self.scale, candidates=self.candidates).release(exact, bits)
        if self.noise is MaxNoise.GUMBEL:
            return Exponential(scale=self.scale, candidates=self.candidates).release(exact, bits)
        return int(np.argmax(self._add_noise(exact, bits)))

    def release_with_gap(self, exact: Scores, bits: BitSource = system) -> tuple[int, int]:
        """The index and by how many steps its noisy score could fall and still be the largest.

        Privacy: as `loss` says, the gap is free [DWZK19, Thm. 2]; for Laplace noise only.
        >>> index, gap = NoisyMax(scale=1).release_with_gap([0, 1000])
        >>> index, gap > 800
        (1, True)
        """
        if self.noise is not MaxNoise.LAPLACE:
            raise UnprovableRequest(
                f"the gap of noisy max with {self.noise.value} noise; it is proved free for "
                "laplace noise. Nothing was released."
            )
        noisy = self._add_noise(exact, bits)
        if len(noisy) < 2:
            raise InvalidValue("the gap needs at least 2 candidates; there is 1.")
        index = int(np.argmax(noisy))
        before = max((int(value) + 1 for value in noisy[:index]), default=None)
        after = max((int(value) for value in noisy[index + 1 :]), default=None)
        return index, int(noisy[index]) - max(v for v in (before, after) if v is not None)

    def _add_noise(self, exact: Scores, bits: BitSource) -> Any:
        """Scores plus noise; never leaves this class."""
        check_candidates(self.candidates, exact)
        if not len(exact):
            raise InvalidValue("there are no scores; pass at least one.")
        noise = discrete_laplace(scale=self.scale, size=len(exact), bits=bits)
        if isinstance(exact, np.ndarray) and exact.ndim == 1 and exact.dtype.kind in "iu":
            largest = max(abs(int(exact.max())), abs(int(exact.min())))
            if noise.dtype.kind == "i" and largest < _SAFE and int(np.abs(noise).max()) < _SAFE:
                return exact.astype(np.int64) + noise
        return np.array(
            [score + int(step) for score, step in zip(integer_list(exact), noise, strict=True)],
            dtype=object,
        )

    def error(self, confidence: Number) -> float:
        """How far below the best score the choice may be with this probability, at worst.

        With Laplace noise of a scale above 4096 it comes from a union bound, a little larger.
        >>> NoisyMax(scale=1, candidates=100).error(0.95)
        8.0
        """
        count = require_candidates(self.candidates, "noisy max")
        if self.noise is MaxNoise.EXPONENTIAL:
            return PermuteAndFlip(scale=self.scale, candidates=count).error(confidence)
        if self.noise is MaxNoise.GUMBEL:
            return Exponential(scale=self.scale, candidates=count).error(confidence)
        missed = log_float(tail(confidence)) - 1e-9
        exactly = self.scale <= _SUMMED_SCALE and missed > -46  # 1e-20
        chance = _chance_of_missing if exactly else _union_bound
        return float(
            least_integer(lambda steps: not chance(self.scale, count, steps) > missed, above=-1)
        )


def _chance_of_missing(scale: Fraction, count: int, steps: int) -> float:
    """ln P(shortfall > steps) when all others are steps + 1 below the best and win every tie."""
    rate = float(1 / scale)
    reach = math.ceil(60 / rate) + 1  # what lies beyond has a chance below 1e-25
    noise = np.arange(-reach, reach + 1, dtype=np.float64)
    mass = math.tanh(rate / 2) * np.exp(-rate * np.abs(noise))
    level = noise + steps
    share = 1 / (1 + math.exp(-rate))
    below = math.log(share) + rate * np.minimum(level, 0)
    above = np.log1p(-share * np.exp(-rate * (np.maximum(level, 0) + 1)))
    others = (count - 1) * np.where(level < 0, below, above)
    return math.log(float(np.sum(mass * -np.expm1(others))) + 1e-25)


def _union_bound(scale: Fraction, count: int, steps: int) -> float:
    """ln of the sum of the chances that each single rival wins."""
    if count == 1:
        return -math.inf
    return math.log(count - 1) + _log_difference_tail(scale, steps + 1)


def _log_difference_tail(scale: Fraction, steps: int) -> float:
    """ln P(X - Y >= steps) for independent discrete Laplace X and Y, steps >= 0."""
    if steps == 0:
        return 0.0
    ratio = math.exp(-float(1 / scale))
    rest = -math.expm1(-float(1 / scale))
    centre = 1 + 2 * ratio**2 / (rest * (1 + ratio))
    # P(X - Y = d) = ((1-p)/(1+p))^2 p^d (d + centre), summed over d >= steps.
    total = (steps + centre) / rest + ratio / rest**2
    return math.log(total) + 2 * math.log(rest / (1 + ratio)) - float(steps / scale)
