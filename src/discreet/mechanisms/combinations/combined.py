"""How far a linear combination of independent noises reaches, whatever its coefficients: certified
multiples of its standard deviation for 95%. docs/proofs/releases.md has the proofs. One noise by
itself needs none of this: its `error` is exact. Knows parameters only, never data.
"""

import math
from collections.abc import Sequence

from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace

__all__ = ["deviations_95"]

_ANY = 4.4722  # Chebyshev: 1/sqrt(0.05), rounded up like all of these
_SUBGAUSSIAN = 2.7163  # sqrt(2 ln 40), for the parameter sigma
_SMOOTHED = 4.4  # from this deviation on, discrete Gaussian noise can be smoothed to a normal law
# Smoothed by an independent combination that has the same coefficients, of length A, the law has
# no lattice and is beyond so many deviations with the 5% times the probability that the smoothing
# one is not below -lattice * A.
_GAUSSIAN = ((2.2415, 0.0), (2.0329, 1.6), (1.9698, 3.2), (1.9606, 4.8))
_LAPLACE = ((2.6261, 0.0), (2.2347, 1.5), (2.1736, 2.0), (2.1616, 3.0))
_GAUSSIAN_SMOOTHING, _LAPLACE_SMOOTHING = 2.56, 1 / 6  # variances of what smooths one noise


def deviations_95(noises: Sequence[DiscreteLaplace | DiscreteGaussian]) -> float:
    """The multiple of its deviation within which any combination of draws is with at least 95%.

    Near 1.96 for Gaussian noise and 2.17 for Laplace noise; more where a noise is so small that it
    is often zero.
    >>> round(deviations_95([DiscreteGaussian(sigma=10**6)]), 4)
    1.9606
    >>> round(deviations_95([DiscreteLaplace(scale=10), DiscreteLaplace(scale=100)]), 4)
    2.316
    """
    least = min(noise.standard_deviation for noise in noises)
    laplace = [noise for noise in noises if isinstance(noise, DiscreteLaplace)]
    gaussian = [noise for noise in noises if isinstance(noise, DiscreteGaussian)]
    if least == 0:
        return _ANY
    if len(laplace) == len(noises):
        return min(_ANY, _least_factor(_LAPLACE, _LAPLACE_SMOOTHING, least))
    if len(gaussian) < len(noises):
        return _ANY
    ratio = max(math.sqrt(noise.sigma_squared) / noise.standard_deviation for noise in gaussian)
    widest = min(_ANY, _SUBGAUSSIAN * ratio)
    if least < _SMOOTHED:
        return widest
    return min(widest, _least_factor(_GAUSSIAN, _GAUSSIAN_SMOOTHING, least))


def _least_factor(pairs: tuple[tuple[float, float], ...], smoothing: float, least: float) -> float:
    """The least factor of these, with A at most one over the least deviation of a noise."""
    wider = math.sqrt(1 + smoothing / least**2)
    return min(factor * wider + lattice / least for factor, lattice in pairs)
