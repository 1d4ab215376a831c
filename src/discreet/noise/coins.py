"""Exact coins and dice: uniform integers, Bernoulli of a rational and of exp(-rational).
Decides by lazily extended uniform bits against certified bounds; no floating point at all.
"""

from collections.abc import Callable
from fractions import Fraction
from operator import index

from discreet.errors import InvalidValue
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, exp_bounds, nonnegative, probability

__all__ = ["below", "bernoulli", "bernoulli_exp", "uniform"]

_STEP = 64  # bits by which an undecided uniform is extended


def uniform(bound: int, bits: BitSource = system) -> int:
    """A uniform integer in [0, bound), by rejection.

    Privacy: the distribution is exact.
    >>> 0 <= uniform(6) < 6
    True
    """
    limit = index(bound)
    if limit < 1:
        raise InvalidValue(f"bound is {bound}; it must be at least 1.")
    width = (limit - 1).bit_length()
    while True:
        drawn = bits.bits(width)
        if drawn < limit:
            return drawn


def bernoulli(chance: Number, bits: BitSource = system) -> bool:
    """True with exactly the given rational probability.

    Privacy: the distribution is exact.
    >>> bernoulli(1), bernoulli(0)
    (True, False)
    """
    fraction = probability(chance, "chance")
    return uniform(fraction.denominator, bits) < fraction.numerator


def bernoulli_exp(gamma: Number, bits: BitSource = system) -> bool:
    """True with probability exactly exp(-gamma), for gamma >= 0.

    Privacy: the distribution is exact [CKS20, Alg. 1].
    >>> bernoulli_exp(0)
    True
    """
    exponent = nonnegative(gamma, "gamma")
    if exponent == 0:
        return True
    return below(lambda digits: exp_bounds(-exponent, digits), bits)


def below(
    bounds: Callable[[int], tuple[Fraction, Fraction]],
    bits: BitSource = system,
    *,
    prefix: int = 0,
    length: int = 0,
) -> bool:
    """Whether a uniform number, known to start with `length` bits `prefix`, lies below a bound.

    `bounds(digits)` brackets the bound to about that many decimal digits. More bits are drawn
    only while the bracket straddles what is known of the uniform, so the decision is the exact
    one and ends with probability 1.

    Privacy: the decision is exact.
    >>> below(lambda digits: (Fraction(1), Fraction(1)))
    True
    """
    if length == 0:
        prefix, length = bits.bits(_STEP), _STEP
    while True:
        low, high = bounds(20 + length // 3)  # a digit is more than three bits
        if Fraction(prefix + 1, 1 << length) <= low:
            return True
        if Fraction(prefix, 1 << length) >= high:
            return False
        prefix = (prefix << _STEP) | bits.bits(_STEP)
        length += _STEP
