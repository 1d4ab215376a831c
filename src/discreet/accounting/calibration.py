"""The least noise for a target: first the largest loss each of k planned queries may have, then the
noise that gives one query that loss. Everything is rounded so that the target is never exceeded.
"""

from fractions import Fraction

from discreet.accounting.binomial import smallest_epsilon
from discreet.accounting.conversion import zcdp_rho
from discreet.accounting.discrete_gaussian import discrete_gaussian_delta
from discreet.accounting.gaussian import gaussian_sigma
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, BoundedRange, Pure, Relation, Sensitivity
from discreet.rationals import (
    Number,
    ceil_decimal,
    floor_decimal,
    nonnegative,
    positive,
    probability,
    sqrt_up,
    whole,
)

__all__ = [
    "bounded_range_share",
    "discrete_gaussian_variance",
    "gaussian_variance",
    "laplace_scale",
    "monotone_selection_scale",
    "pure_share",
    "selection_scale",
    "top_k_scale",
    "zcdp_share",
]

_DIGITS = 12  # of a value found by search


def pure_share(*, count: int, epsilon: Number, delta: Number = 0) -> Pure:
    """The largest epsilon of each of `count` pure queries that together keep (epsilon, delta).

    For Laplace noise, randomized response, the exponential mechanism and any pure loss. No
    bound can do better: a discrete Laplace count, like randomized response, is the worst case.
    Privacy: optimal composition of fixed parameters [KOV15, Thm. 3.3], rounded down.
    >>> float(pure_share(count=100, epsilon=1, delta=1e-6).epsilon)
    0.024011080397155
    """
    level, failure, times = _target(count, epsilon, delta)
    low = level / times
    if failure:
        high = 2 * low
        while _fits(level, failure, times, high):
            low, high = high, 2 * high
        low = _bisect(level, failure, times, low, high)
    return Pure(epsilon=low)


def bounded_range_share(*, count: int, epsilon: Number, delta: Number = 0) -> BoundedRange:
    """The largest epsilon of each of `count` bounded-range selections within (epsilon, delta).

    Privacy: the better of pure composition and of epsilon^2/8 each in zCDP [CR21, Lemma 3.4],
    rounded down.
    >>> float(bounded_range_share(count=100, epsilon=1, delta=1e-6).epsilon)
    0.0441415635061
    """
    alone = pure_share(count=count, epsilon=epsilon, delta=delta).epsilon
    level, failure, times = _target(count, epsilon, delta)
    if not failure:
        return BoundedRange(epsilon=alone)
    square = 8 * zcdp_rho(epsilon=level, delta=failure) / times
    return BoundedRange(epsilon=max(alone, _root_down(square)))


def zcdp_share(*, count: int, epsilon: Number, delta: Number) -> ZCDP:
    """The largest rho of each of `count` queries that together keep (epsilon, delta).

    Privacy: rho adds [BS16, Lemma 1.7] and converts [CKS20, Cor. 13], rounded down.
    >>> float(zcdp_share(count=100, epsilon=1, delta=1e-6).rho)
    0.000243559703595383
    """
    level, failure, times = _target(count, epsilon, delta)
    if not failure:
        raise UnprovableRequest(
            "no rho above 0 keeps a pure budget; give a delta above 0, or use pure_share and "
            "Laplace noise. Nothing was computed."
        )
    return ZCDP(rho=zcdp_rho(epsilon=level, delta=failure) / times)


def laplace_scale(sensitivity: Sensitivity, *, epsilon: Number) -> Fraction:
    """The smallest scale of (discrete) Laplace noise for a pure loss of epsilon, exactly.

    Also that of bit flips on the Hamming cube.
    Privacy: l1/scale = epsilon under the neighbouring relation of the sensitivity
    [DMNS06, Prop. 3.3].
    >>> laplace_scale(Sensitivity.single(1), epsilon=0.1)
    Fraction(10, 1)
    """
    return _moving(sensitivity.l1) / positive(epsilon, "epsilon")


def selection_scale(sensitivity: Sensitivity, *, epsilon: Number) -> Fraction:
    """The smallest scale of a selection, or of metric noise, for a loss of epsilon, exactly.

    For the exponential mechanism, permute-and-flip, noisy max with any noise, and metric noise.
    Privacy: 2 linf/scale = epsilon under the neighbouring relation of the sensitivity
    [MT07, Thm. 6], [MS20, Thm. 1], [DMNS06, Sec. 3.3].
    >>> selection_scale(Sensitivity.single(1), epsilon=0.1)
    Fraction(20, 1)
    """
    return 2 * _moving(sensitivity.linf) / positive(epsilon, "epsilon")


def monotone_selection_scale(
    sensitivity: Sensitivity, *, epsilon: Number, relation: Relation
) -> Fraction:
    """The smallest scale of a selection whose scores one unit moves all the same way, exactly.

    Privacy: linf/scale = epsilon under add/remove [DR19, Lemma 4.1], [DR14, Claim 3.9]; refused
    under replace, which moves scores both ways.
    >>> monotone_selection_scale(
    ...     Sensitivity.single(1), epsilon=0.1, relation=Relation.ADD_REMOVE)
    Fraction(10, 1)
    """
    if relation is not Relation.ADD_REMOVE:
        raise UnprovableRequest(
            f"the monotone scale under the relation {relation.value}: replacing a unit moves "
            "scores both ways. Use selection_scale. Nothing was computed."
        )
    return selection_scale(sensitivity, epsilon=epsilon) / 2


def top_k_scale(sensitivity: Sensitivity, *, rho: Number, count: int) -> Fraction:
    """The smallest scale of a one-shot top-k list of `count` for a zCDP loss of rho, rounded up.

    Privacy: count (2 linf/scale)^2/8 <= rho under the neighbouring relation of the sensitivity
    [CR21, Lemma 3.4].
    >>> top_k_scale(Sensitivity.single(1), rho=0.25, count=8)
    Fraction(4, 1)
    """
    cost = positive(rho, "rho")
    return sqrt_up(whole(count, "count") * _moving(sensitivity.linf) ** 2 / (2 * cost))


def gaussian_variance(sensitivity: Sensitivity, *, rho: Number) -> Fraction:
    """The smallest sigma^2 of (discrete) Gaussian noise for a zCDP loss of rho, exactly.

    Privacy: l2^2/(2 sigma^2) = rho under the neighbouring relation of the sensitivity
    [CKS20, Thm. 4].
    >>> gaussian_variance(Sensitivity.single(1), rho=0.005)
    Fraction(100, 1)
    """
    return _moving(sensitivity.l2_squared) / (2 * positive(rho, "rho"))


def discrete_gaussian_variance(
    sensitivity: Sensitivity, *, epsilon: Number, delta: Number, count: int = 1
) -> Fraction:
    """The smallest sigma^2 for which `count` discrete Gaussian releases keep (epsilon, delta).

    One release of one integer is priced by its exact curve, everything else by zCDP.
    Privacy: [CKS20, Thm. 7], else [CKS20, Thm. 4 with Cor. 13]; rounded up and certified.
    >>> float(discrete_gaussian_variance(Sensitivity.single(1), epsilon=1, delta=1e-6))
    17.899489865
    """
    share = zcdp_share(count=count, epsilon=epsilon, delta=delta)
    concentrated = gaussian_variance(sensitivity, rho=share.rho)
    level, failure, times = _target(count, epsilon, delta)
    steps = sensitivity.l1
    if times > 1 or sensitivity.groups > 1 or steps.denominator > 1:
        return concentrated

    def enough(variance: Fraction) -> bool:
        reached = discrete_gaussian_delta(
            sigma_squared=variance, epsilon=level, sensitivity=steps.numerator
        )
        return reached <= failure

    # The curve of the discrete noise wavers around the continuous one, so a crossing near it
    # is sought; it is a local one, and certified because `enough` is.
    near = gaussian_sigma(epsilon=level, delta=failure, sensitivity=steps) ** 2
    low, high = near / 2, min(concentrated, near * 2)
    if enough(low) or not enough(high):
        return concentrated
    while high - low > high / 10**8:
        middle = ceil_decimal((low + high) / 2, _DIGITS)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _target(count: int, epsilon: Number, delta: Number) -> tuple[Fraction, Fraction, int]:
    whole(count, "count")
    failure = probability(delta, "delta")
    if failure == 1:
        raise InvalidValue("delta is 1, which protects nobody; lower it, for instance to 1e-6.")
    return positive(epsilon, "epsilon"), failure, count


def _moving(norm: Fraction) -> Fraction:
    if not norm:
        raise InvalidValue("the sensitivity is 0: the answer is public and needs no noise.")
    return nonnegative(norm)


def _fits(level: Fraction, delta: Fraction, count: int, each: Fraction) -> bool:
    return smallest_epsilon(epsilon=each, count=count, delta=delta) <= level


def _bisect(
    level: Fraction, delta: Fraction, count: int, low: Fraction, high: Fraction
) -> Fraction:
    while high - low > high / 10**_DIGITS:
        middle = floor_decimal((low + high) / 2, _DIGITS + 2)
        low, high = (middle, high) if _fits(level, delta, count, middle) else (low, middle)
    return low


def _root_down(square: Fraction) -> Fraction:
    """A decimal at most the square root, of 12 digits."""
    return floor_decimal(square / sqrt_up(square), _DIGITS) if square else square
