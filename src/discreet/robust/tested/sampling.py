"""Is a function nearly known from a small sample? Then one row cannot matter much: a way to guess a
sensitivity before proving one. A tool for thinking; nothing here is a guarantee, and what it
reports is computed from the rows it is given, so give it made-up rows or keep the report.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue
from discreet.noise.bits import BitSource, system
from discreet.noise.coins import bernoulli
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_float, strict_probability, whole

__all__ = ["SampleEvidence", "estimate_sensitivity"]


@dataclass(frozen=True, slots=True)
class SampleEvidence:
    """What samples suggest about the sensitivity of a function.

    It is computed from exact rows and proves nothing.
    >>> SampleEvidence(rate=0.1, accuracy=2.0, largest_change=1.0, data_sets=3, draws=200).suggested
    4.0
    """

    rate: float
    """How likely each row was in a sample."""
    accuracy: float
    """The distance within which more than half of the samples, and a bit, came to the function."""
    largest_change: float
    """The most that deleting one row of the data sets looked at changed the function."""
    data_sets: int
    draws: int

    @property
    def suggested(self) -> float:
        """Twice the accuracy: what the lemma would give if all data were like those looked at.

        See [DMNS06, Lemma 3.5].
        >>> SampleEvidence(0.1, 2.0, 1.0, 3, 200).suggested
        4.0
        """
        return 2 * self.accuracy

    @property
    def contradicted(self) -> bool:
        """Whether a row changed the function by more than is suggested: then samples mislead."""
        return self.largest_change > self.suggested

    def __str__(self) -> str:
        return (
            f"NOT A GUARANTEE, a tool for thinking: on {self.data_sets} data sets, samples of "
            f"{self.rate:.3g} of the rows suggest a sensitivity of {self.suggested:.6g}; deleting "
            f"one row changed the function by up to {self.largest_change:.6g}. The lemma asks for "
            "all data sets, and these are a few; use a bound that is proved."
        )


def estimate_sensitivity(
    function: Callable[[Sequence[Any]], float],
    estimator: Callable[[Sequence[Any]], float],
    data_sets: Sequence[Sequence[Any]],
    *,
    rate: Number,
    draws: int = 200,
    confidence: Number = Fraction(99, 100),
    bits: BitSource = system,
) -> SampleEvidence:
    """Compare a function with an estimate of it from random samples of each data set.

    `rate` is how likely each row is in a sample. With this confidence the accuracy reported is at
    least the one that (1 + rate)/2 of the samples reach, for each data set looked at.
    Privacy: none: it is computed from exact rows, and proves nothing about other data
    [DMNS06, Lemma 3.5].
    >>> rows = [number % 10 for number in range(200)]
    >>> def mean(rows): return sum(rows) / max(1, len(rows))
    >>> evidence = estimate_sensitivity(mean, mean, [rows], rate=0.2, draws=60)
    >>> evidence.contradicted, evidence.largest_change < evidence.suggested < 5
    (False, True)
    """
    share = strict_probability(rate, "rate")
    if not data_sets:
        raise InvalidValue("there are no data sets to look at; pass at least one.")
    place = _find_rank((1 + share) / 2, whole(draws, "draws"), tail(confidence))
    accuracy, change = 0.0, 0.0
    for rows in data_sets:
        exact = function(rows)
        samples = ([row for row in rows if bernoulli(share, bits)] for _ in range(draws))
        errors = sorted(abs(estimator(sample) - exact) for sample in samples)
        accuracy = max(accuracy, errors[place - 1])
        without = (function([*rows[:row], *rows[row + 1 :]]) for row in range(len(rows)))
        change = max(change, max((abs(other - exact) for other in without), default=0.0))
    return SampleEvidence(ceil_float(share), accuracy, change, len(data_sets), draws)


def _find_rank(level: Fraction, draws: int, missed: Fraction) -> int:
    """The rank from which an order statistic bounds the quantile of this level from above."""
    above = Fraction(0)  # P(at least `rank` of the draws lie below the quantile)
    for rank in range(draws, 0, -1):
        above += math.comb(draws, rank) * level**rank * (1 - level) ** (draws - rank)
        if above > missed:
            if rank == draws:
                break
            return rank + 1
    raise InvalidValue(
        f"draws is {draws}, too few for samples of this rate and confidence; take more."
    )
