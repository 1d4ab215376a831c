"""Noise in proportion to smooth sensitivity, on a public lattice: the mechanism, and the answer
that it and the ladder give. Holds no data and no randomness; never shows the scale it used.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from discreet.loss import Loss, Relation
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive
from discreet.robust.smooth.growth import Growth, Query, smooth_bound
from discreet.robust.smooth.lazy import Magnitude, nearest_integer

__all__ = ["Estimate", "GrowthMechanism", "Shape", "SmoothNoise", "estimate"]


class Shape(Protocol):
    """A noise law of scale 1 that tolerates being moved and being stretched a little.

    Privacy: `loss` states the guarantee and its theorem.
    """

    def loss(self, *, sliding: Fraction, smoothing: Fraction) -> Loss:
        """What a move by `sliding` and a stretch by exp(+-smoothing) cost together.

        Privacy: for a smooth bound that neighbours stretch by at most exp(smoothing) [NRS07, Sec.
        2].
        """

    def draw(self, bits: BitSource) -> Magnitude:
        """The absolute value of one draw, in lazy digits.

        Privacy: the distribution is exact.
        """


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """Adds noise of scale S(x)/sliding, S the smooth bound, and rounds to the public lattice.

    Exact: the released integer is the one nearest to exact + (S/sliding) Z for a perfect real draw
    Z and the exact real S; its law is the ideal one, rounded. No float is involved, and the
    lattice depends on neither the data nor S. How long the draw takes depends on both a little.
    Privacy: the shape's loss at (sliding, smoothing), for the relation of the query: the real
    mechanism has it [NRS07, Sec. 2], and rounding is post-processing.
    >>> from discreet.robust.smooth.student_noise import CauchyShape
    >>> CauchyShape.priced(epsilon=1).loss
    Pure(epsilon=Fraction(1, 1))
    """

    shape: Shape
    sliding: Fraction
    smoothing: Fraction

    def __init__(self, *, shape: Shape, sliding: Number, smoothing: Number) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "sliding", positive(sliding, "sliding"))
        object.__setattr__(self, "smoothing", positive(smoothing, "smoothing"))
        _ = self.loss  # a shape may have no proof for these numbers

    @property
    def loss(self) -> Loss:
        """The cost of one release, whatever the data.

        Privacy: that of the shape [NRS07, Sec. 2].
        >>> from discreet.robust.smooth.laplace_noise import LogNormalShape
        >>> LogNormalShape.priced(rho=0.5).loss.rho <= Fraction(1, 2)
        True
        """
        return self.shape.loss(sliding=self.sliding, smoothing=self.smoothing)

    def release(self, exact: Growth, bits: BitSource = system) -> int:
        """A noisy number of steps.

        Privacy: as `loss` says.
        """
        bound = smooth_bound(exact, smoothing=self.smoothing)

        def scale(digits: int) -> tuple[Fraction, Fraction]:
            low, high = bound.bounds(digits)
            return low / self.sliding, high / self.sliding

        return nearest_integer(exact.exact, scale, self.shape.draw(bits), bits)


class GrowthMechanism(Protocol):
    """A mechanism that releases a value with the help of its growth.

    Privacy: as `loss` says.
    """

    @property
    def loss(self) -> Loss:
        """The cost of one release.

        Privacy: under the relation of the query.
        """

    def release(self, exact: Growth, bits: BitSource = system) -> int:
        """A noisy number of steps.

        Privacy: as `loss` says.
        """


@dataclass(frozen=True, slots=True)
class Estimate:
    """A released number of lattice steps, with what it cost and for which neighbours.

    The scale of the noise depends on the data and is not part of the answer.
    Privacy: post-processing of the mechanism that made it.
    """

    noisy: int
    loss: Loss
    relation: Relation


def estimate(
    query: Query, exact: Any, mechanism: GrowthMechanism, bits: BitSource = system
) -> Estimate:
    """Release a query by smooth noise or by the ladder, held within its public range.

    Privacy: `mechanism.loss` for `query.relation` [NRS07, Sec. 2]; the range is post-processing.
    """
    noisy = mechanism.release(query.growth(exact), bits)
    return Estimate(noisy=query.clamp(noisy), loss=mechanism.loss, relation=query.relation)
