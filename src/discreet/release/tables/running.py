"""Prefix sums by a factorisation: a triangular matrix of integers is measured with Gaussian noise,
and its exact inverse gives the estimate. Rounding the matrix is public, so it costs no privacy.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.factorisation import decoder_column, encoder_column
from discreet.loss import ZCDP, Relation
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise.bits import BitSource, system
from discreet.release.tables.allocation import Unit
from discreet.release.tables.workload import Places, Workload

__all__ = ["MOST_CELLS", "Running", "RunningEstimate", "square_root"]

MOST_CELLS = 1 << 14
"""The longest axis that is factorised; the inverse takes time that grows with its square."""

_ONE = 1 << 20  # what stands for 1 in the integer matrix
_DIGITS = 40  # binary digits that its recurrence keeps beyond these


def square_root(cells: int) -> tuple[int, ...]:
    """The first column of the square root of the matrix of prefix sums, in 2**-20, rounded.

    >>> square_root(3)
    (1048576, 524288, 393216)
    """
    return encoder_column(cells, one=_ONE, digits=_DIGITS)


def _decoder(cells: int) -> NDArray[np.float64]:
    return decoder_column(cells, one=_ONE, digits=_DIGITS)


@dataclass(frozen=True, slots=True)
class RunningEstimate:
    """Noisy prefix sums, and the exact variance of every range.

    >>> Running(cells=2, noise=DiscreteGaussian(sigma=1), unit=Unit()).variance(0, 1) > 0
    True
    """

    plan: "Running"
    prefixes: NDArray[np.float64]

    @property
    def noises(self) -> tuple[DiscreteGaussian, ...]:
        """The noise that an estimate combines."""
        return (self.plan.noise,)

    def range(self, start: int, stop: int) -> float:
        """The estimate of the cells from start up to, not including, stop."""
        ends = np.concatenate([[0.0], self.prefixes])
        return float(ends[stop] - ends[start])

    def variance(self, start: int, stop: int) -> float:
        """The variance of that estimate."""
        return self.plan.variance(start, stop)

    def variances(self, starts: Places, stops: Places) -> NDArray[np.float64]:
        """The variances of many ranges."""
        return self.plan.variances(starts, stops)

    def histogram(self) -> NDArray[np.float64]:
        """The estimate of every cell."""
        return np.diff(self.prefixes, prepend=0.0)


@dataclass(frozen=True, slots=True)
class Running:
    """The square-root factorisation of prefix sums over an ordered axis.

    Privacy: `loss`, by the exact length of the longest column of the integer matrix
    [CKS20, Thm. 4]; docs/proofs/releases.md.
    >>> plan = Running.calibrate(64, rho=Fraction(1, 2), unit=Unit())
    >>> plan.loss.rho, round(plan.rmse(Workload.PREFIXES), 2)
    (Fraction(1, 2), 2.23)
    """

    cells: int
    noise: DiscreteGaussian
    unit: Unit

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= MOST_CELLS:
            raise InvalidValue(
                f"{self.cells:,} cells; a factorisation takes 1 to {MOST_CELLS:,}. Use hierarchies."
            )

    @classmethod
    def calibrate(cls, cells: int, *, rho: Fraction, unit: Unit) -> "Running":
        """The noise for a price.

        Privacy: the price is used up exactly.
        >>> Running.calibrate(4, rho=Fraction(1, 2), unit=Unit()).cells
        4
        """
        unscaled = cls(cells, DiscreteGaussian(sigma=1), unit)
        return cls(
            cells, DiscreteGaussian.of_variance(unscaled._squared_sensitivity() / (2 * rho)), unit
        )

    def _squared_sensitivity(self) -> Fraction:
        """The squared l2 sensitivity in steps of the integer matrix.

        The first column is the longest. Columns have no negative entries, so two of them differ
        by less than the root of the sum of their squares.
        """
        longest = sum(value**2 for value in square_root(self.cells))
        apart = 1 if self.unit.relation is Relation.ADD_REMOVE else 2
        return Fraction(self.unit.rows**2 * apart * longest)

    @property
    def loss(self) -> ZCDP:
        """What a release costs.

        Privacy: (l2^2/(2 sigma^2))-zCDP under the unit's relation [CKS20, Thm. 4].
        >>> Running.calibrate(4, rho=Fraction(1, 8), unit=Unit()).loss
        ZCDP(rho=Fraction(1, 8), delta=Fraction(0, 1))
        """
        return ZCDP(rho=self._squared_sensitivity() / (2 * self.noise.sigma_squared))

    def variance(self, start: int, stop: int) -> float:
        """The variance of a range.

        >>> round(Running.calibrate(1, rho=Fraction(1, 2), unit=Unit()).variance(0, 1), 6)
        1.0
        """
        if not 0 <= start <= stop <= self.cells:
            raise InvalidValue(f"the range {start} to {stop} is not within 0 to {self.cells}.")
        decode = _decoder(self.cells)
        weights = decode[:stop].copy()
        weights[stop - start :] -= decode[:start]
        return float(weights @ weights) * self._noise_variance()

    def variances(self, starts: Places, stops: Places) -> NDArray[np.float64]:
        """The variances of many ranges.

        >>> plan = Running.calibrate(1, rho=Fraction(1, 2), unit=Unit())
        >>> plan.variances(np.array([0]), np.array([1])).round(6).tolist()
        [1.0]
        """
        pairs = zip(np.atleast_1d(starts), np.atleast_1d(stops), strict=True)
        return np.array([self.variance(int(start), int(stop)) for start, stop in pairs])

    def _noise_variance(self) -> float:
        return self.noise.variance / _ONE**2

    def rmse(self, workload: Workload) -> float:
        """The root mean square error over all queries of a workload.

        >>> round(Running.calibrate(1, rho=Fraction(1, 2), unit=Unit()).rmse(Workload.RANGES), 6)
        1.0
        """
        decode = _decoder(self.cells)
        ends = np.cumsum(decode**2)  # the squared length of the row of each prefix
        if workload is Workload.PREFIXES:
            return float(np.sqrt(ends.mean() * self._noise_variance()))
        # Rows i < j of the same series: |row_j - row_i|^2 summed over all pairs, and over i = none.
        rows = float(ends.sum())
        # Column c holds decode[0], decode[1], ... downwards; pairs within a column of the rows.
        total = (self.cells + 1) * rows - float((np.cumsum(decode) ** 2).sum())
        return float(np.sqrt(total / workload.queries(self.cells) * self._noise_variance()))

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> RunningEstimate:
        """Measure a histogram of the axis.

        Privacy: `loss` under the unit's relation.
        >>> Running.calibrate(2, rho=Fraction(10**6), unit=Unit()).release(
        ...     np.array([3, 4])).prefixes.round(1).tolist()
        [3.0, 7.0]
        """
        if exact.shape != (self.cells,):
            raise InvalidValue(f"a histogram of shape {exact.shape}; {self.cells} cells expected.")
        noisy = self.noise.release(_convolve(square_root(self.cells), exact), bits)
        decode = _decoder(self.cells)
        steps = noisy.astype(np.float64) / _ONE
        length = 1 << (2 * self.cells - 1).bit_length()
        product = np.fft.irfft(np.fft.rfft(steps, length) * np.fft.rfft(decode, length), length)
        return RunningEstimate(self, product[: self.cells])


def _convolve(column: tuple[int, ...], exact: NDArray[Any]) -> NDArray[np.int64]:
    """The integer matrix times the counts, in integers."""
    cells = len(column)
    factor = np.array(column, dtype=np.int64)
    out = np.zeros(cells, dtype=np.int64)
    for place in np.flatnonzero(exact):
        out[place:] += int(exact[place]) * factor[: cells - place]
    return out
