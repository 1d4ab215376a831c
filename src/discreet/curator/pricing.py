"""What a price means to the account that pays it. Touches public numbers only."""

from fractions import Fraction

from discreet.accounting.conversion import zcdp_rho
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.ledger.account import Account
from discreet.loss import ZCDP, Price, Pure
from discreet.mechanisms.shared.counts import read_delta
from discreet.query.algebra import Options
from discreet.rationals import Number, positive

__all__ = ["ONE_PRICE", "delta_of", "price_in_text", "price_of"]

_LEAST, _MOST = Fraction(1, 10**40), Fraction(10**40)  # the ledger counts in steps of 10**-40


def price_in_text(
    options: Options,
    analyst: Account,
    *,
    epsilon: Number | None,
    rho: Number | None,
    error: object | None,
) -> Number | None:
    """The price that a WITH DIFFERENTIAL_PRIVACY clause names, checked against the account.

    Privacy: reads the clause and the account, no row.
    """
    if options.delta is not None and not analyst.pure and options.delta < analyst.conversion_delta:
        raise UnprovableRequest(
            f"OPTIONS ask for delta={float(options.delta):g}; this account converts at "
            f"{float(analyst.conversion_delta):g}. Leave delta out or ask for a grant with a "
            "smaller one. Nothing was charged."
        )
    if options.epsilon is None:
        return epsilon
    if epsilon is not None or rho is not None or error is not None:
        raise InvalidValue("the price is given twice, in OPTIONS and beside it; give one.")
    return options.epsilon


ONE_PRICE = "give one price: epsilon= (0.1, say), rho= or error=. Nothing was charged."
"""What is said to a question without a price, or with several."""


def price_of(
    analyst: Account, kind: type[Price], *, epsilon: Number | None = None, rho: Number | None = None
) -> Price:
    """What an account's price means: epsilon adds up, or buys the rho that converts to it.

    Privacy: the rho is rounded down, so that its conversion is at most epsilon [CKS20, Cor. 13].
    """
    if (epsilon is None) == (rho is None):
        raise InvalidValue(ONE_PRICE)
    if rho is not None:
        if kind is Pure:
            raise UnprovableRequest(
                "rho has no meaning under a pure budget; give epsilon, or grant (epsilon, delta). "
                "Nothing was charged."
            )
        return ZCDP(rho=_within(rho, "rho"))
    assert epsilon is not None
    wanted = _within(epsilon, "epsilon")
    if kind is Pure:
        return Pure(epsilon=wanted)
    return ZCDP(rho=zcdp_rho(epsilon=wanted, delta=analyst.conversion_delta))


def delta_of(analyst: Account, population: Account, *, delta: Number | None) -> Fraction | None:
    """What keys that are not public may cost: a tenth of what both accounts keep for such steps.

    None under a pure budget.
    """
    if analyst.pure or population.pure:
        if delta is not None:
            raise UnprovableRequest(
                f"delta is {delta!s:.40} and the budget is pure. Ask the custodian for a grant "
                "with delta. Nothing was charged."
            )
        return None
    if delta is not None:
        return read_delta(delta=_within(delta, "delta"))
    return min(account.delta - account.conversion_delta for account in (analyst, population)) / 10


def _within(value: Number, name: str) -> Fraction:
    """A price whose noise still has a size that can be written as a float."""
    price = positive(value, name)
    if not _LEAST <= price <= _MOST:
        raise InvalidValue(
            f"{name} is {value!s:.40}; a price lies between 1e-40 and 1e40. Nothing was charged."
        )
    return price
