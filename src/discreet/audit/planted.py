"""Mechanisms f(exact, count) that are wrong in ways that were published, and some that are right.
The noise is exact and on the integers, so each is wrong in one way only. Never use one: they are
here to be caught.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import system

__all__ = [
    "Batched",
    "float_laplace",
    "gaussian",
    "laplace",
    "lottery",
    "noisy_max",
    "noisy_max_with_value",
    "response",
    "sparse",
    "sparse_counts",
    "sparse_values",
    "sparse_without_count",
    "sparse_without_query_noise",
    "sparse_without_stop",
]

Batched = Callable[[Any, int], NDArray[Any]]
"""A mechanism that gives many outputs of one input."""


def _uniform(count: int) -> NDArray[np.float64]:
    """Uniform floats in (0, 1], as a textbook draws them."""
    words = np.empty(count, dtype=np.uint64)
    system.fill(words.view(np.uint8))
    return ((words >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53


def laplace(scale: Any, factor: int = 1) -> Batched:
    """Additive noise; `factor` stands for records that count more than once.

    Costs factor/scale for inputs one apart [DMNS06, Prop. 3.3].
    """
    mechanism = DiscreteLaplace(scale=scale)

    def draw(exact: int, count: int) -> NDArray[Any]:
        return np.asarray(mechanism.release(np.full(count, factor * exact, dtype=np.int64)))

    return draw


def gaussian(deviation: Any) -> Batched:
    """Additive Gaussian noise. 1/(2 deviation^2)-zCDP for inputs one apart [CKS20, Thm. 4]."""
    mechanism = DiscreteGaussian(sigma=deviation)
    return lambda exact, count: np.asarray(mechanism.release(np.full(count, exact, dtype=np.int64)))


def float_laplace(scale: float) -> Batched:
    """Laplace noise in floats: the right distribution with holes that depend on the data.

    Not private [Mir12].
    """

    def draw(exact: float, count: int) -> NDArray[Any]:
        signs = np.where(_uniform(count) <= 0.5, 1.0, -1.0)
        return np.asarray(exact - signs * scale * np.log(_uniform(count)))

    return draw


def response(truth: float, *, delta: float = 0.0) -> Batched:
    """A bit reported truthfully with this probability; with probability delta as 2 + bit.

    ln(truth/(1 - truth)) and delta, by replacing the bit [War65].
    >>> sorted(set(response(0.75)(1, 1000).tolist()))
    [0, 1]
    """

    def draw(exact: int, count: int) -> NDArray[Any]:
        answer = np.where(_uniform(count) <= truth, exact, 1 - exact)
        return np.where(_uniform(count) <= delta, 2 + exact, answer)

    return draw


def lottery(share: float) -> Batched:
    """The row itself with a small probability, else nothing.

    delta of the share, and no epsilon [DMNS06, Ex. 3].
    >>> set(lottery(1.0)(7, 10).tolist())
    {7}
    """
    return lambda exact, count: np.where(_uniform(count) <= share, exact, -1)


def _noise(scale: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    return np.asarray(DiscreteLaplace(scale=scale).release(np.zeros(shape, dtype=np.int64)))


def _compare(
    exact: Any, count: int, threshold: Any, query: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Noisy queries and which of them reach the noisy threshold 0; no scale means no noise."""
    noisy = np.broadcast_to(np.array(exact, dtype=np.int64), (count, len(exact)))
    if query is not None:
        noisy = noisy + _noise(query, (count, len(exact)))
    return noisy, noisy >= _noise(threshold, (count, 1))


def _stop(above: NDArray[Any], most: int) -> NDArray[Any]:
    """1 above, 0 below, -1 no longer answered."""
    before = np.cumsum(above, axis=1) - above
    return np.where(before < most, above.astype(np.int8), np.int8(-1))


def sparse(total: Any, most: int) -> Batched:
    """The sparse vector technique as it should be: half for the threshold, 2c in the queries.

    Costs epsilon for queries of sensitivity one [LSL17, Thm. 4].
    """
    threshold, query = 2 / Fraction(total), 4 * most / Fraction(total)
    return lambda exact, count: _stop(_compare(exact, count, threshold, query)[1], most)


def sparse_without_count(total: Any, most: int) -> Batched:
    """The noise of the queries does not grow with how many may be above.

    Costs more than it says [LSL17].
    """
    threshold, query = 2 / Fraction(total), 4 / Fraction(total)
    return lambda exact, count: _stop(_compare(exact, count, threshold, query)[1], most)


def sparse_without_stop(total: Any) -> Batched:
    """Calibrated for one query above, and never stops. Costs more than it says [LSL17]."""
    threshold, query = 2 / Fraction(total), 4 / Fraction(total)
    return lambda exact, count: _compare(exact, count, threshold, query)[1].astype(np.int8)


def sparse_without_query_noise(total: Any) -> Batched:
    """Only the threshold is noisy. Not private for queries that move against each other."""
    threshold = 2 / Fraction(total)
    return lambda exact, count: _stop(_compare(exact, count, threshold, None)[1], 1)


def sparse_values(total: Any) -> Batched:
    """For counts, stops at the first above, and releases the value that was compared.

    Costs more than it says [LSL17].
    """
    scale = 2 / Fraction(total)

    def draw(exact: Any, count: int) -> NDArray[Any]:
        noisy, above = _compare(exact, count, scale, scale)
        return np.where(_stop(above, 1) == 1, noisy.astype(np.float64), np.nan)

    return draw


def sparse_counts(total: Any) -> Batched:
    """The same without the value: right for counts, which one unit moves all the same way.

    Costs epsilon for counts under add/remove [LSL17, Thm. 5].
    """
    scale = 2 / Fraction(total)
    return lambda exact, count: _stop(_compare(exact, count, scale, scale)[1], 1)


def noisy_max(total: Any) -> Batched:
    """The index of the largest noisy count.

    Costs epsilon for counts under add/remove [DR14, Claim 3.9].
    """
    return lambda exact, count: _largest(exact, count, total)[:, 0]


def noisy_max_with_value(total: Any) -> Batched:
    """The index and the value itself.

    Costs more than it says; [DR14, Ex. 3.4] holds the value to be free.
    """
    return lambda exact, count: _largest(exact, count, total)


def _largest(exact: Any, count: int, total: Any) -> NDArray[Any]:
    noisy = np.array(exact) + _noise(1 / Fraction(total), (count, len(exact)))
    chosen = noisy.argmax(axis=1)
    return np.stack([chosen, noisy[np.arange(count), chosen]], axis=1)
