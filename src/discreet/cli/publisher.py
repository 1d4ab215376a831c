"""Whose session publishes: an analyst's, or a publisher's with the population's own budget."""

from typing import TYPE_CHECKING

from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.curator.service import Curator
    from discreet.curator.session import Session

__all__ = ["publishing_session"]


def publishing_session(curator: "Curator", table: str, analyst: str | None) -> "Session":
    """The analyst's session; without one, that of a publisher, who is granted all there is.

    Privacy: none (touches no data); every charge also goes to the population's budget.
    >>> publishing_session.__name__
    'publishing_session'
    """
    from discreet.ledger.account import Holder

    if table not in curator.tables:
        raise InvalidValue(f"there is no table {table!r:.80}. Nothing was run or charged.")
    if analyst is not None:
        return curator.session(analyst)
    population = curator.tables[table].population
    publisher = f"publisher-{population}"
    known = {(account.holder, account.name) for account in curator.ledger.accounts()}
    if (Holder.ANALYST, publisher) not in known:
        budget = curator.ledger.account(Holder.POPULATION, population).budget
        curator.grant(publisher, epsilon=budget.epsilon, delta=budget.delta)
    return curator.session(publisher)
