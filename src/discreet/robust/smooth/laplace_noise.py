"""Exponential tails: the Laplace law, at the price of a delta, and the Laplace-log-normal law,
which gives zCDP. Each with its price for a move and a stretch, and exact lazy draws.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate
from discreet.noise.bits import BitSource
from discreet.rationals import (
    Number,
    ceil_decimal,
    exp_bounds,
    floor_decimal,
    positive,
    sqrt_up,
    strict_probability,
)
from discreet.robust.smooth.lazy import Exponential, Magnitude, Product
from discreet.robust.smooth.mechanism import SmoothNoise

__all__ = ["LaplaceShape", "LogNormalShape"]


@dataclass(frozen=True, slots=True)
class LaplaceShape:
    """Density exp(-|z|)/2. A stretch by e^b costs `tolerance`, except in the far tail.

    Privacy: (sliding + tolerance, delta)-DP with
    delta = (1 - e^-b) exp(-(tolerance + b)/(e^b - 1)), b the smoothing, for b <= tolerance.
    It is the exact delta of the stretch, smaller than that of [NRS07, Sec. 2].
    >>> loss = LaplaceShape(tolerance=0.5).loss(sliding=Fraction(1, 2), smoothing=Fraction(1, 25))
    >>> loss.epsilon, float(loss.delta) < 1e-6
    (Fraction(1, 1), True)
    """

    tolerance: Fraction

    def __init__(self, *, tolerance: Number) -> None:
        object.__setattr__(self, "tolerance", positive(tolerance, "tolerance"))

    @classmethod
    def priced(
        cls, *, epsilon: Number, delta: Number, share: Number = Fraction(1, 2)
    ) -> SmoothNoise:
        """Noise that costs at most (epsilon, delta), of which `share` of epsilon is tolerance.

        Privacy: (epsilon, delta)-DP for the relation of the query, with a smooth bound
        [NRS07, Sec. 2].
        >>> noise = LaplaceShape.priced(epsilon=1, delta=1e-6)
        >>> noise.loss.epsilon, round(float(noise.smoothing), 4)
        (Fraction(1, 1), 0.0497)
        """
        price, part = positive(epsilon, "epsilon"), strict_probability(share, "share")
        allowed = positive(delta, "delta")
        if allowed >= 1:
            raise InvalidValue(f"delta is {delta}; it must be below 1.")
        shape, sliding = cls(tolerance=price * part), price * (1 - part)
        low, high = Fraction(0), price * part
        for _ in range(60):  # delta grows with the smoothing
            middle = floor_decimal((low + high) / 2)
            fits = shape._delta(middle) <= allowed
            low, high = (middle, high) if fits else (low, middle)
        if low == 0:
            raise UnprovableRequest(
                f"no smoothing reaches delta={delta} at epsilon={epsilon}; raise either."
            )
        return SmoothNoise(shape=shape, sliding=sliding, smoothing=low)

    def _delta(self, smoothing: Fraction) -> Fraction:
        """The hockey-stick divergence of the stretch at the tolerance, rounded up."""
        shrunk = exp_bounds(-smoothing)[0]
        grown = exp_bounds(smoothing)[1] - 1
        tail = exp_bounds(-(self.tolerance + smoothing) / grown)[1]
        return ceil_decimal((1 - shrunk) * tail)

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> Approximate:
        """The cost of a move and a stretch.

        Privacy: (sliding + tolerance, delta)-DP for the relation of the query [NRS07, Sec. 2],
        with the delta of docs/proofs/robust.md.
        >>> LaplaceShape(tolerance=1).loss(sliding=Fraction(1), smoothing=Fraction(1, 9)).epsilon
        Fraction(2, 1)
        """
        if smoothing > self.tolerance:
            raise UnprovableRequest(
                f"smoothing is {float(smoothing):g}, above the tolerance {float(self.tolerance):g}:"
                " the proof needs it at most that. Nothing was released."
            )
        return Approximate(epsilon=sliding + self.tolerance, delta=self._delta(smoothing))

    def draw(self, bits: BitSource) -> Magnitude:
        """-ln of a uniform number.

        Privacy: the distribution is exact.
        >>> from discreet.noise.bits import system
        >>> LaplaceShape(tolerance=1).draw(system).bounds(20)[0] >= 0
        True
        """
        return Exponential(bits)


@dataclass(frozen=True, slots=True)
class LogNormalShape:
    """A Laplace draw times exp(sigma * normal): lighter than a power, heavier than exponential.

    Privacy: rho = (smoothing/sigma + exp(3 sigma^2/2) sliding)^2/2 in zCDP [BS19].
    >>> loss = LogNormalShape(sigma=1).loss(sliding=Fraction(0), smoothing=Fraction(1))
    >>> loss.rho
    Fraction(1, 2)
    """

    sigma: Fraction

    def __init__(self, *, sigma: Number) -> None:
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        if not Fraction(1, 100) <= self.sigma <= 5:
            raise InvalidValue(
                f"sigma is {sigma}; it must lie between 0.01 and 5, and 0.45 serves."
            )

    @classmethod
    def priced(
        cls, *, rho: Number, sigma: Number = Fraction(9, 20), share: Number = Fraction(1, 2)
    ) -> SmoothNoise:
        """Noise that costs at most rho, of whose root `share` goes to smoothing.

        Privacy: rho-zCDP for the relation of the query, with a smooth bound [BS19].
        >>> noise = LogNormalShape.priced(rho=0.5)
        >>> round(float(noise.smoothing), 4), round(float(noise.sliding), 4)
        (0.225, 0.369)
        """
        part, shape = strict_probability(share, "share"), cls(sigma=sigma)
        doubled = 2 * positive(rho, "rho")
        root = floor_decimal(doubled / sqrt_up(doubled, 24))
        return SmoothNoise(
            shape=shape,
            sliding=root * (1 - part) / shape._steepest,
            smoothing=root * part * shape.sigma,
        )

    @property
    def _steepest(self) -> Fraction:
        """The largest slope of the log density, exp(3 sigma^2/2), rounded up."""
        return ceil_decimal(exp_bounds(Fraction(3, 2) * self.sigma**2)[1])

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> ZCDP:
        """The cost of a move and a stretch.

        Privacy: zCDP for the relation of the query [BS19], [NRS07, Sec. 2].
        >>> round(float(LogNormalShape(sigma=1).loss(
        ...     sliding=Fraction(1), smoothing=Fraction(0)).rho), 6)
        10.042768
        """
        return ZCDP(rho=(smoothing / self.sigma + self._steepest * sliding) ** 2 / 2)

    def draw(self, bits: BitSource) -> Magnitude:
        """A product of two lazy draws.

        Privacy: the distribution is exact.
        >>> from discreet.noise.bits import system
        >>> LogNormalShape(sigma=1).draw(system).bounds(20)[0] >= 0
        True
        """
        return Product(sigma=self.sigma, bits=bits)
