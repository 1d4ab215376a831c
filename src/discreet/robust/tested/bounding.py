"""Privately bounding local sensitivity: a noisy bound that is probably large enough, then noise of
its size. For queries whose local sensitivity is itself insensitive. Owns the two steps and one
worked query, the number of pairs of rows that agree.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import Approximate, Relation
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.shared.counts import read_delta
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import laplace_quantile
from discreet.rationals import Number, positive, strict_probability, whole
from discreet.robust.rows import count_moved_rows, read_integers

__all__ = ["AgreeingPairs", "BoundedValue", "LocalBound"]


@dataclass(frozen=True, slots=True)
class BoundedValue:
    """A noisy value, and the noisy bound on its local sensitivity that its noise was made for.

    Post-processing of `LocalBound`.
    >>> BoundedValue(noisy=7, bound=2, scale=Fraction(4)).error(0.95)
    12.0
    """

    noisy: int
    bound: int
    scale: Fraction

    def error(self, confidence: Number) -> float:
        """The half-width around the exact value, unknown before the release.

        >>> BoundedValue(noisy=7, bound=2, scale=Fraction(2)).error(0.5)
        1.0
        """
        return DiscreteLaplace(scale=self.scale).error(confidence)


@dataclass(frozen=True, slots=True)
class LocalBound:
    """Adds noise made for a noisy upper bound on the local sensitivity.

    `drift` is how far one neighbouring step can move the local sensitivity, from public facts;
    `bound_share` of epsilon pays for the bound.
    Privacy: (epsilon, delta)-DP for the relation that `drift` and the local sensitivity were
    derived for [KRSY11], [Vad17, Sec. 3.4]; derived for integer noise in docs/proofs/robust.md.
    >>> LocalBound(epsilon=1, delta=1e-6, drift=2).margin
    52
    """

    epsilon: Fraction
    delta: Fraction
    drift: int
    bound_share: Fraction

    def __init__(
        self, *, epsilon: Number, delta: Number, drift: int, bound_share: Number = Fraction(1, 2)
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", read_delta(delta=delta))
        object.__setattr__(self, "drift", whole(drift, "drift"))
        object.__setattr__(self, "bound_share", strict_probability(bound_share, "bound_share"))

    @property
    def bound_noise(self) -> DiscreteLaplace:
        """The noise on the local sensitivity.

        >>> LocalBound(epsilon=1, delta=1e-6, drift=2).bound_noise
        DiscreteLaplace(scale=Fraction(4, 1))
        """
        return DiscreteLaplace(scale=self.drift / (self.bound_share * self.epsilon))

    @property
    def margin(self) -> int:
        """What is added to the noisy local sensitivity: the least m with P(noise < -m) <= delta.

        >>> LocalBound(epsilon=1, delta=0.1, drift=1).margin
        3
        """
        return laplace_quantile(self.bound_noise.scale, min(2 * self.delta, Fraction(1)))

    def loss(self) -> Approximate:
        """The cost of one release.

        Privacy: (epsilon, delta)-DP [KRSY11], [Vad17, Sec. 3.4].
        >>> LocalBound(epsilon=1, delta=1e-6, drift=2).loss().epsilon
        Fraction(1, 1)
        """
        return Approximate(epsilon=self.epsilon, delta=self.delta)

    def release(self, exact: int, exact_sensitivity: int, bits: BitSource = system) -> BoundedValue:
        """The noisy value with the bound it was made for.

        `exact_sensitivity` must be at least the distance to the value of every neighbour, and
        must move by at most `drift` from neighbour to neighbour.
        Privacy: as `loss` says.
        >>> LocalBound(epsilon=1, delta=1e-6, drift=2).release(10**6, 100).bound > 0
        True
        """
        noisy = self.bound_noise.release(_read_integer(exact_sensitivity), bits)
        bound = max(1, noisy + self.margin)
        noise = DiscreteLaplace(scale=bound / ((1 - self.bound_share) * self.epsilon))
        return BoundedValue(noise.release(_read_integer(exact), bits), bound, noise.scale)


def _read_integer(exact: Any) -> int:
    """An exact integer; the refusal does not repeat it."""
    if isinstance(exact, bool) or not isinstance(exact, int | np.integer):
        raise InvalidValue(
            f"the exact value is of type {type(exact).__name__}; pass an integer. "
            "Nothing was released."
        )
    return int(exact)


@dataclass(frozen=True, slots=True)
class AgreeingPairs:
    """How many ordered pairs of rows have the same key, a row with itself included.

    It is the sum of squared counts, the size of a table's join with itself. Its global
    sensitivity is unbounded; locally m rows move it by at most 2 m c + m^2, c the largest count.
    Privacy: a query for `LocalBound`.
    >>> AgreeingPairs().drift
    2
    """

    relation: Relation = Relation.ADD_REMOVE
    rows_per_unit: int = 1

    @property
    def moved(self) -> int:
        """How many rows one neighbouring step inserts or deletes in all.

        >>> AgreeingPairs(relation=Relation.REPLACE).moved
        2
        """
        return count_moved_rows(self.relation, self.rows_per_unit)

    @property
    def drift(self) -> int:
        """How far one neighbouring step can move the local sensitivity: 2 m^2.

        >>> AgreeingPairs(rows_per_unit=3).drift
        18
        """
        return 2 * self.moved**2

    def around(self, exact: Any) -> tuple[int, int]:
        """The number of pairs and a bound on its local sensitivity.

        Privacy: not private by itself: both go to `LocalBound.release`.
        >>> AgreeingPairs().around([1, 1, 1, 2])
        (10, 7)
        """
        keys = read_integers(exact, "the exact keys")
        counts = [int(count) for count in np.unique(keys, return_counts=True)[1]]
        largest = max(counts, default=0)
        return sum(count**2 for count in counts), 2 * self.moved * largest + self.moved**2
