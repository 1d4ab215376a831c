"""What it costs that nobody at the centre is trusted: the error of local against central counts."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.frequencies import count_variance
from discreet.local.randomizers.kary import KaryResponse
from discreet.rationals import Number, exp_bounds, positive, whole

__all__ = ["Comparison", "compare", "people_needed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The standard deviations of one count at the same epsilon, in people.

    >>> compare(people=20_000, epsilon=1).ratio
    100.0
    """

    people: int
    epsilon: Fraction
    local: float
    central: float

    @property
    def ratio(self) -> float:
        """How many times larger the local error is: sqrt(n/2) for a count.

        >>> round(compare(people=200, epsilon=0.1).ratio, 9)
        10.0
        """
        return self.local / self.central


def compare(*, people: int, epsilon: Number) -> Comparison:
    """How many of n people hold a property: by randomized response, and by a trusted curator.

    Local: the standard deviation of the unbiased estimate from n reports, sqrt(n) e^(epsilon/2)/
    (e^epsilon - 1). Central: that of the discrete Laplace mechanism, without the sqrt(n) and with
    sqrt(2). No local protocol does better than order sqrt(n)/epsilon for small epsilon
    [CSS12], [DJW18].
    Privacy: both are epsilon-DP, by replacing one person's answer [War65], [DMNS06, Prop. 3.3].
    >>> comparison = compare(people=1_000_000, epsilon=1)
    >>> round(comparison.local), round(comparison.central, 2)
    (960, 1.36)
    """
    value = positive(epsilon, "epsilon")
    count = whole(people, "people", least=1, most=1 << 62)
    per_report = count_variance(KaryResponse(epsilon=value))
    low = exp_bounds(-value)[0]
    central = math.sqrt(2 * low / (1 - low) ** 2)
    return Comparison(
        people=count, epsilon=value, local=math.sqrt(count * per_report), central=central
    )


def people_needed(*, error: Number, epsilon: Number) -> int:
    """How many people a local survey needs for a share with this standard error.

    >>> people_needed(error=0.01, epsilon=1)
    9207
    """
    wanted = positive(error, "error")
    per_report = Fraction(count_variance(KaryResponse(epsilon=positive(epsilon, "epsilon"))))
    return math.ceil(per_report / wanted**2)
