"""Exact tail quantiles of the discrete distributions. Knows parameters only, never data.
Every quantile is the true one or, where said, slightly above it; never below.
"""

import math
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InvalidValue
from discreet.rationals import (
    Number,
    exp_bounds,
    least_integer,
    log_bounds,
    probability,
    sqrt_up,
    whole,
)

__all__ = ["gaussian_quantile", "gaussian_weights", "laplace_quantile", "shared_tail", "tail"]

_SUMMED_VARIANCE = 1 << 26  # above this the tail is bounded by an integral instead of summed
_SMALLEST_FLOAT_TAIL = Fraction(1, 10**290)  # below this erfc underflows


def tail(confidence: Number) -> Fraction:
    """The probability left over by a confidence below 1."""
    missed = 1 - probability(confidence, "confidence")
    if missed == 0:
        raise InvalidValue("confidence is 1; the noise is unbounded, so it must be below 1.")
    return missed


def shared_tail(confidence: Number, count: int) -> Fraction:
    """What each of `count` independent coordinates may miss so that all hold together.

    This is 1 - confidence**(1/count), rounded down.
    """
    whole(count, "count")
    missed = tail(confidence)
    if missed == 1:
        return missed
    digits = 40 + len(str(count)) + len(str(int(1 / missed)))
    root = exp_bounds(log_bounds(1 - missed, digits)[1] / count, digits)[1]
    return 1 - root


@lru_cache(maxsize=256)
def laplace_quantile(scale: Fraction, missed: Fraction) -> int:
    """The smallest m with P(|X| > m) = 2 p^(m+1)/(1+p) <= missed, where p = exp(-1/scale)."""
    digits = 40 + len(str(int(scale)))
    while True:
        ratio = exp_bounds(-1 / scale, digits)
        low = scale * log_bounds(2 / (missed * (1 + ratio[1])), digits)[0]
        high = scale * log_bounds(2 / (missed * (1 + ratio[0])), digits)[1]
        # p is transcendental, so the bound is never an integer and more digits decide.
        if math.ceil(low) == math.ceil(high):
            return max(0, math.ceil(high) - 1)
        digits *= 2


@lru_cache(maxsize=256)
def gaussian_quantile(variance: Fraction, missed: Fraction) -> int:
    """The smallest m with P(|X| > m) <= missed for P(x) proportional to exp(-x^2/(2 variance)).

    Above a variance of 2**26 it can be one step, or a relative 1e-6, too large.
    """
    if variance <= _SUMMED_VARIANCE:
        return _quantile_by_sum(variance, missed)
    if missed < _SMALLEST_FLOAT_TAIL:  # subgaussian tail [CKS20, Sec. 3]
        return math.ceil(sqrt_up(2 * variance * log_bounds(2 / missed)[1])) - 1
    return _quantile_by_integral(variance, missed)


def gaussian_weights(variance: Fraction, precision: int) -> tuple[list[int], int]:
    """exp(-k^2/(2 variance)) * 2**precision for k = 0, 1, ... until it vanishes, from below.

    Also what the sum of any run of these misses at most, in the same units.
    """
    digits = 10 + precision // 3
    one = 1 << precision
    step = int(exp_bounds(-1 / variance, digits)[0] * one)
    ratio = int(exp_bounds(-1 / (2 * variance), digits)[0] * one)
    weights, weight = [], one
    while weight:
        weights.append(weight)
        weight = weight * ratio >> precision
        ratio = ratio * step >> precision
    # Factors are at most 1, so errors add: ratio k is short by 2k + 2 units at most, weight k by
    # (k + 2)^2. Past the end the weights fall faster than a geometric with ratio exp(-n/variance).
    terms = len(weights) + 2
    return weights, terms**3 + terms**2 * (math.ceil(variance / terms) + 2)


def _quantile_by_sum(variance: Fraction, missed: Fraction) -> int:
    precision = 192 + int(1 / missed).bit_length()
    weights, slack = gaussian_weights(variance, precision)
    total = 2 * sum(weights) - weights[0]
    left = math.floor(missed * total / 2 - slack)  # weights are integers
    position = len(weights)
    while position > 0 and weights[position - 1] <= left:
        position -= 1
        left -= weights[position]
    return max(0, position - 1)


def _quantile_by_integral(variance: Fraction, missed: Fraction) -> int:
    sigma = math.sqrt(variance)
    allowed = float(missed) * (1 - 1e-12)  # covers the rounding of sqrt, the quotient and erfc

    def holds(steps: int) -> bool:
        # Where exp(-x^2/2v) is convex each term is below its unit integral; elsewhere it is off
        # by at most 1/(24 v), over fewer than sigma + 2 terms.
        edge = (steps + 0.5) / sigma
        concave = 0.0 if edge > 1 + 1e-9 else 1 / float(variance)
        return math.erfc(edge / math.sqrt(2)) + concave <= allowed

    return least_integer(holds, above=-1)
