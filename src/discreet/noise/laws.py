"""The laws that noise is drawn from: weights exp(-f(|x|)) on the integers, as certified numbers.
Computes brackets in integers only; draws nothing.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Protocol

from discreet.rationals import exp_bounds

__all__ = ["Gaussian", "Geometric", "Laplace", "Law", "Weights"]

Interval = tuple[int, int]  # lower and upper bound of a number in [0, 1], times 2**precision


@dataclass(frozen=True, slots=True)
class Weights:
    """Brackets of exp(-f(h * stride)) for h = 0, 1, ... and of the sum of all later ones.

    >>> Laplace(Fraction(1)).weights(stride=1, precision=64, until=32).precision
    64
    """

    lower: list[int]
    upper: list[int]
    rest: Interval
    precision: int


class Law(Protocol):
    """A law symmetric about 0 (`centre` 1: zero has one cell) or about -1/2 (`centre` 0)."""

    def __hash__(self) -> int: ...

    @property
    def centre(self) -> int:
        """How far the magnitude of a negative value -1 - m lies beyond m."""

    @property
    def spread(self) -> int:
        """The scale, rounded down."""

    def exponent(self, magnitude: int) -> Fraction:
        """f(magnitude), exactly."""

    def slope(self, stride: int) -> tuple[float, float]:
        """(a, b) near which f(x + y) - f(x) = y * (a + b * (2 * x + y)), to 2**-52 relative."""

    def weights(self, *, stride: int, precision: int, until: int) -> Weights:
        """Weights at multiples of `stride` until what is left is under 2**-until, or known well."""


def _bound_exp(exponent: Fraction, precision: int) -> Interval:
    low, high = exp_bounds(-exponent, precision // 3 + 4)
    scale = 1 << precision
    return int(low * scale), min(scale, -int(-high * scale // 1))


def _multiply(left: Interval, right: Interval, precision: int) -> Interval:
    return left[0] * right[0] >> precision, -(-left[1] * right[1] >> precision)


def _collect(first: Interval, second: Interval, precision: int, until: int) -> Weights:
    """Weights w_0 = 1, w_{h+1} = w_h g_h with g_0 = first and g_{h+1} = g_h * second."""
    one = 1 << precision
    constant = second == (one, one)
    lower, upper = [one], [one]
    weight, ratio = (one, one), first
    while True:
        weight = _multiply(weight, ratio, precision)
        ratio = _multiply(ratio, second, precision)
        # Ratios fall towards a limit, so the rest lies between two geometric series.
        if ratio[1] < one:
            rest = -(-(weight[1] << precision) // (one - ratio[1]))
            if rest <= 1 << (precision - until):
                least = (weight[0] << precision) // (one - (ratio[0] if constant else 0))
                return Weights(lower, upper, (least, rest), precision)
        lower.append(weight[0])
        upper.append(weight[1])


@dataclass(frozen=True, slots=True)
class Laplace:
    """P(x) proportional to exp(-|x| / scale).

    >>> Laplace(Fraction(2)).exponent(3)
    Fraction(3, 2)
    """

    scale: Fraction

    @property
    def centre(self) -> int:
        """Zero has one cell of its own."""
        return 1

    @property
    def spread(self) -> int:
        """The scale, rounded down.

        >>> Laplace(Fraction(5, 2)).spread
        2
        """
        return int(self.scale)

    def exponent(self, magnitude: int) -> Fraction:
        """magnitude / scale.

        >>> Laplace(Fraction(2)).exponent(1)
        Fraction(1, 2)
        """
        return magnitude / self.scale

    def slope(self, stride: int) -> tuple[float, float]:
        """The exponent is linear.

        >>> Laplace(Fraction(4)).slope(1)
        (0.25, 0.0)
        """
        return float(stride / self.scale) / stride, 0.0

    def weights(self, *, stride: int, precision: int, until: int) -> Weights:
        """A geometric series.

        >>> Laplace(Fraction(1)).weights(stride=9, precision=64, until=32).rest[0] > 0
        True
        """
        one = 1 << precision
        ratio = _bound_exp(stride / self.scale, precision)
        return _collect(ratio, (one, one), precision, until)


@dataclass(frozen=True, slots=True)
class Geometric:
    """P(x) proportional to exp(-m / scale), where m is x or -1 - x: fold it for a geometric.

    >>> Geometric(Fraction(2)).exponent(3)
    Fraction(3, 2)
    """

    scale: Fraction

    @property
    def centre(self) -> int:
        """0 and -1 have equal weight."""
        return 0

    @property
    def spread(self) -> int:
        """The scale, rounded down.

        >>> Geometric(Fraction(5, 2)).spread
        2
        """
        return int(self.scale)

    def exponent(self, magnitude: int) -> Fraction:
        """magnitude / scale.

        >>> Geometric(Fraction(2)).exponent(1)
        Fraction(1, 2)
        """
        return magnitude / self.scale

    def slope(self, stride: int) -> tuple[float, float]:
        """As for the Laplace law.

        >>> Geometric(Fraction(4)).slope(1)
        (0.25, 0.0)
        """
        return Laplace(self.scale).slope(stride)

    def weights(self, *, stride: int, precision: int, until: int) -> Weights:
        """As for the Laplace law.

        >>> Geometric(Fraction(1)).weights(stride=1, precision=64, until=32).precision
        64
        """
        return Laplace(self.scale).weights(stride=stride, precision=precision, until=until)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """P(x) proportional to exp(-x^2 / (2 variance)); the parameter, not the exact variance.

    >>> Gaussian(Fraction(1)).exponent(2)
    Fraction(2, 1)
    """

    variance: Fraction

    @property
    def centre(self) -> int:
        """Zero has one cell of its own."""
        return 1

    @property
    def spread(self) -> int:
        """The square root of the variance, rounded down.

        >>> Gaussian(Fraction(10)).spread
        3
        """
        return isqrt(int(self.variance))

    def exponent(self, magnitude: int) -> Fraction:
        """magnitude^2 / (2 variance).

        >>> Gaussian(Fraction(2)).exponent(1)
        Fraction(1, 4)
        """
        return magnitude**2 / (2 * self.variance)

    def slope(self, stride: int) -> tuple[float, float]:
        """The exponent is quadratic.

        >>> Gaussian(Fraction(2)).slope(1)
        (0.0, 0.25)
        """
        return 0.0, float(stride**2 / (2 * self.variance)) / stride**2

    def weights(self, *, stride: int, precision: int, until: int) -> Weights:
        """Weights whose ratios form a geometric series.

        >>> len(Gaussian(Fraction(1)).weights(stride=1, precision=64, until=32).lower)
        8
        """
        first = _bound_exp(stride**2 / (2 * self.variance), precision)
        second = _bound_exp(stride**2 / self.variance, precision)
        # The rest is known to a factor only, so it has to be small beside the last bit.
        return _collect(first, second, precision, max(until, precision - 24))
