"""Costs, budgets and refusals in a few words. Rounds what is spent up and what is left down.
Sees released values and public parameters only.
"""

import re
from collections.abc import Mapping
from fractions import Fraction

from discreet.accounting.conversion import zcdp_epsilon
from discreet.errors import BudgetExceeded, DiscreetError, UnprovableRequest
from discreet.ledger.account import Account
from discreet.loss import Approximate, Currency, Loss
from discreet.rationals import ceil_decimal, floor_decimal

__all__ = [
    "cost_text",
    "left_text",
    "refusal_of",
    "refusal_text",
    "respell",
    "sensitivity_text",
    "spent_text",
]

_DIGITS = 4
_LARGEST_EPSILON = 1000
_STATED = ("epsilon", "rho", "delta")


def _up(value: Fraction) -> str:
    return f"{float(ceil_decimal(value, _DIGITS)):.{_DIGITS}g}"


def _down(value: Fraction) -> str:
    return f"{float(floor_decimal(value, _DIGITS)):.{_DIGITS}g}"


def cost_text(loss: Loss, conversion_delta: Fraction = Fraction(0)) -> str:
    """What a charge costs; rho is also said as the epsilon it would be alone.

    >>> from discreet.loss import ZCDP
    >>> cost_text(ZCDP(rho=0.005), Fraction(1, 10**7))
    'rho 0.005 (alone: epsilon 0.4789 at delta 1e-07)'
    >>> cost_text(ZCDP(rho=0.005, delta=Fraction(1, 10**7)), Fraction(1, 10**7))
    'rho 0.005, delta 1e-07 (alone: epsilon 0.4789 at delta 2e-07)'
    """
    if loss.currency is Currency.EPSILON:
        text = f"epsilon {_up(loss.epsilon)}"
        return f"{text}, delta {_up(loss.delta)}" if isinstance(loss, Approximate) else text
    text = f"rho {_up(loss.rho)}" + (f", delta {_up(loss.delta)}" if loss.delta else "")
    if not conversion_delta or loss.rho > _LARGEST_EPSILON:
        return text
    alone = zcdp_epsilon(rho=loss.rho, delta=conversion_delta)
    return f"{text} (alone: epsilon {_up(alone)} at delta {_up(conversion_delta + loss.delta)})"


def left_text(account: Account) -> str:
    """What an account still admits, of what it had.

    >>> from discreet.ledger.account import Holder
    >>> from discreet.schema.table import Budget
    >>> left_text(Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)))
    'epsilon 1 of 1'
    """
    left = account.remaining
    text = f"epsilon {_down(left.epsilon)} of {_down(account.epsilon)}"
    if left.rho is None:
        return text
    rho = f"rho {_down(left.rho)} of {_down(account.limit)}"
    if account.spent_delta:
        kept = account.delta - account.conversion_delta
        rho += f"; for private keys delta {_down(left.delta)} of {_down(kept)}"
    return f"{text} at delta {_up(account.delta)} ({rho})"


def spent_text(account: Account) -> str:
    """What an account has spent so far, in the terms in which its charges add up."""
    text = f"{'epsilon' if account.pure else 'rho'} {_up(account.spent)}"
    return f"{text}, delta {_up(account.spent_delta)}" if account.spent_delta else text


def refusal_of(loss: Loss, *accounts: Account) -> str | None:
    """Why these accounts would refuse a charge now, or None.

    >>> from discreet.ledger.account import Holder
    >>> from discreet.loss import Pure
    >>> from discreet.schema.table import Budget
    >>> refusal_of(Pure(epsilon=2), Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)))
    "It would bring the epsilon of analyst 'ana' to 2; the budget is 1. Ask at a lower price, or \
ask the custodian for a larger budget."
    """
    for account in accounts:
        try:
            account.admit(loss, label="It")
        except (BudgetExceeded, UnprovableRequest) as refusal:
            return str(refusal).removesuffix(" Nothing was run or charged.")
    return None


def refusal_text(refusal: DiscreetError) -> str:
    """A refusal as an analyst reads it; a question that is not safe has cost nothing."""
    return refusal.told


def respell(text: str, names: Mapping[str, str]) -> str:
    """Advice in the spelling of another surface: for a name as Python has it, what stands there
    instead, with `{}` for its value. A name in a call or in OPTIONS stays.

    >>> respell('Suppose one with count=, or use method="mwem".',
    ...         {"count": "--count {}", "method": "--method {}"})
    'Suppose one with --count, or use --method mwem.'
    """
    if not names:
        return text
    listed = "|".join(map(re.escape, names))
    named = rf'(?<![\w.])(?<!\w\()({listed})=(?!=)("[^"]*"|[\w-]+(?:\.\w+)*)?'

    def spelt(match: re.Match[str]) -> str:
        if match[1] in _STATED and match[2]:  # a fact, such as "at delta=1e-6", and no advice
            return match[0]
        return names[match[1]].format((match[2] or "").strip('"')).strip()

    return re.sub(named, spelt, text)


def sensitivity_text(l1: float, l2: float) -> str:
    """How far one unit can move a measure.

    >>> sensitivity_text(10.0, 10.0)
    'l1 10, l2 10'
    """
    return f"l1 {l1:,.6g}, l2 {l2:,.6g}"
