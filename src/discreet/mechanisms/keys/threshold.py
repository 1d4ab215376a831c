"""Keys that are not public: noisy numbers of distinct units, shown from a threshold on.
Given only keys that at least one unit has. docs/proofs/keys.md holds the proofs.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, UnprovableRequest, with_article
from discreet.loss import ZCDP, Approximate, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.shared.counts import read_delta, read_units
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import gaussian_weights
from discreet.rationals import Number, ceil_decimal, exp_bounds, least_integer, whole

__all__ = ["Threshold"]

_SUMMED_VARIANCE = 1 << 20  # above this the tail is bounded by an integral instead of summed
_SUMMED_BITS = 2048  # as are tails below 2**-1024 or so


@dataclass(frozen=True, slots=True)
class Threshold:
    """Shows the keys whose noisy number of distinct units reaches the threshold, with that number.

    Privacy: the loss of the noise, and as delta the chance that a key of one single unit shows
    [KKMN09]; derived for the discrete noises in docs/proofs/keys.md.
    >>> shown, noisy = Threshold(noise=DiscreteLaplace(scale=1), threshold=30).release(
    ...     np.array([1, 10**6, 1]))
    >>> shown.tolist()
    [1]
    """

    noise: DiscreteLaplace | DiscreteGaussian
    threshold: int

    def __init__(self, *, noise: DiscreteLaplace | DiscreteGaussian, threshold: int) -> None:
        kind: object = noise
        if not isinstance(kind, DiscreteLaplace | DiscreteGaussian):
            raise InvalidValue(
                f"noise is {with_article(type(noise).__name__)}; pass a DiscreteLaplace or "
                "a DiscreteGaussian."
            )
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "threshold", whole(threshold, "threshold", least=2))

    @classmethod
    def of(
        cls, *, noise: DiscreteLaplace | DiscreteGaussian, delta: Number, keys_per_unit: int
    ) -> "Threshold":
        """The lowest threshold (2 or above) at which `loss` names at most this delta.

        `keys_per_unit` is how many keys one step of the neighbouring relation can touch: what one
        unit may have under add/remove, twice that under replace. The tail is rounded up.
        >>> Threshold.of(noise=DiscreteLaplace(scale=1), delta=1e-6, keys_per_unit=1).threshold
        15
        """
        allowed = read_delta(delta=delta)
        keys = Sensitivity(groups=keys_per_unit, per_group=1).groups
        least = least_integer(lambda steps: _delta(noise, steps, keys) <= allowed, above=1)
        return cls(noise=noise, threshold=least)

    def loss(self, sensitivity: Sensitivity) -> ZCDP | Approximate:
        """The cost of one release; `groups` counts the keys one neighbouring step can touch.

        Privacy: the loss of the noise with delta = groups * p, p the chance that one unit alone
        reaches the threshold, for the relation of the sensitivity [KKMN09].
        >>> noise = DiscreteGaussian(sigma=10)
        >>> loss = Threshold(noise=noise, threshold=60).loss(Sensitivity(groups=4, per_group=1))
        >>> loss.rho, loss.delta < 2e-8
        (Fraction(1, 50), True)
        """
        if sensitivity.linf > 1:
            raise UnprovableRequest(
                f"one unit moves a count by {sensitivity.linf}; the threshold is proved for "
                "numbers of distinct units, which move by 1. Nothing was released."
            )
        delta = _delta(self.noise, self.threshold, sensitivity.groups)
        return self.noise.loss(sensitivity).with_delta(delta=delta)

    def release(
        self, exact: NDArray[Any], bits: BitSource = system
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The places of the keys that are shown, and their noisy numbers of units.

        `exact` holds the number of distinct units of every key that has one. Where keys stand in
        the table may depend on data, so the caller puts what is shown in an order of the keys.
        Privacy: as `loss` says.
        >>> mechanism = Threshold(noise=DiscreteLaplace(scale=1), threshold=60)
        >>> shown, noisy = mechanism.release(np.array([3, 1000]))
        >>> shown.tolist(), len(noisy)
        ([1], 1)
        """
        noisy = self.noise.release(read_units(exact), bits)
        shown = np.flatnonzero(noisy >= self.threshold).astype(np.int64)
        return shown, noisy[shown]

    def error(self, confidence: Number) -> float:
        """The half-width of the noise on a number of units, before the threshold.

        >>> Threshold(noise=DiscreteLaplace(scale=1), threshold=15).error(0.95)
        3.0
        """
        return self.noise.error(confidence)


def _delta(noise: DiscreteLaplace | DiscreteGaussian, threshold: int, keys: int) -> Fraction:
    """At least the chance that any of `keys` keys of one unit alone reaches the threshold."""
    return min(Fraction(1), ceil_decimal(keys * _upper_tail(noise, threshold - 1)))


@lru_cache(maxsize=4096)
def _upper_tail(noise: DiscreteLaplace | DiscreteGaussian, start: int) -> Fraction:
    """P(X >= start) for start >= 1, or slightly more."""
    if isinstance(noise, DiscreteLaplace):  # p^start/(1 + p), p = exp(-1/scale)
        return _exp_above(-start / noise.scale) / (1 + exp_bounds(-1 / noise.scale)[0])
    variance = noise.sigma_squared
    bits = math.ceil(Fraction(start) ** 2 / variance)  # more than the first term's -log2
    if variance <= _SUMMED_VARIANCE and bits <= _SUMMED_BITS:
        weights, slack = _weights(variance, 256 + -(-bits // 256) * 256)
        return Fraction(sum(weights[start:]) + slack, 2 * sum(weights) - weights[0])
    # Each term is below its unit integral where the density is convex, and elsewhere off by at
    # most 1/(24 variance), over fewer than sigma + 2 terms.
    edge = (start - 0.5) / math.sqrt(variance)
    near = math.erfc(edge / math.sqrt(2)) / 2 + (0.0 if edge > 1 + 1e-9 else 1 / float(variance))
    if variance > _SUMMED_VARIANCE and near > 1e-290:
        return Fraction(near) * (1 + Fraction(1, 10**12))
    return _exp_above(-(Fraction(start) ** 2) / (2 * variance))  # subgaussian [CKS20, Sec. 3]


def _exp_above(exponent: Fraction) -> Fraction:
    """Slightly more than exp(exponent), down to e**-10000."""
    held = max(exponent, Fraction(-10_000))
    return exp_bounds(held, 40 + math.ceil(-held / 9))[1]


@lru_cache(maxsize=16)
def _weights(variance: Fraction, precision: int) -> tuple[list[int], int]:
    return gaussian_weights(variance, precision)
