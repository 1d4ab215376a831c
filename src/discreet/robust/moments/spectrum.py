"""Analyze Gauss: the sum of outer products of rows within a ball, with symmetric noise, and a
proved bound on the error of its spectrum. Owns that matrix; everything after it is post-processing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Relation, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import tail
from discreet.rationals import Number, positive, whole
from discreet.robust.moments.balls import MOST_COLUMNS, rows_of, shrink_to_ball
from discreet.robust.rows import count_moved_rows

__all__ = ["AnalyzeGauss", "SecondMoments"]

_MOST_RADIUS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class SecondMoments:
    """The noisy sum of outer products, in squared lattice steps. Post-processing of `AnalyzeGauss`.

    >>> SecondMoments(matrix=np.array([[9, 0], [0, 1]]), error=2.0).principal(1).tolist()
    [[1.0], [0.0]]
    """

    matrix: NDArray[np.int64]
    error: float
    """With probability 95% the noise moves no eigenvalue by more than this."""

    def principal(self, count: int) -> NDArray[np.float64]:
        """The directions of the largest eigenvalues, as columns; their first entry not negative.

        >>> SecondMoments(matrix=np.array([[1, 0], [0, 9]]), error=2.0).principal(1).tolist()
        [[0.0], [1.0]]
        """
        if whole(count, "count") > len(self.matrix):
            raise InvalidValue(f"count is {count}; there are {len(self.matrix)} columns.")
        directions = np.linalg.eigh(self.matrix.astype(np.float64))[1][:, ::-1][:, :count]
        signs = np.where(directions[0] < 0, -1.0, 1.0)
        turned: NDArray[np.float64] = directions * signs + 0.0
        return turned

    def covariance(self, *, count: int, offset: Any) -> NDArray[np.float64]:
        """The covariance, given a noisy number of rows and a noisy mean from the same centre.

        >>> moments = SecondMoments(matrix=np.array([[90, 0], [0, 10]]), error=2.0)
        >>> moments.covariance(count=10, offset=[1, 0]).tolist()
        [[8.0, 0.0], [0.0, 1.0]]
        """
        mean = np.array([float(value) for value in offset])
        covariance: NDArray[np.float64] = self.matrix / whole(count, "count") - np.outer(mean, mean)
        return covariance


@dataclass(frozen=True, slots=True)
class AnalyzeGauss:
    """Adds discrete Gaussian noise to each entry on and above the diagonal of the sum of x x^T.

    Rows longer than `radius` lattice steps are shrunk to it; the radius is at most 2**16 steps,
    so choose the lattice accordingly.
    Privacy: rho-zCDP for the relation, with units of up to `rows_per_unit` rows: one row moves
    the matrix by at most radius^2 in Frobenius norm [DTTZ14], [CKS20, Thm. 4].
    >>> AnalyzeGauss(columns=3, radius=100, rho=0.5).loss()
    ZCDP(rho=Fraction(1, 2), delta=Fraction(0, 1))
    """

    columns: int
    radius: int
    rho: Fraction
    moved: int

    def __init__(
        self,
        *,
        columns: int,
        radius: int,
        rho: Number,
        relation: Relation = Relation.ADD_REMOVE,
        rows_per_unit: int = 1,
    ) -> None:
        if whole(columns, "columns") > MOST_COLUMNS:
            raise InvalidValue(f"columns is {columns}; it must be at most {MOST_COLUMNS}.")
        if whole(radius, "radius") > _MOST_RADIUS:
            raise InvalidValue(f"radius is {radius}; it must be at most {_MOST_RADIUS} steps.")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "rho", positive(rho, "rho"))
        object.__setattr__(self, "moved", count_moved_rows(relation, rows_per_unit))

    @property
    def noise(self) -> DiscreteGaussian:
        """The noise of one entry.

        >>> AnalyzeGauss(columns=3, radius=10, rho=0.5).noise
        DiscreteGaussian(sigma_squared=Fraction(10000, 1))
        """
        return DiscreteGaussian.of_variance(Fraction(self._length) ** 2 / (2 * self.rho))

    @property
    def _length(self) -> int:
        """How far one step moves the entries on and above the diagonal, in Euclidean norm."""
        return self.moved * self.radius**2

    def loss(self) -> ZCDP:
        """The cost of one release.

        Privacy: rho-zCDP for the relation [CKS20, Thm. 4].
        >>> AnalyzeGauss(columns=3, radius=100, rho=2).loss().rho
        Fraction(2, 1)
        """
        return self.noise.loss(Sensitivity.single(self._length))

    def release(self, exact: Any, bits: BitSource = system, *, centre: Any = None) -> SecondMoments:
        """The noisy matrix of rows minus a public or released centre (0 if none is given).

        Privacy: as `loss` says.
        >>> moments = AnalyzeGauss(columns=2, radius=10, rho=50).release(np.array([[10, 0]] * 1000))
        >>> abs(int(moments.matrix[0, 0]) - 100_000) < 2000
        True
        """
        rows = rows_of(exact, self.columns)
        start = np.zeros(self.columns, dtype=np.int64)
        if centre is not None:
            start = rows_of([[round(value) for value in centre]], self.columns)[0]
        within = shrink_to_ball(rows, start, self.radius, 0)
        upper = np.triu_indices(self.columns)
        entries = np.zeros(len(upper[0]), dtype=np.int64)
        for first in range(0, len(within), 1 << 24):  # 2**32 * 2**24 stays within 64 bits
            part = within[first : first + (1 << 24)]
            entries += (part.T @ part)[upper]
        noisy = self.noise.release(entries, bits)
        matrix = np.zeros((self.columns, self.columns), dtype=np.int64)
        matrix[upper] = noisy
        matrix[upper[::-1]] = noisy
        return SecondMoments(matrix, self.error(0.95))

    def error(self, confidence: Number) -> float:
        """A bound on the spectral norm of the noise that holds with this probability.

        It is 4 sigma sqrt(columns ln 9 + ln(2/missed)): a net of 9^columns directions, and noise
        that is subgaussian [CKS20, Sec. 3]; docs/proofs/robust.md derives it.
        >>> round(AnalyzeGauss(columns=3, radius=10, rho=0.5).error(0.95))
        1283
        """
        missed = float(tail(confidence))
        level = self.columns * math.log(9) + math.log(2 / missed)
        return 4 * math.sqrt(self.noise.sigma_squared) * math.sqrt(level) * (1 + 1e-12)
