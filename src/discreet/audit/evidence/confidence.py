"""Clopper-Pearson bounds on a probability from a count. A bound is sought in floats and then
certified: the binomial tail at the returned value is bounded in 60-digit decimals. Never returns
a lower bound that is too high or an upper bound that is too low.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import InvalidValue
from discreet.rationals import Number, positive

__all__ = ["lower_bound", "upper_bound"]

_DIGITS = 60
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_ERROR = Decimal("1e-30")  # far above what a few million correctly rounded steps can add up to
_SMALL = 60  # factorials up to here are exact


def lower_bound(successes: int, trials: int, *, failure: Number) -> Fraction:
    """A number that exceeds the success probability with probability at most `failure`.

    The largest p, up to a relative 1e-9, at which so many successes or more have probability at
    most `failure` [CP34].
    >>> float(round(lower_bound(50, 100, failure=0.025), 4))
    0.3983
    >>> lower_bound(0, 100, failure=0.025)
    Fraction(0, 1)
    """
    risk = positive(failure, "failure")
    if risk > 1:
        raise InvalidValue(f"failure is {failure}; it must be a probability above 0.")
    _check_counts(successes, trials)
    if not successes or risk == 1:
        return Fraction(0)
    return _certify(successes, trials, risk)


def upper_bound(successes: int, trials: int, *, failure: Number) -> Fraction:
    """A number that falls below the success probability with probability at most `failure`.

    >>> float(round(upper_bound(0, 100, failure=0.05), 4))
    0.0295
    """
    _check_counts(successes, trials)
    return 1 - lower_bound(trials - successes, trials, failure=failure)


def _check_counts(successes: int, trials: int) -> None:
    if trials < 1 or not 0 <= successes <= trials:
        raise InvalidValue(
            f"{successes} successes in {trials} trials; give at least one trial, and no more "
            "successes than trials."
        )


@lru_cache(maxsize=1024)
def _certify(successes: int, trials: int, risk: Fraction) -> Fraction:
    estimate = _search(successes, trials, math.log(risk))
    step = 1e-9
    with decimal.localcontext(_context()):
        limit = Decimal(risk.numerator) / Decimal(risk.denominator) * (1 - _ERROR)
        while step < 1:
            # A float is read as the decimal it prints as, so that 1 - p is exact too.
            candidate = Decimal(repr(estimate * (1 - step)))
            if _tail(successes, trials, candidate) <= limit:
                return Fraction(candidate)
            step *= 8
    return Fraction(0)


def _context() -> decimal.Context:
    traps = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
    return decimal.Context(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=traps)


def _search(successes: int, trials: int, log_risk: float) -> float:
    """Where the float tail crosses the risk; exact to about 1e-12, certified by the caller."""
    share = successes / trials
    spread = math.sqrt(trials * share * (1 - share)) + 1
    last = min(trials, successes + int(40 * spread) + 200)
    index = np.arange(successes, last)
    steps = np.log(trials - index) - np.log(index + 1.0)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    powers = np.arange(len(logs))
    first = math.lgamma(trials + 1) - math.lgamma(successes + 1)
    first -= math.lgamma(trials - successes + 1)

    def log_tail(chance: float) -> float:
        odds = math.log(chance) - math.log1p(-chance)
        terms = logs + powers * odds
        largest = float(terms.max())
        inner = largest + math.log(float(np.exp(terms - largest).sum()))
        missed = trials - successes
        log_missed = missed * math.log1p(-chance) if missed else 0.0
        return first + successes * math.log(chance) + log_missed + inner

    low, high = math.log(share) + log_risk / successes - 60 / successes - 1, math.log(share)
    if share == 1:
        return math.exp(log_risk / trials)
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if log_tail(math.exp(middle)) > log_risk else (middle, high)
    return math.exp(low)


def _tail(successes: int, trials: int, chance: Decimal) -> Decimal:
    """An upper bound on P(Binomial(trials, chance) >= successes), for chance below their ratio."""
    odds = chance / (1 - chance)
    total, weight = Decimal(1), Decimal(1)
    for index in range(successes, trials):
        ratio = odds * (trials - index) / (index + 1)
        # Ratios fall from here on, so the rest is below a geometric series.
        if ratio < 1 and weight * ratio <= Decimal("1e-12") * total * (1 - ratio):
            total += weight * ratio / (1 - ratio)
            break
        weight *= ratio
        total += weight
    missed = trials - successes
    log_first = _log_factorial(trials)[1] - _log_factorial(successes)[0]
    log_first -= _log_factorial(missed)[0]
    log_first += successes * chance.ln() + missed * (1 - chance).ln()
    return log_first.exp() * total * (1 + _ERROR)


def _log_factorial(number: int) -> tuple[Decimal, Decimal]:
    """Bounds on ln(number!): Stirling's series lies between any two of its partial sums."""
    if number <= _SMALL:
        exact = Decimal(math.factorial(number)).ln()
        return exact, exact
    size = Decimal(number)
    main = size * size.ln() - size + (2 * _PI * size).ln() / 2
    high = main + 1 / (12 * size) - 1 / (360 * size**3) + 1 / (1260 * size**5)
    return high - 1 / (1680 * size**7), high
