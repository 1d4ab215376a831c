"""Checks a record after the fact: the chain of hashes, and every total from the entries again.
Reads entries and accounts that others fetched; changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from discreet.accounting.conversion import zcdp_epsilon
from discreet.errors import DiscreetError
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import FIRST, Act, Entry, account_of

__all__ = ["Verification", "replay", "verify"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of the ledger found; `bad` is the first sequence number that is not sound.

    `head` is the newest hash: kept elsewhere, it shows later that nothing before it was rewritten.
    Privacy: none (touches no data).
    >>> Verification(entries=0, head=FIRST, bad=None, problem=None).sound
    True
    """

    entries: int
    head: str
    bad: int | None
    problem: str | None

    @property
    def sound(self) -> bool:
        """Whether nothing was found.

        Privacy: none (touches no data).
        >>> Verification(entries=3, head="", bad=2, problem="entry 2 was changed.").sound
        False
        """
        return self.problem is None


class _Broken(Exception):
    """The first thing found wrong, and where."""

    def __init__(self, bad: int | None, problem: str) -> None:
        super().__init__(problem)
        self.bad, self.problem = bad, problem


def replay(entries: Iterable[Entry], fresh: Account) -> Account:
    """A fresh account after all charges that name its holder.

    Privacy: each charge is priced and admitted again under the fresh budget (see `Account`).
    >>> from discreet.schema import Budget
    >>> replay([], Account.open(Holder.ANALYST, "ana", Budget(epsilon=1))).spent
    Fraction(0, 1)
    """
    account = fresh
    for entry in entries:
        if entry.act is Act.CHARGE and _names(entry)[fresh.holder] == fresh.name:
            account = account.admit(entry.loss, label=f"Entry {entry.sequence}")
    return account


def verify(
    rows: Iterable[tuple[Any, ...]], head: tuple[int, str], accounts: Iterable[Account]
) -> Verification:
    """Check entry rows (with their hash last) against each other, the head and the accounts.

    Privacy: none (touches no data).
    >>> verify([], (0, FIRST), [])
    Verification(entries=0, head='discreet ledger 1', bad=None, problem=None)
    """
    count, seal, time = 0, FIRST, ""
    history: list[Entry] = []
    found: dict[tuple[Holder, str], Account] = {}
    try:
        for *row, written in rows:
            entry = _linked(row, written, count, seal)
            if entry.time < time:
                raise _Broken(entry.sequence, f"entry {entry.sequence} is older than the last.")
            history.append(entry)
            _apply(entry, history, found)
            count, seal, time = entry.sequence, written, entry.time
        if count < head[0]:
            raise _Broken(count + 1, f"entry {count + 1} is missing.")
        if (count, seal) != tuple(head):
            raise _Broken(count, f"entry {count} is not the one that was written last.")
        _compare(found, accounts)
    except DiscreetError as error:
        return Verification(entries=count, head=seal, bad=None, problem=str(error))
    except _Broken as broken:
        return Verification(entries=count, head=seal, bad=broken.bad, problem=broken.problem)
    return Verification(entries=count, head=seal, bad=None, problem=None)


def _linked(row: list[Any], written: str, count: int, seal: str) -> Entry:
    sequence = row[0]
    if sequence != count + 1:
        raise _Broken(count + 1, f"entry {count + 1} is missing.")
    try:
        entry = Entry(row[0], row[1], Act(row[2]), *row[3:])
        true = entry.hash
    except (TypeError, ValueError):
        raise _Broken(sequence, f"entry {sequence} cannot be read.") from None
    if true != written:
        raise _Broken(sequence, f"entry {sequence} was changed: its hash does not match.")
    if entry.previous != seal:
        raise _Broken(
            max(count, 1), f"entry {max(count, 1)} is not the one entry {sequence} follows."
        )
    return entry


def _names(entry: Entry) -> dict[Holder, str | None]:
    return {Holder.POPULATION: entry.population, Holder.ANALYST: entry.analyst}


def _apply(entry: Entry, history: list[Entry], found: dict[tuple[Holder, str], Account]) -> None:
    """Carry one entry out on the accounts, as the ledger did."""
    try:
        if entry.act is Act.CHARGE:
            for holder, name in _names(entry).items():
                found[holder, name or ""] = found[holder, name or ""].admit(entry.loss)
            return
        account = account_of(entry)
        if not account.pure and (
            zcdp_epsilon(rho=account.limit, delta=account.conversion_delta) > account.epsilon
        ):
            raise _Broken(entry.sequence, f"entry {entry.sequence} allows more than its epsilon.")
        found[account.holder, account.name] = replay(history, account)
    except KeyError:
        raise _Broken(
            entry.sequence, f"entry {entry.sequence} charges an account that was not open."
        ) from None
    except (DiscreetError, TypeError, ValueError, ZeroDivisionError) as error:
        raise _Broken(entry.sequence, f"entry {entry.sequence}: {error}") from None


def _compare(found: dict[tuple[Holder, str], Account], accounts: Iterable[Account]) -> None:
    kept = {(account.holder, account.name): account for account in accounts}
    for key in sorted(found.keys() | kept.keys()):
        if found.get(key) != kept.get(key):
            raise _Broken(None, f"the totals of {key[0]} {key[1]!r} are not those of its entries.")
