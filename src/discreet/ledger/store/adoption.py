"""What an adoption takes over: accounts with the larger of what totals and entries say.
For a ledger that is not sound any more, and a custodian who decides to go on with it.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.accounting.filters import price
from discreet.errors import DiscreetError
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import Act, Entry, account_of, read_adoption
from discreet.ledger.store.book import read_accounts, read_entries
from discreet.ledger.store.connection import Connection
from discreet.loss import Loss

__all__ = ["salvage"]

_Key = tuple[Holder, str]
_UNREADABLE = (DiscreetError, ArithmeticError, TypeError, ValueError)


class _Remains:
    """What can still be read from the entries."""

    def __init__(self) -> None:
        self.accounts: dict[_Key, Account] = {}
        self.losses: dict[_Key, list[Loss]] = {}

    def take(self, entry: Entry) -> None:
        if entry.act is Act.CHARGE:
            loss = entry.loss
            for holder, name in zip(Holder, (entry.population, entry.analyst), strict=True):
                self.losses.setdefault((holder, name or ""), []).append(loss)
            return
        if entry.act is Act.ADOPT:
            self.losses = {}
        accounts = read_adoption(entry) if entry.act is Act.ADOPT else (account_of(entry),)
        for account in accounts:
            before = self.accounts.get((account.holder, account.name))
            if entry.act is Act.AMEND and before is not None and before.pure == account.pure:
                account = replace(account, spent=before.spent, spent_delta=before.spent_delta)
            self.accounts[account.holder, account.name] = account

    def account(self, key: _Key) -> Account | None:
        known = self.accounts.get(key)
        if known is None:
            return None
        spent, spent_delta = known.spent, known.spent_delta
        for loss in self.losses.get(key, []):
            try:
                cost, delta = price(loss, known.currency)
            except _UNREADABLE:
                continue
            spent, spent_delta = spent + cost, spent_delta + delta
        return replace(known, spent=spent, spent_delta=spent_delta)


def salvage(connection: Connection) -> tuple[Account, ...]:
    """All accounts; of two totals the larger, and never more than the budget."""
    remains = _Remains()
    entries = read_entries(connection)
    while True:
        try:
            remains.take(next(entries))
        except StopIteration:
            break
        except _UNREADABLE:
            continue
    written = {}
    accounts = read_accounts(connection)
    while True:
        try:
            account = next(accounts)
        except StopIteration:
            break
        except _UNREADABLE:
            continue
        written[account.holder, account.name] = account
    salvaged_accounts = []
    for key in sorted(remains.accounts.keys() | written.keys()):
        one, other = remains.account(key), written.get(key)
        salvaged_accounts.append(_larger(one or written[key], other))
    return tuple(salvaged_accounts)


def _larger(account: Account, other: Account | None) -> Account:
    spent, delta = account.spent, account.spent_delta
    if other is not None and other.pure == account.pure:
        spent, delta = max(spent, other.spent), max(delta, other.spent_delta)
    allowed = max(Fraction(0), account.delta - account.conversion_delta)
    return replace(account, spent=min(spent, account.limit), spent_delta=min(delta, allowed))
