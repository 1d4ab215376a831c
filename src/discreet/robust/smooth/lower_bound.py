"""How much error no private mechanism avoids on given data: the lower bound by local sensitivity.
For the custodian: the result is an exact function of the data, and its repr shows nothing.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from discreet.rationals import Number, exp_bounds, floor_decimal, nonnegative, positive, probability

__all__ = ["Sensitive", "Unavoidable", "unavoidable_error"]


class Sensitive(Protocol):
    """A query that knows how far one unit moves it on given data.

    Privacy: not private by itself: for the custodian's lower bounds only.
    """

    def local_sensitivity(self, exact: Any) -> Fraction:
        """The largest change that one unit makes, or less, never more.

        Privacy: not private by itself: for the custodian.
        """


@dataclass(frozen=True, slots=True, repr=False)
class Unavoidable:
    """An error that every mechanism makes on this data or on a neighbour, and how often at least.

    Not private: for the custodian only, never part of an answer. The repr shows nothing.
    >>> Unavoidable(exact_error=Fraction(1), probability=Fraction(1, 4))
    Unavoidable(...)
    """

    exact_error: Fraction
    probability: Fraction

    def __repr__(self) -> str:
        return "Unavoidable(...)"


def unavoidable_error(
    query: Sensitive, exact: Any, *, epsilon: Number, delta: Number = 0
) -> Unavoidable:
    """What no (epsilon, delta)-private mechanism avoids, on this data or on a neighbour of it.

    With at least the stated probability the answer is off by at least half the local sensitivity
    there. The mechanism may fail on a neighbour instead, so less error here is no contradiction.
    Privacy: not private: for the custodian. The probability is at least
    1 - (1 + delta)/(1 + exp(-epsilon)) [Vad17, Prop. 3.1].
    >>> from discreet.robust.smooth.quantile import SmoothQuantile
    >>> query = SmoothQuantile(fraction=0.5, lower=0, upper=100)
    >>> bound = unavoidable_error(query, [10, 50, 60], epsilon=1)
    >>> bound.exact_error, round(float(bound.probability), 4)
    (Fraction(20, 1), 0.2689)
    """
    price, allowed = positive(epsilon, "epsilon"), probability(delta, "delta")
    below = exp_bounds(-price)[0]
    often = max(Fraction(0), 1 - (1 + allowed) / (1 + below))
    half = nonnegative(query.local_sensitivity(exact), "the local sensitivity") / 2
    return Unavoidable(exact_error=half, probability=floor_decimal(often))
