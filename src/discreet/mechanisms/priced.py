"""What a price buys: which noise, at which scale. The one place where mechanisms depend on whether
a price is in epsilon or in rho. Public numbers only; scales are rounded up.
"""

from fractions import Fraction
from typing import Protocol

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Currency, Price, Pure, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.rationals import ceil_decimal, positive, sqrt_up

__all__ = ["Choice", "Noise", "least_noise", "loss_in", "noise_for", "scale_for"]

Noise = DiscreteLaplace | DiscreteGaussian
"""The additive noise that prices buy."""


class Choice(Protocol):
    """A selection whose loss is known in epsilon and, more tightly than by conversion, in rho.

    Privacy: as the mechanism says.
    """

    def pure_loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost in epsilon.

        Privacy: as the mechanism says.
        """

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost in rho.

        Privacy: as the mechanism says.
        """


def noise_for(price: Price, *, l1: Fraction, l2_squared: Fraction) -> Noise:
    """Laplace noise for a price in epsilon, Gaussian noise for one in rho.

    Scale l1/epsilon [DMNS06, Prop. 3.3], variance l2^2/(2 rho) [CKS20, Thm. 4].
    >>> noise_for(Pure(epsilon=0.5), l1=Fraction(1), l2_squared=Fraction(1))
    DiscreteLaplace(scale=Fraction(2, 1))
    """
    if price.currency is Currency.EPSILON:
        return DiscreteLaplace(scale=l1 / price.epsilon)
    return DiscreteGaussian.of_variance(l2_squared / (2 * price.rho))


def least_noise(price: Price, sensitivity: Sensitivity) -> Noise:
    """The noise with the least 95% error that costs at most the price.

    As `noise_for`; Laplace noise enters rho at epsilon^2/2 [BS16, Prop. 1.4].
    >>> least_noise(Pure(epsilon=0.5), Sensitivity.single(1))
    DiscreteLaplace(scale=Fraction(2, 1))
    """
    noise = noise_for(price, l1=sensitivity.l1, l2_squared=sensitivity.l2_squared)
    if price.currency is Currency.EPSILON:
        return noise
    laplace = DiscreteLaplace(scale=sensitivity.l1 / price.largest_epsilon())
    return min((noise, laplace), key=lambda noise: noise.error(Fraction(95, 100)))


def scale_for(price: Price, *, pure: Pure, concentrated: ZCDP) -> Fraction:
    """The least scale of a selection that keeps the price, from its losses at scale 1.

    Epsilon falls with the scale, rho with its square; rounded up.
    >>> scale_for(Pure(epsilon=0.5), pure=Pure(epsilon=1), concentrated=ZCDP(rho=1))
    Fraction(2, 1)
    """
    if not pure.epsilon:
        raise InvalidValue("the sensitivity is 0: the answer is public and needs no noise.")
    if price.currency is Currency.EPSILON:
        return pure.epsilon / positive(price.epsilon, "epsilon")
    return ceil_decimal(sqrt_up(concentrated.rho / positive(price.rho, "rho")))


def loss_in(price: Price, choice: Choice, sensitivity: Sensitivity) -> Price:
    """What a selection costs, in the terms of the price.

    Privacy: as the mechanism says.
    """
    if price.currency is Currency.EPSILON:
        return choice.pure_loss(sensitivity)
    return choice.loss(sensitivity)
