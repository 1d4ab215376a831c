"""Discrete Laplace noise for answers with public bounds: what leaves is always within them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.shared.integers import Integers
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive

__all__ = ["TruncatedGeometric"]

_LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class TruncatedGeometric:
    """Clamps to [lower, upper], adds discrete Laplace noise and clamps again.

    Privacy: (l1/scale)-DP for the relation of the sensitivity [DMNS06, Prop. 3.3]: clamping first
    brings neighbours no farther apart, clamping afterwards is post-processing [DR14, Prop. 2.1].
    >>> 0 <= TruncatedGeometric(scale=100, lower=0, upper=9).release(5) <= 9
    True
    """

    scale: Fraction
    lower: int
    upper: int

    def __init__(self, *, scale: Number, lower: int, upper: int) -> None:
        for name, bound in (("lower", lower), ("upper", upper)):
            number: object = bound
            if isinstance(number, bool) or not isinstance(number, int):
                raise InvalidValue(f"{name} is {bound!r}; it must be an integer.")
        if not _LIMITS.min <= lower <= upper <= _LIMITS.max:
            raise InvalidValue(
                f"the bounds are [{lower}, {upper}]; lower must not exceed upper, and both must "
                "fit in 64 bits."
            )
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of one release.

        Privacy: (l1/scale)-DP for the relation of the sensitivity [DMNS06, Prop. 3.3].
        >>> TruncatedGeometric(scale=2, lower=0, upper=9).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 2))
        """
        return Pure(epsilon=sensitivity.l1 / self.scale)

    def release(self, exact: Integers, bits: BitSource = system) -> Integers:
        """Noisy integers within the bounds, in the form the exact ones came in.

        Privacy: as `loss` says [DMNS06, Prop. 3.3], [DR14, Prop. 2.1].
        >>> TruncatedGeometric(scale=1, lower=3, upper=3).release([0, 10**30])
        [3, 3]
        """
        noisy = DiscreteLaplace(scale=self.scale).release(self._clamp(exact), bits)
        within: Integers = self._clamp(noisy)
        return within

    def _clamp(self, values: Any) -> Any:
        if isinstance(values, np.ndarray):
            if values.dtype.kind not in "iuO":
                return values  # refused by the noise
            if np.can_cast(values.dtype, np.int64):
                return np.clip(values.astype(np.int64), self.lower, self.upper)
            held = np.empty(values.size, dtype=object)
            held[:] = [self._clamp(value) for value in values.ravel()]
            return held.reshape(values.shape)
        if isinstance(values, list):
            return [self._clamp(value) for value in values]
        integer = isinstance(values, int | np.integer) and not isinstance(values, bool)
        return min(max(values, self.lower), self.upper) if integer else values

    def error(self, confidence: Number) -> float:
        """The half-width around a value within the bounds, never more than their distance.

        >>> TruncatedGeometric(scale=100, lower=0, upper=9).error(0.95)
        9.0
        """
        noise = DiscreteLaplace(scale=self.scale).error(confidence)
        return min(noise, float(self.upper - self.lower))
