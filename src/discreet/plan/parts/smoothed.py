"""A quantile with smooth noise, as a plan takes it: which noise a price buys, and its error
where rows are spread evenly. Knows counts by candidate, never a row; shows no scale.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Currency, Price
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, probability
from discreet.robust.smooth.laplace_noise import LogNormalShape
from discreet.robust.smooth.mechanism import SmoothNoise
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.student_noise import StudentShape

__all__ = ["Smoothed"]

_DEGREES = (3, 4, 5)  # fewer have a smaller mean at small prices, and no variance
_SIGMAS = tuple(Fraction(place, 20) for place in range(2, 12))
_SHARES = tuple(Fraction(place, 20) for place in range(1, 15))


@dataclass(frozen=True, slots=True)
class Smoothed:
    """The exact quantile of counted candidates, with noise in proportion to its smooth bound.

    `moved` is how many rows come or go between neighbours: all of a unit's, and those of two units
    where one is replaced.
    Privacy: as `loss` says, for tables that differ by at most `moved` rows [NRS07, Sec. 2],
    docs/proofs/robust.md.
    >>> from discreet.loss import Pure
    >>> import numpy as np
    >>> median = Smoothed.of_price(fraction=0.5, candidates=5, moved=1, price=Pure(epsilon=9))
    >>> median.release(np.array([0, 900, 900, 900, 0]))
    [2]
    """

    query: SmoothQuantile
    noise: SmoothNoise

    @classmethod
    def of_price(cls, *, fraction: Number, candidates: int, moved: int, price: Price) -> "Smoothed":
        """The noise with the least expected error on evenly spread rows that costs the price.

        >>> from discreet.loss import Pure
        >>> median = Smoothed.of_price(fraction=0.5, candidates=9, moved=3, price=Pure(epsilon=2))
        >>> median.loss(Pure(epsilon=2))
        Pure(epsilon=Fraction(2, 1))
        """
        if candidates < 2:
            raise InvalidValue(f"there are {candidates} candidates; smooth noise needs two.")
        query = SmoothQuantile(
            fraction=fraction, lower=0, upper=candidates - 1, rows_per_unit=moved
        )
        best = min(_offers(price), key=lambda offer: offer.error(query))
        return cls(query=query, noise=best.noise(price))

    @property
    def gaps(self) -> float:
        """The expected error where rows are spread evenly, in gaps between two of them.

        >>> from discreet.loss import Pure
        >>> median = Smoothed.of_price(fraction=0.5, candidates=9, moved=1, price=Pure(epsilon=8))
        >>> round(median.gaps, 2)
        0.18
        """
        sizes = float(self.noise.sliding), float(self.noise.smoothing)
        return _mean_size(self.noise.shape) * _bound_gaps(self.query, sizes[1]) / sizes[0]

    @property
    def words(self) -> str:
        """The noise in a few words.

        >>> from discreet.loss import Pure
        >>> Smoothed.of_price(fraction=0.5, candidates=9, moved=1, price=Pure(epsilon=8)).words
        "Student's t with 3 degrees, smoothing 0.667, scale 1/6.24 of the bound"
        """
        shape = self.noise.shape
        if isinstance(shape, StudentShape):
            law = f"Student's t with {shape.degrees} degrees"
        else:
            assert isinstance(shape, LogNormalShape)
            law = f"Laplace-log-normal, sigma {float(shape.sigma):g}"
        sizes = f"smoothing {float(self.noise.smoothing):.3g}"
        return f"{law}, {sizes}, scale 1/{float(self.noise.sliding):.3g} of the bound"

    def loss(self, price: Price) -> Price:
        """What one release costs, in the terms of the price.

        Privacy: that of the noise [NRS07, Sec. 2]; pure noise enters rho at epsilon^2/2
        [BS16, Prop. 1.4].
        """
        return price.total([self.noise.loss])

    def error(self, confidence: Number) -> float:
        """How many rows the rank may be off, whatever the data: no bound can be promised."""
        probability(confidence, "confidence")
        return math.inf

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> list[int]:
        """An index of the counts, held within them.

        Privacy: as `loss` says.
        """
        return [self.query.clamp(self.noise.release(self.query.growth_of_counts(exact), bits))]


@dataclass(frozen=True, slots=True)
class _Offer:
    """One noise that a price can buy, in floats; `make` buys it exactly."""

    shape: StudentShape | LogNormalShape
    share: Fraction
    sliding: float
    smoothing: float

    def error(self, query: SmoothQuantile) -> float:
        return _mean_size(self.shape) * _bound_gaps(query, self.smoothing) / self.sliding

    def noise(self, price: Price) -> SmoothNoise:
        if isinstance(self.shape, StudentShape):
            return StudentShape.priced(
                epsilon=price.largest_epsilon(), degrees=self.shape.degrees, share=self.share
            )
        rho = price.require_rho("the Laplace-log-normal distribution is priced in rho").rho
        return LogNormalShape.priced(rho=rho, sigma=self.shape.sigma, share=self.share)


def _offers(price: Price) -> Iterator[_Offer]:
    """Student's t for epsilon; for rho also Laplace-log-normal noise, by the formulas of both."""
    pure = price.currency is Currency.EPSILON
    root = float(price.amount) if pure else math.sqrt(2 * float(price.amount))
    for share in _SHARES:
        for degrees in _DEGREES:
            smoothing = root * float(share) / degrees
            room = (root - smoothing * (degrees - 1) / 2) * 2 / (degrees + 1)
            sliding = math.sqrt(degrees) * math.sqrt(room**2 - smoothing**2)
            yield _Offer(StudentShape(degrees=degrees), share, sliding, smoothing)
        for sigma in () if pure else _SIGMAS:
            steepest = math.exp(1.5 * float(sigma) ** 2)
            sliding, smoothing = root * float(1 - share) / steepest, root * float(share * sigma)
            yield _Offer(LogNormalShape(sigma=sigma), share, sliding, smoothing)


def _mean_size(shape: object) -> float:
    """The mean of the noise's absolute value at scale 1."""
    if isinstance(shape, LogNormalShape):
        return math.exp(float(shape.sigma) ** 2 / 2)
    assert isinstance(shape, StudentShape)
    degrees = shape.degrees
    logs = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    return 2 * math.sqrt(degrees / math.pi) * math.exp(logs) / (degrees - 1)


def _bound_gaps(query: SmoothQuantile, smoothing: float) -> float:
    """The smooth bound of evenly spread rows, in gaps.

    A unit moves the rank by up to max(q, 1 - q) of its rows, and after k units there are k units'
    rows more in the window: the largest of e^(-b k) (k rows + that).
    """
    rows = query.rows_per_unit
    rank = math.ceil(max(query.fraction, 1 - query.fraction) * rows)
    best = max(0, math.floor(1 / smoothing - rank / rows))
    return max(math.exp(-smoothing * k) * (k * rows + rank) for k in (0, best, best + 1))
