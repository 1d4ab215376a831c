"""Costs, budgets and noisy numbers in a few words. Rounds what is spent up and what is left down.
Sees released values and public parameters only.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.accounting.conversion import zcdp_epsilon
from discreet.curator.chart import printable
from discreet.errors import BudgetExceeded, DiscreetError, UnprovableRequest, UnsafeQuery
from discreet.ledger.account import Account
from discreet.loss import ZCDP, Approximate, Loss
from discreet.plan.evaluate import Bucket
from discreet.query.algebra import Statistic
from discreet.rationals import ceil_decimal, floor_decimal

__all__ = [
    "bucket_text",
    "cost_text",
    "decimals",
    "interval_text",
    "left_text",
    "number_text",
    "off_text",
    "places_of",
    "refusal_of",
    "refusal_text",
    "sensitivity_text",
]

_DIGITS = 4
_LARGEST_PLACES = 6
_LARGEST_EPSILON = 1000


def _up(value: Fraction) -> str:
    return f"{float(ceil_decimal(value, _DIGITS)):.{_DIGITS}g}"


def _down(value: Fraction) -> str:
    return f"{float(floor_decimal(value, _DIGITS)):.{_DIGITS}g}"


def cost_text(loss: Loss, conversion_delta: Fraction = Fraction(0)) -> str:
    """What a charge costs; rho is also said as the epsilon it would be alone.

    Privacy: none (touches no data).
    >>> cost_text(ZCDP(rho=0.005), Fraction(1, 10**7))
    'rho 0.005 (alone: epsilon 0.4789 at delta 1e-07)'
    >>> cost_text(ZCDP(rho=0.005, delta=Fraction(1, 10**7)), Fraction(1, 10**7))
    'rho 0.005, delta 1e-07 (alone: epsilon 0.4789 at delta 2e-07)'
    """
    if not isinstance(loss, ZCDP):
        text = f"epsilon {_up(loss.epsilon)}"
        return f"{text}, delta {_up(loss.delta)}" if isinstance(loss, Approximate) else text
    text = f"rho {_up(loss.rho)}" + (f", delta {_up(loss.delta)}" if loss.delta else "")
    if not conversion_delta or loss.rho > _LARGEST_EPSILON:
        return text
    alone = zcdp_epsilon(rho=loss.rho, delta=conversion_delta)
    return f"{text} (alone: epsilon {_up(alone)} at delta {_up(conversion_delta + loss.delta)})"


def left_text(account: Account) -> str:
    """What an account still admits, of what it had.

    Privacy: none (touches no data).
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


def refusal_of(loss: Loss, *accounts: Account) -> str | None:
    """Why these accounts would refuse a charge now, or None.

    Privacy: none (touches no data).
    >>> from discreet.ledger.account import Holder
    >>> from discreet.loss import Pure
    >>> from discreet.schema.table import Budget
    >>> refusal_of(Pure(epsilon=2), Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)))
    "It would bring the epsilon of analyst 'ana' to 2; the budget is 1."
    """
    for account in accounts:
        try:
            account.admit(loss, label="It")
        except (BudgetExceeded, UnprovableRequest) as refusal:
            return str(refusal).removesuffix(" Nothing was run or charged.")
    return None


def refusal_text(refusal: DiscreetError) -> str:
    """A refusal as an analyst reads it; a question that is not safe has cost nothing.

    Privacy: none (touches no data).
    >>> refusal_text(UnsafeQuery("MEDIAN is not supported here."))
    'MEDIAN is not supported here. Nothing was run or charged.'
    """
    text = str(refusal)
    if isinstance(refusal, UnsafeQuery) and "charged" not in text:
        return f"{text} Nothing was run or charged."
    return text


def sensitivity_text(l1: float, l2: float) -> str:
    """How far one unit can move a measure.

    Privacy: none (touches no data).
    >>> sensitivity_text(10.0, 10.0)
    'l1 10, l2 10'
    """
    return f"l1 {l1:,.6g}, l2 {l2:,.6g}"


def decimals(intervals: Iterable[tuple[float, float]]) -> int:
    """How many decimals a noisy column can bear: two digits of its smallest half-width.

    Privacy: post-processing.
    >>> decimals([(1230.0, 1239.0), (3.0, 4.0)]), decimals([(0.0, 900.0)])
    (2, 0)
    """
    widths = [(high - low) / 2 for low, high in intervals]
    useful = [width for width in widths if 0 < width < math.inf]
    if not useful:
        return 2
    return min(max(1 - math.floor(math.log10(min(useful))), 0), _LARGEST_PLACES)


def number_text(value: object, places: int | None = None) -> str:
    """A value of an answer; `places` are the decimals of a noisy one, None marks a key.

    Privacy: post-processing.
    >>> number_text(1234.5678, 1), number_text(1234, 1), number_text("north"), number_text(2024)
    ('1,234.6', '1,234', 'north', '2024')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return printable(str(value))
    if places is None:
        return str(value) if isinstance(value, int) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{places}f}"


def places_of(step: Fraction) -> int:
    """How many decimals show every multiple of a step, up to six.

    Privacy: none (touches no data).
    >>> places_of(Fraction(1, 2)), places_of(Fraction(10)), places_of(Fraction(1, 3))
    (1, 0, 6)
    """
    exact = (n for n in range(_LARGEST_PLACES) if (step * 10**n).denominator == 1)
    return next(exact, _LARGEST_PLACES)


def off_text(rows: float, statistic: Statistic) -> str:
    """How far off a picked value may be: a quantile in ranks, a mode in rows.

    Privacy: none (touches no data).
    >>> off_text(138.2, Statistic.QUANTILE), off_text(3.5, Statistic.MODE)
    ('± 139 ranks', 'at most 4 rows behind')
    """
    most = f"{math.ceil(rows):,}"
    if statistic is Statistic.MODE:
        return f"at most {most} rows behind"
    return f"± {most} ranks"


def bucket_text(bucket: Bucket, places: int) -> str:
    """The bucket that a quantile was chosen with, and how far off the rank of a value in it is.

    Privacy: post-processing.
    >>> bucket_text(Bucket(1000, 1063, 24.2), 0)
    'in [1,000, 1,063]: ± 25 ranks'
    """
    ends = ", ".join(number_text(end, places) for end in (bucket.low, bucket.high))
    return f"in [{ends}]: {off_text(bucket.ranks, Statistic.QUANTILE)}"


def interval_text(interval: tuple[float, float], places: int) -> str:
    """An interval with as many decimals as its value, rounded outwards; whole ends have none.

    Privacy: post-processing.
    >>> interval_text((1230.25, 1239.01), 1), interval_text((3.0, 11.0), 1)
    ('[1,230.2, 1,239.1]', '[3, 11]')
    """
    if all(end.is_integer() for end in interval):
        return f"[{interval[0]:,.0f}, {interval[1]:,.0f}]"
    ends = [
        end if math.isinf(end) else rounded(Fraction(end) * 10**places) / 10**places
        for end, rounded in zip(interval, (math.floor, math.ceil), strict=True)
    ]
    return f"[{ends[0]:,.{places}f}, {ends[1]:,.{places}f}]"
