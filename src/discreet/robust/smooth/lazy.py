"""Real numbers known to as many digits as a decision needs: uniforms whose bits are drawn when
asked for, and what is computed from them between certified rationals. No floating point at all.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from discreet.noise.bits import BitSource
from discreet.rationals import exp_bounds, log_bounds

__all__ = [
    "Bounds",
    "Exponential",
    "Magnitude",
    "Polar",
    "Product",
    "QuarterDisc",
    "Ratio",
    "Scale",
    "nearest_integer",
    "root_bounds",
    "twice_log",
]

Bounds = tuple[Fraction, Fraction | None]
"""A rational below and one above; None where nothing bounds it above yet."""
Scale = Callable[[int], tuple[Fraction, Fraction]]
"""Certified bounds of a scale, by the number of digits."""

_STEP = 64
_DIGITS = 22  # the first guess: a little more than 64 bits
_HALF = Fraction(1, 2)


class Magnitude(Protocol):
    """The absolute value of a draw, narrowed as long as somebody asks."""

    def bounds(self, digits: int) -> Bounds:
        """Rationals below and above it."""

    def refine(self) -> None:
        """Draw more bits, so that the next bounds are narrower."""


def nearest_integer(location: Fraction, scale: Scale, draw: Magnitude, bits: BitSource) -> int:
    """The integer nearest to location +- scale * draw, with a fair sign: exact, no rounding error.

    It is a function of the ideal real-valued draw alone; the bits decide only how much of the draw
    is looked at.

    Privacy: post-processing of the ideal draw [DR14, Prop. 2.1]; the distribution is exact.
    """
    negative = bits.bits(1)
    digits = _DIGITS
    while True:
        low, high = scale(digits)
        near, far = draw.bounds(digits)
        if far is not None:
            ends = (low * near, high * far)
            if negative:
                ends = (-ends[1], -ends[0])
            first, last = (math.floor(location + end + _HALF) for end in ends)
            if first == last:
                return first
        draw.refine()
        digits += 20


class Exponential:
    """-ln(U), the absolute value of a standard Laplace draw.

    Privacy: the distribution is exact.
    """

    __slots__ = ("_bits", "_length", "_prefix")

    def __init__(self, bits: BitSource) -> None:
        self._bits, self._prefix, self._length = bits, bits.bits(_STEP), _STEP

    def refine(self) -> None:
        """Draw more bits."""
        self._prefix = self._prefix << _STEP | self._bits.bits(_STEP)
        self._length += _STEP

    def bounds(self, digits: int) -> Bounds:
        """Rationals below and above it."""
        unit = 1 << self._length
        low = max(Fraction(0), -log_bounds(Fraction(self._prefix + 1, unit), digits)[1])
        if self._prefix == 0:
            return low, None
        return low, -log_bounds(Fraction(self._prefix, unit), digits)[0]


class QuarterDisc:
    """A uniform point (x, y) of the unit disc's first quarter, by rejection, in lazy bits.

    Privacy: the distribution is exact.
    """

    __slots__ = ("_bits", "length", "x", "y")

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        while True:
            self.x, self.y, self.length = bits.bits(_STEP), bits.bits(_STEP), _STEP
            inside = self._inside()
            while inside is None:
                self.refine()
                inside = self._inside()
            if inside:
                return

    def refine(self) -> None:
        """Draw more bits."""
        self.x = self.x << _STEP | self._bits.bits(_STEP)
        self.y = self.y << _STEP | self._bits.bits(_STEP)
        self.length += _STEP

    def _inside(self) -> bool | None:
        limit = 1 << 2 * self.length
        if (self.x + 1) ** 2 + (self.y + 1) ** 2 <= limit:
            return True
        return False if self.x**2 + self.y**2 >= limit else None

    def square(self) -> tuple[Fraction, Fraction]:
        """Bounds of x^2 + y^2, which is uniform and independent of the angle."""
        limit = 1 << 2 * self.length
        low = Fraction(self.x**2 + self.y**2, limit)
        return low, Fraction(min(limit, (self.x + 1) ** 2 + (self.y + 1) ** 2), limit)

    def side(self) -> tuple[Fraction, Fraction]:
        """Bounds of x."""
        unit = 1 << self.length
        return Fraction(self.x, unit), Fraction(self.x + 1, unit)


class Ratio:
    """x/y of a point of the disc: the absolute value of a standard Cauchy draw.

    Privacy: the distribution is exact.
    """

    __slots__ = ("_point",)

    def __init__(self, bits: BitSource) -> None:
        self._point = QuarterDisc(bits)

    def refine(self) -> None:
        """Draw more bits."""
        self._point.refine()

    def bounds(self, digits: int) -> Bounds:  # noqa: ARG002 (rational: no digits to choose)
        """Rationals below and above it."""
        x, y = self._point.x, self._point.y
        return Fraction(x, y + 1), Fraction(x + 1, y) if y else None


class Polar:
    """x sqrt(g(w)/w) for a point with w = x^2 + y^2, where g and g(w)/w fall as w grows.

    Privacy: the distribution is exact.
    """

    __slots__ = ("_fall", "_point")

    def __init__(
        self, bits: BitSource, fall: Callable[[Fraction, int], tuple[Fraction, Fraction]]
    ) -> None:
        self._point, self._fall = QuarterDisc(bits), fall

    def refine(self) -> None:
        """Draw more bits."""
        self._point.refine()

    def bounds(self, digits: int) -> Bounds:
        """Rationals below and above it."""
        small, large = self._point.square()
        low, high = self._point.side()
        below = max(Fraction(0), self._fall(large, digits)[0]) / large
        near = low * root_bounds(below, digits)[0]
        if small == 0:
            return near, None
        return near, high * root_bounds(self._fall(small, digits)[1] / small, digits)[1]


class Product:
    """An exponential draw times exp(sigma * normal): the size of Laplace-log-normal noise.

    Privacy: the distribution is exact.
    """

    __slots__ = ("_exponential", "_negative", "_normal", "_sigma")

    def __init__(self, *, sigma: Fraction, bits: BitSource) -> None:
        self._sigma = sigma
        self._exponential = Exponential(bits)
        self._normal = Polar(bits, lambda w, digits: twice_log(w, digits))
        self._negative = bits.bits(1)

    def refine(self) -> None:
        """Draw more bits."""
        self._exponential.refine()
        self._normal.refine()

    def bounds(self, digits: int) -> Bounds:
        """Rationals below and above it."""
        near, far = self._exponential.bounds(digits)
        small, large = self._normal.bounds(digits)
        if far is None or large is None:
            return Fraction(0), None
        if self._negative:
            small, large = -large, -small
        low = exp_bounds(self._sigma * small, digits)[0]
        return near * low, far * exp_bounds(self._sigma * large, digits)[1]


def twice_log(w: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of -2 ln(w)."""
    low, high = log_bounds(w, digits)
    return -2 * high, -2 * low


def root_bounds(value: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above sqrt(value), `digits` places after the point."""
    unit = 10**digits
    below = math.isqrt(value.numerator * unit**2 // value.denominator)
    return Fraction(below, unit), Fraction(below + 1, unit)
