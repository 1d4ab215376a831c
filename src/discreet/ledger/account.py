"""An account: a budget, what was spent of it, and the filter that admits or refuses a charge.
Exact arithmetic on frozen values; knows no file and no clock.
"""

import re
import unicodedata
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.conversion import zcdp_epsilon, zcdp_rho
from discreet.accounting.filters import Filter, price, round_total
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest
from discreet.loss import Currency, Loss
from discreet.rationals import ceil_decimal, floor_decimal, sqrt_up
from discreet.schema.table import Budget

__all__ = [
    "Account",
    "Holder",
    "Remaining",
    "account_name",
    "fold",
    "round_up",
    "share_remaining",
    "takes_nothing",
]

_LONGEST = 10**40  # the denominator up to which filters keep totals exactly
_LARGEST_EPSILON = 10**6
_NAME = re.compile(r"\w[\w.@+-]{0,63}")
_EPSILON_DIGITS = 12


class Holder(StrEnum):
    """Whose budget it is: the people in the data, or the one who asks."""

    POPULATION = "population"
    ANALYST = "analyst"


def account_name(name: str) -> str:
    """Check the name of an account and hand it back.

    >>> account_name("ana@example.org")
    'ana@example.org'
    """
    raw: object = name
    if (
        not isinstance(raw, str)
        or not _NAME.fullmatch(raw)
        or not unicodedata.is_normalized("NFKC", raw)
    ):
        raise InvalidValue(
            f"the account name {name!r:.80} cannot be used; write 1 to 64 letters, digits "
            "and _ . @ + -, and begin with a letter, a digit or _."
        )
    return name


def fold(name: str) -> str:
    """What two names share that a reader takes for one: capitals and forms of letters aside.

    >>> fold("ANA") == fold("ana"), fold("Straße") == fold("STRASSE")
    (True, True)
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", plain).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What an account can still admit.

    `epsilon` is the largest single further query; `delta` is left for delta-priced steps; `rho`
    is what the zCDP filter has left, None in a pure account, where epsilon simply adds up.
    >>> Remaining(epsilon=Fraction(1), delta=Fraction(0), rho=None).epsilon
    Fraction(1, 1)
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A budget and what was spent of it; a charge makes a new value or is refused.

    A pure account (delta = 0) adds epsilon up. Any other adds rho up, as long as the total converts
    to at most epsilon at the reserved conversion delta, and the losses' own deltas up to the rest
    of delta. `limit` is the most epsilon or rho, fixed when the account is opened. The sum of pure
    losses chosen adaptively under a fixed limit is epsilon-DP [RRUV16]; that of rho (and delta) is
    zCDP, also under a filter [WRRW23], and converts by [CKS20, Cor. 13], under the neighbouring
    relation of the losses.
    >>> from discreet.loss import Pure
    >>> account = Account.open(Holder.ANALYST, "ana", Budget(epsilon=0.3))
    >>> spent = account.admit(Pure(epsilon=0.1)).admit(Pure(epsilon=0.2))
    >>> spent.remaining.epsilon
    Fraction(0, 1)
    """

    holder: Holder
    name: str
    epsilon: Fraction
    delta: Fraction
    conversion_delta: Fraction
    limit: Fraction
    spent: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        account_name(self.name)
        if self.epsilon <= 0 or not 0 <= self.conversion_delta <= self.delta < 1:
            raise InvalidValue(
                f"{self.holder} {self.name!r}: epsilon is {self.epsilon}, delta {self.delta}, of "
                f"it {self.conversion_delta} for the conversion; epsilon must be above 0, delta "
                "below 1, and its part at most the whole."
            )
        if (
            self.epsilon > _LARGEST_EPSILON
            or max(self.epsilon.denominator, self.delta.denominator) > _LONGEST
        ):
            raise InvalidValue(
                f"{self.holder} {self.name!r}: a budget's epsilon is at most {_LARGEST_EPSILON}, "
                "and it is written with at most 40 decimals."
            )
        if min(self.limit, self.spent, self.spent_delta) < 0:
            raise InvalidValue(f"{self.holder} {self.name!r}: a limit or total is negative.")

    @classmethod
    def open(cls, holder: Holder, name: str, budget: Budget) -> "Account":
        """A fresh account with the largest limit that its budget allows.

        >>> Account.open(Holder.POPULATION, "patients", Budget(epsilon=1, delta=2e-6)).limit
        Fraction(243559703595383, 10000000000000000)
        """
        reserved = budget.delta * budget.delta_for_conversion
        limit = zcdp_rho(epsilon=budget.epsilon, delta=reserved) if reserved else budget.epsilon
        return cls(
            holder=Holder(holder),
            name=name,
            epsilon=budget.epsilon,
            delta=budget.delta,
            conversion_delta=reserved,
            limit=limit,
        )

    @property
    def pure(self) -> bool:
        """Whether the account allows no delta, so that epsilon adds up."""
        return not self.delta

    @property
    def currency(self) -> Currency:
        """What the account adds up."""
        return Currency.EPSILON if self.pure else Currency.RHO

    @property
    def budget(self) -> Budget:
        """The budget the account was opened with.

        >>> Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)).budget.epsilon
        Fraction(1, 1)
        """
        if self.pure:
            return Budget(epsilon=self.epsilon)
        share = self.conversion_delta / self.delta
        return Budget(epsilon=self.epsilon, delta=self.delta, delta_for_conversion=share)

    @property
    def remaining(self) -> Remaining:
        """What can still be admitted, rounded down.

        >>> Account.open(Holder.ANALYST, "ana", Budget(epsilon=1, delta=1e-6)).remaining.epsilon
        Fraction(1, 1)
        """
        unspent = max(Fraction(0), self.limit - self.spent)
        if self.pure:
            return Remaining(epsilon=unspent, delta=Fraction(0), rho=None)
        delta = max(Fraction(0), self.delta - self.conversion_delta - self.spent_delta)
        return Remaining(epsilon=self._largest_query(unspent), delta=delta, rho=unspent)

    @property
    def filter(self) -> Filter:
        """The filter that decides, with the totals of this account.

        >>> Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)).filter.remaining
        Pure(epsilon=Fraction(1, 1))
        """
        return Filter(
            currency=self.currency,
            limit=self.limit,
            delta_limit=self.delta - self.conversion_delta,
            spent=self.spent,
            delta_spent=self.spent_delta,
            conversion_delta=self.conversion_delta,
        )

    def admit(self, loss: Loss, *, label: str = "This charge") -> "Account":
        """The account after the charge; refused where the totals would pass the budget.

        The check is exact; totals are rounded up.
        >>> from discreet.loss import Pure
        >>> Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)).admit(Pure(epsilon=2))
        Traceback (most recent call last):
        discreet.errors.BudgetExceeded: This charge would bring the epsilon of analyst 'ana' to 2; \
the budget is 1. Ask at a lower price, or ask the custodian for a larger budget. Nothing was \
run or charged.
        """
        try:
            cost, delta = _price(loss, self.currency)
        except UnprovableRequest as error:
            raise UnprovableRequest(f"{self.holder} {self.name!r}: {error}") from None
        # As `Filter.charge` on `self.filter`, without building two filters for every charge.
        spent = round_total(self.spent + cost)
        spent_delta = round_total(self.spent_delta + delta)
        if spent > self.limit or spent_delta > self.delta - self.conversion_delta:
            reached = self._name_limit(cost, delta)
            raise BudgetExceeded(
                f"{label} would bring {reached} Ask at a lower price, or ask the custodian for a "
                "larger budget. Nothing was run or charged."
            )
        return replace(self, spent=spent, spent_delta=spent_delta)

    def share(self, loss: Loss) -> Fraction:
        """What part of the whole limit a loss is, in the account's own terms.

        >>> from discreet.loss import Pure
        >>> Account.open(Holder.ANALYST, "ana", Budget(epsilon=2)).share(Pure(epsilon=1))
        Fraction(1, 2)
        """
        cost, _ = _price(loss, self.currency)
        return cost / self.limit if self.limit else Fraction(1)

    def _name_limit(self, cost: Fraction, delta: Fraction) -> str:
        """Which total would pass which limit."""
        who, total = f"{self.holder} {self.name!r}", round_total(self.spent + cost)
        if total <= self.limit:
            allowed = self.delta - self.conversion_delta
            return (
                f"the delta of {who} to {_above(self.spent_delta + delta, allowed)}; the budget "
                f"keeps {_number_text(allowed)} for steps priced in delta."
            )
        budget = f"the budget is {_number_text(self.epsilon)}."
        if self.pure:
            return f"the epsilon of {who} to {_above(total, self.limit)}; {budget}"
        rho = f"rho {_above(total, self.limit)} of {_number_text(self.limit)}"
        if total > _LARGEST_EPSILON:
            return f"{who} to {rho}."
        epsilon = zcdp_epsilon(rho=total, delta=self.conversion_delta)
        if epsilon <= self.epsilon:  # above the limit, yet below the last digit of the conversion
            return f"{who} to {rho}."
        at = f"at delta={_number_text(self.conversion_delta)} ({rho})"
        return f"the epsilon of {who} to {_above(epsilon, self.epsilon)} {at}; {budget}"

    def _largest_query(self, rho: Fraction) -> Fraction:
        """The most epsilon whose rho, at the conversion delta, is at most `rho`."""
        near = zcdp_epsilon(rho=rho, delta=self.conversion_delta)
        epsilon = min(self.epsilon, ceil_decimal(near, _EPSILON_DIGITS))
        step = Fraction(1, 10 ** (_EPSILON_DIGITS - 1))
        while epsilon and zcdp_rho(epsilon=epsilon, delta=self.conversion_delta) > rho:
            epsilon = floor_decimal(epsilon * (1 - min(step, Fraction(1))), _EPSILON_DIGITS)
            step *= 2
        return epsilon


_price = lru_cache(maxsize=1024)(price)  # a vault's questions have few prices


def share_remaining(population: Account, analyst: Account) -> Remaining:
    """What both accounts together can still admit from one query.

    Between a pure and another account a query must be pure, and costs the other epsilon^2/2;
    otherwise epsilon is converted at the analyst's conversion delta.
    >>> people = Account.open(Holder.POPULATION, "people", Budget(epsilon=3, delta=1e-6))
    >>> share_remaining(people, Account.open(Holder.ANALYST, "ana", Budget(epsilon=0.1))).epsilon
    Fraction(1, 10)
    """
    one, other = population.remaining, analyst.remaining
    delta = min(one.delta, other.delta)
    if one.rho is not None and other.rho is not None:
        rho = min(one.rho, other.rho)
        return Remaining(epsilon=analyst._largest_query(rho), delta=delta, rho=rho)
    least = [room.epsilon if room.rho is None else _root(2 * room.rho) for room in (one, other)]
    return Remaining(epsilon=min(least), delta=delta, rho=None)


def round_up(loss: Loss) -> Loss:
    """The same loss, or one a little larger whose numbers are short enough to write down.

    Privacy: rounds towards more loss.
    >>> from discreet.loss import Pure
    >>> round_up(Pure(epsilon=0.1))
    Pure(epsilon=Fraction(1, 10))
    """
    rounded: Any = {field.name: round_total(getattr(loss, field.name)) for field in fields(loss)}
    return replace(loss, **rounded)


def takes_nothing(loss: Loss) -> bool:
    """Whether a loss is none: of an entry that only gives again what was released.

    >>> from discreet.loss import Pure
    >>> takes_nothing(Pure(epsilon=0)), takes_nothing(Pure(epsilon=1))
    (True, False)
    """
    return not any(getattr(loss, field.name) for field in fields(loss))


def _root(value: Fraction) -> Fraction:
    """The square root, rounded down."""
    return floor_decimal(value / sqrt_up(value), _EPSILON_DIGITS) if value else value


def _number_text(value: Fraction) -> str:
    return f"{float(value):.12g}" if value < 10**300 else "over 1e300"


def _above(value: Fraction, limit: Fraction) -> str:
    """A value over the limit, rounded up and with digits enough to be seen as over it."""
    if value >= 10**300:
        return "over 1e300"
    for digits in (4, 8, 12):
        shown = ceil_decimal(value, digits)
        if shown - value < value - limit:
            break
    return f"{float(shown):.{digits}g}"
