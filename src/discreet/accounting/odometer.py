"""An odometer: a bound on the loss so far that holds at every time at once, whatever was chosen
on the way. Unlike a filter it refuses nothing. A frozen value; never holds events or data.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.filters import price, round_total
from discreet.errors import UnprovableRequest
from discreet.loss import ZCDP, Approximate, Currency, Loss, Pure
from discreet.rationals import Number, ceil_decimal, log_bounds, positive, probability

__all__ = ["Odometer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Odometer:
    """Running totals of adaptively chosen losses, and what they bound.

    Privacy: sums of epsilon [RRUV16] and of rho with deltas [WRRW23, Sec. 3] bound the
    loss in their own terms at every stopping time. `bound` turns rho into an epsilon that holds
    at all times together.
    >>> Odometer.open(delta=1e-6, expected_rho=0.1).record(Pure(epsilon=0.1)).spent
    ZCDP(rho=Fraction(1, 200), delta=Fraction(0, 1))
    """

    delta: Fraction
    slope: Fraction
    epsilon_sum: Fraction | None = Fraction(0)
    """The sum of pure epsilons; None once a loss stated none."""
    spent: ZCDP = ZCDP(rho=0)  # noqa: RUF009 (a frozen value)

    @classmethod
    def open(cls, *, delta: Number, expected_rho: Number) -> "Odometer":
        """A new odometer whose epsilon is tightest when the total reaches `expected_rho`.

        Both are fixed before the first release; the bound holds for every total.
        >>> float(Odometer.open(delta=1e-6, expected_rho=0.1).slope)
        11.75395
        """
        failure, expected = positive(delta, "delta"), positive(expected_rho, "expected_rho")
        wanted = log_bounds(1 / probability(failure, "delta"))[1]
        slope = math.sqrt(wanted / expected) if wanted else 1.0
        return cls(delta=failure, slope=ceil_decimal(Fraction(slope), 7))

    def record(self, loss: Loss) -> "Odometer":
        """The odometer after one more release.

        >>> Odometer.open(delta=1e-6, expected_rho=1).record(ZCDP(rho=1)).epsilon_sum is None
        True
        """
        rho, delta = price(loss, Currency.RHO)
        total = ZCDP(
            rho=round_total(self.spent.rho + rho),
            delta=min(Fraction(1), round_total(self.spent.delta + delta)),
        )
        try:
            epsilon = price(loss, Currency.EPSILON)[0]
        except UnprovableRequest:
            return replace(self, epsilon_sum=None, spent=total)
        summed = None if self.epsilon_sum is None else round_total(self.epsilon_sum + epsilon)
        return replace(self, epsilon_sum=summed, spent=total)

    @property
    def bound(self) -> Pure | Approximate:
        """What has been lost so far: pure while the epsilons' sum is the smaller, else with delta.

        With slope l fixed in advance, exp(l * loss - l (l+1) * rho so far) is a
        supermartingale, so by Ville's inequality all times together satisfy
        loss <= (1+l) rho + ln(1/delta)/l except with probability delta (plus the parts' deltas).
        Privacy: [WRRW23, Sec. 4], the linear-boundary odometer.
        >>> Odometer.open(delta=1e-6, expected_rho=1).record(Pure(epsilon=0.1)).bound
        Pure(epsilon=Fraction(1, 10))
        """
        linear = (1 + self.slope) * self.spent.rho + log_bounds(1 / self.delta)[1] / self.slope
        epsilon = ceil_decimal(linear)
        if self.epsilon_sum is not None and self.epsilon_sum <= epsilon:
            return Pure(epsilon=self.epsilon_sum)
        delta = min(Fraction(1), self.delta + self.spent.delta)
        return Approximate(epsilon=epsilon, delta=delta)
