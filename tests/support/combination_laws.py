"""The exact law of a linear combination of independent integer noises, by its characteristic
function. Written from the definitions, not from the code of the mechanisms.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace

BLUR = 4e-4  # normal smoothing, in deviations of the combination
WIDE = 1 << 16  # of a noise of this deviation no lattice is seen: there is nothing to smooth
PERIOD = 40  # deviations; beyond half of it lies less than 1e-11 of what is tested here
NODES = 140_000  # frequencies: the smoothing leaves less than e^-38 beyond them


def characteristic(noise: Any, angles: Any) -> Any:
    """E cos(angle * noise), by the closed form or by summing over the integers.

    >>> float(characteristic(DiscreteLaplace(scale=1), np.array([0.0]))[0])
    1.0
    """
    if isinstance(noise, DiscreteLaplace):
        ratio = math.exp(-1 / noise.scale)
        return (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio**2)
    assert isinstance(noise, DiscreteGaussian)
    variance = float(noise.sigma_squared)
    if variance > 1:  # Poisson summation: normal laws around all multiples of 2 pi
        near = np.remainder(angles + math.pi, 2 * math.pi) - math.pi
        others = () if variance > 20 else (-1, 1)  # the rest is below e^-98
        turns = [near, *(near + 2 * math.pi * turn for turn in others)]
        total = 1 + 2 * math.exp(-variance * 2 * math.pi**2)
        return sum(np.exp(-variance * turn**2 / 2) for turn in turns) / total
    weights = [math.exp(-(place**2) / (2 * variance)) for place in range(10)]
    values = weights[0] + 2 * sum(
        weight * np.cos(place * angles) for place, weight in enumerate(weights) if place
    )
    return values / (weights[0] + 2 * sum(weights[1:]))


@cache
def _smoothing(blur: float) -> tuple[Any, Any]:
    """The numbers of the frequencies, and what smoothing leaves of each."""
    order = np.arange(1, NODES + 1)
    return order, np.exp(-((blur * 2 * math.pi * order / PERIOD) ** 2) / 2)


def beyond(noises: Sequence[Any], coefficients: Any, reach: float) -> float:
    """P(|sum of coefficient * noise| > reach), at most: the combination is smoothed a little.

    >>> single = beyond([DiscreteLaplace(scale=100)], [1.0], 299.5)
    >>> abs(single - 2 * math.exp(-3) / (1 + math.exp(-0.01))) < 1e-3
    True
    """
    variance = sum(a**2 * noise.variance for a, noise in zip(coefficients, noises, strict=True))
    if not variance:
        return 0.0
    deviation = math.sqrt(variance)
    blur = BLUR if min(noise.standard_deviation for noise in noises) < WIDE else 0.0
    order, left = _smoothing(blur)
    angles = 2 * math.pi * order / (PERIOD * deviation)
    values = left.copy()
    kinds: dict[tuple[Any, float], int] = {}
    for a, noise in zip(coefficients, noises, strict=True):
        if kind := round(abs(float(a)), 12):
            kinds[noise, kind] = kinds.get((noise, kind), 0) + 1
    for (noise, a), count in kinds.items():
        values *= characteristic(noise, a * angles) ** count
    inner = reach - 4 * blur * deviation
    inside = 2 * inner / (PERIOD * deviation)
    inside += float(np.sum(2 / (math.pi * order) * values * np.sin(angles * inner)))
    return (1 - inside) / (1 - 3.2e-5 * (blur > 0))  # the smoothing moves it no farther inwards
