"""From a price to noise, and from a wanted error to a price. Touches public numbers only."""

from collections.abc import Callable
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import Price
from discreet.mechanisms.priced import Noise, least_noise
from discreet.plan.parts.measures import Measure, at_least_one_step

__all__ = ["cheapest", "choose", "smallest_price"]

_DIGITS = 4  # significant digits of a price found by search; rounded up


def choose(measure: Measure, price: Price) -> Noise:
    """The mechanism with the least 95% error that costs at most the price.

    Laplace noise at l1/epsilon [DMNS06, Prop. 3.3], or Gaussian noise with variance l2^2/(2 rho)
    [CKS20, Thm. 4]; a pure mechanism enters rho at epsilon^2/2 [BS16, Prop. 1.4].
    >>> from discreet.loss import Pure
    >>> from discreet.loss import Sensitivity
    >>> choose(Measure("count", (), Sensitivity.single(1), Fraction(1)), Pure(epsilon=0.5))
    DiscreteLaplace(scale=Fraction(2, 1))
    """
    return least_noise(price, at_least_one_step(measure.sensitivity))


def cheapest(measure: Measure, half_width: Fraction, kind: type[Price]) -> Price:
    """The smallest price at which this measure's 95% half-width is at most the one given.

    Privacy: rounded towards more loss; the error that it buys is public.
    >>> from discreet.loss import Pure
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
    >>> from discreet.loss import Pure
    >>> smallest_price(lambda price: price.epsilon >= Fraction(1, 3), Pure)
    Pure(epsilon=Fraction(1667, 5000))
    """

    def at(exponent: int, digits: int) -> Price:
        number = Fraction(digits) * Fraction(10) ** (exponent - _DIGITS)
        return kind.of(number)

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
