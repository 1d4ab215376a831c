"""The sparse vector technique: which of many questions are above a threshold, for the price of few.
Says above or below only; never the value that was compared. Proofs in docs/proofs/streams.md.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from discreet.accounting.calibration import pure_share
from discreet.errors import InvalidValue
from discreet.loss import Pure, Relation, Sensitivity
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_laplace
from discreet.rationals import Number, positive, sqrt_down, whole
from discreet.streams.svt.accuracy import proved_error, worst_error
from discreet.streams.svt.run import Run, SvtState
from discreet.streams.svt.values import (
    Values,
    noisy_margins,
    one_way_reach,
    reach_of,
    total,
    two_thirds,
    whole_number,
)

__all__ = ["Sparse", "Thresholds"]


class Thresholds(StrEnum):
    """Whether one noisy threshold serves the whole run, or each alarm is followed by a fresh
    one.
    """

    ONE = "one"
    FRESH = "fresh"


@dataclass(frozen=True, slots=True)
class Sparse:
    """Says of each value whether it reaches its threshold, and stops after so many alarms.

    One noisy threshold and noise that grows with the alarms is the form of [LSL17, Alg. 1];
    fresh thresholds make it a chain of runs with one alarm each [DR14, Alg. 2].
    Privacy: see `loss`, for any number of adaptively chosen questions.
    >>> sparse = Sparse(threshold_scale=2, query_scale=8, alarms=2)
    >>> sparse.release([0, 900, 0, 900, 0], threshold=500)
    [False, True, False, True]
    """

    threshold_scale: Fraction
    query_scale: Fraction
    alarms: int
    thresholds: Thresholds

    def __init__(
        self,
        *,
        threshold_scale: Number,
        query_scale: Number,
        alarms: int,
        thresholds: Thresholds = Thresholds.ONE,
    ) -> None:
        object.__setattr__(self, "threshold_scale", positive(threshold_scale, "threshold_scale"))
        object.__setattr__(self, "query_scale", positive(query_scale, "query_scale"))
        object.__setattr__(self, "alarms", whole(alarms, "alarms"))
        object.__setattr__(self, "thresholds", Thresholds(thresholds))

    @classmethod
    def of(
        cls,
        *,
        alarms: int,
        sensitivity: Sensitivity,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> "Sparse":
        """The form with the least noise at a price, epsilon or rho.

        For epsilon one threshold, with epsilon split 1:(2c)^(2/3); for rho fresh ones, whose
        losses add as squares, each split 1:2^(2/3).
        Privacy: epsilon-DP [LSL17, Thm. 4] or rho-zCDP [BS16, Prop. 1.4 and Lemma 1.7], for the
        relation of the sensitivity.
        >>> Sparse.of(epsilon=1, alarms=4, sensitivity=Sensitivity.single(1)).query_scale
        Fraction(10, 1)
        """
        return cls._at_price(epsilon, rho, alarms, reach_of(sensitivity), 2)

    @classmethod
    def monotone(
        cls,
        *,
        alarms: int,
        sensitivity: Sensitivity,
        relation: Relation,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> "Sparse":
        """The same for values that one unit moves all the same way: about half the noise.

        Privacy: epsilon-DP or rho-zCDP under add/remove [LSL17, Thm. 5]; refused under replace.
        >>> Sparse.monotone(epsilon=1, alarms=8, sensitivity=Sensitivity.single(1),
        ...     relation=Relation.ADD_REMOVE).query_scale
        Fraction(10, 1)
        """
        return cls._at_price(epsilon, rho, alarms, one_way_reach(sensitivity, relation), 1)

    @classmethod
    def _at_price(
        cls, epsilon: Number | None, rho: Number | None, alarms: int, reach: Fraction, sides: int
    ) -> "Sparse":
        if (epsilon is None) == (rho is None):
            raise InvalidValue("give one price: epsilon= or rho=.")
        count = whole(alarms, "alarms")
        if rho is not None:
            price = sqrt_down(2 * positive(rho, "rho") / count)
            thresholds, steps = Thresholds.FRESH, sides
        else:
            assert epsilon is not None
            price = positive(epsilon, "epsilon")
            thresholds, steps = Thresholds.ONE, sides * count
        first = price / (1 + two_thirds(steps))
        return cls(
            threshold_scale=reach / first,
            query_scale=steps * reach / (price - first),
            alarms=count,
            thresholds=thresholds,
        )

    @classmethod
    def textbook(
        cls, *, epsilon: Number, alarms: int, sensitivity: Sensitivity, delta: Number = 0
    ) -> "Sparse":
        """The form of Dwork and Roth: fresh thresholds, half of each run's epsilon for them.

        With a delta each run gets what optimal composition leaves it, where the book has
        epsilon/sqrt(8 c ln(1/delta)), which holds for small epsilon only.
        Privacy: (epsilon, delta)-DP for the relation of the sensitivity [DR14, Thm. 3.25],
        [KOV15, Thm. 3.3].
        >>> Sparse.textbook(epsilon=1, alarms=3, sensitivity=Sensitivity.single(1)).threshold_scale
        Fraction(6, 1)
        """
        run = pure_share(count=whole(alarms, "alarms"), epsilon=epsilon, delta=delta).epsilon
        reach = reach_of(sensitivity)
        return cls(
            threshold_scale=2 * reach / run,
            query_scale=4 * reach / run,
            alarms=alarms,
            thresholds=Thresholds.FRESH,
        )

    def losses(self, sensitivity: Sensitivity) -> tuple[Pure, ...]:
        """The parts that compose to this mechanism: one, or one for each fresh threshold.

        Privacy: each part is linf/threshold_scale + 2 k linf/query_scale, with k the alarms of
        the part, for the relation of the sensitivity [LSL17, Thm. 4], [DR14, Thm. 3.23].
        >>> Sparse(threshold_scale=2, query_scale=4, alarms=2, thresholds=Thresholds.FRESH).losses(
        ...     Sensitivity.single(1))
        (Pure(epsilon=Fraction(1, 1)), Pure(epsilon=Fraction(1, 1)))
        """
        return self._parts(sensitivity.linf, 2)

    def monotone_losses(self, sensitivity: Sensitivity, *, relation: Relation) -> tuple[Pure, ...]:
        """The parts when adding one unit can only raise the values, or can only lower them.

        Privacy: each part is linf/threshold_scale + k linf/query_scale under add/remove
        [LSL17, Thm. 5]; refused under replace.
        >>> Sparse(threshold_scale=2, query_scale=4, alarms=2).monotone_losses(
        ...     Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        (Pure(epsilon=Fraction(1, 1)),)
        """
        return self._parts(one_way_reach(sensitivity, relation), 1)

    def _parts(self, reach: Fraction, sides: int) -> tuple[Pure, ...]:
        fresh = self.thresholds is Thresholds.FRESH
        alarms, parts = (1, self.alarms) if fresh else (self.alarms, 1)
        part = reach / self.threshold_scale + sides * alarms * reach / self.query_scale
        return (Pure(epsilon=part),) * parts

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of a whole run; linf is how far one unit moves any one value.

        Privacy: linf/threshold_scale + 2 alarms linf/query_scale with one threshold, `alarms`
        times the loss of one alarm with fresh ones, for the relation of the sensitivity
        [LSL17, Thm. 4], [DR14, Thm. 3.25].
        >>> Sparse(threshold_scale=2, query_scale=8, alarms=2).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 1))
        """
        return total(self.losses(sensitivity))

    def monotone_loss(self, sensitivity: Sensitivity, *, relation: Relation) -> Pure:
        """The cost when adding one unit can only raise the values, or can only lower them.

        Privacy: the sum of `monotone_losses` under add/remove [LSL17, Thm. 5].
        >>> Sparse(threshold_scale=2, query_scale=4, alarms=2).monotone_loss(
        ...     Sensitivity.single(1), relation=Relation.ADD_REMOVE)
        Pure(epsilon=Fraction(1, 1))
        """
        return total(self.monotone_losses(sensitivity, relation=relation))

    def start(self, bits: BitSource = system) -> "Run[bool]":
        """A run in this process; for one that survives the process open a `Monitor`.

        Privacy: none yet; the run costs `loss`.
        >>> Sparse(threshold_scale=1, query_scale=4, alarms=2).start().left
        2
        """
        return Run(self, bits)

    def begin(self, bits: BitSource = system) -> SvtState:
        """Draw the threshold's noise.

        Privacy: what is drawn is secret.
        >>> Sparse(threshold_scale=1, query_scale=4, alarms=2).begin()
        SvtState(used=0)
        """
        return SvtState(noise=discrete_laplace(scale=self.threshold_scale, bits=bits), used=0)

    def step(
        self, standing: SvtState, exact: int, threshold: int, bits: BitSource = system
    ) -> tuple[bool, SvtState]:
        """Compare one value with its threshold: whether it is above, and how the run stands then.

        The standing that was given is spent; only `Run` and `Monitor` should call this.
        Privacy: part of the run's loss [LSL17, Thm. 4].
        >>> sparse = Sparse(threshold_scale=1, query_scale=4, alarms=2)
        >>> sparse.step(sparse.begin(), 1000, 0)
        (True, SvtState(used=1))
        """
        if standing.used >= self.alarms:
            raise InvalidValue("all alarms of this standing are used; begin another run.")
        margin = whole_number(exact) - whole_number(threshold)
        above = margin + discrete_laplace(scale=self.query_scale, bits=bits) >= standing.noise
        # Both are drawn whatever the comparison says, so that time does not tell.
        fresh = self.begin(bits).noise if self.thresholds is Thresholds.FRESH else standing.noise
        noise = fresh if above else standing.noise
        return above, SvtState(noise=noise, used=standing.used + above)

    def release(self, exact: Values, bits: BitSource = system, *, threshold: int = 0) -> list[bool]:
        """The answers to values that are all at hand, up to the last alarm.

        Privacy: as `loss` says [LSL17, Thm. 4], [DR14, Thm. 3.25].
        >>> Sparse(threshold_scale=1, query_scale=2, alarms=1).release([0, 500, 0], threshold=250)
        [False, True]
        """
        noisy = noisy_margins(exact, threshold, self.query_scale, bits)
        answers: list[bool] = []
        standing, place = self.begin(bits), 0
        for used in range(self.alarms):
            above = np.flatnonzero(noisy[place:] >= standing.noise)
            if not len(above):
                return answers + [False] * (len(noisy) - place)
            answers += [False] * int(above[0]) + [True]
            place += int(above[0]) + 1
            if self.thresholds is Thresholds.FRESH and used + 1 < self.alarms:
                standing = self.begin(bits)
        return answers

    def error(self, confidence: Number, *, queries: int) -> float:
        """How far on the wrong side of its threshold a value may be, with this probability.

        For `queries` values of which at most `alarms` are that near to or above their thresholds:
        none that is farther below is called above, none farther above is called below. The
        smallest such distance at the worst values, from the exact laws of the noise.
        >>> sparse = Sparse.of(epsilon=1, alarms=1, sensitivity=Sensitivity.single(1))
        >>> sparse.error(0.95, queries=100)
        24.0
        """
        split = (self.alarms, 1) if self.thresholds is Thresholds.FRESH else (1, self.alarms)
        return worst_error(self.threshold_scale, self.query_scale, queries, split, confidence)

    def accuracy_bound(self, confidence: Number, *, queries: int) -> float:
        """The distance that the proofs of the book give for these scales; `error` is smaller.

        See [DR14, Thm. 3.24 and 3.26], each half rounded up to an integer.
        >>> sparse = Sparse.textbook(epsilon=1, alarms=1, sensitivity=Sensitivity.single(1))
        >>> sparse.accuracy_bound(0.95, queries=100), sparse.error(0.95, queries=100)
        (68.0, 28.0)
        """
        runs = self.alarms if self.thresholds is Thresholds.FRESH else 1
        return proved_error(self.threshold_scale, self.query_scale, queries, runs, confidence)
