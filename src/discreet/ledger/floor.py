"""The least price of a new charge: a share of the smaller of the two accounts that pay.
Bounded work per person is what keeps time from telling secrets; a least price keeps whoever still
finds a leak from asking about it without end. Exact arithmetic on public numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.conversion import zcdp_epsilon
from discreet.errors import InvalidValue
from discreet.ledger.account import Account
from discreet.loss import ZCDP, Loss, Price, Pure
from discreet.rationals import Number, ceil_decimal, nonnegative, sqrt_up

__all__ = ["DEFAULT_FLOOR", "NO_FLOOR", "PriceFloor"]

_DIGITS = 6
_ROUNDING = Fraction(99, 100)  # scales of noise are rounded up, so that a plan costs a little less


@dataclass(frozen=True, slots=True)
class PriceFloor:
    """A charge takes at least this share of one of its accounts, in that account's own terms.

    The share of the smaller account is the larger one, so it is the smaller account that counts.

    Privacy: depends on budgets alone.
    >>> from discreet.ledger.account import Holder
    >>> from discreet.schema.table import Budget
    >>> ana = Account.open(Holder.ANALYST, "ana", Budget(epsilon=2))
    >>> PriceFloor(share=0.01).least([ana], Pure)
    Pure(epsilon=Fraction(1, 50))
    """

    share: Fraction

    def __init__(self, *, share: Number) -> None:
        exact_share = nonnegative(share, "price_floor")
        if exact_share > 1:
            raise InvalidValue(
                f"price_floor is {share!s:.40}; it is a share of a budget, from 0 to 1."
            )
        object.__setattr__(self, "share", exact_share)

    def least(self, accounts: Iterable[Account], kind: type[Price]) -> Price:
        """The least price of this kind that is admitted, rounded up.

        Privacy: depends on budgets alone.
        >>> PriceFloor(share=0).least([], ZCDP)
        ZCDP(rho=Fraction(0, 1), delta=Fraction(0, 1))
        """
        limits = [(account.pure, self.share * account.limit) for account in accounts]
        if kind is ZCDP:
            rho = min((limit for pure, limit in limits if not pure), default=Fraction(0))
            return ZCDP(rho=ceil_decimal(rho, _DIGITS) if rho else rho)
        # A pure loss of epsilon is epsilon^2/2-zCDP to an account that counts in rho.
        least = [limit if pure else sqrt_up(2 * limit) for pure, limit in limits if limit]
        return Pure(epsilon=ceil_decimal(min(least), _DIGITS) if least else 0)

    def admits(self, accounts: Iterable[Account], loss: Loss) -> bool:
        """Whether a loss takes enough; noise of the least price may cost a little less than it.

        >>> NO_FLOOR.admits([], Pure(epsilon=1))
        True
        """
        shares = [account.share(loss) for account in accounts]
        return not shares or max(shares) >= self.share * _ROUNDING

    def check(self, accounts: Iterable[Account], loss: Loss, *, label: str) -> None:
        """Refuse a loss that takes less.

        >>> from discreet.ledger.account import Holder
        >>> from discreet.schema.table import Budget
        >>> ana = Account.open(Holder.ANALYST, "ana", Budget(epsilon=1))
        >>> DEFAULT_FLOOR.check([ana], Pure(epsilon=0.00001), label="COUNT(*)")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: COUNT(*) is below the least price, which is epsilon=0.0001: \
0.01% of the budget of analyst 'ana'. Pay more; only a custodian can lower price_floor. Nothing \
was run or charged.
        """
        paying = tuple(accounts)
        shares = [account.share(loss) for account in paying]
        if self.admits(paying, loss):
            return
        smallest = paying[shares.index(max(shares))]
        raise InvalidValue(
            f"{label} is below the least price, which is {_price_text(smallest, self.share)}: "
            f"{float(self.share * 100):.6g}% of the budget of {smallest.holder} "
            f"{smallest.name!r}. Pay more; only a custodian can lower price_floor. Nothing was "
            "run or charged."
        )


def _price_text(account: Account, share: Fraction) -> str:
    least = ceil_decimal(share * account.limit, _DIGITS)
    if account.pure:
        return f"epsilon={float(least):g}"
    epsilon = ceil_decimal(zcdp_epsilon(rho=least, delta=account.conversion_delta), 4)
    return f"rho={float(least):g}, so epsilon={float(epsilon):g}"


DEFAULT_FLOOR = PriceFloor(share=Fraction(1, 10_000))
"""What a curator asks for unless its custodian decides otherwise."""

NO_FLOOR = PriceFloor(share=0)
"""Every price is admitted."""
