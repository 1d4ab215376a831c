"""Exact privacy curves of small compositions, by enumeration and closed forms."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext

Curve = Callable[[float], float]


def two_point_delta(
    epsilons: Sequence[float], deltas: Sequence[float], epsilon: float
) -> tuple[Decimal, Decimal]:
    """A bracket of delta, to about 50 digits, by enumerating every combination of losses."""
    with localcontext() as context:
        context.prec = 70
        atoms = {Decimal(0): Decimal(1)}
        for price, failure in zip(epsilons, deltas, strict=True):
            loss, keep = Decimal(repr(price)), 1 - Decimal(repr(failure))
            up = 1 / (1 + (-loss).exp())
            after: dict[Decimal, Decimal] = {}
            for place, mass in atoms.items():
                for moved, share in ((place + loss, up), (place - loss, 1 - up)):
                    after[moved] = after.get(moved, Decimal(0)) + mass * share * keep
            atoms = after
        target = Decimal(repr(epsilon))
        value = 1 - sum(atoms.values())
        for place, mass in atoms.items():
            if place > target:
                value += mass * (1 - (target - place).exp())
        return value - Decimal("1e-50"), value + Decimal("1e-50")


def upper_tail(score: float) -> float:
    """The probability that a standard normal exceeds `score`."""
    return 0.5 * math.erfc(score / math.sqrt(2))


def gaussian_curve(ratio: float) -> Curve:
    """delta of the Gaussian mechanism with this ratio of sensitivity to deviation [BW18]."""
    return lambda loss: (
        upper_tail(loss / ratio - ratio / 2) - math.exp(loss) * upper_tail(loss / ratio + ratio / 2)
    )


def laplace_curve(epsilon: float) -> Curve:
    """delta of the Laplace mechanism at any loss, negative ones included."""

    def curve(loss: float) -> float:
        if loss <= -epsilon:
            return -math.expm1(loss)
        return max(0.0, -math.expm1((loss - epsilon) / 2))

    return curve


def subsampled_curves(rate: float, sigma: float) -> tuple[Curve, Curve]:
    """delta of the Poisson-subsampled Gaussian, the unit removed and the unit added."""
    plain = gaussian_curve(1 / sigma)

    def remove(loss: float) -> float:
        ratio = (math.exp(loss) - (1 - rate)) / rate
        return rate * plain(math.log(ratio)) if ratio > 0 else -math.expm1(loss)

    def add(loss: float) -> float:
        ratio = (math.exp(-loss) - (1 - rate)) / rate
        if ratio <= 0:
            return 0.0
        place = sigma**2 * math.log(ratio) + 0.5
        below = upper_tail(-place / sigma), upper_tail((1 - place) / sigma)
        return rate * math.exp(loss) * (ratio * below[0] - below[1])

    return remove, add


def mixed_delta(epsilons: Sequence[float], curves: Sequence[Curve], epsilon: float) -> float:
    """delta of two-point losses composed with one more mechanism, the worst of its curves."""
    atoms = [(0.0, 1.0)]
    for price in epsilons:
        atoms = [
            (place + sign * price, mass / (1 + math.exp(-sign * price)))
            for place, mass in atoms
            for sign in (1, -1)
        ]
    return max(
        math.fsum(mass * curve(epsilon - place) for place, mass in atoms) for curve in curves
    )
