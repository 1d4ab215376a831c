"""The mean of numeric answers from a tally of reports: unbiased, with its error and an interval."""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import InvalidValue
from discreet.local.protocol import NumberRandomizer
from discreet.local.randomizers.numbers import largest_variance
from discreet.local.tally import Tally
from discreet.rationals import Number, ceil_float, log_bounds, strict_probability

__all__ = ["Mean", "mean"]


@dataclass(frozen=True, slots=True)
class Mean:
    """The estimated mean of those who reported, and its standard error.

    Unbiased for the answers clamped to the range and rounded to the lattice.
    >>> from discreet.local.randomizers.one_bit import OneBit
    >>> question = OneBit(epsilon=1, lower=0, upper=10, step=1)
    >>> round(mean(Tally(question, 1000, (400, 600))).value, 3)
    7.164
    """

    tally: Tally
    value: float
    standard_error: float

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """An interval that holds the mean with at least this probability.

        The narrower of two inequalities for independent terms: of bounded range [Hoe63, Thm. 2],
        and of bounded range and variance [Hoe63, Thm. 3] in the form of Bernstein, with the
        variance of the answer that makes it largest. Both widths are known beforehand. Half a
        step is added for the rounding of answers within the range; no normal approximation.
        >>> from discreet.local.randomizers.one_bit import OneBit
        >>> question = OneBit(epsilon=1, lower=0, upper=10, step=0.01)
        >>> [round(end, 2) for end in mean(Tally(question, 1000, (400, 600))).interval()]
        [6.23, 8.1]
        """
        missed = 1 - strict_probability(confidence, "confidence")
        randomizer = _require_numbers(self.tally)
        places = randomizer.decode_cells()
        logarithm = ceil_float(log_bounds(2 / missed)[1])
        width, per_report = float(places.max() - places.min()), logarithm / self.tally.reports
        # Bernstein: n t^2 = 2 (v + w t/3) ln(2/missed), solved for t.
        third = width * per_report / 3
        by_variance = third + math.sqrt(third**2 + 2 * largest_variance(randomizer) * per_report)
        reach = min(width * math.sqrt(per_report / 2), by_variance)
        reach = reach * (1 + 1e-9) + ceil_float(randomizer.rounding)
        return self.value - reach, self.value + reach


def mean(tally: Tally) -> Mean:
    """The mean from a tally of reports on numbers; the error is that of the reports seen.

    Unbiased by [WXYZ19, Sec. III].
    >>> from discreet.local.randomizers.piecewise import Piecewise
    >>> question = Piecewise(epsilon=2, lower=-1, upper=1, step=1)
    >>> estimate = mean(Tally(question, 100, (30, 30, 40)))
    >>> round(estimate.value, 3), round(estimate.standard_error, 3)
    (0.147, 0.123)
    """
    if not tally.reports:
        raise InvalidValue("no report has come in; there is no mean of none.")
    places = _require_numbers(tally).decode_cells()
    counts = np.array(tally.counts, dtype=np.float64)
    value = float(counts @ places) / tally.reports
    squares = float(counts @ (places - value) ** 2)
    return Mean(tally, value, math.sqrt(squares / max(1, tally.reports - 1) / tally.reports))


def _require_numbers(tally: Tally) -> NumberRandomizer:
    randomizer = tally.randomizer
    if not isinstance(randomizer, NumberRandomizer):
        raise InvalidValue(
            f"{type(randomizer).__name__} reports on categories; ask for frequencies."
        )
    return randomizer
