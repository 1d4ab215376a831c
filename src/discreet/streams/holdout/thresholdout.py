"""Thresholdout: answers about a holdout through the sparse vector technique. Where the training
half agrees with the holdout, its own answer is given back; where it does not, a noisy one.
"""

import threading
from dataclasses import dataclass

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.run import SvtState, exhausted_error
from discreet.streams.svt.values import whole_number

__all__ = ["Thresholdout", "ThresholdoutRun"]


@dataclass(frozen=True, slots=True)
class Thresholdout:
    """Compares sums over a holdout with what a training half predicts, in integers.

    Privacy: protects the rows of the holdout, see `loss`; the training half is the analyst's own
    and has no protection at all [DFHPRR15, Alg. 1]. The noise is that of [LSL17, Alg. 1].
    >>> Thresholdout.of(epsilon=1, overfits=2, sensitivity=Sensitivity.single(1)).overfits
    2
    """

    numeric: NumericSparse

    @classmethod
    def of(
        cls,
        *,
        overfits: int,
        sensitivity: Sensitivity,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> "Thresholdout":
        """The form with the least noise at a price, for so many questions that do not agree.

        Privacy: epsilon-DP or rho-zCDP for the relation of the sensitivity [LSL17, Thm. 4].
        >>> one = Sensitivity.single(1)
        >>> Thresholdout.of(epsilon=1, overfits=2, sensitivity=one).loss(one)
        Pure(epsilon=Fraction(1, 1))
        """
        return cls(
            NumericSparse.of(alarms=overfits, sensitivity=sensitivity, epsilon=epsilon, rho=rho)
        )

    @property
    def overfits(self) -> int:
        """How many questions may turn out not to agree before it stops."""
        return self.numeric.alarms

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of a whole run; linf is how far one unit moves any one sum.

        The distance between a sum and a number that does not depend on the holdout moves as far
        as the sum.
        Privacy: as `NumericSparse.loss`, for the relation of the sensitivity [LSL17, Thm. 4].
        >>> one = Sensitivity.single(1)
        >>> Thresholdout.of(epsilon=3, overfits=1, sensitivity=one).loss(one).epsilon
        Fraction(3, 1)
        """
        return self.numeric.loss(sensitivity)

    def zcdp(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of a whole run in rho: the parts compose.

        Privacy: each part enters at epsilon^2/2 [BS16, Prop. 1.4 and Lemma 1.7].
        >>> one = Sensitivity.single(1)
        >>> Thresholdout.of(rho=1, overfits=4, sensitivity=one).zcdp(one).rho <= 1
        True
        """
        parts = self.numeric.losses(sensitivity)
        return sum((part.zcdp() for part in parts), ZCDP(rho=0))

    def begin(self, bits: BitSource = system) -> SvtState:
        """Draw the threshold's noise.

        Privacy: what is drawn is secret.
        >>> Thresholdout.of(rho=1, overfits=4, sensitivity=Sensitivity.single(1)).begin()
        SvtState(used=0)
        """
        return self.numeric.begin(bits)

    def step(
        self,
        standing: SvtState,
        exact: int,
        *,
        training: int,
        threshold: int,
        bits: BitSource = system,
    ) -> tuple[int | None, SvtState]:
        """Compare one sum: None where the training half agrees, else the sum with noise.

        Privacy: part of the run's loss [DFHPRR15, Alg. 1].
        >>> holdout = Thresholdout.of(epsilon=1, overfits=2, sensitivity=Sensitivity.single(1))
        >>> holdout.step(holdout.begin(), 1000, training=1000, threshold=500)
        (None, SvtState(used=0))
        """
        gap = abs(whole_number(exact) - whole_number(training))
        above, after = self.numeric.sparse.step(standing, gap, threshold, bits)
        # Drawn whatever the comparison says, so that time does not tell.
        noise = DiscreteLaplace(scale=self.numeric.number_scale)
        number = noise.release(whole_number(exact), bits)
        return number if above else None, after

    def start(self, bits: BitSource = system) -> "ThresholdoutRun":
        """A run in this process; for one that survives the process open a `Holdout`.

        Privacy: none yet; the run costs `loss`.
        >>> Thresholdout.of(rho=1, overfits=4, sensitivity=Sensitivity.single(1)).start().left
        4
        """
        return ThresholdoutRun(self, bits)


class ThresholdoutRun:
    """One run in this process: ask with `answer` until the disagreements are used.

    Privacy: the loss of its mechanism, for any number of questions, adaptively chosen.
    >>> holdout = Thresholdout.of(epsilon=1, overfits=1, sensitivity=Sensitivity.single(1))
    >>> holdout.start().answer(1000, training=1003, threshold=900)
    1003
    """

    __slots__ = ("_bits", "_lock", "_mechanism", "_standing")

    def __init__(self, mechanism: Thresholdout, bits: BitSource = system) -> None:
        self._mechanism = mechanism
        self._bits = bits
        self._lock = threading.Lock()
        self._standing = mechanism.begin(bits)

    def __reduce__(self) -> str:
        raise InvalidValue(
            "a run cannot be copied or pickled: a copy would answer with the disagreements of the "
            "original. Keep it in one process, or open a Holdout."
        )

    @property
    def left(self) -> int:
        """How many disagreements are left.

        >>> Thresholdout.of(rho=1, overfits=3, sensitivity=Sensitivity.single(1)).start().left
        3
        """
        return self._mechanism.overfits - self._standing.used

    def answer(self, exact: int, *, training: int, threshold: int) -> int:
        """The training half's sum where it agrees, else the holdout's with noise.

        Part of the run's loss; refused when no disagreements are left [DFHPRR15, Alg. 1].
        >>> holdout = Thresholdout.of(epsilon=1, overfits=1, sensitivity=Sensitivity.single(1))
        >>> holdout.start().answer(0, training=7, threshold=900)
        7
        """
        with self._lock:
            if self.left < 1:
                raise exhausted_error(self._mechanism.overfits)
            said, self._standing = self._mechanism.step(
                self._standing, exact, training=training, threshold=threshold, bits=self._bits
            )
        return training if said is None else said
