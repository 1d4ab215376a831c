"""Filters and odometers for parameters chosen while answers come in. A filter is a value: `charge`
returns the next one or refuses, so nothing can be half charged. Never holds events or data.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.conversion import zcdp_epsilon, zcdp_rho
from discreet.errors import BudgetExceeded, InvalidValue
from discreet.loss import ZCDP, Currency, Loss, Price, Pure
from discreet.rationals import (
    Number,
    floor_decimal,
    log_bounds,
    nonnegative,
    positive,
    probability,
    sqrt_up,
)

__all__ = ["Filter", "price", "round_total"]

_FINEST = 10**40


def price(loss: Loss, currency: Currency) -> tuple[Fraction, Fraction]:
    """What one loss costs in a currency, with its delta.

    Pure and bounded-range losses state an epsilon; every loss implies a zCDP [BS16, Prop. 1.4 and
    Lemma 8.8]. What states no pure epsilon has no price in epsilon.
    >>> price(Pure(epsilon=1), Currency.RHO)
    (Fraction(1, 2), Fraction(0, 1))
    """
    if not isinstance(loss, Loss):
        raise InvalidValue(f"{loss!r} is no privacy loss; charge a Pure, ZCDP or Approximate.")
    if currency is Currency.RHO:
        cost = loss.zcdp()
        return cost.rho, cost.delta
    return loss.pure().epsilon, Fraction(0)


def round_total(total: Fraction) -> Fraction:
    """The total itself while its denominator is small, else rounded up to a multiple of 10**-40.

    Rounds towards more loss, and keeps the work per charge constant.
    >>> round_total(Fraction(1, 3))
    Fraction(1, 3)
    """
    if total.denominator <= _FINEST:
        return total
    return Fraction(-(-total.numerator * _FINEST // total.denominator), _FINEST)


@dataclass(frozen=True, slots=True)
class Filter:
    """A budget and what was spent of it, in one currency and in delta.

    A frozen value: `charge` validates and returns the next filter, so a refused or interrupted
    charge leaves every holder with the old totals, and a ledger can store exactly what it read.
    Privacy: if every release is admitted by the filter before it runs, all of them together
    keep the budget though each parameter may depend on earlier answers: epsilons
    [RRUV16], rho with deltas [WRRW23, Sec. 3].
    >>> half = Filter.pure(epsilon=1).charge(Pure(epsilon=0.5))
    >>> half.remaining
    Pure(epsilon=Fraction(1, 2))
    """

    currency: Currency
    limit: Fraction
    delta_limit: Fraction = Fraction(0)
    spent: Fraction = Fraction(0)
    delta_spent: Fraction = Fraction(0)
    conversion_delta: Fraction = Fraction(0)
    """Kept aside to state a rho budget as (epsilon, delta); 0 where no such statement is made."""

    def __post_init__(self) -> None:
        for name in ("limit", "spent"):
            object.__setattr__(self, name, nonnegative(getattr(self, name), name))
        for name in ("delta_limit", "delta_spent", "conversion_delta"):
            object.__setattr__(self, name, probability(getattr(self, name), name))
        object.__setattr__(self, "currency", Currency(self.currency))
        if self.spent > self.limit or self.delta_spent > self.delta_limit:
            raise InvalidValue(
                f"a filter that starts with {float(self.spent):g} of {float(self.limit):g} spent "
                "is over its budget; raise the limit or keep refusing charges."
            )
        if self.currency is Currency.EPSILON and (self.delta_limit or self.conversion_delta):
            raise InvalidValue("a pure budget has no delta; use Filter.zcdp or Filter.converted.")

    @classmethod
    def pure(cls, *, epsilon: Number) -> "Filter":
        """A filter that adds up epsilons.

        Privacy: epsilon-DP [RRUV16].
        >>> Filter.pure(epsilon=1).admits(Pure(epsilon=1))
        True
        """
        return cls(Currency.EPSILON, positive(epsilon, "epsilon"))

    @classmethod
    def zcdp(cls, *, rho: Number, delta: Number = 0) -> "Filter":
        """A filter that adds up rho, and deltas beside it.

        Privacy: delta-approximate rho-zCDP [WRRW23, Sec. 3].
        >>> Filter.zcdp(rho=1).charge(Pure(epsilon=1)).remaining.rho
        Fraction(1, 2)
        """
        return cls(Currency.RHO, positive(rho, "rho"), probability(delta, "delta"))

    @classmethod
    def converted(cls, *, epsilon: Number, delta: Number, conversion_delta: Number) -> "Filter":
        """An (epsilon, delta) budget held in rho; `conversion_delta` of delta pays the conversion.

        Privacy: (epsilon, delta)-DP [WRRW23, Sec. 3] with [CKS20, Cor. 13].
        >>> account = Filter.converted(epsilon=1, delta=1e-6, conversion_delta=5e-7)
        >>> float(account.limit), float(account.delta_limit)
        (0.0229374466887221, 5e-07)
        """
        level, aside, rest = _split(epsilon, delta, conversion_delta, "conversion_delta")
        return cls(Currency.RHO, zcdp_rho(epsilon=level, delta=aside), rest, conversion_delta=aside)

    @classmethod
    def approximate(cls, *, epsilon: Number, delta: Number, slack: Number) -> "Filter":
        """The closed-form filter: sqrt(2 ln(1/slack) sum e^2) + sum e^2/2 <= epsilon.

        With sum e^2 = 2 rho it is a rho filter; `converted` admits at least as much.
        Privacy: (epsilon, delta)-DP with slack + sum of deltas <= delta [WRRW23, Sec. 3].
        >>> Filter.approximate(epsilon=1, delta=1e-6, slack=5e-7).admits(Pure(epsilon=0.1))
        True
        """
        level, aside, rest = _split(epsilon, delta, slack, "slack")
        cost = 2 * log_bounds(1 / aside)[1]
        # The root s of s^2/2 + s sqrt(cost) = epsilon, without cancellation and rounded down.
        root = 2 * level / (sqrt_up(cost + 2 * level) + sqrt_up(cost))
        return cls(Currency.RHO, floor_decimal(root**2 / 2), rest, conversion_delta=aside)

    def admits(self, loss: Loss) -> bool:
        """Whether `charge` would succeed.

        >>> Filter.pure(epsilon=1).admits(Pure(epsilon=1.01))
        False
        """
        total, delta = self._after(loss)
        return total <= self.limit and delta <= self.delta_limit

    def charge(self, loss: Loss, memo: str = "this charge") -> "Filter":
        """The filter after paying for `loss`, or BudgetExceeded; `memo` opens the message.

        To be called, and its result kept, before the release runs.
        >>> Filter.pure(epsilon=1).charge(Pure(epsilon=2), "COUNT(*) by city")
        Traceback (most recent call last):
        ...
        discreet.errors.BudgetExceeded: COUNT(*) by city would bring epsilon to 2; \
the budget is 1. Nothing was charged.
        """
        total, delta = self._after(loss)
        if total > self.limit:
            raise BudgetExceeded(f"{memo} would bring {self._phrase(total)}. Nothing was charged.")
        if delta > self.delta_limit:
            reached = _compare(delta, self.delta_limit)
            raise BudgetExceeded(f"{memo} would bring delta to {reached}. Nothing was charged.")
        return replace(self, spent=total, delta_spent=delta)

    def charge_all(self, losses: Iterable[Loss]) -> "Filter":
        """The filter after a history of losses: how recorded events are priced again.

        >>> Filter.zcdp(rho=1).charge_all([Pure(epsilon=1), ZCDP(rho=0.1)]).spent
        Fraction(3, 5)
        """
        state = self
        for loss in losses:
            state = state.charge(loss)
        return state

    @property
    def remaining(self) -> Price:
        """The largest single loss that is still admitted.

        Privacy: whatever is admitted up to here keeps the budget [RRUV16], [WRRW23, Sec. 3].
        >>> Filter.zcdp(rho=1, delta=1e-6).remaining
        ZCDP(rho=Fraction(1, 1), delta=Fraction(1, 1000000))
        """
        rest = self.limit - self.spent
        if self.currency is Currency.EPSILON:
            return Pure(epsilon=rest)
        return ZCDP(rho=rest, delta=self.delta_limit - self.delta_spent)

    def _after(self, loss: Loss) -> tuple[Fraction, Fraction]:
        cost, delta = price(loss, self.currency)
        return (
            round_total(self.spent + cost),
            min(Fraction(1), round_total(self.delta_spent + delta)),
        )

    def _phrase(self, total: Fraction) -> str:
        if not self.conversion_delta:
            return f"{self.currency.value} to {_compare(total, self.limit)}"
        reached = zcdp_epsilon(rho=total, delta=self.conversion_delta)
        budget = zcdp_epsilon(rho=self.limit, delta=self.conversion_delta)
        return (
            f"epsilon to {_compare(reached, budget)} at delta={float(self.conversion_delta):g} "
            f"(rho {_compare(total, self.limit)})"
        )


def _split(
    epsilon: Number, delta: Number, part: Number, name: str
) -> tuple[Fraction, Fraction, Fraction]:
    level, whole = positive(epsilon, "epsilon"), probability(delta, "delta")
    aside = positive(part, name)
    if aside > whole or aside >= 1:
        raise InvalidValue(f"{name} is {part}; it must be at most delta, {delta}, and below 1.")
    return level, aside, whole - aside


def _compare(total: Fraction, limit: Fraction) -> str:
    reached, budget = f"{float(total):.6g}", f"{float(limit):.6g}"
    over = f" (over by {float(total - limit):.2g})" if reached == budget else ""
    return f"{reached}{over}; the budget is {budget}"
