"""How wrong the sparse vector technique can be: the theorems of the book, and the exact worst case.
Knows scales and counts only, never data. All distances are in lattice steps and rounded up.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Sensitivity
from discreet.noise.tails import laplace_quantile, tail
from discreet.rationals import (
    Number,
    least_integer,
    log_bounds,
    positive,
    probability,
    sqrt_up,
    whole,
)

__all__ = [
    "above_threshold_accuracy",
    "numeric_sparse_accuracy",
    "proved_error",
    "sparse_accuracy",
    "worst_error",
]

_SUMMED_SCALE = 1 << 40  # up to this scale the worst case is summed, above it is bounded
_SUMMED_TAIL = Fraction(1, 10**15)
_SPLITS = 16


def above_threshold_accuracy(
    *, queries: int, epsilon: Number, failure: Number, sensitivity: Sensitivity
) -> float:
    """alpha of [DR14, Thm. 3.24] for `AboveThreshold.textbook`: 8 (ln k + ln(2/failure))/epsilon.

    With all but the last of k values more than alpha below their thresholds, every "above" is at
    least threshold - alpha and every "below" at most threshold + alpha, but for the failure. Times
    the sensitivity, and rounded up to an even integer, so that it holds for integer noise. See
    [DR14, Thm. 3.24].
    >>> above_threshold_accuracy(
    ...     queries=100, epsilon=1, failure=0.05, sensitivity=Sensitivity.single(1))
    68.0
    """
    return sparse_accuracy(
        queries=queries, epsilon=epsilon, failure=failure, sensitivity=sensitivity, alarms=1
    )


def sparse_accuracy(
    *,
    queries: int,
    epsilon: Number,
    failure: Number,
    sensitivity: Sensitivity,
    alarms: int,
    delta: Number = 0,
) -> float:
    """alpha of [DR14, Thm. 3.26] for `Sparse.textbook`, of k values at most `alarms` near or above.

    8 c (ln k + ln(2c/failure))/epsilon, or (ln k + ln(2c/failure)) sqrt(512 c ln(1/delta))/epsilon
    with a delta, for epsilon below 1. Rounded as in `above_threshold_accuracy`. See [DR14, Thm.
    3.26].
    >>> sparse_accuracy(queries=100, epsilon=1, failure=0.05, sensitivity=Sensitivity.single(1),
    ...     alarms=10)
    848.0
    """
    spread = _spread(positive(epsilon, "epsilon"), whole(alarms, "alarms"), delta)
    return _round_to_even(4 * spread * sensitivity.linf * _logarithm(2, queries, alarms, failure))


def numeric_sparse_accuracy(
    *,
    queries: int,
    epsilon: Number,
    failure: Number,
    sensitivity: Sensitivity,
    alarms: int,
    delta: Number = 0,
) -> float:
    """alpha of [DR14, Thm. 3.28] for `NumericSparse.textbook`: the numbers are as near, too.

    9 c (ln k + ln(4c/failure))/epsilon, or (ln k + ln(4c/failure)) (sqrt(512) + 1) sqrt(c
    ln(2/delta))/epsilon with a delta, for epsilon below 1. See [DR14, Thm. 3.28].
    >>> numeric_sparse_accuracy(queries=100, epsilon=1, failure=0.05,
    ...     sensitivity=Sensitivity.single(1), alarms=10)
    1018.0
    """
    price, parts = positive(epsilon, "epsilon"), whole(alarms, "alarms")
    if not probability(delta, "delta"):
        first = price * Fraction(8, 9)
    else:
        first = price / (1 + 1 / sqrt_up(Fraction(512)))
    spread = _spread(first, parts, probability(delta, "delta") / 2)
    return _round_to_even(4 * spread * sensitivity.linf * _logarithm(4, queries, alarms, failure))


def _spread(epsilon: Fraction, alarms: int, delta: Number) -> Fraction:
    """1/epsilon of one of the runs that the book composes, from above."""
    slack = probability(delta, "delta")
    if not slack:
        return alarms / epsilon
    if epsilon >= 1:
        raise UnprovableRequest(
            f"the book's bound with delta holds for epsilon below 1, not {float(epsilon):g}; "
            "use the mechanism's own error(...). Nothing was computed."
        )
    if slack == 1:
        raise InvalidValue("delta is 1, which protects nobody; lower it, for instance to 1e-6.")
    return sqrt_up(8 * alarms * log_bounds(1 / slack)[1]) / epsilon


def _logarithm(factor: int, queries: int, alarms: int, failure: Number) -> Fraction:
    missed = positive(failure, "failure")
    if missed >= 1:
        raise InvalidValue(f"failure is {failure}; it must be a probability below 1.")
    return log_bounds(factor * whole(queries, "queries") * alarms / missed)[1]


def _round_to_even(half: Fraction) -> float:
    return float(2 * math.ceil(half))


def proved_error(
    threshold_scale: Fraction, query_scale: Fraction, queries: int, runs: int, confidence: Number
) -> float:
    """The alpha of the proof of [DR14, Thm. 3.24] at any scales, for `runs` fresh thresholds.

    Half of alpha for the threshold and half for all questions, with equal chances to fail. See
    [DR14, Thm. 3.24].
    >>> proved_error(Fraction(2), Fraction(4), 100, 1, 0.95)
    68.0
    """
    missed = tail(confidence) / (2 * whole(runs, "runs"))
    threshold = threshold_scale * log_bounds(1 / missed)[1]
    question = query_scale * log_bounds(whole(queries, "queries") / missed)[1]
    return _round_to_even(max(threshold, question))


def worst_error(
    threshold_scale: Fraction,
    query_scale: Fraction,
    queries: int,
    alarms: tuple[int, int],
    confidence: Number,
) -> float:
    """The smallest alpha that holds for `queries` values, as bad as they can be.

    `alarms` is the number of runs and how many alarms each may give. The values of a run are all
    alpha + 1 from their thresholds, as many above as its alarms allow, and questions are spread
    evenly over runs: docs/proofs/streams.md shows that nothing is worse. Above a scale of 1024 the
    result can be a thousandth too large, for extreme scales and confidences a half.
    >>> worst_error(Fraction(2), Fraction(4), 100, (1, 1), 0.95)
    28.0
    """
    missed, count = tail(confidence), whole(queries, "queries")
    runs = min(alarms[0], count)
    if max(threshold_scale, query_scale) > _SUMMED_SCALE or missed < _SUMMED_TAIL:
        return _union_bound(threshold_scale, query_scale, count, missed / runs)
    per_run = count / runs
    high = min(float(alarms[1]), per_run / 2)
    scales = float(threshold_scale), float(query_scale)
    allowed = float(missed) * (1 - 1e-9)

    def holds(steps: int) -> bool:
        chance = _chance_of_error(*scales, steps, per_run - high, high)
        return -math.expm1(runs * math.log1p(-chance)) <= allowed if chance < 1 else False

    return float(least_integer(holds, above=-1))


def _chance_of_error(threshold: float, query: float, steps: int, low: float, high: float) -> float:
    """1 - E[G(steps + r)^low G(steps - r)^high] over the noise r; G = P(noise <= .)."""
    # Cells of the noise are taken at their worst end; up to a scale of 1024 they are single values.
    width = max(1, int(threshold) >> 10)
    starts = width * np.arange(math.ceil(60 * threshold / width) + 1, dtype=np.float64) + 1
    ends = starts + (width - 1)  # what lies beyond has a chance below 1e-25
    share = 1 / (1 + math.exp(-1 / threshold))
    mass = share * np.exp(-starts / threshold) * -math.expm1(-width / threshold)
    middle, zero = math.tanh(0.5 / threshold), np.zeros(1)
    chance = middle * float(_chance_missed(zero, zero, query, steps, low, high)[0])
    for least, most in ((starts, ends), (-ends, -starts)):
        chance += float(np.sum(mass * _chance_missed(least, most, query, steps, low, high)))
    return chance + 1e-24


def _chance_missed(
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    query: float,
    steps: int,
    low: float,
    high: float,
) -> NDArray[np.float64]:
    log_right = low * _log_at_most(steps + least, query) + high * _log_at_most(steps - most, query)
    missed: NDArray[np.float64] = -np.expm1(log_right)
    return missed


def _log_at_most(level: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    share = 1 / (1 + math.exp(-1 / scale))
    below = math.log(share) + np.minimum(level, 0) / scale
    above = np.log1p(-share * np.exp(-(np.maximum(level, 0) + 1) / scale))
    chosen: NDArray[np.float64] = np.where(level < 0, below, above)
    return chosen


def _union_bound(threshold: Fraction, query: Fraction, queries: int, missed: Fraction) -> float:
    """The best of some splits of the chance between the threshold and the questions."""
    best = None
    for part in range(1, _SPLITS):
        share = missed * part / _SPLITS
        # A question errs on one side only, so it has twice its share of the two-sided tail.
        rest = min(Fraction(1), 2 * (missed - share) / queries)
        steps = laplace_quantile(threshold, share) + laplace_quantile(query, rest)
        best = steps if best is None else min(best, steps)
    assert best is not None
    return float(best)
