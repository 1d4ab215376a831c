"""Randomized response: each answer is kept with an exact probability, else replaced by another.
The estimate and its standard error are post-processing of the reports.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.shared.integers import clamp_categories
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.noise.tails import tail
from discreet.rationals import Number, exp_bounds, log_bounds, positive, probability, whole

__all__ = ["Estimate", "RandomizedResponse"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Unbiased numbers of holders of each category, with their standard errors.

    >>> Estimate(counts=(3.0, 7.0), standard_errors=(1.0, 1.0)).counts[1]
    7.0
    """

    counts: tuple[float, ...]
    standard_errors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Keeps the category with probability e^epsilon/(e^epsilon + k - 1), else names another.

    `truth` is the probability of keeping it where that was given as a rational, else None.
    Privacy: epsilon-DP for each report, whatever the person's category is replaced by
    [War65], [KBR16, Sec. 3].
    >>> RandomizedResponse(epsilon=1).release(1) in {0, 1}
    True
    """

    epsilon: Fraction
    categories: int
    truth: Fraction | None

    def __init__(self, *, epsilon: Number, categories: int = 2) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "categories", _read_categories(categories))
        object.__setattr__(self, "truth", None)

    @classmethod
    def of_truth(cls, truth: Number, *, categories: int = 2) -> "RandomizedResponse":
        """Keeps the category with this rational probability.

        epsilon = ln(p(k-1)/(1-p)), rounded up [War65], [KBR16, Sec. 3]; with two categories it is
        [Tut16, Prop. 7].
        >>> RandomizedResponse.of_truth(0.6).truth
        Fraction(3, 5)
        """
        chance, sides = probability(truth, "truth"), _read_categories(categories)
        if not Fraction(1, sides) < chance < 1:
            raise InvalidValue(
                f"truth is {truth}; it must lie above 1/{sides}, where answers say nothing, "
                "and below 1, where they are not private."
            )
        odds = chance * (sides - 1) / (1 - chance)
        mechanism = cls(epsilon=log_bounds(odds)[1], categories=sides)
        object.__setattr__(mechanism, "truth", chance)
        return mechanism

    @classmethod
    def two_coins(cls) -> "RandomizedResponse":
        """The classic survey: heads, tell the truth; tails, let a second coin answer.

        (ln 3)-DP, ln 3 rounded up [DR14, Claim 3.5].
        >>> RandomizedResponse.two_coins().truth
        Fraction(3, 4)
        """
        return cls.of_truth(Fraction(3, 4))

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost for a unit that takes part in `sensitivity.groups` reports.

        Privacy: groups * epsilon, where one unit's answers may be replaced by any others
        [KBR16, Sec. 3], [DR14, Cor. 3.15].
        >>> RandomizedResponse(epsilon=0.5).loss(Sensitivity(groups=3, per_group=1))
        Pure(epsilon=Fraction(3, 2))
        """
        return Pure(epsilon=sensitivity.groups * self.epsilon)

    def truth_bounds(self, digits: int = 40) -> tuple[Fraction, Fraction]:
        """Rationals below and above the probability of keeping the category.

        >>> low, high = RandomizedResponse(epsilon=1).truth_bounds()
        >>> low < high and round(float(low), 6)
        0.731059
        """
        if self.truth is not None:
            return self.truth, self.truth
        low, high = exp_bounds(-self.epsilon, digits)
        others = self.categories - 1
        return 1 / (1 + others * high), 1 / (1 + others * low)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """Report on a category, a list or an array of them; each is 0, 1, ..., k - 1.

        Values outside that range count as the nearest end, so nothing about them shows.
        Privacy: epsilon-DP for each report [KBR16, Sec. 3].
        >>> len(RandomizedResponse(epsilon=1, categories=4).release([0, 1, 2, 3]))
        4
        """
        if isinstance(exact, np.ndarray):
            return self._report(exact, bits)
        if isinstance(exact, list):
            return [int(report) for report in self._report(np.array(exact, dtype=object), bits)]
        return int(self._report(np.array([exact], dtype=object), bits)[0])

    def _report(self, exact: NDArray[Any], bits: BitSource) -> NDArray[np.int64]:
        held = clamp_categories(exact, self.categories)
        keeps = flips(self.truth_bounds, held.size, bits).reshape(held.shape)
        # A step of 1 ... k - 1 round the circle of categories is a uniform other one.
        steps = 1 + dice(self.categories - 1, held.size, bits).reshape(held.shape)
        moved = (held + steps) % self.categories
        return np.where(keeps, held, moved)

    def estimate(self, reports: Any) -> Estimate:
        """Unbiased numbers of people in each category, from their reports.

        >>> RandomizedResponse.two_coins().estimate([1, 1, 1, 0]).counts
        (0.0, 4.0)
        """
        noisy = clamp_categories(np.asarray(reports), self.categories)
        counts = np.bincount(noisy.ravel(), minlength=self.categories)
        _, other, spread = self._chances()
        unbiased = (counts - noisy.size * other) / spread
        shares = np.clip(unbiased / max(1, noisy.size), 0.0, 1.0)
        errors = [self.standard_deviation(noisy.size, share=float(share)) for share in shares]
        return Estimate(tuple(float(count) for count in unbiased), tuple(errors))

    def standard_deviation(self, reports: int, *, share: float = 0.5) -> float:
        """The standard deviation of an estimated count, when this share holds the category.

        For two categories it is sqrt(n p (1-p))/(2p - 1) whatever the share. The formula is that of
        [War65].
        >>> round(RandomizedResponse.two_coins().standard_deviation(100), 3)
        8.66
        """
        own, other, spread = self._chances()
        variance = share * own * (1 - own) + (1 - share) * other * (1 - other)
        return math.sqrt(reports * variance) / spread

    def error(self, confidence: Number, *, reports: int = 1) -> float:
        """The half-width of the estimated share of one category, by Hoeffding's inequality.

        >>> round(RandomizedResponse.two_coins().error(0.95, reports=10_000), 4)
        0.0272
        """
        logarithm = float(log_bounds(2 / tail(confidence))[1])
        return math.sqrt(logarithm / (2 * reports)) / self._chances()[2] * (1 + 1e-12)

    def _chances(self) -> tuple[float, float, float]:
        """Of the true category, of each other one, and the difference."""
        own = self.truth_bounds()[0]
        other = (1 - own) / (self.categories - 1)
        return float(own), float(other), float(own - other)


def _read_categories(categories: int) -> int:
    return whole(categories, "categories", least=2, most=(1 << 62) - 1)
