"""How far a weighted sum of independent noises goes: its quantile, by convolution.

Public numbers only. Rounds up: what is said here may be a little too large, never too small.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.tails import gaussian_quantile, laplace_quantile, tail
from discreet.rationals import Number, ceil_float

__all__ = ["sum_error"]

_Noise = DiscreteLaplace | DiscreteGaussian
_FINE = 1 << 15  # up to so many steps on each side every one is looked at
_COARSE = 1 << 14  # else so many cells, each of several steps
_FAR = 1e-13  # what is cut off on both sides of each noise
_SLACK = 1e-9  # more than is cut off and rounded in all
_TABLE = 1 << 14  # up to this deviation a Gaussian is summed, above it is the normal law


def sum_error(terms: Sequence[tuple[Fraction, _Noise]], confidence: Number) -> float:
    """The half-width that a sum of factor * noise stays within, with this probability.

    The smallest one where the noises reach few steps, at most 1 in 500 too large where they reach
    many.
    """
    weighted = [(abs(factor), noise) for factor, noise in terms if factor]
    if not weighted:
        return 0.0
    whole = math.lcm(*(factor.denominator for factor, _ in weighted))
    common = math.gcd(*(int(factor * whole) for factor, _ in weighted))
    steps = tuple((int(factor * whole) // common, noise) for factor, noise in weighted)
    return ceil_float(Fraction(common, whole) * _quantile(steps, tail(confidence)))


@lru_cache(maxsize=256)
def _quantile(terms: tuple[tuple[int, _Noise], ...], missed: Fraction) -> int:
    """An m with P(|sum of k X| > m) <= missed, the smallest one up to the grid."""
    apart = sum(k * _quantile_of(noise, missed / len(terms)) for k, noise in terms)  # Bonferroni
    if len(terms) == 1 or missed < 1000 * _SLACK:
        return apart
    reaches = [k * _reach(noise) for k, noise in terms]
    width = 1 if sum(reaches) <= _FINE else -(-sum(reaches) // _COARSE)
    cells = [-(-reach // width) + 1 for reach in reaches]
    size = 1 << (2 * sum(cells) + 1).bit_length()
    product: Any = 1.0
    for (k, noise), count in zip(terms, cells, strict=True):
        masses = _chances_of_cells(noise, k, width, count)
        wrapped = np.zeros(size)
        wrapped[: count + 1] = masses
        wrapped[-count:] = masses[:0:-1]
        product = product * np.fft.rfft(wrapped)
    law = np.fft.irfft(product, size)[: sum(cells) + 1]
    beyond = 2 * np.cumsum(law[::-1])[::-1]  # beyond[m] is P(|sum| >= m), for m >= 1
    enough = np.flatnonzero(beyond[1:] <= float(missed) - _SLACK)
    if not enough.size:
        return apart
    # Each noise is at most half a cell from the middle of its own.
    off = 0 if width == 1 else -(-len(terms) * width // 2)
    return min(apart, int(enough[0]) * width + off)


def _quantile_of(noise: _Noise, missed: Fraction) -> int:
    if isinstance(noise, DiscreteLaplace):
        return laplace_quantile(noise.scale, missed)
    return gaussian_quantile(noise.sigma_squared, missed)


def _reach(noise: _Noise) -> int:
    """How far a noise goes but for a probability of `_FAR`; subgaussian tail [CKS20, Sec. 3]."""
    if isinstance(noise, DiscreteLaplace):
        return math.ceil(float(noise.scale) * math.log(2 / _FAR)) + 1
    return math.ceil(math.sqrt(2 * float(noise.sigma_squared) * math.log(2 / _FAR))) + 1


def _chances_of_cells(noise: _Noise, k: int, width: int, count: int) -> NDArray[np.float64]:
    """The chances that k X lies in the cells around 0, width, 2 width, ..., count * width."""
    kind = np.int64 if (2 * count + 2) * width < 1 << 62 else object
    # The largest X in each cell: k X is less than half a cell above its middle.
    last = ((2 * np.arange(count + 1).astype(kind) + 1) * width - 1) // (2 * k)
    beyond = _chance_above(noise, last.astype(np.float64))
    masses: NDArray[np.float64] = np.empty(count + 1)
    masses[0] = 1 - 2 * beyond[0]
    masses[1:] = beyond[:-1] - beyond[1:]
    return masses


def _chance_above(noise: _Noise, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X > steps)."""
    if isinstance(noise, DiscreteLaplace):
        scale = float(noise.scale)
        return np.asarray(np.exp(-(steps + 1) / scale) / (1 + math.exp(-1 / scale)))
    deviation = math.sqrt(noise.sigma_squared)
    if deviation > _TABLE:
        edges = (steps + 0.5) / (deviation * math.sqrt(2))
        return np.array([math.erfc(edge) / 2 for edge in edges.tolist()])
    places = np.arange(_reach(noise) + 2)
    weights = np.exp(-(places**2) / (2 * float(noise.sigma_squared)))
    sums = np.cumsum(weights[::-1])[::-1]  # of this place and all after it
    reached = np.minimum(steps + 1, places[-1]).astype(np.int64)
    return np.asarray(sums[reached] / (2 * sums[0] - weights[0]))
