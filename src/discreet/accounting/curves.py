"""Moment-generating functions of privacy losses, many mechanisms at a time.
Owns the two shapes every mechanism here reduces to: closed forms with two ends, and atoms.
Never discretises and never composes beyond multiplying transforms.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Atoms",
    "ComplexArray",
    "Ends",
    "Factor",
    "Indices",
    "laplace_shares",
    "pure_shares",
]

Array = NDArray[np.float64]
"""A vector or matrix of floats."""

ComplexArray = NDArray[np.complex128]
"""A vector or matrix of complex numbers."""

Indices = NDArray[np.int64]
"""Whole multiples of a frequency step."""

_LIMIT = 1 << 21  # elements of one matrix of frequencies against terms
_BLOCK = 64  # frequencies that share a row of the matrix product for atoms


class Factor(Protocol):
    """Independent finite privacy losses, seen through E[exp(z L)] for complex z.

    `size` terms are evaluated per frequency; a transform's rounding error is at most
    (`weight` + frequency * `spread`) units of 2**-47.
    Privacy: none (touches no data).
    >>> import numpy as np
    >>> Atoms(np.array([0.0]), np.array([1.0]), 3).size
    1
    """

    @property
    def size(self) -> int:
        """Terms evaluated per frequency.

        Privacy: none (touches no data).
        >>> Atoms(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 3).size
        1
        """

    @property
    def weight(self) -> float:
        """Rounding weight that does not depend on the frequency.

        Privacy: none (touches no data).
        >>> Atoms(np.array([0.0]), np.array([1.0]), 1).weight > 0
        True
        """

    @property
    def spread(self) -> float:
        """Rounding weight per unit of frequency: the largest total absolute loss.

        Privacy: none (touches no data).
        >>> Atoms(np.array([-2.0, 1.0]), np.array([0.5, 0.5]), 3).spread
        6.0
        """

    def cumulant(self, tilts: Array) -> Array:
        """The logarithm of E[exp(tilt * L)], for each tilt.

        Privacy: none (touches no data).
        >>> Atoms(np.array([0.0]), np.array([1.0]), 3).cumulant(np.array([2.0])).tolist()
        [0.0]
        """

    def transform(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """E[exp((tilt + i w) L)] / E[exp(tilt L)], for each frequency w = step * index.

        Privacy: none (touches no data).
        >>> Atoms(np.array([0.0]), np.array([1.0]), 3).transform(1.0, 2.0, np.array([1])).tolist()
        [(1+0j)]
        """

    def decay(self, tilt: float, low: Array, high: Array) -> Array:
        """The logarithm of a bound on |transform| over each interval [low, high].

        Privacy: none (touches no data).
        >>> one = Atoms(np.array([0.0]), np.array([1.0]), 3)
        >>> one.decay(1.0, np.array([2.0]), np.array([3.0])).tolist()
        [0.0]
        """

    def roughness(self, tilt: float) -> float:
        """The sum of squared cell widths that discretisation left, in expectation.

        Privacy: none (touches no data).
        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).roughness(1.0)
        0.0
        """


def laplace_shares(point: Any) -> tuple[Any, Any]:
    """Coefficients of exp(z e) and exp(-(1 + z) e) for Laplace noise at z = `point`.

    Privacy: E[exp(z L)] = ((1 + z) exp(z e) + z exp(-(1 + z) e)) / (1 + 2 z) [Mir17, Prop. 6].
    >>> laplace_shares(1.0)
    (0.6666666666666666, 0.3333333333333333)
    """
    return (point + 1) / (2 * point + 1), point / (2 * point + 1)


def pure_shares(point: Any) -> tuple[Any, Any]:
    """Coefficients of exp(z e) and exp(-(1 + z) e) for two outcomes, up to their common scale.

    Privacy: the worst pair of epsilon-DP has losses +-epsilon only [MV16, Lemma 3.2].
    >>> pure_shares(1.0)
    (1.0, 1.0)
    """
    return point * 0 + 1, point * 0 + 1


def _power(values: ComplexArray, counts: NDArray[np.int64]) -> ComplexArray:
    """Product over columns of values ** counts, by repeated squaring."""
    result = np.ones(values.shape[0], dtype=np.complex128)
    left = counts
    while True:
        odd = (left & 1).astype(bool)
        if odd.any():
            result *= np.multiply.reduce(values if odd.all() else values[:, odd], axis=1)
        left = left >> 1
        keep = left > 0
        if not keep.any():
            return result
        if not keep.all():
            values, left = values[:, keep], left[keep]
        values = values * values


def _interval(squares: Array, deviations: Array, low: Array, high: Array) -> Array:
    """Bounds on |transform|^2 over intervals, from its values `squares` at their centres.

    |transform|^2 = E cos(w D) with D the difference of two copies, so its derivative is at most
    E|D| <= sqrt(2) s and at most w E D^2 = 2 w s^2.
    """
    slope = np.minimum(math.sqrt(2) * deviations, 2 * np.outer(high, deviations**2))
    return np.minimum(1.0, squares + slope * ((high - low) / 2)[:, None] + 1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Mechanisms of one family whose transform has terms at loss +epsilon and -epsilon only.

    Privacy: none (touches no data); symmetric, so add and remove are alike.
    >>> two = Ends(np.array([1.0]), np.array([2]), np.zeros(1), laplace_shares)
    >>> float(two.cumulant(np.array([0.0]))[0])
    0.0
    """

    epsilons: Array
    counts: NDArray[np.int64]
    scales: Array  # logarithms of the common scale of the two terms
    shares: Callable[[Any], tuple[Any, Any]]

    @property
    def size(self) -> int:
        """Terms evaluated per frequency.

        Privacy: none (touches no data).
        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).size
        1
        """
        return len(self.epsilons)

    @property
    def weight(self) -> float:
        """Rounding weight that does not depend on the frequency.

        Privacy: none (touches no data).
        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).weight
        2.0
        """
        return float(self.counts.sum())

    @property
    def spread(self) -> float:
        """Rounding weight per unit of frequency: the largest total absolute loss.

        Privacy: none (touches no data).
        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).spread
        2.0
        """
        return float(self.counts @ self.epsilons)

    def cumulant(self, tilts: Array) -> Array:
        """The logarithm of E[exp(tilt * L)], for each tilt but -1/2.

        Privacy: none (touches no data).
        >>> one = Ends(np.array([1.0]), np.array([1]), np.zeros(1), laplace_shares)
        >>> bool(np.isclose(*one.cumulant(np.array([-3.0, 2.0]))))  # symmetric about -1/2
        True
        """
        tilts = np.where(tilts < -0.5, -1 - tilts, tilts)[:, None]
        up, down = self.shares(tilts)
        far = np.exp(-(1 + 2 * tilts) * self.epsilons)
        logs = tilts * self.epsilons + np.log(up + down * far) + self.scales
        return np.asarray(logs @ self.counts)

    def _matrix(self, tilt: float, frequencies: Array) -> ComplexArray:
        near_up, near_down = self.shares(tilt)
        far = np.exp(-(1 + 2 * tilt) * self.epsilons)
        up, down = self.shares((tilt + 1j * frequencies)[:, None])
        turns = np.exp(1j * np.multiply.outer(frequencies, self.epsilons))
        scale = 1 / (near_up + near_down * far)
        result: ComplexArray = turns * (up * scale)
        result += np.conj(turns, out=turns) * (down * (far * scale))
        return result

    def transform(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """E[exp((tilt + i w) L)] / E[exp(tilt L)], for each frequency w = step * index.

        Privacy: none (touches no data).
        >>> one = Ends(np.array([1.0]), np.array([1]), np.zeros(1), pure_shares)
        >>> bool(abs(one.transform(-0.5, 1.0, np.array([1]))[0].real - np.cos(1.0)) < 1e-15)
        True
        """
        rows = max(1, _LIMIT // self.size)
        frequencies = step * indices.astype(np.float64)
        parts = [
            _power(self._matrix(tilt, frequencies[start : start + rows]), self.counts)
            for start in range(0, len(indices), rows)
        ]
        return np.concatenate(parts) if parts else np.ones(0, dtype=np.complex128)

    def decay(self, tilt: float, low: Array, high: Array) -> Array:
        """The logarithm of a bound on |transform| over each interval [low, high].

        Privacy: none (touches no data).
        >>> one = Ends(np.array([0.1]), np.array([1000]), np.zeros(1), pure_shares)
        >>> bool(one.decay(0.0, np.array([4.0]), np.array([5.0]))[0] < -40)
        True
        """
        rows = max(1, _LIMIT // self.size)
        result = np.empty(len(low))
        for start in range(0, len(low), rows):
            part = slice(start, start + rows)
            values = self._matrix(tilt, (low[part] + high[part]) / 2)
            squares = values.real**2 + values.imag**2
            # The losses span 2 epsilon, so the deviation is at most epsilon.
            bounds = _interval(squares, self.epsilons, low[part], high[part])
            result[part] = 0.5 * (np.log(bounds) @ self.counts)
        return result

    def roughness(self, tilt: float) -> float:  # noqa: ARG002
        """The sum of squared cell widths: closed forms have none.

        Privacy: none (touches no data).
        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).roughness(1.0)
        0.0
        """
        return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """`count` copies of one discrete privacy loss: `masses` at `losses`.

    Privacy: none (touches no data).
    >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 2).weight
    8.0
    """

    losses: Array
    masses: Array
    count: int

    @property
    def size(self) -> int:
        """Terms evaluated per frequency; sixteen of a matrix product cost as much as one.

        Privacy: none (touches no data).
        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 2).size
        1
        """
        return 1 + len(self.losses) // 16

    @property
    def weight(self) -> float:
        """Rounding weight that does not depend on the frequency.

        Privacy: none (touches no data).
        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 1).weight
        4.0
        """
        return float(self.count) * (2 + len(self.losses))

    @property
    def spread(self) -> float:
        """Rounding weight per unit of frequency: the largest total absolute loss.

        Privacy: none (touches no data).
        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 2).spread
        2.0
        """
        return self.count * float(np.abs(self.losses).max())

    def _tilted(self, tilt: float) -> Array:
        exponents = tilt * self.losses
        weights = self.masses * np.exp(exponents - exponents.max())
        return np.asarray(weights / weights.sum())

    def cumulant(self, tilts: Array) -> Array:
        """The logarithm of E[exp(tilt * L)], for each tilt.

        Privacy: none (touches no data).
        >>> one = Atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 1)
        >>> bool(np.isclose(one.cumulant(np.array([1.0]))[0], np.log(np.cosh(1.0))))
        True
        """
        exponents = np.multiply.outer(tilts, self.losses)
        top = exponents.max(axis=1)
        sums = np.exp(exponents - top[:, None]) @ self.masses
        return np.asarray(self.count * (top + np.log(sums)))

    def _direct(self, tilt: float, frequencies: Array) -> ComplexArray:
        weights = self._tilted(tilt)
        rows = max(1, _LIMIT // len(weights))
        result = np.empty(len(frequencies), dtype=np.complex128)
        for start in range(0, len(frequencies), rows):
            angles = np.multiply.outer(frequencies[start : start + rows], self.losses)
            result.real[start : start + rows] = np.cos(angles) @ weights
            result.imag[start : start + rows] = np.sin(angles) @ weights
        return result

    def _blocks(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """All indices with the same quotient by _BLOCK share one row of a matrix product."""
        quotients, rows = np.unique(indices // _BLOCK, return_inverse=True)
        fine = np.exp(1j * np.multiply.outer(self.losses, step * np.arange(_BLOCK)))
        fine *= self._tilted(tilt)[:, None]
        height = max(1, _LIMIT // len(self.losses))
        parts = [
            np.exp(1j * np.multiply.outer(step * _BLOCK * part, self.losses)) @ fine
            for part in np.split(quotients, range(height, len(quotients), height))
        ]
        table: ComplexArray = np.concatenate(parts)
        return table[rows, indices % _BLOCK]

    def transform(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """E[exp((tilt + i w) L)] / E[exp(tilt L)], for each frequency w = step * index.

        Privacy: none (touches no data).
        >>> one = Atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 1)
        >>> bool(abs(one.transform(0.0, 1.0, np.array([1]))[0] - np.cos(1.0)) < 1e-15)
        True
        """
        if len(indices) < 4 * _BLOCK:
            values = self._direct(tilt, step * indices.astype(np.float64))
        else:
            values = self._blocks(tilt, step, indices)
        return _power(values[:, None], np.array([self.count]))

    def decay(self, tilt: float, low: Array, high: Array) -> Array:
        """The logarithm of a bound on |transform| over each interval [low, high].

        Privacy: none (touches no data).
        >>> one = Atoms(np.array([-0.1, 0.1]), np.array([0.5, 0.5]), 1000)
        >>> bool(one.decay(0.0, np.array([4.0]), np.array([5.0]))[0] < -40)
        True
        """
        weights = self._tilted(tilt)
        mean = float(weights @ self.losses)
        deviation = 1.000001 * math.sqrt(float(weights @ (self.losses - mean) ** 2)) + 1e-12
        values = np.abs(self._direct(tilt, (low + high) / 2))
        bounds = _interval((values**2)[:, None], np.array([deviation]), low, high)
        return np.asarray(0.5 * self.count * np.log(bounds[:, 0]))

    def roughness(self, tilt: float) -> float:
        """The sum of squared distances between neighbouring atoms, in expectation.

        Privacy: none (touches no data).
        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 10).roughness(0.0)
        20.0
        """
        return self.count * float(self._tilted(tilt)[1:] @ np.diff(self.losses) ** 2)
