"""The discrete Gaussian's (epsilon, delta): the exact sum for one integer query, the zCDP
conversion beyond. Bounds are certified; a value is never below the truth.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

from discreet.accounting.conversion import zcdp_delta, zcdp_epsilon
from discreet.accounting.normal import TINIEST, crossing, mills_bounds, normal_context, to_decimal
from discreet.rationals import (
    Number,
    ceil_decimal,
    log_float,
    nonnegative,
    positive,
    probability,
    whole,
)

__all__ = ["discrete_gaussian_delta", "discrete_gaussian_epsilon"]

_LARGEST_SUMMED = 3000  # a sum takes about 14 sigma terms; beyond, integrals bound the tails
_FARTHEST = 60  # sigmas below zero from which a sum may start
_MARGIN = Decimal("1e-40")  # n terms by recurrence err by n^2 * 10**-59 at most, relative
_ROOT_TWO_PI = Decimal("2.50662827463100050241576528481104525300698674060993831662992357")
_DIGITS = 12  # of an epsilon found by search


def discrete_gaussian_delta(
    *, sigma_squared: Number, epsilon: Number, sensitivity: int = 1
) -> Fraction:
    """The delta of one integer query with discrete Gaussian noise at `epsilon`, rounded up.

    Privacy: P(Y > t - D/2) - e^epsilon P(Y > t + D/2) with t = epsilon sigma^2/D, which is tight
    [CKS20, Thm. 7]. For sigma above 3,000 the tails are bounded by integrals (under 1% above
    the exact value), and never above the conversion of rho = D^2/(2 sigma^2) [CKS20, Cor. 13].
    >>> float(discrete_gaussian_delta(sigma_squared=1, epsilon=1))
    0.14135133940562192
    """
    variance, level = positive(sigma_squared, "sigma_squared"), nonnegative(epsilon, "epsilon")
    steps = whole(sensitivity, "sensitivity")
    concentrated = zcdp_delta(rho=Fraction(steps**2) / (2 * variance), epsilon=level)
    below = Fraction(steps, 2) - level * variance / steps
    if below > 0 and below**2 > _FARTHEST**2 * variance:
        return concentrated  # delta is 1 but for 1e-700; the first weights would underflow
    with decimal.localcontext(normal_context()):
        if variance > _LARGEST_SUMMED**2:
            bound = _integral(variance, level, steps)
        else:
            bound = _sum(variance, level, steps) / _normaliser(variance) * (1 + _MARGIN)
    return min(concentrated, ceil_decimal(max(TINIEST, Fraction(bound))))


def discrete_gaussian_epsilon(
    *, sigma_squared: Number, delta: Number, sensitivity: int = 1
) -> Fraction:
    """The smallest epsilon of one integer query at `delta`, rounded up in the 12th digit.

    Privacy: certified by `discrete_gaussian_delta` [CKS20, Thm. 7].
    >>> float(discrete_gaussian_epsilon(sigma_squared=100, delta=1e-6))
    0.396790092696
    """
    variance, failure = positive(sigma_squared, "sigma_squared"), probability(delta, "delta")
    steps = whole(sensitivity, "sensitivity")
    concentrated = zcdp_epsilon(rho=Fraction(steps**2) / (2 * variance), delta=failure)

    def delta_at(level: Fraction) -> Fraction:
        return discrete_gaussian_delta(sigma_squared=variance, epsilon=level, sensitivity=steps)

    if delta_at(Fraction(0)) <= failure:
        return Fraction(0)
    wanted = log_float(failure)

    def surplus(level: float) -> float:
        return wanted - log_float(delta_at(Fraction(level)))

    root = crossing(surplus, 0.0, float(concentrated) * 1.000001)
    step = Fraction(1, 10 ** (_DIGITS - 1))
    epsilon = ceil_decimal(max(Fraction(root), step), _DIGITS)
    while epsilon < concentrated and delta_at(epsilon) > failure:
        epsilon, step = ceil_decimal(epsilon * (1 + step), _DIGITS), 2 * step
    return min(epsilon, concentrated)


def _normaliser(variance: Fraction) -> Decimal:
    """A lower bound on the sum of exp(-y^2/(2 sigma^2)) over all integers."""
    # Poisson summation: sigma sqrt(2 pi) (1 + 2 exp(-2 pi^2 sigma^2) + ...).
    smooth = to_decimal(variance).sqrt() * _ROOT_TWO_PI
    if variance >= 5:
        return smooth
    total = 1 + 2 * sum(
        (to_decimal(-(y**2) / (2 * variance)).exp() for y in range(1, 32)), Decimal(0)
    )
    return max(total, smooth) * (1 - _MARGIN)


def _integral(variance: Fraction, epsilon: Fraction, steps: int) -> Decimal:
    """An upper bound on delta for a large sigma, where the density is convex: beyond one sigma.

    There a value is at most the integral over the unit cell around it, and the trapezoids over
    the cells from it on are at least their integral. The normaliser is above sigma sqrt(2 pi).
    """
    sigma = to_decimal(variance).sqrt()
    first = math.floor(epsilon * variance / steps - Fraction(steps, 2)) + 1
    near, far = (first - Decimal("0.5")) / sigma, (first + steps) / sigma
    if not Decimal("1.001") < near < 80:
        return Decimal(1)
    upper = mills_bounds(near)[1] * (-near * near / 2).exp()
    lower = mills_bounds(far)[0] + 1 / (2 * sigma)
    return (upper - lower * (to_decimal(epsilon) - far * far / 2).exp() + _MARGIN) / _ROOT_TWO_PI


def _sum(variance: Fraction, epsilon: Fraction, steps: int) -> Decimal:
    """An upper bound on the sum over y >= first of p(y) - e^epsilon p(y + steps), p unnormalised.

    Each term is p(y) (1 - exp(epsilon - (2 y D + D^2)/(2 sigma^2))), without cancellation of sums.
    """
    first = math.floor(epsilon * variance / steps - Fraction(steps, 2)) + 1
    weight = to_decimal(Fraction(-(first**2)) / (2 * variance)).exp()
    ratio = to_decimal(Fraction(-2 * first - 1) / (2 * variance)).exp()
    ratio_step = to_decimal(-1 / variance).exp()
    share = to_decimal(epsilon - Fraction(2 * first * steps + steps**2) / (2 * variance)).exp()
    share_step = to_decimal(-steps / variance).exp()
    total, worst = Decimal(0), Decimal(0)
    while True:
        total += weight * (1 - share)
        worst += weight
        weight *= ratio
        if ratio < 1 and weight <= _MARGIN * (1 - ratio) * total:
            break
        ratio *= ratio_step
        share *= share_step
    # The errors of `share` count against the weights, the rest is a geometric series.
    return total + worst * Decimal("1e-45") + weight / (1 - ratio)
