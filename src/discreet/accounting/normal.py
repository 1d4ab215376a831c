"""Certified bounds on the normal distribution's tail and on the delta of a shifted normal.
Decimal arithmetic of 60 digits with explicit remainders; no library function but exp and sqrt.
"""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

__all__ = ["TINIEST", "crossing", "mills_bounds", "normal_context", "shift_delta", "to_decimal"]

TINIEST = Fraction(1, 10**2000)
"""Probabilities below this are reported as this."""

_DIGITS = 60
_MARGIN = Decimal("1e-50")  # a few hundred operations of relative error 10**-59 each
_ROOT_TWO_PI = Decimal("2.50662827463100050241576528481104525300698674060993831662992357")


def normal_context() -> decimal.Context:
    """A decimal context in which overflow is an error and underflow goes to zero.

    >>> normal_context().prec
    60
    """
    traps = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
    return decimal.Context(prec=_DIGITS, Emin=-(10**9), Emax=10**9, traps=traps)


def to_decimal(value: Fraction) -> Decimal:
    """The quotient in the caller's context.

    >>> to_decimal(Fraction(1, 4))
    Decimal('0.25')
    """
    return Decimal(value.numerator) / Decimal(value.denominator)


def _density(x: Decimal) -> Decimal:
    return (-x * x / 2).exp() / _ROOT_TWO_PI


def _series(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds on P(Z > x)/density(x) for 0 <= x < 6, from P(0 < Z < x) = density(x) * sum."""
    term = total = x
    order = 1
    while order < x * x * 2 or term > Decimal("1e-62"):
        order += 2
        term *= x * x / order
        total += term
    value = 1 / (2 * _density(x)) - total  # the remainder is below the last term
    return value - term - _MARGIN * 200, value + _MARGIN * 200


def _fraction(x: Decimal, depth: int) -> Decimal:
    denominator = x
    for level in range(depth, 0, -1):
        denominator = x + level / denominator
    return 1 / denominator


def mills_bounds(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds on P(Z > x)/density(x) for a standard normal Z and x >= 0.

    The convergents of 1/(x + 1/(x + 2/(x + 3/...))) lie on alternating sides of it.
    >>> low, high = mills_bounds(Decimal(4))
    >>> low < high and round(float(low), 12)
    0.236652382914
    """
    with decimal.localcontext(normal_context()):
        if x < 6:
            return _series(x)
        depth = 32 + int(2800 / (x * x))
        one, other = _fraction(x, depth), _fraction(x, depth + 1)
        return min(one, other) * (1 - _MARGIN), max(one, other) * (1 + _MARGIN)


def shift_delta(*, mu: Decimal, epsilon: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds on the delta of N(mu, 1) against N(0, 1) at epsilon.

    Privacy: Phi(a) - e^epsilon Phi(-b), a = mu/2 - epsilon/mu, b = mu/2 + epsilon/mu
    [BW18, Thm. 5]; e^epsilon density(b) = density(a), so no factor overflows.
    >>> low, high = shift_delta(mu=Decimal(1), epsilon=Decimal(1))
    >>> low < high and round(float(high), 12)
    0.126936737507
    """
    with decimal.localcontext(normal_context()):
        return _shift_delta(mu, epsilon)


def _shift_delta(mu: Decimal, epsilon: Decimal) -> tuple[Decimal, Decimal]:
    inner, outer = mu / 2 - epsilon / mu, mu / 2 + epsilon / mu
    if inner < -90:
        return Decimal(0), Decimal("1e-1700")
    if inner > 1000:
        return Decimal(0), Decimal(1)
    density = _density(inner)
    low_tail, high_tail = mills_bounds(outer)
    low, high = mills_bounds(abs(inner))
    if inner <= 0:
        # The ratio is convex with slope x * ratio - 1: a bound without cancellation.
        slope = 1 + inner * low + _MARGIN * 1000
        bounds = density * (low - high_tail), density * min(high - low_tail, mu * slope)
    else:
        # At most the total variation, 2 Phi(mu/2) - 1.
        upper = min(1 - density * (low + low_tail), mu / _ROOT_TWO_PI)
        bounds = 1 - density * (high + high_tail), upper
    return max(Decimal(0), bounds[0] - abs(bounds[0]) * _MARGIN), bounds[1] * (1 + _MARGIN)


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function passes zero between `low` and `high`, to the float's precision.

    >>> crossing(lambda x: x * x - 2, 0.0, 2.0)
    1.4142135623730954
    """
    below, above = function(low), function(high)
    side = 0
    for _ in range(200):
        if below >= 0 or above <= 0 or high - low <= 1e-15 * max(abs(low), abs(high)):
            break
        middle = (low * above - high * below) / (above - below)
        if not low < middle < high:
            middle = math.nextafter((low + high) / 2, high)
            if not low < middle < high:
                break
        value = function(middle)
        # False position that halves the weight of an end kept twice (the Illinois rule).
        if value < 0:
            low, below, above, side = middle, value, above / 2 if side < 0 else above, -1
        else:
            high, above, below, side = middle, value, below / 2 if side > 0 else below, 1
    return low if below == 0 else high
