"""Polynomial tails: the Cauchy law and Student's t, which give pure privacy. Each with its price
for a move and a stretch, proved in docs/proofs/robust.md, and exact lazy draws.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import Pure
from discreet.noise.bits import BitSource
from discreet.rationals import (
    Number,
    ceil_decimal,
    exp_bounds,
    floor_decimal,
    log_bounds,
    positive,
    sqrt_up,
    strict_probability,
    whole,
)
from discreet.robust.smooth.lazy import Magnitude, Polar, Ratio
from discreet.robust.smooth.mechanism import Shape, SmoothNoise

__all__ = ["CauchyShape", "StudentShape"]

_DIGITS = 15  # of a stated loss
_SMALL = Fraction(1, 1000)  # below it the digits of cosh would not tell prices apart


def _make_noise(
    shape: Shape, square: Fraction, smoothing: Fraction, price: Fraction
) -> SmoothNoise:
    """Noise with about sqrt(square) as sliding, rounded down until the loss is at most price."""
    if square <= 0:
        raise InvalidValue(
            f"share leaves nothing of epsilon={float(price):g} for the move; lower it."
        )
    sliding = floor_decimal(square / sqrt_up(square))
    while shape.loss(sliding=sliding, smoothing=smoothing).epsilon > price:  # type: ignore[union-attr]
        sliding = floor_decimal(sliding * (1 - Fraction(1, 10**15)))
    return SmoothNoise(shape=shape, sliding=sliding, smoothing=smoothing)


def _cosh(value: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of cosh."""
    ends = zip(exp_bounds(value), exp_bounds(-value), strict=True)
    low, high = ((one + other) / 2 for one, other in ends)
    return low, high


@dataclass(frozen=True, slots=True)
class CauchyShape:
    """Density 1/(pi (1 + z^2)); the heaviest tail here: no mean, the median error is the scale.

    Privacy: the largest log ratio of two Cauchy densities is the hyperbolic distance of their
    (location, scale), so a move by a and a stretch by e^b cost exactly arcosh of the larger of
    1 + a^2/2 and cosh(b) + a^2 e^-b/2 together: at most sqrt(a^2 + b^2), and far less than the
    6 a of [NRS07, Sec. 2] at b = a.
    >>> round(float(CauchyShape().loss(sliding=Fraction(1), smoothing=Fraction(1, 2)).epsilon), 6)
    0.962424
    """

    @classmethod
    def priced(cls, *, epsilon: Number, share: Number = Fraction(3, 4)) -> SmoothNoise:
        """Noise that costs epsilon, with `share` of it as smoothing.

        Privacy: epsilon-DP for the relation of the query, with a smooth bound [NRS07, Sec. 2].
        >>> noise = CauchyShape.priced(epsilon=1)
        >>> round(float(noise.sliding), 4), noise.smoothing
        (1.0255, Fraction(3, 4))
        """
        price = floor_decimal(positive(epsilon, "epsilon"), _DIGITS)
        smoothing = price * strict_probability(share, "share")
        square = price**2 - smoothing**2
        if price > _SMALL:
            whole_cosh, low = _cosh(price)[0], _cosh(smoothing)[1]
            stretched = 2 * exp_bounds(smoothing)[0] * (whole_cosh - low)
            square = min(2 * (whole_cosh - 1), stretched)
        return _make_noise(cls(), square, smoothing, price)

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> Pure:
        """The cost of a move and a stretch, rounded up in the 15th digit.

        Privacy: pure DP for the relation of the query [NRS07, Sec. 2], docs/proofs/robust.md.
        >>> CauchyShape().loss(sliding=Fraction(0), smoothing=Fraction(1)).epsilon
        Fraction(1, 1)
        """
        straight = sqrt_up(sliding**2 + smoothing**2)
        moved = 1 + sliding**2 / 2
        stretched = _cosh(smoothing)[1] + sliding**2 * exp_bounds(-smoothing)[1] / 2
        ratio = max(moved, stretched)
        curved = log_bounds(ratio + sqrt_up(ratio**2 - 1))[1]
        return Pure(epsilon=ceil_decimal(min(straight, curved), _DIGITS))

    def draw(self, bits: BitSource) -> Magnitude:
        """The ratio of the coordinates of a uniform point of the disc.

        Privacy: the distribution is exact.
        >>> from discreet.noise.bits import system
        >>> CauchyShape().draw(system).bounds(20)[0] >= 0
        True
        """
        return Ratio(bits)


@dataclass(frozen=True, slots=True)
class StudentShape:
    """Student's t with a whole number d of degrees of freedom; finite variance from 3 on.

    Privacy: a move by a and a stretch by e^b cost at most
    b (d - 1)/2 + (d + 1)/2 sqrt(b^2 + a^2/d) together, docs/proofs/robust.md; less than the
    sum of both in [BS19].
    >>> StudentShape(degrees=1).loss(sliding=Fraction(3), smoothing=Fraction(4)).epsilon
    Fraction(5, 1)
    """

    degrees: int

    def __init__(self, *, degrees: int) -> None:
        object.__setattr__(self, "degrees", whole(degrees, "degrees"))
        if degrees > 100:
            raise InvalidValue(f"degrees is {degrees}; the largest is 100, and 3 to 5 serve best.")

    @classmethod
    def priced(
        cls, *, epsilon: Number, degrees: int = 3, share: Number = Fraction(7, 10)
    ) -> SmoothNoise:
        """Noise that costs epsilon, where a stretch alone would cost `share` of it.

        Privacy: epsilon-DP for the relation of the query, with a smooth bound [BS19].
        >>> noise = StudentShape.priced(epsilon=1, degrees=3)
        >>> round(float(noise.sliding), 4), noise.smoothing
        (0.5268, Fraction(7, 30))
        """
        price, shape = floor_decimal(positive(epsilon, "epsilon"), _DIGITS), cls(degrees=degrees)
        smoothing = price * strict_probability(share, "share") / degrees
        rest = (price - smoothing * (degrees - 1) / 2) * 2 / (degrees + 1)
        return _make_noise(shape, degrees * (rest**2 - smoothing**2), smoothing, price)

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> Pure:
        """The cost of a move and a stretch, rounded up in the 15th digit.

        Privacy: pure DP for the relation of the query [NRS07, Sec. 2], docs/proofs/robust.md.
        >>> StudentShape(degrees=4).loss(sliding=Fraction(6), smoothing=Fraction(4)).epsilon
        Fraction(37, 2)
        """
        root = sqrt_up(smoothing**2 + sliding**2 / self.degrees)
        total = smoothing * (self.degrees - 1) / 2 + root * (self.degrees + 1) / 2
        return Pure(epsilon=ceil_decimal(total, _DIGITS))

    def draw(self, bits: BitSource) -> Magnitude:
        """Polar form: the distance from the centre and the angle of a bivariate t.

        Privacy: the distribution is exact [Bai94].
        >>> from discreet.noise.bits import system
        >>> StudentShape(degrees=3).draw(system).bounds(20)[0] >= 0
        True
        """
        power = Fraction(2, self.degrees)

        def fall(w: Fraction, digits: int) -> tuple[Fraction, Fraction]:
            """degrees * (w^(-2/degrees) - 1)."""
            low, high = log_bounds(w, digits)
            below, above = exp_bounds(-power * high, digits)[0], exp_bounds(-power * low, digits)[1]
            return self.degrees * (below - 1), self.degrees * (above - 1)

        return Polar(bits, fall)
