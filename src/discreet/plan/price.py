"""From a price to noise, and from a wanted error to a price. Touches public numbers only."""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.measures import Measure

__all__ = ["Noise", "Price", "cheapest", "choose", "paid", "shared", "smallest_price"]

Price = Pure | ZCDP
"""What a question may cost, in the terms of the account that pays."""

Noise = DiscreteLaplace | DiscreteGaussian
"""The mechanisms that plans choose from."""

_DIGITS = 4  # significant digits of a price found by search; rounded up


def choose(measure: Measure, price: Price) -> Noise:
    """The mechanism with the least 95% error that costs at most the price.

    Privacy: Laplace noise at l1/epsilon [DMNS06, Prop. 3.3], or Gaussian noise with variance
    l2^2/(2 rho) [CKS20, Thm. 4]; a pure mechanism enters rho at epsilon^2/2 [BS16, Prop. 1.4].
    >>> choose(Measure("count", (), Sensitivity.single(1), Fraction(1)), Pure(epsilon=0.5))
    DiscreteLaplace(scale=Fraction(2, 1))
    """
    sensitivity = _noticeable(measure.sensitivity)
    if isinstance(price, Pure):
        return DiscreteLaplace(scale=sensitivity.l1 / price.epsilon)
    laplace = DiscreteLaplace(scale=sensitivity.l1 / _root_down(2 * price.rho))
    gaussian = DiscreteGaussian.of_variance(sensitivity.l2_squared / (2 * price.rho))
    noises: tuple[Noise, ...] = (gaussian, laplace)
    return min(noises, key=lambda noise: noise.error(Fraction(95, 100)))


def _noticeable(sensitivity: Sensitivity) -> Sensitivity:
    """A measure nobody can move is still released with noise, as if one step mattered."""
    return sensitivity if sensitivity.l1 else Sensitivity.single(1)


def _root_down(value: Fraction) -> Fraction:
    scale = 10**20 * (value.denominator // value.numerator + 1)
    return Fraction(isqrt(value.numerator * scale**2 // value.denominator), scale)


def paid(measures: tuple[Measure, ...], noises: tuple[Noise, ...], price: Price) -> Price:
    """What the chosen mechanisms cost together, in the terms of the price.

    Privacy: losses add [DR14, Cor. 3.15; BS16, Lemma 1.7].
    >>> one = Measure("count", (), Sensitivity.single(1), Fraction(1))
    >>> paid((one,), (DiscreteLaplace(scale=2),), Pure(epsilon=1))
    Pure(epsilon=Fraction(1, 2))
    """
    losses = [
        noise.loss(_noticeable(measure.sensitivity))
        for measure, noise in zip(measures, noises, strict=True)
    ]
    if isinstance(price, Pure):
        epsilons = [loss.epsilon for loss in losses if isinstance(loss, Pure)]
        if len(epsilons) < len(losses):
            raise InvalidValue("a pure price cannot pay for Gaussian noise. Nothing was charged.")
        return Pure(epsilon=sum(epsilons))
    return ZCDP(rho=sum((loss.zcdp().rho for loss in losses), Fraction(0)))


def shared(price: Price, count: int) -> Price:
    """An equal part of a price: the split that makes the product of all errors least.

    Privacy: none (touches no data).
    >>> shared(Pure(epsilon=1), 2)
    Pure(epsilon=Fraction(1, 2))
    """
    if isinstance(price, Pure):
        return Pure(epsilon=price.epsilon / count)
    return ZCDP(rho=price.rho / count)


def cheapest(measure: Measure, half_width: Fraction, kind: type[Price]) -> Price:
    """The smallest price at which this measure's 95% half-width is at most the one given.

    Privacy: none (touches no data).
    >>> cheapest(Measure("n", (), Sensitivity.single(1), Fraction(1)), Fraction(3), Pure)
    Pure(epsilon=Fraction(8319, 10000))
    """

    def enough(price: Price) -> bool:
        return choose(measure, price).error(Fraction(95, 100)) * measure.step <= half_width

    return smallest_price(enough, kind)


def smallest_price(enough: Callable[[Price], bool], kind: type[Price]) -> Price:
    """The smallest price that is enough, rounded up to four significant digits.

    Privacy: none (touches no data).
    >>> smallest_price(lambda price: price.epsilon >= Fraction(1, 3), Pure)
    Pure(epsilon=Fraction(1667, 5000))
    """

    def at(exponent: int, digits: int) -> Price:
        number = Fraction(digits) * Fraction(10) ** (exponent - _DIGITS)
        return Pure(epsilon=number) if kind is Pure else ZCDP(rho=number)

    exponent = -12
    while not enough(at(exponent, 10**_DIGITS)):
        exponent += 1
        if exponent > 6:
            raise InvalidValue(
                "no price up to 10**6 reaches that error; ask for a larger error "
                "(at least one lattice step). Nothing was charged."
            )
    low, high = 10 ** (_DIGITS - 1) - 1, 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        if enough(at(exponent, middle)):
            high = middle
        else:
            low = middle
    return at(exponent, high)
