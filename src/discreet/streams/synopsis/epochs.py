"""One epoch of multiplicative weights: a threshold run on the gaps between a hypothesis and the
data, and one measurement where it ends. It says nothing but "near enough" or that measurement.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, ceil_decimal, probability, whole
from discreet.streams.svt.above_threshold import AboveThreshold
from discreet.streams.svt.run import SvtState
from discreet.streams.svt.values import whole_number

__all__ = ["Epoch"]

_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Epoch:
    """Compares gaps with a threshold until one is above it, and measures the count behind that one.

    Privacy: see `loss`, for any number of questions chosen as one likes [DR14, Thm. 3.23].
    >>> epoch = Epoch.of(threshold=1000, queries=10**6, sensitivity=Sensitivity.single(1))
    >>> epoch.step(epoch.above.begin(), 400, predicted=410)[0] is None
    True
    """

    threshold: int
    above: AboveThreshold
    noise: DiscreteGaussian

    @classmethod
    def of(cls, *, threshold: int, queries: int, sensitivity: Sensitivity) -> "Epoch":
        """The cheapest noise that rarely matters at this threshold.

        With probability 95% none of so many comparisons is wrong by more than half the threshold;
        the measurement is within a quarter of it with more than that. `loss` says what it costs.
        >>> epoch = Epoch.of(threshold=1000, queries=100, sensitivity=Sensitivity.single(1))
        >>> epoch.above.error(0.95, queries=100) <= 500
        True
        """
        limit = whole(threshold, "threshold")
        whole(queries, "queries")
        epsilon = Fraction(1)
        for turn in range(100):  # the error is nearly proportional to 1/epsilon
            above = AboveThreshold.of(epsilon=epsilon, sensitivity=sensitivity)
            error = Fraction(above.error(_CONFIDENCE, queries=queries))
            if error * 2 <= limit and (turn > 2 or error * Fraction(21, 10) >= limit):
                break
            least = Fraction(101, 100) if turn > 2 else Fraction(1, 10**6)
            epsilon *= max(least, ceil_decimal(error * 2 / limit, 3))
        sigma = Fraction(limit, 8)
        return cls(limit, above, DiscreteGaussian(sigma=max(sigma, Fraction(1, 4))))

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """What the whole epoch costs, paid before its first question.

        Privacy: that of the threshold run [DR14, Thm. 3.23], as zCDP [BS16, Prop. 1.4], and of
        the measurement [CKS20, Thm. 4].
        >>> one = Sensitivity.single(1)
        >>> Epoch.of(threshold=1000, queries=100, sensitivity=one).loss(one).rho < 1
        True
        """
        return self.above.loss(sensitivity).zcdp() + self.noise.loss(sensitivity)

    def step(
        self, standing: SvtState, exact: int, *, predicted: int, bits: BitSource = system
    ) -> tuple[int | None, SvtState]:
        """Compare a count with what the hypothesis says: None, or the noisy count at the end.

        `predicted` must follow from what was released.
        Privacy: part of the epoch's loss.
        >>> epoch = Epoch.of(threshold=1000, queries=100, sensitivity=Sensitivity.single(1))
        >>> abs(epoch.step(epoch.above.begin(), 5000, predicted=410)[0] - 5000) < 2000
        True
        """
        if standing.used >= self.above.alarms:
            raise InvalidValue("this epoch has ended; begin another, which is charged.")
        gap = abs(whole_number(exact) - whole_number(predicted))
        above, after = self.above.step(standing, gap, self.threshold, bits)
        return (int(self.noise.release(int(exact), bits)) if above else None), after

    def error(self, confidence: Number) -> float:
        """How far off an answer is that was near enough, with this probability.

        >>> one = Sensitivity.single(1)
        >>> Epoch.of(threshold=1000, queries=100, sensitivity=one).error(0.95) < 2000
        True
        """
        level = probability(confidence, "confidence")
        return math.ceil(self.threshold + self.above.error(level, queries=1))
