"""Mechanisms of the form f(exact, count), some right and some wrong in ways that were published.
The noise is exact and on the integers, so that each is wrong in one way only.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

Batched = Callable[[Any, int], np.ndarray]


def laplace(scale: Any, factor: int = 1) -> Batched:
    """Additive noise; `factor` stands for records that count more than once."""
    mechanism = DiscreteLaplace(scale=scale)

    def draw(exact: int, count: int) -> np.ndarray:
        return mechanism.release(np.full(count, factor * exact, dtype=np.int64))

    return draw


def gaussian(sigma: Any) -> Batched:
    """Additive Gaussian noise."""
    mechanism = DiscreteGaussian(sigma=sigma)
    return lambda exact, count: mechanism.release(np.full(count, exact, dtype=np.int64))


def float_laplace(scale: float) -> Batched:
    """Laplace noise in floats: the right distribution with holes that depend on the data."""
    generator = np.random.default_rng()
    return lambda exact, count: exact + generator.laplace(0.0, scale, count)


def response(truth: float, delta: float = 0.0) -> Batched:
    """A bit reported truthfully with this probability; with probability delta as 2 + bit."""
    generator = np.random.default_rng()

    def draw(exact: int, count: int) -> np.ndarray:
        told = np.where(generator.random(count) < truth, exact, 1 - exact)
        return np.where(generator.random(count) < delta, 2 + exact, told)

    return draw


def _noise(scale: Any, shape: tuple[int, ...]) -> np.ndarray:
    return DiscreteLaplace(scale=scale).release(np.zeros(shape, dtype=np.int64))


def _compared(exact: Any, count: int, threshold: Any, query: Any) -> tuple[np.ndarray, np.ndarray]:
    """Noisy queries and which of them reach the noisy threshold 0; no scale means no noise."""
    noisy = np.broadcast_to(np.array(exact, dtype=np.int64), (count, len(exact)))
    if query is not None:
        noisy = noisy + _noise(query, (count, len(exact)))
    return noisy, noisy >= _noise(threshold, (count, 1))


def _stopped(above: np.ndarray, most: int) -> np.ndarray:
    """1 above, 0 below, -1 no longer answered."""
    before = np.cumsum(above, axis=1) - above
    return np.where(before < most, above.astype(np.int8), np.int8(-1))


def sparse(epsilon: Any, most: int) -> Batched:
    """The sparse vector technique as it should be: half for the threshold, 2c in the queries."""
    threshold, query = 2 / Fraction(epsilon), 4 * most / Fraction(epsilon)
    return lambda exact, count: _stopped(_compared(exact, count, threshold, query)[1], most)


def sparse_without_count(epsilon: Any, most: int) -> Batched:
    """The noise of the queries does not grow with how many may be above."""
    threshold, query = 2 / Fraction(epsilon), 4 / Fraction(epsilon)
    return lambda exact, count: _stopped(_compared(exact, count, threshold, query)[1], most)


def sparse_without_stop(epsilon: Any) -> Batched:
    """Calibrated for one query above, and never stops."""
    threshold, query = 2 / Fraction(epsilon), 4 / Fraction(epsilon)
    return lambda exact, count: _compared(exact, count, threshold, query)[1].astype(np.int8)


def sparse_without_query_noise(epsilon: Any) -> Batched:
    """Only the threshold is noisy."""
    threshold = 2 / Fraction(epsilon)
    return lambda exact, count: _stopped(_compared(exact, count, threshold, None)[1], 1)


def sparse_values(epsilon: Any) -> Batched:
    """For counts, stops at the first above, and releases the value that was compared."""
    scale = 2 / Fraction(epsilon)

    def draw(exact: Any, count: int) -> np.ndarray:
        noisy, above = _compared(exact, count, scale, scale)
        return np.where(_stopped(above, 1) == 1, noisy.astype(np.float64), np.nan)

    return draw


def sparse_counts(epsilon: Any) -> Batched:
    """The same without the value: right for counts, which one unit moves all the same way."""
    scale = 2 / Fraction(epsilon)
    return lambda exact, count: _stopped(_compared(exact, count, scale, scale)[1], 1)


def noisy_max(epsilon: Any) -> Batched:
    """The index of the largest noisy count."""
    return lambda exact, count: _largest(exact, count, epsilon)[:, 0]


def noisy_max_with_value(epsilon: Any) -> Batched:
    """The index and the value itself."""
    return lambda exact, count: _largest(exact, count, epsilon)


def _largest(exact: Any, count: int, epsilon: Any) -> np.ndarray:
    noisy = np.array(exact) + _noise(1 / Fraction(epsilon), (count, len(exact)))
    chosen = noisy.argmax(axis=1)
    return np.stack([chosen, noisy[np.arange(count), chosen]], axis=1)
