"""Whose session publishes: an analyst's, or a publisher's with the population's own budget."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.session import Session

__all__ = ["publishing_session"]


def publishing_session(curator: "Curator", table: str, analyst: str | None) -> "Session":
    """The analyst's session; without one, that of a publisher, who is granted all there is.

    Privacy: none (touches no data); every charge also goes to the population's budget.
    """
    from discreet.ledger.account import Holder
    from discreet.schema.table import table_named

    population = table_named(curator.tables, table).population
    if analyst is not None:
        return curator.session(analyst)
    publisher = f"publisher-{population}"
    known = {(account.holder, account.name) for account in curator.ledger.accounts()}
    if (Holder.ANALYST, publisher) not in known:
        budget = curator.ledger.account(Holder.POPULATION, population).budget
        curator.grant(publisher, epsilon=budget.epsilon, delta=budget.delta)
    return curator.session(publisher)
