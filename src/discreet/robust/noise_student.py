"""Polynomial tails: the Cauchy law and Student's t, which give pure privacy. Each with its price
for a move and a stretch, proved in docs/proofs/robust.md, and exact lazy draws.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import Pure
from discreet.noise.bits import BitSource
from discreet.rationals import Number, exp_bounds, log_bounds, positive, sqrt_up
from discreet.robust._lazy import Magnitude, Polar, Ratio
from discreet.robust._price import share_of
from discreet.robust._rows import whole
from discreet.robust.smooth import SmoothNoise

__all__ = ["CauchyShape", "StudentShape"]


@dataclass(frozen=True, slots=True)
class CauchyShape:
    """Density 1/(pi (1 + z^2)); the heaviest tail here: no mean, the median error is the scale.

    Privacy: a move by a and a stretch by e^b cost a + b together: the log density has slope at
    most 1 in either. [NRS07, Sec. 2] gives 6 times the scale.
    >>> CauchyShape().loss(sliding=Fraction(1, 3), smoothing=Fraction(2, 3)).epsilon
    Fraction(1, 1)
    """

    @classmethod
    def priced(cls, *, epsilon: Number, share: Number = Fraction(1, 2)) -> SmoothNoise:
        """Noise that costs epsilon, of which `share` goes to smoothing.

        Privacy: none (touches no data).
        >>> noise = CauchyShape.priced(epsilon=1)
        >>> noise.sliding, noise.smoothing
        (Fraction(1, 2), Fraction(1, 2))
        """
        price, part = positive(epsilon, "epsilon"), share_of(share)
        return SmoothNoise(shape=cls(), sliding=price * (1 - part), smoothing=price * part)

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> Pure:
        """The cost of a move and a stretch.

        Privacy: (sliding + smoothing, 0)-DP, for the relation of the query [NRS07, Sec. 2].
        >>> CauchyShape().loss(sliding=Fraction(1), smoothing=Fraction(1)).epsilon
        Fraction(2, 1)
        """
        return Pure(epsilon=sliding + smoothing)

    def draw(self, bits: BitSource) -> Magnitude:
        """The ratio of the coordinates of a uniform point of the disc.

        Privacy: none (touches no data). The distribution is exact.
        >>> from discreet.noise.bits import system
        >>> CauchyShape().draw(system).bounds(20)[0] >= 0
        True
        """
        return Ratio(bits)


@dataclass(frozen=True, slots=True)
class StudentShape:
    """Student's t with a whole number of degrees of freedom; finite variance from 3 on.

    Privacy: a move by a and a stretch by e^b cost degrees * b + a (degrees + 1)/(2 sqrt(degrees))
    [BS19].
    >>> StudentShape(degrees=1).loss(sliding=Fraction(1), smoothing=Fraction(1)).epsilon
    Fraction(2, 1)
    """

    degrees: int

    def __init__(self, *, degrees: int) -> None:
        object.__setattr__(self, "degrees", whole(degrees, "degrees"))
        if degrees > 100:
            raise InvalidValue(f"degrees is {degrees}; the largest is 100, and 3 to 5 serve best.")

    @classmethod
    def priced(
        cls, *, epsilon: Number, degrees: int = 3, share: Number = Fraction(1, 2)
    ) -> SmoothNoise:
        """Noise that costs epsilon, of which `share` goes to smoothing.

        Privacy: none (touches no data).
        >>> StudentShape.priced(epsilon=1, degrees=4).smoothing
        Fraction(1, 8)
        """
        price, part = positive(epsilon, "epsilon"), share_of(share)
        shape = cls(degrees=degrees)
        return SmoothNoise(
            shape=shape,
            sliding=price * (1 - part) / shape._steepest,
            smoothing=price * part / degrees,
        )

    @property
    def _steepest(self) -> Fraction:
        """The largest slope of the log density, (d + 1)/(2 sqrt(d)), rounded up."""
        return sqrt_up(Fraction((self.degrees + 1) ** 2, 4 * self.degrees), 20)

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> Pure:
        """The cost of a move and a stretch.

        Privacy: pure DP for the relation of the query [BS19], [NRS07, Sec. 2].
        >>> StudentShape(degrees=4).loss(sliding=Fraction(4), smoothing=Fraction(1)).epsilon
        Fraction(9, 1)
        """
        return Pure(epsilon=self.degrees * smoothing + self._steepest * sliding)

    def draw(self, bits: BitSource) -> Magnitude:
        """Polar form: the distance from the centre and the angle of a bivariate t.

        Privacy: none (touches no data). The distribution is exact [Bai94].
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
