"""How many people hold each category: unbiased estimates from a tally, errors and intervals.
All of it is post-processing of reports that were randomized before.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import InvalidValue
from discreet.linear.simplex import project_to_simplex
from discreet.local.protocol import CategoryRandomizer
from discreet.local.tally import Tally
from discreet.rationals import Number, probability, strict_probability

__all__ = ["Frequencies", "count_interval", "count_variance", "frequencies", "mean_variance"]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Unbiased numbers of holders of each category among those who reported, with errors.

    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> estimates = frequencies(Tally.of(KaryResponse(epsilon=1), [0, 1, 1, 1]))
    >>> [round(count, 3) for count in estimates.counts]
    [-0.164, 4.164]
    """

    tally: Tally
    counts: tuple[float, ...]
    standard_errors: tuple[float, ...]

    def intervals(self, confidence: Number = 0.95) -> tuple[tuple[float, float], ...]:
        """An interval for each count; each alone holds with at least this probability.

        The reports' supports are independent coins, so their sum obeys the relative-entropy bound
        [Hoe63, Thm. 1], which is inverted; no normal approximation. For all k together, ask for
        confidence 1 - (1 - confidence)/k.
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> estimates = frequencies(Tally(KaryResponse(epsilon=1), 1000, (400, 600)))
        >>> [(round(low), round(high)) for low, high in estimates.intervals()]
        [(194, 376), (624, 806)]
        """
        randomizer, reports = _require_categories(self.tally), self.tally.reports
        return tuple(
            count_interval(randomizer, count, reports, confidence=confidence)
            for count in self.tally.counts
        )

    def projected(self) -> tuple[float, ...]:
        """The nearest counts that are not negative and add up to the number of reports.

        Biased, usually closer; the Euclidean projection onto the simplex [DSSC08, Fig. 1].
        >>> from discreet.local.randomizers.kary import KaryResponse
        >>> frequencies(Tally(KaryResponse(epsilon=1), 4, (1, 3))).projected()
        (0.0, 4.0)
        """
        return tuple(project_to_simplex(np.asarray(self.counts), self.tally.reports).tolist())


def frequencies(tally: Tally) -> Frequencies:
    """Estimates from a tally of reports on categories.

    The standard errors put the estimated share, held between 0 and 1, into `count_variance`.
    Unbiased by [WBLJ17, Thm. 1].
    >>> from discreet.local.randomizers.unary import UnaryEncoding
    >>> question = UnaryEncoding(epsilon=1, categories=3)
    >>> estimates = frequencies(Tally(question, 1000, (400, 300, 269)))
    >>> [round(count) for count in estimates.counts], [round(s) for s in estimates.standard_errors]
    ([567, 134, 0], [65, 62, 61])
    """
    randomizer = _require_categories(tally)
    own, other = randomizer.chances()
    spread = own - other
    counts = [float((count - tally.reports * other) / spread) for count in tally.counts]
    errors = []
    for count in counts:
        share = min(1.0, max(0.0, count / max(1, tally.reports)))
        errors.append(math.sqrt(tally.reports * count_variance(randomizer, share=share)))
    return Frequencies(tally, tuple(counts), tuple(errors))


def count_interval(
    randomizer: CategoryRandomizer, supports: int, reports: int, *, confidence: Number = 0.95
) -> tuple[float, float]:
    """An interval for the holders of a category that `supports` of the reports support.

    By the relative-entropy bound [Hoe63, Thm. 1].
    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> [round(end) for end in count_interval(KaryResponse(epsilon=1), 600, 1000)]
    [624, 806]
    """
    missed = 1 - strict_probability(confidence, "confidence")
    own, other = (float(chance) for chance in randomizer.chances())
    low, high = (
        reports * (end - other) / (own - other)
        for end in _mean_bounds(supports, reports, float(missed))
    )
    return min(max(low, 0.0), float(reports)), min(max(high, 0.0), float(reports))


def count_variance(randomizer: CategoryRandomizer, *, share: Number = 0) -> float:
    """The variance of an estimated count, per report, when this share holds the category.

    (f p(1-p) + (1-f) q(1-q))/(p-q)^2 [WBLJ17, Thm. 2].
    >>> from discreet.local.randomizers.unary import UnaryEncoding
    >>> round(count_variance(UnaryEncoding(epsilon=1, categories=3)), 4)  # 4e/(e-1)^2
    3.6827
    """
    own, other = randomizer.chances()
    part = probability(share, "share")
    variance = part * own * (1 - own) + (1 - part) * other * (1 - other)
    return float(variance / (own - other) ** 2)


def mean_variance(randomizer: CategoryRandomizer) -> float:
    """The variance of an estimated count, per report, averaged over the categories.

    It is the same whatever the true shares are, since they add up to 1. From [WBLJ17, Thm. 2].
    >>> from discreet.local.randomizers.kary import KaryResponse
    >>> round(mean_variance(KaryResponse(epsilon=1)), 4)  # e/(e-1)^2
    0.9207
    """
    return count_variance(randomizer, share=Fraction(1, randomizer.categories))


def _require_categories(tally: Tally) -> CategoryRandomizer:
    randomizer = tally.randomizer
    if not isinstance(randomizer, CategoryRandomizer):
        raise InvalidValue(f"{type(randomizer).__name__} reports on numbers; ask for their mean.")
    return randomizer


def _mean_bounds(count: int, reports: int, missed: float) -> tuple[float, float]:
    """All means m with n KL(count/n || m) <= ln(2/missed), slightly widened."""
    if not reports:
        return 0.0, 1.0
    share = count / reports
    allowed = math.log(2 / missed) / reports

    def holds(mean: float) -> bool:
        return _relative_entropy(share, mean) <= allowed

    low = 0.0 if count == 0 else _find_edge(holds, share, 0.0)
    high = 1.0 if count == reports else _find_edge(holds, share, 1.0)
    return max(0.0, low - 1e-12), min(1.0, high + 1e-12)


def _find_edge(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return outside


def _relative_entropy(share: float, mean: float) -> float:
    if mean in (0.0, 1.0):
        return math.inf
    total = 0.0
    for seen, expected in ((share, mean), (1 - share, 1 - mean)):
        total += seen * math.log(seen / expected) if seen else 0.0
    return total
