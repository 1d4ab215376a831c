"""The discrete Gaussian mechanism on integers. Exact noise, exact loss, certified error."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.loss import ZCDP, Sensitivity
from discreet.mechanisms.shared.integers import Integers, add
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_gaussian
from discreet.noise.tails import gaussian_quantile, gaussian_weights, shared_tail, tail
from discreet.rationals import Number, ceil_float, log_bounds, positive, sqrt_up

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Adds noise with P(x) proportional to exp(-x^2/(2 sigma^2)), independently to each integer.

    The parameter is kept as the exact square of sigma.
    Privacy: (l2^2/(2 sigma^2))-zCDP for the relation of the sensitivity [CKS20, Thm. 4].
    >>> DiscreteGaussian(sigma=1.5)
    DiscreteGaussian(sigma_squared=Fraction(9, 4))
    """

    sigma_squared: Fraction

    def __init__(self, *, sigma: Number) -> None:
        object.__setattr__(self, "sigma_squared", positive(sigma, "sigma") ** 2)

    @classmethod
    def of_variance(cls, variance: Number) -> "DiscreteGaussian":
        """The mechanism whose sigma is the square root of an exact number.

        >>> DiscreteGaussian.of_variance(2).loss(Sensitivity.single(1)).rho
        Fraction(1, 4)
        """
        mechanism = object.__new__(cls)
        object.__setattr__(mechanism, "sigma_squared", positive(variance, "variance"))
        return mechanism

    @property
    def sigma(self) -> Fraction:
        """The parameter sigma, exact when rational, otherwise rounded up.

        >>> DiscreteGaussian.of_variance(4).sigma
        Fraction(2, 1)
        """
        return sqrt_up(self.sigma_squared)

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of one release.

        Privacy: (l2^2/(2 sigma^2))-zCDP for the relation of the sensitivity [CKS20, Thm. 4].
        >>> DiscreteGaussian(sigma=2).loss(Sensitivity.single(1))
        ZCDP(rho=Fraction(1, 8), delta=Fraction(0, 1))
        """
        return ZCDP(rho=sensitivity.l2_squared / (2 * self.sigma_squared))

    def release(self, exact: Integers, bits: BitSource = system) -> Integers:
        """Add noise to an integer, a list of integers or an integer array.

        Python integers, lists, uint64 and object arrays grow without limit; every other integer
        array becomes int64 and is held at the ends of that range (post-processing).
        Privacy: as `loss` says [CKS20, Thm. 4].
        """
        variance = self.sigma_squared
        return add(exact, lambda size: discrete_gaussian(variance=variance, size=size, bits=bits))

    def error(self, confidence: Number) -> float:
        """The smallest half-width that holds with this probability.

        From sigma = 2**13 on it may be one step (or a relative 1e-6) too large, never too small.
        >>> DiscreteGaussian(sigma=10).error(0.95)
        20.0
        """
        return ceil_float(Fraction(gaussian_quantile(self.sigma_squared, tail(confidence))))

    def simultaneous_error(self, count: int, confidence: Number) -> float:
        """The half-width that holds for `count` coordinates together, as tight as `error`.

        >>> DiscreteGaussian(sigma=10).simultaneous_error(100, 0.95)
        35.0
        """
        missed = shared_tail(confidence, count)
        return ceil_float(Fraction(gaussian_quantile(self.sigma_squared, missed)))

    def accuracy_bound(self, count: int, confidence: Number) -> float:
        """The textbook half-width sigma * sqrt(2 ln(2 count/(1 - confidence))).

        The tail is subgaussian [CKS20, Sec. 3].
        >>> round(DiscreteGaussian(sigma=10).accuracy_bound(100, 0.95), 3)
        40.728
        """
        shared_tail(confidence, count)
        logarithm = log_bounds(2 * count / tail(confidence))[1]
        return ceil_float(sqrt_up(2 * self.sigma_squared * logarithm))

    @property
    def variance(self) -> float:
        """The variance of the noise: a little below sigma^2 for small sigma [CKS20, Sec. 3].

        >>> DiscreteGaussian(sigma=10).variance, round(DiscreteGaussian(sigma=0.5).variance, 4)
        (100.0, 0.215)
        """
        if self.sigma_squared > 4:  # the difference is below 1e-30
            return float(self.sigma_squared)
        weights, _ = gaussian_weights(self.sigma_squared, 192)
        squares = sum(place**2 * weight for place, weight in enumerate(weights))
        return float(Fraction(2 * squares, 2 * sum(weights) - weights[0]))

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise.

        >>> DiscreteGaussian(sigma=10).standard_deviation
        10.0
        """
        return math.sqrt(self.variance)
