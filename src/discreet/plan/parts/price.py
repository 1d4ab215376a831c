"""From a price to noise, and from a wanted error to a price. Touches public numbers only."""

from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Loss, Pure
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.plan.parts.measures import Measure, noticeable
from discreet.rationals import sqrt_down

__all__ = [
    "Noise",
    "Price",
    "cheapest",
    "choose",
    "paid",
    "shared",
    "smallest_price",
]

Price = Pure | ZCDP
"""What a question may cost, in the terms of the account that pays."""

Noise = DiscreteLaplace | DiscreteGaussian
"""The mechanisms that plans choose from."""

_DIGITS = 4  # significant digits of a price found by search; rounded up


def choose(measure: Measure, price: Price) -> Noise:
    """The mechanism with the least 95% error that costs at most the price.

    Laplace noise at l1/epsilon [DMNS06, Prop. 3.3], or Gaussian noise with variance l2^2/(2 rho)
    [CKS20, Thm. 4]; a pure mechanism enters rho at epsilon^2/2 [BS16, Prop. 1.4].
    >>> from discreet.loss import Sensitivity
    >>> choose(Measure("count", (), Sensitivity.single(1), Fraction(1)), Pure(epsilon=0.5))
    DiscreteLaplace(scale=Fraction(2, 1))
    """
    sensitivity = noticeable(measure.sensitivity)
    if isinstance(price, Pure):
        return DiscreteLaplace(scale=sensitivity.l1 / price.epsilon)
    laplace = DiscreteLaplace(scale=sensitivity.l1 / sqrt_down(2 * price.rho))
    gaussian = DiscreteGaussian.of_variance(sensitivity.l2_squared / (2 * price.rho))
    noises: tuple[Noise, ...] = (gaussian, laplace)
    return min(noises, key=lambda noise: noise.error(Fraction(95, 100)))


def paid(losses: Iterable[Loss], price: Price) -> Price:
    """What several mechanisms cost together, in the terms of the price.

    Privacy: losses add [DR14, Cor. 3.15; BS16, Lemma 1.7].
    >>> paid([Pure(epsilon=0.5), Pure(epsilon=0.25)], Pure(epsilon=1))
    Pure(epsilon=Fraction(3, 4))
    """
    if isinstance(price, ZCDP):
        return sum((loss.zcdp() for loss in losses), ZCDP(rho=0))
    total = Pure(epsilon=0)
    for loss in losses:
        if not isinstance(loss, Pure):
            raise InvalidValue("a pure price pays for pure mechanisms only. Nothing was charged.")
        total += loss
    return total


def shared(price: Price, share: Fraction) -> Price:
    """A part of a price.

    Privacy: losses add, so the shares of a price cost the price [DR14, Thm. 3.14], [BS16, Lemma
    1.7].
    >>> shared(Pure(epsilon=1), Fraction(1, 2))
    Pure(epsilon=Fraction(1, 2))
    """
    if isinstance(price, Pure):
        return Pure(epsilon=price.epsilon * share)
    return ZCDP(rho=price.rho * share)


def cheapest(measure: Measure, half_width: Fraction, kind: type[Price]) -> Price:
    """The smallest price at which this measure's 95% half-width is at most the one given.

    Privacy: rounded towards more loss; the error that it buys is public.
    >>> from discreet.loss import Sensitivity
    >>> cheapest(Measure("n", (), Sensitivity.single(1), Fraction(1)), Fraction(3), Pure)
    Pure(epsilon=Fraction(8319, 10000))
    """

    def enough(price: Price) -> bool:
        return choose(measure, price).error(Fraction(95, 100)) * measure.step <= half_width

    return smallest_price(enough, kind)


def smallest_price(enough: Callable[[Price], bool], kind: type[Price]) -> Price:
    """The smallest price that is enough, rounded up to four significant digits.

    Privacy: rounded towards more loss.
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
