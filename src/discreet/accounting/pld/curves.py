"""Moment-generating functions of privacy losses, many mechanisms at a time.
Owns what a factor of a composition is, and the closed forms with two ends.
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
    "ComplexArray",
    "Ends",
    "Factor",
    "Indices",
    "laplace_shares",
    "product",
    "pure_shares",
    "reach",
]

Array = NDArray[np.float64]
"""A vector or matrix of floats."""

ComplexArray = NDArray[np.complex128]
"""A vector or matrix of complex numbers."""

Indices = NDArray[np.int64]
"""Whole multiples of a frequency step."""

_LIMIT = 1 << 21  # elements of one matrix of frequencies against terms


class Factor(Protocol):
    """Independent finite privacy losses, seen through E[exp(z L)] for complex z.

    `size` terms are evaluated per frequency; a transform's rounding error is at most
    (`weight` + frequency * `spread`) units of 2**-47.
    """

    @property
    def size(self) -> int:
        """Terms evaluated per frequency."""

    @property
    def weight(self) -> float:
        """Rounding weight that does not depend on the frequency."""

    @property
    def spread(self) -> float:
        """Rounding weight per unit of frequency: the largest total absolute loss."""

    def cumulant(self, tilts: Array) -> Array:
        """The logarithm of E[exp(tilt * L)], for each tilt."""

    def transform(self, tilt: float, step: float, indices: Indices) -> ComplexArray:
        """E[exp((tilt + i w) L)] / E[exp(tilt L)], for each frequency w = step * index."""

    def decay(self, tilt: float, low: Array, high: Array) -> Array:
        """The logarithm of a bound on |transform| over each interval [low, high]."""

    def roughness(self, tilt: float) -> float:
        """The sum of squared cell widths that discretisation left, in expectation."""


def laplace_shares(point: Any) -> tuple[Any, Any]:
    """Coefficients of exp(z e) and exp(-(1 + z) e) for Laplace noise at z = `point`.

    E[exp(z L)] = ((1 + z) exp(z e) + z exp(-(1 + z) e)) / (1 + 2 z) [Mir17, Prop. 6].
    >>> laplace_shares(1.0)
    (0.6666666666666666, 0.3333333333333333)
    """
    return (point + 1) / (2 * point + 1), point / (2 * point + 1)


def pure_shares(point: Any) -> tuple[Any, Any]:
    """Coefficients of exp(z e) and exp(-(1 + z) e) for two outcomes, up to their common scale.

    The worst pair of epsilon-DP has losses +-epsilon only [MV16, Lemma 3.2].
    >>> pure_shares(1.0)
    (1.0, 1.0)
    """
    return point * 0 + 1, point * 0 + 1


def product(values: ComplexArray, counts: Indices) -> ComplexArray:
    """For each row, the product over columns of values ** counts, by repeated squaring.

    >>> product(np.array([[2j, 3.0]]), np.array([2, 1])).tolist()
    [(-12+0j)]
    """
    result = np.ones(values.shape[0], dtype=np.complex128)
    exponents = counts
    while True:
        odd = (exponents & 1).astype(bool)
        if odd.any():
            result *= np.multiply.reduce(values if odd.all() else values[:, odd], axis=1)
        exponents = exponents >> 1
        keep = exponents > 0
        if not keep.any():
            return result
        if not keep.all():
            values, exponents = values[:, keep], exponents[keep]
        values = values * values


def reach(squares: Array, deviations: Array, low: Array, high: Array) -> Array:
    """Bounds on |transform|^2 over intervals, from its values `squares` at their centres.

    |transform|^2 = E cos(w D) with D the difference of two copies, so its derivative is at most
    E|D| <= sqrt(2) s and at most w E D^2 = 2 w s^2, where s is the deviation.
    >>> interval = np.array([1.0]), np.array([3.0])
    >>> reach(np.array([[0.5]]), np.array([0.1]), *interval).round(3).tolist()
    [[0.56]]
    """
    slope = np.minimum(math.sqrt(2) * deviations, 2 * np.outer(high, deviations**2))
    return np.minimum(1.0, squares + slope * ((high - low) / 2)[:, None] + 1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Mechanisms of one family whose transform has terms at loss +epsilon and -epsilon only.

    Symmetric, so add and remove are alike.
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
        """Terms evaluated per frequency."""
        return len(self.epsilons)

    @property
    def weight(self) -> float:
        """Rounding weight that does not depend on the frequency.

        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).weight
        2.0
        """
        return float(self.counts.sum())

    @property
    def spread(self) -> float:
        """Rounding weight per unit of frequency: the largest total absolute loss.

        >>> Ends(np.array([1.0]), np.array([2]), np.zeros(1), pure_shares).spread
        2.0
        """
        return float(self.counts @ self.epsilons)

    def cumulant(self, tilts: Array) -> Array:
        """The logarithm of E[exp(tilt * L)], for each tilt but -1/2.

        >>> one = Ends(np.array([1.0]), np.array([1]), np.zeros(1), laplace_shares)
        >>> bool(np.isclose(*one.cumulant(np.array([-3.0, 2.0]))))  # symmetric about -1/2
        True
        """
        tilts = np.where(tilts < -0.5, -1 - tilts, tilts)[:, None]
        up, down = self.shares(tilts)
        far = np.exp(-(1 + 2 * tilts) * self.epsilons)
        logs = tilts * self.epsilons + np.log(up + down * far) + self.scales
        return np.asarray((logs * self.counts).sum(axis=1))  # pairwise: errors grow like log(size)

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

        >>> one = Ends(np.array([1.0]), np.array([1]), np.zeros(1), pure_shares)
        >>> bool(abs(one.transform(-0.5, 1.0, np.array([1]))[0].real - np.cos(1.0)) < 1e-15)
        True
        """
        rows = max(1, _LIMIT // self.size)
        frequencies = step * indices.astype(np.float64)
        parts = [
            product(self._matrix(tilt, frequencies[start : start + rows]), self.counts)
            for start in range(0, len(indices), rows)
        ]
        return np.concatenate(parts) if parts else np.ones(0, dtype=np.complex128)

    def decay(self, tilt: float, low: Array, high: Array) -> Array:
        """The logarithm of a bound on |transform| over each interval [low, high].

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
            bounds = reach(squares, self.epsilons, low[part], high[part])
            result[part] = 0.5 * (np.log(bounds) @ self.counts)
        return result

    def roughness(self, tilt: float) -> float:  # noqa: ARG002
        """The sum of squared cell widths: closed forms have none."""
        return 0.0
