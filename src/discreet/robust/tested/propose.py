"""Propose-test-release: propose a bound on how far one step can move a value, test privately that
the data are far from breaking it, then add noise of that size or refuse.
Owns the driver and the short-cut distance; what values are reachable is the query's own business.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from discreet.loss import Approximate, Pure, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, strict_probability, whole
from discreet.robust.rows import count_moved_rows
from discreet.robust.tested.outcome import Outcome, Refused, Shown
from discreet.robust.tested.stable import DistanceTest

__all__ = ["ProposeTestRelease", "ReachQuery", "Reachable", "short_cut_distance"]

_FAR = 1 << 40  # farther than any data set; a constant, so the capped distance stays as smooth


class Reachable(Protocol):
    """The values of one integer query around one data set.

    Not private by itself: lives between the data and a mechanism.
    """

    def reach(self, moves: int) -> tuple[int, int]:
        """At most the least and at least the greatest value within this many row moves.

        A move inserts or deletes one row. What is within `a` moves of a data set that is itself `b`
        moves away must lie within `reach(a + b)`, and `reach(0)` is the value, twice. Not private
        by itself.
        """


class ReachQuery(Protocol):
    """An integer query that knows how far it can be moved.

    Privacy: not private by itself: exact numbers for a mechanism.
    """

    def around(self, exact: Any) -> Reachable:
        """What can be reached from this data set.

        Privacy: not private by itself.
        """


def short_cut_distance(reachable: Reachable, *, bound: int, moved: int) -> int:
    """At most how many rows lie between the data and a place where a step exceeds the bound.

    It is the least j whose values within j + moved rows spread over more than the bound: 0 where a
    step of `moved` rows can exceed it, and moving by at most one for each row. Not private by
    itself: goes to a `DistanceTest`.
    >>> from discreet.robust.tested.reaches import QuantileReach
    >>> around = QuantileReach(fraction=0.5, lower=0, upper=100).around([50] * 41)
    >>> short_cut_distance(around, bound=10, moved=1)
    40
    """
    limit = whole(bound, "bound", least=0)

    def breaks(rows: int) -> bool:
        low, high = reachable.reach(rows + moved)
        return high - low > limit

    if breaks(0):
        return 0
    low, high = 0, 1
    while high < _FAR and not breaks(high):
        low, high = high, 2 * high
    if high >= _FAR:
        return _FAR
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if breaks(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class ProposeTestRelease:
    """Adds noise for a proposed bound where a private test allows it, and refuses elsewhere.

    `test_share` of epsilon pays for the test; a bound of 0 releases the value exactly, and the
    test gets all of epsilon.
    Privacy: (epsilon, delta)-DP for the relation, with units of up to `rows_per_unit` rows
    [DL09], [Vad17, Sec. 3.2]; derived for integer noise in docs/proofs/robust.md.
    >>> from discreet.robust.tested.reaches import QuantileReach
    >>> median = QuantileReach(fraction=0.5, lower=0, upper=10**6)
    >>> mechanism = ProposeTestRelease(bound=5, epsilon=1, delta=1e-9)
    >>> mechanism.release([0, 10**6], median)
    Refused(what='a value')
    """

    bound: int
    epsilon: Fraction
    delta: Fraction
    relation: Relation
    rows_per_unit: int
    test_share: Fraction

    def __init__(
        self,
        *,
        bound: int,
        epsilon: Number,
        delta: Number,
        relation: Relation = Relation.ADD_REMOVE,
        rows_per_unit: int = 1,
        test_share: Number = Fraction(1, 2),
    ) -> None:
        share = strict_probability(test_share, "test_share")
        object.__setattr__(self, "bound", whole(bound, "bound", least=0))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "relation", Relation(relation))
        object.__setattr__(self, "rows_per_unit", whole(rows_per_unit, "rows_per_unit"))
        object.__setattr__(self, "test_share", share if bound else Fraction(1))
        test = DistanceTest(epsilon=self.test_share * self.epsilon, delta=delta, moved=1)
        object.__setattr__(self, "delta", test.delta)

    @property
    def moved(self) -> int:
        """How many rows one neighbouring step inserts or deletes in all.

        >>> ProposeTestRelease(bound=5, epsilon=1, delta=1e-6, relation="replace").moved
        2
        """
        return count_moved_rows(self.relation, self.rows_per_unit)

    @property
    def test(self) -> DistanceTest:
        """The test of the distance, with its share of epsilon.

        >>> ProposeTestRelease(bound=5, epsilon=1, delta=1e-6).test.epsilon
        Fraction(1, 2)
        """
        return DistanceTest(
            epsilon=self.test_share * self.epsilon, delta=self.delta, moved=self.moved
        )

    @property
    def noise(self) -> DiscreteLaplace | None:
        """The noise on a value that is released; None where it is released exactly.

        >>> ProposeTestRelease(bound=5, epsilon=1, delta=1e-6).noise
        DiscreteLaplace(scale=Fraction(10, 1))
        """
        if not self.bound:
            return None
        return DiscreteLaplace(scale=self.bound / ((1 - self.test_share) * self.epsilon))

    def loss(self) -> Approximate:
        """The cost of one release, whether it refuses or not.

        Privacy: (epsilon, delta)-DP [DL09], [Vad17, Sec. 3.2]; the test and the noise add up.
        >>> ProposeTestRelease(bound=5, epsilon=1, delta=1e-6).loss().delta
        Fraction(1, 1000000)
        """
        spent = Pure(epsilon=self.test.epsilon)
        if self.noise is not None:
            spent += self.noise.loss(Sensitivity.single(self.bound))
        return Approximate(epsilon=spent.epsilon, delta=self.delta)

    def release(
        self, exact: Any, query: ReachQuery, bits: BitSource = system, *, what: str = "a value"
    ) -> Outcome[int]:
        """The noisy value, or a refusal.

        Privacy: as `loss` says.
        >>> from discreet.robust.tested.reaches import QuantileReach
        >>> median = QuantileReach(fraction=0.5, lower=0, upper=1000)
        >>> shown = ProposeTestRelease(bound=5, epsilon=1, delta=1e-6).release([500] * 999, median)
        >>> abs(shown.value - 500) < 300
        True
        """
        around = query.around(exact)
        distance = short_cut_distance(around, bound=self.bound, moved=self.moved)
        return self.decide(around.reach(0)[0], distance, bits, what=what)

    def decide(
        self, exact: int, exact_distance: int, bits: BitSource = system, *, what: str = "a value"
    ) -> Outcome[int]:
        """The same for a value whose distance to instability is known by other means.

        `exact_distance` must be 0 wherever a neighbour's value is more than the bound away, and
        must move by at most one for each row inserted or deleted.
        Privacy: as `loss` says.
        >>> ProposeTestRelease(bound=5, epsilon=1, delta=1e-9).decide(7, 0)
        Refused(what='a value')
        """
        if not self.test.passes(exact_distance, bits):
            return Refused(what)
        return Shown(exact if self.noise is None else self.noise.release(exact, bits))

    def error(self, confidence: Number) -> float:
        """The half-width of the noise on a value that is released.

        >>> ProposeTestRelease(bound=5, epsilon=1, delta=1e-6).error(0.95)
        30.0
        """
        return 0.0 if self.noise is None else self.noise.error(confidence)
