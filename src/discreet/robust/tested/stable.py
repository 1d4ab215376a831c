"""The noisy test of a distance to instability, and values released exactly where it passes.
Owns the threshold; how far a data set is from instability is computed by whoever asks.
docs/proofs/robust.md holds the proofs.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import Approximate, Relation
from discreet.mechanisms.shared.counts import read_delta
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_laplace
from discreet.noise.tails import laplace_quantile
from discreet.rationals import Number, positive, whole
from discreet.robust.rows import count_moved_rows, read_integers
from discreet.robust.tested.outcome import Outcome, Refused, Shown

__all__ = ["DistanceTest", "StableValue", "mode_distance"]

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class DistanceTest:
    """Whether a data set is far from instability: noisy distance above a public threshold.

    The distance counts rows to insert or delete, is 0 wherever something is unstable, and moves
    by at most `moved` when one neighbouring step is taken.
    Privacy: epsilon-DP by itself, for the relation that `moved` was counted for
    [DMNS06, Prop. 3.3]; passes at distance 0 with probability at most delta.
    >>> DistanceTest(epsilon=1, delta=1e-6).threshold
    13
    """

    epsilon: Fraction
    delta: Fraction
    moved: int

    def __init__(self, *, epsilon: Number, delta: Number, moved: int = 1) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", read_delta(delta=delta))
        object.__setattr__(self, "moved", whole(moved, "moved"))

    @property
    def scale(self) -> Fraction:
        """The scale of the discrete Laplace noise on the distance.

        >>> DistanceTest(epsilon=0.5, delta=1e-6, moved=3).scale
        Fraction(6, 1)
        """
        return self.moved / self.epsilon

    @property
    def threshold(self) -> int:
        """The smallest t with P(noise > t) <= delta, from the exact tail of the noise.

        >>> DistanceTest(epsilon=1, delta=0.1).threshold
        1
        """
        # P(X > t) is half of P(|X| > t), and at least a half of deltas say nothing.
        return laplace_quantile(self.scale, min(2 * self.delta, Fraction(1)))

    def passes(self, exact: int, bits: BitSource = system) -> bool:
        """Whether the noisy distance exceeds the threshold; the noisy distance stays here.

        Privacy: epsilon-DP [DMNS06, Prop. 3.3].
        >>> DistanceTest(epsilon=1, delta=1e-6).passes(10**6)
        True
        """
        distance: object = exact
        if isinstance(distance, bool) or not isinstance(distance, int) or distance < 0:
            raise InvalidValue(
                f"the exact distance is of type {type(exact).__name__} or negative; pass a whole "
                "number of rows. Nothing was released."
            )
        noise = int(discrete_laplace(scale=self.scale, size=1, bits=bits)[0])
        return exact + noise > self.threshold

    def error(self, confidence: Number) -> float:
        """A distance that passes with at least this probability.

        >>> DistanceTest(epsilon=1, delta=1e-6).error(0.95)
        16.0
        """
        missed = 1 - positive(confidence, "confidence")
        if missed <= 0:
            raise InvalidValue(f"confidence is {confidence}; it must be below 1.")
        # P(X <= t - d) = P(X >= d - t) = P(X > d - t - 1) <= missed.
        reach = laplace_quantile(self.scale, min(2 * missed, Fraction(1)))
        return float(self.threshold + reach + 1)


@dataclass(frozen=True, slots=True)
class StableValue:
    """Releases a value exactly where no data set nearby has another one, and refuses elsewhere.

    Privacy: (epsilon, delta)-DP for the relation, with units of up to `rows_per_unit` rows
    [Vad17, Sec. 3.3]; derived for integer noise in docs/proofs/robust.md.
    >>> StableValue(epsilon=1, delta=1e-6).release("north", 10**6)
    Shown(value='north')
    """

    test: DistanceTest

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        relation: Relation = Relation.ADD_REMOVE,
        rows_per_unit: int = 1,
    ) -> None:
        moved = count_moved_rows(relation, rows_per_unit)
        object.__setattr__(self, "test", DistanceTest(epsilon=epsilon, delta=delta, moved=moved))

    def loss(self) -> Approximate:
        """The cost of one release, whether it refuses or not.

        Privacy: (epsilon, delta)-DP [Vad17, Sec. 3.3].
        >>> StableValue(epsilon=1, delta=1e-6).loss().epsilon
        Fraction(1, 1)
        """
        return Approximate(epsilon=self.test.epsilon, delta=self.test.delta)

    def release(
        self, exact: Value, exact_distance: int, bits: BitSource = system, *, what: str = "a value"
    ) -> Outcome[Value]:
        """The value itself, or a refusal.

        `exact_distance` must be 0 wherever a neighbour has another value, and must move by at
        most one for each row inserted or deleted.
        Privacy: as `loss` says.
        >>> StableValue(epsilon=1, delta=1e-9).release(7, 0)
        Refused(what='a value')
        """
        return Shown(exact) if self.test.passes(exact_distance, bits) else Refused(what)

    def mode(
        self, exact: Any, bits: BitSource = system, *, what: str = "the most frequent key"
    ) -> Outcome[int]:
        """The index of the largest count of a histogram over public keys; ties to the lowest.

        Privacy: as `loss` says, where each row stands in one count.
        >>> StableValue(epsilon=1, delta=1e-6).mode([3, 900, 4])
        Shown(value=1)
        """
        winner, distance = mode_distance(exact, moved=self.test.moved)
        return self.release(winner, distance, bits, what=what)


def mode_distance(exact: Any, *, moved: int = 1) -> tuple[int, int]:
    """The index of the largest count, and how many rows away the nearest unstable counts are.

    Unstable are counts that `moved` further rows can give another winner.
    Privacy: not private by itself: both go to a `StableValue`.
    >>> mode_distance([3, 10, 4])
    (1, 6)
    """
    counts = read_integers(exact, "the counts")
    if not len(counts) or counts.min() < 0:
        raise InvalidValue(
            "the counts are empty or negative; pass how many rows each public key has. "
            "Nothing was released."
        )
    winner = int(np.argmax(counts))
    best = int(counts[winner])
    # A lower index wins a tie, so it takes over one row earlier.
    before = [best - int(counts[:winner].max()) - 1] if winner else []
    after = [best - int(counts[winner + 1 :].max())] if winner + 1 < len(counts) else []
    slack = min([*before, *after], default=None)  # rows that may move without another winner
    if slack is None:  # one key only: never unstable
        return winner, 1 << 60
    return winner, max(0, slack - moved + 1)
