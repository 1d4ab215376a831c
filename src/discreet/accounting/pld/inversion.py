"""Certified Fourier inversion: from tilted transforms to two-sided bounds on delta(epsilon).
Owns every error term of docs/proofs/distributions.md, sections 2 to 5. Knows no mechanism.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.pld.curves import Array, ComplexArray, Factor, Indices

__all__ = ["Inversion", "SMALLEST", "Setting", "chernoff", "cumulant_error", "cumulants", "invert"]

SMALLEST = 1e-300
"""Below this floats lose their relative precision: upper bounds stop here, lower ones are 0."""

_DEPTH = 27.0  # tails and skipped frequencies weigh about exp(-27) = 2e-12 of the Chernoff bound
_UNIT = 2.0**-47  # one unit of rounding weight; see Factor
_DIRECT = 1 << 18  # frequencies times terms that are evaluated without looking for gaps
_MOST, _MOST_TERMS = 1 << 20, 1 << 24  # frequencies, and frequencies times terms
_STEPS = np.array([1.5, 2.5, 4.0, 5.5, 7.0, 8.5, 11.0, 16.0, 25.0])


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how finely to invert: the tilt, the smoothing and the Gaussian part.

    `variance` is the sum of squared sensitivity-to-noise ratios of all Gaussian mechanisms;
    `smoothing` is the square root of what is added to it, 0 for none.
    >>> Setting(tilt=2.0, smoothing=0.5, variance=1.0).total
    1.25
    """

    tilt: float
    smoothing: float
    variance: float

    @property
    def total(self) -> float:
        """The Gaussian variance after smoothing.

        >>> Setting(tilt=2.0, smoothing=0.0, variance=1.0).total
        1.0
        """
        return self.variance + self.smoothing**2


def cumulants(factors: Sequence[Factor], variance: float, tilts: Array) -> Array:
    """The logarithm of E[exp(tilt L)] of the whole composition, for each tilt.

    >>> cumulants((), 1.0, np.array([1.0])).tolist()
    [1.0]
    """
    result = 0.5 * variance * tilts * (1 + tilts)
    for factor in factors:
        result = result + factor.cumulant(tilts)
    return np.asarray(result)


def _weights(factors: Sequence[Factor], variance: float, tilt: float) -> tuple[float, float]:
    """Rounding weight of the whole composition, and its growth per unit of frequency."""
    spread = variance * (1 + tilt) + sum(factor.spread for factor in factors)
    return 1 + sum(factor.weight for factor in factors) + tilt * spread, spread


def cumulant_error(factors: Sequence[Factor], variance: float, tilt: float) -> float:
    """A bound on the rounding error of `cumulants` at one tilt (section 5).

    >>> cumulant_error((), 1.0, 1.0) < 1e-12
    True
    """
    return _UNIT * sum(_weights(factors, variance, tilt))


def chernoff(tilt: Array) -> Array:
    """The logarithm of max over y of exp(-tilt y) (1 - exp(-y)).

    delta(epsilon) <= exp(K(tilt) - tilt epsilon + this) [CKS20, Prop. 12].
    >>> float(np.exp(chernoff(np.array([1.0]))[0]))
    0.25
    """
    return np.asarray(-tilt * np.log1p(1 / tilt) - np.log1p(tilt))


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """Bounds on delta at any epsilon near the one it was made for.

    >>> from discreet.accounting.pld.inversion import Setting, invert
    >>> inversion = invert((), Setting(tilt=4.0, smoothing=0.0, variance=1.0), 4.0)
    >>> low, high = inversion.bounds(epsilon=4.0)
    >>> 0 < low < high < 1.000001 * low
    True
    """

    tilt: float
    scale: float  # logarithm of E[exp(tilt L)]
    scale_error: float
    period: float
    frequencies: Array
    upper: ComplexArray  # coefficients of exp(-i frequency epsilon)
    bump: ComplexArray
    rounding: float
    phase: float  # further rounding per unit of epsilon
    skipped: float
    rising: tuple[Array, Array]  # (steps, K(tilt + step) - K(tilt))
    falling: tuple[Array, Array]  # (steps, K(tilt - step) - K(tilt))

    def _alias(self, epsilon: float) -> float:
        """Bound on what the other periods add to the expectation (section 4)."""
        ratio = math.exp(-self.tilt * self.period)
        most = math.exp(float(chernoff(np.array([self.tilt]))[0])) + ratio / (1 - ratio)
        steps, growth = self.rising
        right = float(np.exp(np.minimum(0, growth - steps * (epsilon + self.period)).min()))
        edge = max(0.0, self.period - _DEPTH / self.tilt)
        steps, growth = self.falling
        left = float(np.exp(np.minimum(0, growth + steps * (epsilon - edge)).min()))
        rest = self.period - edge
        # The cumulants behind left and right are taken at no more than 2501 tilts.
        widened = 1.001 * math.exp(min(600.0, 6000 * self.scale_error))
        return widened * (most * (left + right) + math.exp(-self.tilt * rest) * min(1.0, rest))

    def bounds(self, *, epsilon: float) -> tuple[float, float]:
        """Certified lower and upper bound on the finite part of delta at `epsilon`.

        >>> from discreet.accounting.pld.inversion import Setting, invert
        >>> inversion = invert((), Setting(tilt=4.0, smoothing=0.0, variance=1.0), 4.0)
        >>> inversion.bounds(epsilon=4.5)[1] < inversion.bounds(epsilon=4.4)[0]
        True
        """
        exponent = self.scale - self.tilt * epsilon
        error = self.scale_error + 2.0**-50 * abs(self.tilt * epsilon)
        if exponent > 600 or error > 0.5:
            return 0.0, 1.0
        turns = np.exp(-1j * epsilon * self.frequencies)
        upper = float((turns @ self.upper).real)
        bump = float((turns @ self.bump).real) if len(self.bump) else 0.0
        slack = self.rounding + self.phase * abs(epsilon) + self.skipped
        front = math.exp(exponent)
        low = (upper - max(0.0, bump) - slack - self._alias(epsilon)) * front * math.exp(-error)
        high = (upper + slack) * front * math.exp(error)
        cap = front * math.exp(float(chernoff(np.array([self.tilt]))[0]) + error)
        low = low if low > SMALLEST else 0.0
        return low, min(1.0, max(SMALLEST, min(1.000000001 * cap, high)))


def _tails(
    factors: Sequence[Factor], setting: Setting, centre: float
) -> tuple[float, tuple[Array, Array], tuple[Array, Array], float]:
    """Period, and the cumulant differences that bound the tilted tails."""
    tilt, total = setting.tilt, setting.total
    small = 1e-3 * tilt
    near = cumulants(factors, total, np.array([tilt - small, tilt, tilt + small]))
    middle = float(near[1])
    curvature = max(float(near[2] - 2 * middle + near[0]) / small**2, total, 1e-4 / tilt**2)
    # Losses with few atoms are nearly constant under the tilt: there a part of it serves better.
    steps = np.concatenate([_STEPS / math.sqrt(curvature), np.array([0.4, 0.8]) * tilt])
    down = steps[np.abs(2 * (tilt - steps) + 1) > 0.01]
    ends = cumulants(factors, total, np.concatenate([tilt + steps, tilt - down])) - middle
    rising, falling = ends[: len(steps)], ends[len(steps) :]
    right = float(((rising + _DEPTH) / steps).min())
    left = float(-((falling + _DEPTH) / down).min())
    margin = 3 / tilt  # epsilon may move this far from the centre
    period = max(right - centre, max(0.0, centre - left) + _DEPTH / tilt) + margin
    return period, (steps, rising), (down, falling), middle


def _indices(
    factors: Sequence[Factor], setting: Setting, step: float, count: int
) -> tuple[Indices, float]:
    """Frequencies worth evaluating, and a bound on the kernel-weighted rest up to `count`."""
    terms = max(1, sum(factor.size for factor in factors))
    if count * terms <= _DIRECT:
        return np.arange(count + 1), 0.0
    edges = np.unique(np.minimum(count, np.ceil(8 * 1.4 ** np.arange(60)))).astype(np.int64)
    low, high = np.concatenate([[1], edges[:-1] + 1]), edges
    chosen: list[Indices] = [np.zeros(1, dtype=np.int64)]
    skipped = 0.0
    width = max(1, min(64, _DIRECT // terms))
    while len(low):
        first, last = np.asarray(low * step, dtype=float), np.asarray(high * step, dtype=float)
        bounds = -0.5 * setting.total * first**2
        for factor in factors:
            bounds += factor.decay(setting.tilt, first, last)
        kernel = _kernel_bound(setting, first) * (high - low + 1)
        away = bounds + np.log(kernel) < -_DEPTH - 6 - 2 * math.log1p(setting.tilt)
        skipped += float(np.sum(kernel[away] * np.exp(bounds[away])))
        low, high = low[~away], high[~away]
        done = high - low < width
        chosen.extend(
            np.arange(start, stop + 1) for start, stop in zip(low[done], high[done], strict=True)
        )
        low, high = low[~done], high[~done]
        middle = (low + high) // 2
        low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
    return np.sort(np.concatenate(chosen)), skipped


def _bump_size(setting: Setting) -> float:
    return (1 + setting.smoothing) * setting.smoothing**2


def _kernel_bound(setting: Setting, frequencies: Array) -> Array:
    """A decreasing bound on the kernel without its Gaussian factor."""
    squares = setting.tilt**2 + frequencies**2
    return np.asarray(1 / np.sqrt(squares * (squares + 1 + 2 * setting.tilt)) + _bump_size(setting))


def invert(factors: Sequence[Factor], setting: Setting, centre: float) -> Inversion:
    """Prepare the inversion around epsilon = `centre`; `setting.total` must be positive.

    >>> invert((), Setting(tilt=4.0, smoothing=0.0, variance=1.0), 4.0).skipped < 1e-9
    True
    """
    tilt, total = setting.tilt, setting.total
    period, rising, falling, middle = _tails(factors, setting, centre)
    step = 2 * math.pi / period
    terms = 1 + sum(factor.size for factor in factors)
    # Beyond the limit the frequencies left out count as skipped: a wide answer, not a wrong one.
    count = math.ceil(min(math.sqrt(2 * _DEPTH / total) / step, _MOST, _MOST_TERMS / terms))
    indices, skipped = _indices(factors, setting, step, count)
    last = step * (count + 1)
    beyond = math.exp(-0.5 * total * last**2) * (1 + 1 / (total * last * step))
    skipped += beyond * float(_kernel_bound(setting, np.array([last]))[0])
    frequencies = np.asarray(step * indices)
    values = np.exp(0.5 * total * frequencies * (1j * (1 + 2 * tilt) - frequencies))
    for factor in factors:
        values *= factor.transform(tilt, step, indices)
    points = tilt + 1j * frequencies
    upper = values / (points * (1 + points))
    # Negligible terms cost time at every epsilon asked for: count them as skipped.
    sizes = np.abs(values) * _kernel_bound(setting, frequencies)
    keep = sizes > math.exp(-_DEPTH - 9) / (1 + tilt) ** 2
    skipped += float(sizes[~keep].sum())
    kernel = _kernel_bound(setting, frequencies)
    doubled = np.where(frequencies > 0, 2.0, 1.0) / period
    weight, spread = _weights(factors, total, tilt)
    weight += len(frequencies) / 64
    bump = np.asarray(values[keep] * (_bump_size(setting) * doubled[keep]), dtype=np.complex128)
    return Inversion(
        tilt=tilt,
        scale=middle,
        scale_error=cumulant_error(factors, total, tilt),
        period=period,
        frequencies=frequencies[keep],
        upper=upper[keep] * doubled[keep],
        bump=bump if setting.smoothing else bump[:0],
        rounding=_UNIT * float(((weight + frequencies * spread) * kernel) @ doubled),
        phase=_UNIT * float((frequencies * kernel) @ doubled),
        skipped=2.002 * skipped / period,
        rising=rising,
        falling=falling,
    )
