"""The privacy loss of k equal pure mechanisms: a binomial number of steps of epsilon, summed in
50-digit arithmetic around its mode. Owns that one distribution; never returns less than the truth.
"""

import decimal
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from discreet.accounting.normal import to_decimal
from discreet.rationals import ceil_decimal

__all__ = ["smallest_epsilon"]

_DIGITS = 70
# Every weight below is a product of at most 4k correctly rounded factors and every sum has at
# most k terms, so all relative errors stay under 6k * 10**-_DIGITS: under _ERROR if k < 10**18.
_ERROR = Decimal("1e-50")
_NEGLIGIBLE = Decimal("1e-30")  # share of delta that the terms left out may take


def _context() -> decimal.Context:
    traps = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
    return decimal.Context(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=traps)


def _add_terms(ratios: Iterable[Decimal], enough: Decimal) -> tuple[list[Decimal], Decimal]:
    """Weights away from the mode, from the ratio of each to the one before, and a bound on the rest
    once that is at most `enough`.
    """
    weights: list[Decimal] = []
    weight = Decimal(1)
    for ratio in ratios:
        # Ratios fall away from the mode, so the rest is below a geometric series.
        if ratio < 1 and weight * ratio <= enough * (1 - ratio):
            return weights, weight * ratio / (1 - ratio)
        weight *= ratio
        weights.append(weight)
    return weights, Decimal(0)


def smallest_epsilon(*, epsilon: Fraction, count: int, delta: Fraction) -> Fraction:
    """The smallest g such that `count` adaptive epsilon-DP runs are (g, delta)-DP, rounded up.

    Privacy: randomized response is the worst case [KOV15, Thm. 3.3]: with `misses` ~
    Binomial(count, 1/(1+e^epsilon)) the loss is (count - 2*misses) * epsilon, and
    delta(g) = P(loss > g) - e^g Q(loss > g).
    >>> float(smallest_epsilon(epsilon=Fraction(1, 10), count=10, delta=Fraction(1, 10**6)))
    0.9993709057217587
    """
    if delta >= 1 or not epsilon:
        return Fraction(0)
    if not delta:
        return count * epsilon
    with decimal.localcontext(_context()):
        solved = Fraction(_solve(epsilon, count, to_decimal(delta)))
    # The rounding errors of the logarithm and of the step boundaries are far below 10**-40.
    bound = max(Fraction(0), solved + Fraction(1, 10**40))
    return min(ceil_decimal(bound), count * epsilon)


def _solve(epsilon: Fraction, count: int, delta: Decimal) -> Decimal:
    odds = to_decimal(epsilon).exp()
    mode = min(count, int((count + 1) / (odds + 1)))
    falling = (odds * misses / (count - misses + 1) for misses in range(mode, 0, -1))
    rising = ((count - misses) / (odds * (misses + 1)) for misses in range(mode, count))
    below, rest_below = _add_terms(falling, delta * _NEGLIGIBLE)
    above, rest_above = _add_terms(rising, _NEGLIGIBLE * _NEGLIGIBLE)
    weights = [*reversed(below), Decimal(1), *above]
    first = mode - len(below)
    # Leaving terms out of the total only makes every probability look larger.
    allowed = delta * sum(weights) * (1 - _ERROR)
    grow = odds * odds
    back = to_decimal((2 * first - count) * epsilon).exp()  # e^-loss at `misses`
    hits, false_hits = rest_below * (1 + _ERROR), Decimal(0)
    for misses, weight in enumerate(weights, first):
        hits += weight
        false_hits += weight * back
        back *= grow
        # On [loss(misses+1), loss(misses)], delta(g) is hits - e^g false_hits: the convex
        # function's segment that holds the solution is the first whose lower end exceeds delta.
        excess = hits * (1 + _ERROR) - allowed
        if excess * back >= false_hits or 2 * (misses + 1) >= count:
            break
    else:
        excess += rest_above * (1 + _ERROR)
    return (excess / (false_hits * (1 - _ERROR))).ln() if excess > 0 else Decimal(-1)
