"""Discrete privacy losses at arbitrary places: their moment-generating functions.
The shape for mechanisms without a closed form. Never discretises and never composes kinds.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.pld.curves import Array, ComplexArray, Indices, product, reach

__all__ = ["Atoms"]

_LIMIT = 1 << 21  # elements of one matrix of frequencies against atoms
_BLOCK = 64  # frequencies that share a row of the matrix product


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """`count` copies of one discrete privacy loss: `masses` at `losses`.

    >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 2).weight
    8.0
    """

    losses: Array
    masses: Array
    count: int

    @property
    def size(self) -> int:
        """Terms evaluated per frequency; sixteen of a matrix product cost as much as one."""
        return 1 + len(self.losses) // 16

    @property
    def weight(self) -> float:
        """Rounding weight that does not depend on the frequency.

        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 1).weight
        4.0
        """
        return float(self.count) * (2 + len(self.losses))

    @property
    def spread(self) -> float:
        """Rounding weight per unit of frequency: the largest total absolute loss.

        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 2).spread
        2.0
        """
        return self.count * float(np.abs(self.losses).max())

    def _tilt_masses(self, tilt: float) -> Array:
        exponents = tilt * self.losses
        weights = self.masses * np.exp(exponents - exponents.max())
        return np.asarray(weights / weights.sum())

    def cumulant(self, tilts: Array) -> Array:
        """The logarithm of E[exp(tilt * L)], for each tilt.

        >>> one = Atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 1)
        >>> bool(np.isclose(one.cumulant(np.array([1.0]))[0], np.log(np.cosh(1.0))))
        True
        """
        exponents = np.multiply.outer(tilts, self.losses)
        top = exponents.max(axis=1)
        sums = np.exp(exponents - top[:, None]) @ self.masses
        return np.asarray(self.count * (top + np.log(sums)))

    def _transform_directly(self, tilt: float, frequencies: Array) -> ComplexArray:
        weights = self._tilt_masses(tilt)
        rows = max(1, _LIMIT // len(weights))
        result = np.empty(len(frequencies), dtype=np.complex128)
        for start in range(0, len(frequencies), rows):
            angles = np.multiply.outer(frequencies[start : start + rows], self.losses)
            result.real[start : start + rows] = np.cos(angles) @ weights
            result.imag[start : start + rows] = np.sin(angles) @ weights
        return result

    def _transform_in_blocks(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """All indices with the same quotient by _BLOCK share one row of a matrix product."""
        quotients, rows = np.unique(indices // _BLOCK, return_inverse=True)
        fine = np.exp(1j * np.multiply.outer(self.losses, step * np.arange(_BLOCK)))
        fine *= self._tilt_masses(tilt)[:, None]
        height = max(1, _LIMIT // len(self.losses))
        parts = [
            np.exp(1j * np.multiply.outer(step * _BLOCK * part, self.losses)) @ fine
            for part in np.split(quotients, range(height, len(quotients), height))
        ]
        table: ComplexArray = np.concatenate(parts)
        return table[rows, indices % _BLOCK]

    def transform(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """E[exp((tilt + i w) L)] / E[exp(tilt L)], for each frequency w = step * index.

        >>> one = Atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 1)
        >>> bool(abs(one.transform(0.0, 1.0, np.array([1]))[0] - np.cos(1.0)) < 1e-15)
        True
        """
        if len(indices) < 4 * _BLOCK:
            values = self._transform_directly(tilt, step * indices.astype(np.float64))
        else:
            values = self._transform_in_blocks(tilt, step, indices)
        return product(values[:, None], np.array([self.count]))

    def decay(self, tilt: float, low: Array, high: Array) -> Array:
        """The logarithm of a bound on |transform| over each interval [low, high].

        >>> one = Atoms(np.array([-0.1, 0.1]), np.array([0.5, 0.5]), 1000)
        >>> bool(one.decay(0.0, np.array([4.0]), np.array([5.0]))[0] < -40)
        True
        """
        weights = self._tilt_masses(tilt)
        mean = float(weights @ self.losses)
        deviation = 1.000001 * math.sqrt(float(weights @ (self.losses - mean) ** 2)) + 1e-12
        values = np.abs(self._transform_directly(tilt, (low + high) / 2))
        bounds = reach((values**2)[:, None], np.array([deviation]), low, high)
        return np.asarray(0.5 * self.count * np.log(bounds[:, 0]))

    def roughness(self, tilt: float) -> float:
        """The sum of squared distances between neighbouring atoms, in expectation.

        >>> Atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 10).roughness(0.0)
        20.0
        """
        return self.count * float(self._tilt_masses(tilt)[1:] @ np.diff(self.losses) ** 2)
