"""The mean of numeric answers from a tally of reports: unbiased, with its error and an interval."""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import InvalidValue
from discreet.local.protocol import NumberRandomizer
from discreet.local.tally import Tally
from discreet.rationals import Number, ceil_float, log_bounds, probability

__all__ = ["Mean", "mean"]


@dataclass(frozen=True, slots=True)
class Mean:
    """The estimated mean of those who reported, and its standard error.

    Unbiased for the answers clamped to the range and rounded to the lattice.
    Privacy: post-processing.
    >>> from discreet.local.one_bit import OneBit
    >>> question = OneBit(epsilon=1, lower=0, upper=10, step=1)
    >>> round(mean(Tally(question, 1000, (400, 600))).value, 3)
    7.164
    """

    tally: Tally
    value: float
    standard_error: float

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """An interval that holds the mean with at least this probability.

        By the inequality for bounded independent terms [Hoe63, Thm. 2], and half a step for the
        rounding of answers within the range; no normal approximation.
        Privacy: post-processing.
        >>> from discreet.local.one_bit import OneBit
        >>> question = OneBit(epsilon=1, lower=0, upper=10, step=0.01)
        >>> [round(end, 2) for end in mean(Tally(question, 1000, (400, 600))).interval()]
        [6.23, 8.1]
        """
        missed = 1 - probability(confidence, "confidence")
        if not 0 < missed < 1:
            raise InvalidValue(f"confidence is {confidence}; it must lie between 0 and 1.")
        randomizer = _number(self.tally)
        places = randomizer.decoded()
        logarithm = ceil_float(log_bounds(2 / missed)[1])
        reach = float(places.max() - places.min()) * math.sqrt(logarithm / 2 / self.tally.reports)
        reach = reach * (1 + 1e-12) + ceil_float(randomizer.rounding)
        return self.value - reach, self.value + reach


def mean(tally: Tally) -> Mean:
    """The mean from a tally of reports on numbers; the error is that of the reports seen.

    Privacy: post-processing; unbiased by [WXYZ19, Sec. III].
    >>> from discreet.local.piecewise import Piecewise
    >>> question = Piecewise(epsilon=2, lower=-1, upper=1, step=1)
    >>> found = mean(Tally(question, 100, (30, 30, 40)))
    >>> round(found.value, 3), round(found.standard_error, 3)
    (0.147, 0.123)
    """
    if not tally.reports:
        raise InvalidValue("no report has come in; there is no mean of none.")
    places = _number(tally).decoded()
    counts = np.array(tally.counts, dtype=np.float64)
    value = float(counts @ places) / tally.reports
    squares = float(counts @ (places - value) ** 2)
    return Mean(tally, value, math.sqrt(squares / max(1, tally.reports - 1) / tally.reports))


def _number(tally: Tally) -> NumberRandomizer:
    randomizer = tally.randomizer
    if not isinstance(randomizer, NumberRandomizer):
        raise InvalidValue(
            f"{type(randomizer).__name__} reports on categories; ask for frequencies."
        )
    return randomizer
