"""Noise over a finite metric space: points near the exact one are likelier.
The density is proportional to exp(-d(y, f(x))/scale), with the sign that the paper's text lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.errors import InvalidValue
from discreet.loss import BoundedRange, Sensitivity
from discreet.mechanisms.shared.scores import read_gaps
from discreet.mechanisms.shared.weights import choose
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_float, exp_bounds, nonnegative, positive

__all__ = ["MetricNoise"]

Point = TypeVar("Point")


@dataclass(frozen=True, slots=True)
class MetricNoise:
    """Moves from the exact point to y with probability proportional to exp(-d(y, exact)/scale).

    Points are the numbers 0, ..., n - 1; `distances[i][j]` must satisfy the axioms of a metric.
    Privacy: (2 S/scale)-bounded range, hence DP, where S is the farthest one unit can move the
    exact point [DMNS06, Sec. 3.3], [DR19, Lemma 4.1].
    >>> MetricNoise(distances=[[0, 1], [1, 0]], scale=0.001).release(1)
    1
    """

    distances: tuple[tuple[Fraction, ...], ...]
    scale: Fraction

    def __init__(self, *, distances: Sequence[Sequence[Number]], scale: Number) -> None:
        table = tuple(tuple(nonnegative(d, "distance") for d in row) for row in distances)
        _check_metric(table)
        object.__setattr__(self, "distances", table)
        object.__setattr__(self, "scale", positive(scale, "scale"))

    @classmethod
    def between(
        cls, points: Sequence[Point], distance: Callable[[Point, Point], Number], *, scale: Number
    ) -> "MetricNoise":
        """The mechanism on these points with this distance; releases places in the sequence.

        >>> MetricNoise.between("ace", lambda a, b: abs(ord(a) - ord(b)), scale=1).distances[0][2]
        Fraction(4, 1)
        """
        return cls(distances=[[distance(a, b) for b in points] for a in points], scale=scale)

    def loss(self, sensitivity: Sensitivity) -> BoundedRange:
        """The cost of one release; `linf` is how far one unit can move the exact point.

        Privacy: (2 linf/scale)-bounded range for the neighbouring relation of the sensitivity
        [DMNS06, Sec. 3.3], [DR19, Lemma 4.1].
        >>> MetricNoise(distances=[[0, 1], [1, 0]], scale=4).loss(Sensitivity.single(1))
        BoundedRange(epsilon=Fraction(1, 2))
        """
        return BoundedRange(epsilon=2 * sensitivity.linf / self.scale)

    def release(self, exact: int, bits: BitSource = system) -> int:
        """A point near the exact one.

        Privacy: as `loss` says [DMNS06, Sec. 3.3].
        >>> MetricNoise(distances=[[0, 1], [1, 0]], scale=1).release(0) in {0, 1}
        True
        """
        if isinstance(exact, bool) or exact not in range(len(self.distances)):
            raise InvalidValue(
                f"the exact point is not one of the {len(self.distances)} declared; "
                "number them from 0. Nothing was released."
            )
        scores = [-distance for distance in self.distances[exact]]
        return choose(read_gaps(scores, self.scale), bits)

    def error(self, confidence: Number) -> float:
        """The smallest distance that holds with this probability, whatever the exact point.

        >>> MetricNoise(distances=[[0, 1], [1, 0]], scale=1).error(0.95)
        1.0
        """
        missed = tail(confidence)
        return ceil_float(max(self._radius(row, missed) for row in self.distances))

    def _radius(self, row: tuple[Fraction, ...], missed: Fraction) -> Fraction:
        bounds = {d: exp_bounds(-d / self.scale) for d in set(row)}
        inside = sum(bounds[d][0] for d in row)
        beyond = Fraction(0)
        for radius in sorted(row, reverse=True):
            # Everything farther than this radius is in `beyond`.
            if beyond + bounds[radius][1] > missed * inside:
                return radius
            beyond += bounds[radius][1]
        return Fraction(0)


def _check_metric(table: tuple[tuple[Fraction, ...], ...]) -> None:
    points = range(len(table))
    if not table or any(len(row) != len(table) for row in table):
        raise InvalidValue("distances must be a square table with at least one point.")
    for i in points:
        for j in points:
            if (table[i][j] == 0) != (i == j) or table[i][j] != table[j][i]:
                raise InvalidValue(
                    f"the distance between points {i} and {j} is {table[i][j]} one way and "
                    f"{table[j][i]} the other; it must be symmetric, and zero only from a point "
                    "to itself."
                )
            if any(table[i][k] + table[k][j] < table[i][j] for k in points):
                raise InvalidValue(
                    f"the distance {table[i][j]} between points {i} and {j} is longer than a way "
                    "round; a metric satisfies the triangle inequality."
                )
