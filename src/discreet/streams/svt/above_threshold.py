"""The sparse vector technique with one alarm: the first of many values above its threshold.
Says above or below only; never the value that was compared.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.loss import Pure, Relation, Sensitivity
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive
from discreet.streams.svt.run import Run, SvtState
from discreet.streams.svt.sparse import Sparse
from discreet.streams.svt.values import Values

__all__ = ["AboveThreshold"]


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """Says below until the first value that reaches its threshold, and stops there.

    Privacy: see `loss`, for any number of adaptively chosen questions [DR14, Thm. 3.23].
    >>> AboveThreshold(threshold_scale=2, query_scale=4).release([0, 0, 900, 0], threshold=500)
    [False, False, True]
    """

    threshold_scale: Fraction
    query_scale: Fraction

    def __init__(self, *, threshold_scale: Number, query_scale: Number) -> None:
        object.__setattr__(self, "threshold_scale", positive(threshold_scale, "threshold_scale"))
        object.__setattr__(self, "query_scale", positive(query_scale, "query_scale"))

    @classmethod
    def of(cls, *, epsilon: Number, sensitivity: Sensitivity) -> "AboveThreshold":
        """The scales with the least noise at this price, epsilon split 1:2^(2/3).

        Privacy: epsilon-DP for the relation of the sensitivity [LSL17, Thm. 4].
        >>> one = Sensitivity.single(1)
        >>> AboveThreshold.of(epsilon=1, sensitivity=one).loss(one)
        Pure(epsilon=Fraction(1, 1))
        """
        return _from_sparse(Sparse.of(epsilon=epsilon, alarms=1, sensitivity=sensitivity))

    @classmethod
    def monotone(
        cls, *, epsilon: Number, sensitivity: Sensitivity, relation: Relation
    ) -> "AboveThreshold":
        """The same for values that one unit moves all the same way.

        Privacy: epsilon-DP under add/remove [LSL17, Thm. 5]; refused under replace.
        >>> AboveThreshold.monotone(
        ...     epsilon=1, sensitivity=Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        AboveThreshold(threshold_scale=Fraction(2, 1), query_scale=Fraction(2, 1))
        """
        return _from_sparse(
            Sparse.monotone(epsilon=epsilon, alarms=1, sensitivity=sensitivity, relation=relation)
        )

    @classmethod
    def textbook(cls, *, epsilon: Number, sensitivity: Sensitivity) -> "AboveThreshold":
        """The scales of Dwork and Roth: half of epsilon for the threshold.

        Privacy: epsilon-DP for the relation of the sensitivity [DR14, Thm. 3.23].
        >>> AboveThreshold.textbook(epsilon=1, sensitivity=Sensitivity.single(1))
        AboveThreshold(threshold_scale=Fraction(2, 1), query_scale=Fraction(4, 1))
        """
        return _from_sparse(Sparse.textbook(epsilon=epsilon, alarms=1, sensitivity=sensitivity))

    @property
    def alarms(self) -> int:
        """One: it stops at the first value above."""
        return 1

    @property
    def _sparse(self) -> Sparse:
        return Sparse(threshold_scale=self.threshold_scale, query_scale=self.query_scale, alarms=1)

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of a whole run; linf is how far one unit moves any one value.

        Privacy: linf/threshold_scale + 2 linf/query_scale for the relation of the sensitivity
        [DR14, Thm. 3.23].
        >>> AboveThreshold(threshold_scale=2, query_scale=4).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 1))
        """
        return self._sparse.loss(sensitivity)

    def monotone_loss(self, sensitivity: Sensitivity, *, relation: Relation) -> Pure:
        """The cost when adding one unit can only raise the values, or can only lower them.

        Privacy: linf/threshold_scale + linf/query_scale under add/remove [LSL17, Thm. 5];
        refused under replace.
        >>> AboveThreshold(threshold_scale=2, query_scale=4).monotone_loss(
        ...     Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        Pure(epsilon=Fraction(3, 4))
        """
        return self._sparse.monotone_loss(sensitivity, relation=relation)

    def start(self, bits: BitSource = system) -> Run[bool]:
        """A run in this process; for one that survives the process open a `Monitor`.

        Privacy: none yet; the run costs `loss`.
        """
        return self._sparse.start(bits)

    def begin(self, bits: BitSource = system) -> SvtState:
        """Draw the threshold's noise.

        Privacy: what is drawn is secret.
        >>> AboveThreshold(threshold_scale=2, query_scale=4).begin()
        SvtState(used=0)
        """
        return self._sparse.begin(bits)

    def step(
        self, standing: SvtState, exact: int, threshold: int, bits: BitSource = system
    ) -> tuple[bool, SvtState]:
        """Compare one value with its threshold: whether it is above, and how the run stands then.

        The standing that was given is spent; what keeps standings should call this, not people.
        Privacy: part of the run's loss [DR14, Thm. 3.23].
        >>> above = AboveThreshold(threshold_scale=2, query_scale=4)
        >>> above.step(above.begin(), -1000, 0)
        (False, SvtState(used=0))
        """
        return self._sparse.step(standing, exact, threshold, bits)

    def release(self, exact: Values, bits: BitSource = system, *, threshold: int = 0) -> list[bool]:
        """The answers to values that are all at hand, up to the first above.

        Privacy: as `loss` says [DR14, Thm. 3.23].
        >>> AboveThreshold(threshold_scale=2, query_scale=4).release([0, 900], threshold=500)
        [False, True]
        """
        return self._sparse.release(exact, bits, threshold=threshold)

    def error(self, confidence: Number, *, queries: int) -> float:
        """How far on the wrong side of its threshold a value may be, with this probability.

        As `Sparse.error` says, for `queries` values of which one may be near or above.
        >>> AboveThreshold(threshold_scale=2, query_scale=4).error(0.95, queries=100)
        28.0
        """
        return self._sparse.error(confidence, queries=queries)

    def accuracy_bound(self, confidence: Number, *, queries: int) -> float:
        """The distance that the book's proof gives for these scales; `error` is smaller.

        See [DR14, Thm. 3.24].
        >>> AboveThreshold(threshold_scale=2, query_scale=4).accuracy_bound(0.95, queries=100)
        68.0
        """
        return self._sparse.accuracy_bound(confidence, queries=queries)


def _from_sparse(sparse: Sparse) -> AboveThreshold:
    return AboveThreshold(threshold_scale=sparse.threshold_scale, query_scale=sparse.query_scale)
