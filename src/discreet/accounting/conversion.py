"""Conversion between zCDP and (epsilon, delta). Each bound holds for every order a > 1, so the
order is sought in floats and the bound evaluated in certified arithmetic, rounded to more loss.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.errors import UnprovableRequest
from discreet.loss import ZCDP, Approximate, Loss
from discreet.rationals import (
    Number,
    ceil_decimal,
    exp_bounds,
    floor_decimal,
    log_bounds,
    log_float,
    nonnegative,
    probability,
)

__all__ = ["zcdp", "zcdp_delta", "zcdp_epsilon", "zcdp_rho"]

_ONE = Fraction(1)
_RHO_DIGITS = 15  # coarser than epsilon's 18, so that a rho rounded down converts back below


def zcdp(losses: Loss | Iterable[Loss], *, delta: Number) -> Approximate:
    """The (epsilon, delta) statement of losses added up as zCDP.

    Privacy: rho and delta add [BS16, Lemma 8.2], also for adaptively chosen parameters under a
    filter; what the parts' deltas leave of `delta` pays for the conversion [CKS20, Cor. 13].
    >>> float(zcdp([ZCDP(rho=0.0005)] * 100, delta=1e-6).epsilon)
    1.471594750532416
    """
    parts = (losses,) if isinstance(losses, Loss) else tuple(losses)
    target = probability(delta, "delta")
    total = sum((part.zcdp() for part in parts), ZCDP(rho=0))
    if total.delta > target:
        raise UnprovableRequest(
            f"the deltas of the parts come to {float(total.delta):g}, above delta "
            f"{float(target):g}; raise delta. Nothing was computed."
        )
    epsilon = zcdp_epsilon(rho=total.rho, delta=target - total.delta)
    return Approximate(epsilon=epsilon, delta=target)


def zcdp_epsilon(*, rho: Number, delta: Number) -> Fraction:
    """The epsilon of rho-zCDP at `delta`, rounded up in the 18th digit.

    Privacy: min over a > 1 of rho a + ln(1/(a delta))/(a-1) + ln(1-1/a) [CKS20, Cor. 13].
    >>> float(zcdp_epsilon(rho=0.5, delta=1e-6))
    5.221534444530169
    """
    cost, failure = nonnegative(rho, "rho"), probability(delta, "delta")
    if not cost or failure == 1:
        return Fraction(0)
    if not failure:
        raise UnprovableRequest(
            f"zCDP with rho={float(cost):g} has no finite epsilon at delta=0; "
            "give a delta above 0, for instance 1e-6. Nothing was computed."
        )
    wanted, log_rho = -log_float(failure), log_float(cost)

    def slope(log_step: float) -> float:
        # The derivative in a has the sign of rho (a-1)^2 + ln a - ln(1/delta), which rises in a.
        return _exp(2 * log_step + log_rho) + _log_order(log_step) - wanted

    bound = _epsilon_at(_order(slope), cost, failure)
    return ceil_decimal(max(Fraction(0), bound))


def zcdp_rho(*, epsilon: Number, delta: Number) -> Fraction:
    """The most rho whose conversion at `delta` is at most epsilon, rounded down in the 15th digit.

    Privacy: the inverse of `zcdp_epsilon` [CKS20, Cor. 13], verified against it.
    >>> float(zcdp_rho(epsilon=1, delta=1e-6))
    0.0243559703595383
    """
    limit, failure = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    if not failure:
        return Fraction(0)
    if failure == 1:
        raise UnprovableRequest("delta=1 protects nobody, so every rho would do; lower delta.")
    wanted, level = -log_float(failure), float(limit)

    def slope(log_step: float) -> float:
        # For every order a, rho(a) = (epsilon - ln(1/(a delta))/(a-1) - ln(1-1/a))/a is allowed;
        # it falls where (a-1)^2 rho(a) exceeds ln(1/(a delta)).
        rest = wanted - _log_order(log_step)
        step = _exp(log_step)
        rho = level - rest / step + math.log1p(_exp(-log_step))
        return step * rho * (step / (1 + step)) - rest

    order = _order(slope)
    spent = _epsilon_at(order, Fraction(0), failure)
    rho = floor_decimal(max(Fraction(0), (limit - spent) / order), _RHO_DIGITS)
    retreat = Fraction(1, 10 ** (_RHO_DIGITS - 1))
    while rho and zcdp_epsilon(rho=rho, delta=failure) > limit:
        rho, retreat = floor_decimal(rho * (1 - min(_ONE, retreat)), _RHO_DIGITS), 2 * retreat
    return rho


def zcdp_delta(*, rho: Number, epsilon: Number) -> Fraction:
    """The delta of rho-zCDP at `epsilon`, rounded up in the 18th digit.

    Privacy: min over a > 1 of exp((a-1)(a rho - epsilon)) (1-1/a)^(a-1) / a [CKS20, Cor. 13].
    >>> float(zcdp_delta(rho=0.5, epsilon=5.2215344445302))
    9.999999999998481e-07
    """
    cost, level = nonnegative(rho, "rho"), nonnegative(epsilon, "epsilon")
    if not cost:
        return Fraction(0)
    log_rho, limit = log_float(cost), float(level)

    def slope(log_step: float) -> float:
        # The exponent's derivative in a: (2a-1) rho - epsilon + ln(1-1/a).
        twice = _exp(log_step + math.log(2) + log_rho) + _exp(log_rho)
        return twice - limit - math.log1p(_exp(-log_step))

    order = _order(slope)
    step, digits = order - 1, _log_digits(order)
    grown = order * cost - level + log_bounds(step / order, digits)[1]
    exponent = step * grown - log_bounds(order, digits)[0]
    if exponent >= 0:
        return Fraction(1)
    digits = min(400, max(40, math.ceil(-exponent / 10)))
    return min(Fraction(1), ceil_decimal(exp_bounds(exponent, digits)[1]))


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 700 else math.inf


def _log_order(log_step: float) -> float:
    """ln(a) where a = 1 + e^log_step."""
    return max(log_step, 0.0) + math.log1p(math.exp(-abs(log_step)))


def _order(slope: Callable[[float], float]) -> Fraction:
    """The order a > 1 where an increasing slope, a function of ln(a-1), changes its sign."""
    low, high = -600.0, 600.0
    for _ in range(64):
        middle = (low + high) / 2
        if slope(middle) < 0:
            low = middle
        else:
            high = middle
    return 1 + Fraction(math.exp(high))


def _log_digits(order: Fraction) -> int:
    return 40 + math.floor(order).bit_length() // 3  # ln(1-1/a) is as small as 1/a


def _epsilon_at(order: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """An upper bound on rho a + ln(1/(a delta))/(a-1) + ln(1-1/a)."""
    digits = _log_digits(order)
    paid = log_bounds(1 / (order * delta), digits)[1] / (order - 1)
    return rho * order + paid + log_bounds(1 - 1 / order, digits)[1]
