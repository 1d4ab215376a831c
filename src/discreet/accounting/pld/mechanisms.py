"""The mechanisms whose privacy loss is known: each says how it enters a composition.
Adding one means adding a class here with `contribute`. Never answers a question itself.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, Self

import numpy as np

from discreet.accounting.pld.atoms import Atoms
from discreet.accounting.pld.curves import Array, Ends, Factor, laplace_shares, pure_shares
from discreet.accounting.pld.discretise import above, below, subsampled_add, subsampled_remove
from discreet.accounting.pld.inversion import SMALLEST
from discreet.accounting.pld.query import Composition
from discreet.rationals import ceil_float

__all__ = [
    "ADD",
    "Contribution",
    "Direction",
    "GaussianNoise",
    "LaplaceNoise",
    "Mechanism",
    "REMOVE",
    "SubsampledGaussianNoise",
    "TwoPoint",
    "assemble",
    "directions",
]

Direction = Literal["add", "remove"]
"""Which data set holds the unit: "remove" (the first) or "add" (the second)."""

ADD: Direction = "add"
"""The unit is in the second data set of the pair."""

REMOVE: Direction = "remove"
"""The unit is in the first data set of the pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """What mechanisms of one family bring to a composition.

    `ceiling` and `failure` are their basic composition, None where the loss is unbounded.
    """

    upper: tuple[Factor, ...] = ()
    lower: tuple[Factor, ...] = ()
    variance: float = 0.0
    finite: float = 0.0  # the logarithm of the probability of a finite loss
    slack: float = 0.0
    ceiling: Fraction | None = None
    failure: Fraction = Fraction(0)


class Mechanism(Protocol):
    """One mechanism, as a value."""

    @classmethod
    def contribute(
        cls, items: Sequence[tuple[Self, int]], direction: Direction, cells: int
    ) -> Contribution:
        """What these mechanisms, each with its number of copies, bring to a composition."""


def _ends(
    items: Sequence[tuple[Fraction, int]], scales: Array, shares: Callable[[Any], tuple[Any, Any]]
) -> Ends:
    epsilons = np.array([float(epsilon) for epsilon, _ in items])
    return Ends(epsilons, np.array([count for _, count in items], dtype=np.int64), scales, shares)


def _basic(items: Sequence[tuple[Fraction, int]]) -> Fraction:
    """The sum, rounded up: exact for a few terms, a bound for many (denominators would grow)."""
    if len(items) <= 32:
        return sum((count * epsilon for epsilon, count in items), Fraction(0))
    total = math.fsum(count * ceil_float(epsilon) for epsilon, count in items)
    return Fraction(total) * (1 + Fraction(1, 2**50))


def _log_rest(delta: Fraction) -> float:
    """ln(1 - delta) with a small absolute error, also next to 1."""
    if delta < Fraction(1, 2):
        return math.log1p(-float(delta))
    return math.log(max(float(1 - delta), SMALLEST))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """Laplace noise of scale sensitivity / epsilon.

    epsilon-DP under add/remove [DMNS06, Prop. 3.3].
    """

    epsilon: Fraction

    @classmethod
    def contribute(
        cls,
        items: Sequence[tuple[Self, int]],
        direction: Direction,  # noqa: ARG003
        cells: int,  # noqa: ARG003
    ) -> Contribution:
        """In closed form; both directions are alike.

        >>> LaplaceNoise.contribute([(LaplaceNoise(epsilon=Fraction(1)), 3)], "add", 1).ceiling
        Fraction(3, 1)
        """
        pairs = [(item.epsilon, count) for item, count in items]
        factors = (_ends(pairs, np.zeros(len(pairs)), laplace_shares),)
        return Contribution(upper=factors, lower=factors, ceiling=_basic(pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPoint:
    """Losses +epsilon and -epsilon, and an infinite loss with probability delta.

    Dominates every (epsilon, delta)-DP mechanism [MV16, Lemma 3.2]; with delta = 0 it is randomized
    response itself.
    >>> TwoPoint(epsilon=Fraction(1), delta=Fraction(0)).delta
    Fraction(0, 1)
    """

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def contribute(
        cls,
        items: Sequence[tuple[Self, int]],
        direction: Direction,  # noqa: ARG003
        cells: int,  # noqa: ARG003
    ) -> Contribution:
        """In closed form; both directions are alike.

        >>> pair = TwoPoint(epsilon=Fraction(1), delta=Fraction(1, 10))
        >>> round(math.exp(TwoPoint.contribute([(pair, 2)], "add", 1).finite), 12)
        0.81
        """
        pairs = [(item.epsilon, count) for item, count in items]
        finite = [_log_rest(item.delta) for item, _ in items]
        epsilons = np.array([float(item.epsilon) for item, _ in items])
        scales = np.array(finite) - np.log1p(np.exp(-epsilons))
        factors = (_ends(pairs, scales, pure_shares),)
        total = math.fsum(count * part for part, (_, count) in zip(finite, pairs, strict=True))
        return Contribution(
            upper=factors,
            lower=factors,
            finite=total,
            ceiling=_basic(pairs),
            failure=_basic([(item.delta, count) for item, count in items if item.delta]),
        )


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Gaussian noise; `variance` is the square of sensitivity over standard deviation.

    Its loss is Gaussian, and such losses add up exactly [DRS22, Cor. 3.3].
    """

    variance: Fraction

    @classmethod
    def contribute(
        cls,
        items: Sequence[tuple[Self, int]],
        direction: Direction,  # noqa: ARG003
        cells: int,  # noqa: ARG003
    ) -> Contribution:
        """As one Gaussian; both directions are alike.

        >>> GaussianNoise.contribute([(GaussianNoise(Fraction(1, 4)), 8)], "add", 1).variance
        2.0
        """
        total = math.fsum(count * float(item.variance) for item, count in items)
        return Contribution(variance=total)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledGaussianNoise:
    """Gaussian noise of deviation `sigma` on a sum over a Poisson sample, sensitivity 1.

    The pairs of [ZDW22, Thm. 11], one for each direction of add/remove.
    """

    rate: Fraction
    sigma: Fraction

    @classmethod
    def contribute(
        cls, items: Sequence[tuple[Self, int]], direction: Direction, cells: int
    ) -> Contribution:
        """As atoms above and below, with the certificate's slack.

        >>> one = SubsampledGaussianNoise(rate=Fraction(1, 100), sigma=Fraction(1))
        >>> SubsampledGaussianNoise.contribute([(one, 2)], "add", 100).slack < 1e-12
        True
        """
        cut = subsampled_remove if direction == REMOVE else subsampled_add
        upper, lower, logs = [], [], []
        for item, count in items:
            pair = cut(rate=item.rate, sigma=float(item.sigma), cells=cells)
            losses, masses, infinite, missing = above(pair)
            upper.append(Atoms(losses, masses, count))
            losses, masses, surplus = below(pair)
            lower.append(Atoms(losses, masses, count))
            logs.append(count * math.log1p(infinite + max(missing, surplus) + 2.0**-52))
        return Contribution(
            upper=tuple(upper), lower=tuple(lower), slack=math.expm1(math.fsum(logs))
        )


def directions(kinds: Collection[type]) -> tuple[Direction, ...]:
    """The directions that must be looked at, the likely worse one first.

    >>> directions({LaplaceNoise})
    ('remove',)
    """
    return (REMOVE, ADD) if SubsampledGaussianNoise in kinds else (REMOVE,)


def assemble(
    items: Mapping[type[Mechanism], Sequence[tuple[Mechanism, int]]],
    direction: Direction,
    cells: int,
) -> Composition:
    """One direction of the composition of everything in `items`, grouped by kind.

    >>> assemble({LaplaceNoise: [(LaplaceNoise(epsilon=Fraction(1)), 3)]}, "remove", 1).ceiling
    3.0
    """
    parts = [kind.contribute(group, direction, cells) for kind, group in items.items()]
    upper = tuple(factor for part in parts for factor in part.upper)
    lower = tuple(factor for part in parts for factor in part.lower)
    same = all(one is other for one, other in zip(upper, lower, strict=True))
    failure = sum((part.failure for part in parts), Fraction(0))
    infinite = -math.expm1(math.fsum(part.finite for part in parts))
    least = infinite * (1 - 2.0**-48) if infinite > SMALLEST else 0.0
    most = max(SMALLEST, infinite * (1 + 2.0**-48)) if failure else 0.0
    ceilings = [part.ceiling for part in parts]
    bounded = [ceiling for ceiling in ceilings if ceiling is not None]
    whole = len(bounded) == len(ceilings)
    return Composition(
        upper=upper,
        lower=upper if same else lower,
        variance=math.fsum(part.variance for part in parts),
        infinite=(least, most),
        slack=math.fsum(part.slack for part in parts),
        ceiling=ceil_float(sum(bounded, Fraction(0))) if whole else math.inf,
        failure=failure,
    )
