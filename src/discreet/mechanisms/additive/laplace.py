"""The discrete Laplace mechanism on integers. Exact noise, exact loss, exact error."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.shared.integers import Integers, add
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_laplace
from discreet.noise.tails import laplace_quantile, shared_tail, tail
from discreet.rationals import Number, ceil_float, log_bounds, positive

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Adds noise with P(x) proportional to exp(-|x|/scale), independently to each integer.

    Privacy: (l1/scale)-DP for the neighbouring relation the sensitivity was made for
    [DMNS06, Prop. 3.3].
    >>> DiscreteLaplace(scale=0.5)
    DiscreteLaplace(scale=Fraction(1, 2))
    """

    scale: Fraction

    def __init__(self, *, scale: Number) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of one release.

        Privacy: (l1/scale)-DP for the neighbouring relation of the sensitivity [DMNS06, Prop. 3.3].
        >>> DiscreteLaplace(scale=2).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 2))
        """
        return Pure(epsilon=sensitivity.l1 / self.scale)

    def release(self, exact: Integers, bits: BitSource = system) -> Integers:
        """Add noise to an integer, a list of integers or an integer array.

        Python integers, lists, uint64 and object arrays grow without limit; every other integer
        array becomes int64 and is held at the ends of that range (post-processing).
        Privacy: as `loss` says [DMNS06, Prop. 3.3].
        """
        return add(exact, lambda size: discrete_laplace(scale=self.scale, size=size, bits=bits))

    def error(self, confidence: Number) -> float:
        """The smallest half-width that holds with this probability.

        >>> DiscreteLaplace(scale=1).error(0.95)
        3.0
        """
        return ceil_float(Fraction(laplace_quantile(self.scale, tail(confidence))))

    def simultaneous_error(self, count: int, confidence: Number) -> float:
        """The smallest half-width that holds for `count` coordinates together.

        >>> DiscreteLaplace(scale=1).simultaneous_error(100, 0.95)
        7.0
        """
        return ceil_float(Fraction(laplace_quantile(self.scale, shared_tail(confidence, count))))

    def accuracy_bound(self, count: int, confidence: Number) -> float:
        """The textbook half-width scale * ln(count/(1 - confidence)), rounded up to an integer.

        Integer noise can exceed the unrounded bound a little more often than stated; rounded up,
        the statement of [DR14, Thm. 3.8] holds: P(|X| > t) <= exp(-t/scale) at integers t.
        >>> DiscreteLaplace(scale=1).accuracy_bound(100, 0.95)
        8.0
        """
        shared_tail(confidence, count)
        bound = self.scale * log_bounds(count / tail(confidence))[1]
        return ceil_float(Fraction(math.ceil(bound)))

    @property
    def variance(self) -> float:
        """The variance of the noise, 2p/(1-p)^2 with p = exp(-1/scale).

        >>> round(DiscreteLaplace(scale=10).variance, 6)
        199.833417
        """
        half = float(1 / (2 * self.scale))
        return 0.0 if half > 350 else 0.5 / math.sinh(half) ** 2

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise.

        >>> round(DiscreteLaplace(scale=10).standard_deviation, 3)
        14.136
        """
        return math.sqrt(self.variance)
