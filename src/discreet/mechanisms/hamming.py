"""Noise on the Hamming cube: every bit is flipped with one exact probability."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Pure, Sensitivity
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import flips
from discreet.noise.tails import tail
from discreet.rationals import Number, exp_bounds, positive, whole

__all__ = ["HammingNoise"]


@dataclass(frozen=True, slots=True)
class HammingNoise:
    """Flips each of `dimension` bits with probability 1/(1 + exp(1/scale)).

    This is metric noise for the Hamming distance; its normaliser is the same at every point, so
    the factor 2 of the general case falls away. (1/2 - epsilon/(2S), as printed in the paper,
    would cost about twice the epsilon.)
    Privacy: (S/scale)-DP, where one unit changes at most S bits [DMNS06, Sec. 3.3].
    >>> HammingNoise(scale=0.001, dimension=3).release(np.array([0, 1, 1])).tolist()
    [0, 1, 1]
    """

    scale: Fraction
    dimension: int

    def __init__(self, *, scale: Number, dimension: int) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "dimension", whole(dimension, "dimension"))

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of one release; l1 is how many bits one unit can change.

        Privacy: (l1/scale)-DP for the neighbouring relation of the sensitivity [DMNS06, Sec. 3.3].
        >>> HammingNoise(scale=4, dimension=9).loss(Sensitivity(groups=2, per_group=1))
        Pure(epsilon=Fraction(1, 2))
        """
        return Pure(epsilon=sensitivity.l1 / self.scale)

    def flip_bounds(self, digits: int = 40) -> tuple[Fraction, Fraction]:
        """Rationals below and above the probability that a bit is flipped.

        >>> low, high = HammingNoise(scale=1, dimension=1).flip_bounds()
        >>> low < high and round(float(low), 6)
        0.268941
        """
        low, high = exp_bounds(-1 / self.scale, digits)
        return low / (1 + low), high / (1 + high)

    def release(self, exact: Any, bits: BitSource = system) -> NDArray[np.int8]:
        """The bits, each possibly flipped, as an array of zeros and ones.

        Privacy: as `loss` says [DMNS06, Sec. 3.3].
        >>> HammingNoise(scale=1, dimension=2).release([True, False]).shape
        (2,)
        """
        point = np.asarray(exact)
        if point.dtype.kind not in "iub" or point.shape != (self.dimension,):
            raise InvalidValue(
                f"the exact point has shape {point.shape} and type {point.dtype}; "
                f"pass {self.dimension} bits. Nothing was released."
            )
        # Whatever is not zero counts as one, so nothing else about it shows.
        flipped: NDArray[np.bool_] = (point != 0) ^ flips(self.flip_bounds, self.dimension, bits)
        return flipped.astype(np.int8)

    def error(self, confidence: Number) -> float:
        """The smallest number of flipped bits that is not exceeded with this probability.

        >>> HammingNoise(scale=1, dimension=100).error(0.95)
        34.0
        """
        missed = tail(confidence)
        chance = self.flip_bounds()[1]
        odds = chance / (1 - chance)
        weight, total = Fraction(1), Fraction(0)
        weights = []
        for flipped in range(self.dimension + 1):
            weights.append(weight)
            total += weight
            weight *= odds * Fraction(self.dimension - flipped, flipped + 1)
            weight = Fraction(math.ceil(weight * 2**256), 2**256)
        beyond = Fraction(0)
        for flipped in range(self.dimension, -1, -1):
            if beyond + weights[flipped] > missed * total * (1 - Fraction(1, 2**200)):
                return float(flipped)
            beyond += weights[flipped]
        return 0.0
