"""The continuous Gaussian's exact (epsilon, delta) curve and its calibration. Values are sought by
root finding and then certified: what is returned is re-evaluated with bounds on every error.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

from discreet.accounting.normal import TINIEST, crossing, normal_context, shift_delta, to_decimal
from discreet.errors import UnprovableRequest
from discreet.rationals import (
    Number,
    ceil_decimal,
    log_float,
    nonnegative,
    positive,
    probability,
    whole,
)

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_sigma"]

_DIGITS = 15  # of a calibrated value; what a float search can find


def gaussian_delta(
    *, sigma: Number, epsilon: Number, sensitivity: Number = 1, count: int = 1
) -> Fraction:
    """The delta of `count` Gaussian releases at `epsilon`, rounded up; `sensitivity` is in L2.

    Privacy: exact for the continuous Gaussian, under the relation of the sensitivity
    [BW18, Thm. 8]; the composition of Gaussians is one with mu^2 = count (sensitivity/sigma)^2.
    >>> float(gaussian_delta(sigma=1, epsilon=1))
    0.12693673750664394
    """
    square = _mu_squared(sigma, sensitivity, count)
    level = nonnegative(epsilon, "epsilon")
    return _delta(square, level) if square else Fraction(0)


def gaussian_epsilon(
    *, sigma: Number, delta: Number, sensitivity: Number = 1, count: int = 1
) -> Fraction:
    """The smallest epsilon of `count` Gaussian releases at `delta`, rounded up in the 15th digit.

    Privacy: exact for the continuous Gaussian [BW18, Thm. 8]; certified by `gaussian_delta`.
    >>> float(gaussian_epsilon(sigma=30, delta=1e-6, count=1000))
    5.18903664082189
    """
    square, failure = _mu_squared(sigma, sensitivity, count), _failure(delta)
    if not square or failure == 1 or _delta(square, Fraction(0)) <= failure:
        return Fraction(0)
    mu, wanted = math.sqrt(square), log_float(failure)
    with decimal.localcontext(normal_context()):
        root = _root(square)

        def surplus(level: float) -> float:
            return wanted - _float_log(shift_delta(mu=root, epsilon=Decimal(level))[1])

        # P(loss > epsilon) <= delta already there: N(mu^2/2, mu^2) and the Chernoff bound.
        crossed = crossing(surplus, 0.0, mu * mu / 2 + mu * math.sqrt(-2 * wanted) + 1e-12)
    step = Fraction(1, 10 ** (_DIGITS - 1))
    epsilon = ceil_decimal(max(Fraction(crossed), step), _DIGITS)
    while _delta(square, epsilon) > failure:
        epsilon, step = ceil_decimal(epsilon * (1 + step), _DIGITS), 2 * step
    return epsilon


def gaussian_sigma(
    *, epsilon: Number, delta: Number, sensitivity: Number = 1, count: int = 1
) -> Fraction:
    """The smallest sigma that makes `count` Gaussian releases (epsilon, delta)-DP, rounded up.

    Privacy: the analytic Gaussian mechanism, valid for every epsilon [BW18, Thm. 9]; certified
    by `gaussian_delta`.
    >>> float(gaussian_sigma(epsilon=1, delta=1e-6))
    4.22467888932684
    """
    level, failure = nonnegative(epsilon, "epsilon"), _failure(delta)
    distance = _mu_squared(1, sensitivity, count)
    if failure == 1 or not distance:
        raise UnprovableRequest(
            f"sensitivity {float(distance)} at delta {float(failure):g} needs no noise at all; "
            "ask for delta below 1 and a sensitivity above 0. Nothing was computed."
        )
    wanted = log_float(failure)
    with decimal.localcontext(normal_context()):
        threshold = to_decimal(level)

        def surplus(log_mu: float) -> float:
            return _float_log(shift_delta(mu=Decimal(log_mu).exp(), epsilon=threshold)[1]) - wanted

        low = high = math.log(max(float(level), 1e-3)) - math.log(1 + math.sqrt(-2 * wanted))
        while surplus(low) >= 0:
            low -= 1
        while surplus(high) <= 0:
            high += 1
        crossed = crossing(surplus, low, high)
    step = Fraction(1, 10**_DIGITS)
    near = Fraction(math.sqrt(distance)) / Fraction(math.exp(crossed))
    sigma = ceil_decimal(near * (1 - step), _DIGITS)
    while _delta(distance / sigma**2, level) > failure:
        sigma, step = ceil_decimal(sigma * (1 + step), _DIGITS), 2 * step
    return sigma


def _mu_squared(sigma: Number, sensitivity: Number, count: int) -> Fraction:
    whole(count, "count")
    ratio = nonnegative(sensitivity, "sensitivity") / positive(sigma, "sigma")
    return count * ratio**2


def _failure(delta: Number) -> Fraction:
    failure = probability(delta, "delta")
    if failure <= TINIEST * 10**400:
        raise UnprovableRequest(
            f"delta is {failure}; Gaussian noise needs a delta above 1e-1600. Use Laplace noise "
            "where no delta is allowed. Nothing was computed."
        )
    return failure


def _root(square: Fraction) -> Decimal:
    """A decimal at least the square root, in the caller's context."""
    context = decimal.getcontext()
    quotient = context.next_plus(to_decimal(square))
    return context.next_plus(quotient.sqrt())


def _delta(square: Fraction, epsilon: Fraction) -> Fraction:
    with decimal.localcontext(normal_context()) as context:
        # delta rises with mu and falls with epsilon.
        level = to_decimal(epsilon)
        below = context.next_minus(level) if level else level
        bound = shift_delta(mu=_root(square), epsilon=below)[1]
    return min(Fraction(1), ceil_decimal(max(TINIEST, Fraction(bound))))


def _float_log(value: Decimal) -> float:
    return float(value.ln()) if value > 0 else -4000.0
