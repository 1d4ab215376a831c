"""CoinPress: the mean of several columns from a rough idea of where it may lie, sharpened in
rounds. Owns the rounds; rows are held within a ball by integers alone, noise is discrete Gaussian.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Relation
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, strict_probability, whole
from discreet.robust.moments.balls import MOST_COLUMNS, coarseness, rows_of, shrink_to_ball
from discreet.robust.rows import LARGEST, count_moved_rows

__all__ = ["CoinPress", "CoinPressMean"]

_MOST_RADIUS = 1 << 26
_COUNT_SHARE = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class CoinPressMean:
    """The noisy mean in lattice steps, the noisy number of rows, and the ball of the last round.

    Post-processing of `CoinPress`.
    """

    mean: tuple[Fraction, ...]
    count: int
    radius: int


@dataclass(frozen=True, slots=True)
class CoinPress:
    """The mean of columns with about the standard deviation `scale`, within `radius` of 0.

    Each round holds rows within the ball that the round before left, so only the last round's
    noise, made for a small ball, matters. A twentieth of rho counts the rows, half of the rest
    goes to the last round.
    Privacy: rho-zCDP for the relation, with units of up to `rows_per_unit` rows, whatever the
    rows are [BDKU20], [CKS20, Thm. 4], [BS16, Lemma 1.7]; accurate where rows are
    bell-shaped with at most this scale and their mean lies within the radius.
    >>> CoinPress(columns=3, scale=10, radius=10**6, rho=0.5).loss()
    ZCDP(rho=Fraction(1, 2), delta=Fraction(0, 1))
    """

    columns: int
    scale: int
    radius: int
    rho: Fraction
    rounds: int
    relation: Relation
    rows_per_unit: int
    failure: Fraction

    def __init__(
        self,
        *,
        columns: int,
        scale: int,
        radius: int,
        rho: Number,
        rounds: int = 4,
        relation: Relation = Relation.ADD_REMOVE,
        rows_per_unit: int = 1,
        failure: Number = Fraction(1, 100),
    ) -> None:
        if whole(columns, "columns") > MOST_COLUMNS:
            raise InvalidValue(f"columns is {columns}; it must be at most {MOST_COLUMNS}.")
        if whole(radius, "radius") > LARGEST:
            raise InvalidValue(f"radius is {radius}; it must be at most 2**60 steps.")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "scale", whole(scale, "scale"))
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "rho", positive(rho, "rho"))
        object.__setattr__(self, "rounds", whole(rounds, "rounds"))
        object.__setattr__(self, "relation", Relation(relation))
        object.__setattr__(self, "rows_per_unit", whole(rows_per_unit, "rows_per_unit"))
        object.__setattr__(self, "failure", strict_probability(failure, "failure"))

    @property
    def moved(self) -> int:
        """How many rows one neighbouring step inserts or deletes in all.

        >>> CoinPress(columns=3, scale=10, radius=10**6, rho=0.5, rows_per_unit=4).moved
        4
        """
        return count_moved_rows(self.relation, self.rows_per_unit)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The rho of the count and of each round.

        >>> sum(CoinPress(columns=3, scale=10, radius=10**6, rho=0.5).shares)
        Fraction(1, 2)
        """
        count, rest = self.rho * _COUNT_SHARE, self.rho * (1 - _COUNT_SHARE)
        if self.rounds == 1:
            return count, rest
        early = rest / (2 * (self.rounds - 1))
        return (count, *[early] * (self.rounds - 1), rest / 2)

    def loss(self) -> ZCDP:
        """The cost of one release.

        Privacy: the count and the rounds add up [BS16, Lemma 1.7].
        >>> CoinPress(columns=3, scale=10, radius=10**6, rho=2).loss().rho
        Fraction(2, 1)
        """
        return ZCDP(rho=sum(self.shares, Fraction(0)))

    def release(self, exact: Any, bits: BitSource = system) -> CoinPressMean:
        """The noisy mean.

        Privacy: as `loss` says.
        >>> rows = np.full((4000, 2), 700)
        >>> estimate = CoinPress(columns=2, scale=10, radius=10**4, rho=1).release(rows)
        >>> all(abs(column - 700) < 10 for column in estimate.mean)
        True
        """
        rows = rows_of(exact, self.columns)
        share, *rounds = self.shares
        count = max(1, self._noise(1, share).release(len(rows), bits))
        centre = np.zeros(self.columns, dtype=np.int64)
        mean = tuple(Fraction(0) for _ in range(self.columns))
        radius = self.radius
        for share in rounds:
            clip = min(radius + self._spread(count), 2 * LARGEST)
            coarse = coarseness(clip, _MOST_RADIUS)
            limit = clip >> coarse
            noise = self._noise(limit, share)
            noisy = noise.release(shrink_to_ball(rows, centre, limit, coarse).sum(axis=0), bits)
            mean = tuple(
                int(start) + Fraction(int(total) << coarse, count)
                for start, total in zip(centre, noisy, strict=True)
            )
            centre = self._centre(mean)
            radius = self._next_radius(count, noise, coarse)
        return CoinPressMean(mean, count, radius)

    def _noise(self, length: int, share: Fraction) -> DiscreteGaussian:
        """Noise for rows of at most this length."""
        return DiscreteGaussian.of_variance(Fraction(self.moved * length) ** 2 / (2 * share))

    def _centre(self, mean: tuple[Fraction, ...]) -> NDArray[np.int64]:
        return np.array([min(max(round(m), -LARGEST), LARGEST) for m in mean], dtype=np.int64)

    # From here on only public and released numbers, so floats do no harm.

    def _width(self, failure: float) -> float:
        """A length that a standard normal vector exceeds with this probability at most."""
        level = math.log(1 / failure)
        return math.sqrt(self.columns + 2 * math.sqrt(self.columns * level) + 2 * level)

    def _spread(self, count: int) -> int:
        """How far from the mean all rows lie [BDKU20]."""
        allowed = float(self.failure) / (2 * self.rounds)
        return math.ceil(self.scale * self._width(allowed / count))

    def _next_radius(self, count: int, noise: DiscreteGaussian, coarse: int) -> int:
        """How far the noisy mean lies from the true one: sampling, noise and coarsening."""
        allowed = float(self.failure) / (2 * self.rounds)
        sigma = math.sqrt(noise.sigma_squared) * 2.0**coarse
        single = math.sqrt(self.scale**2 / count + (sigma / count) ** 2)
        rounding = math.sqrt(self.columns) * (1 << coarse)
        return max(1, min(LARGEST, math.ceil(single * self._width(allowed) + rounding)))
