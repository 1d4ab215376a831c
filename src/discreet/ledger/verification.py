"""Checks a ledger after the fact: the chain of hashes, and every total from the entries again.
Reads entries and accounts that others fetched; changes nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.conversion import zcdp_epsilon
from discreet.accounting.filters import price, round_total
from discreet.errors import BudgetExceeded, DiscreetError, UnprovableRequest
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import FIRST, Act, Entry, account_of, loss_of, read_adoption
from discreet.loss import Currency

__all__ = ["Broken", "Replay", "Verification", "found_by", "replay", "verify"]

_Key = tuple[Holder, str]


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of the ledger found; `bad` is the first sequence number that is not sound.

    `head` is the newest hash: kept elsewhere, it shows later that nothing before it was rewritten.
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

        >>> Verification(entries=3, head="", bad=2, problem="entry 2 was changed.").sound
        False
        """
        return self.problem is None


class Broken(Exception):
    """The first thing found wrong, and where.

    >>> Broken(5, "entry 5 is missing.").bad
    5
    """

    def __init__(self, bad: int | None, problem: str) -> None:
        super().__init__(problem)
        self.bad, self.problem = bad, problem


def replay(entries: Iterable[Entry], fresh: Account) -> Account:
    """A fresh account after all charges that name its holder; an adoption sets its totals.

    Each charge is priced and admitted again under the fresh budget (see `Account`).
    >>> from discreet.schema import Budget
    >>> replay([], Account.open(Holder.ANALYST, "ana", Budget(epsilon=1))).spent
    Fraction(0, 1)
    """
    past = list(entries)
    adoptions = [place for place, entry in enumerate(past) if entry.act is Act.ADOPT]
    account = fresh
    if adoptions:
        account = _carry_adopted(past[adoptions[-1]], fresh)
        past = past[adoptions[-1] :]
    for entry in past:
        if entry.act is Act.CHARGE and _names(entry)[fresh.holder] == fresh.name:
            account = account.admit(entry.loss, label=f"Entry {entry.sequence}")
    return account


def _carry_adopted(entry: Entry, fresh: Account) -> Account:
    for known in read_adoption(entry):
        if (known.holder, known.name) != (fresh.holder, fresh.name):
            continue
        if known.pure != fresh.pure:
            raise UnprovableRequest(
                f"the charges of {fresh.holder} {fresh.name!r} before entry {entry.sequence} were "
                "adopted as totals and cannot be priced in other terms; keep a budget "
                f"{'without' if known.pure else 'with'} a delta. Nothing was changed."
            )
        carried = replace(fresh, spent=known.spent, spent_delta=known.spent_delta)
        allowed = carried.delta - carried.conversion_delta
        if carried.spent > carried.limit or carried.spent_delta > allowed:
            raise BudgetExceeded(
                f"{fresh.holder} {fresh.name!r} has spent more than that budget already, by entry "
                f"{entry.sequence}. Nothing was changed."
            )
        return carried
    return fresh


class Replay:
    """The entries followed so far, and the accounts as these make them.

    >>> Replay().count
    0
    """

    __slots__ = ("_found", "_spent", "count", "seal", "time")

    def __init__(self) -> None:
        self.count, self.seal, self.time = 0, FIRST, ""
        self._found: dict[_Key, Account] = {}
        self._spent: dict[_Key, tuple[Fraction, Fraction]] = {}  # since, and not yet in the account

    def find(self, holder: Holder, name: str) -> Account | None:
        """The account as the entries make it."""
        return self._settle((holder, name))

    def _settle(self, key: _Key) -> Account | None:
        """The account with everything spent."""
        if key in self._spent:
            spent, delta = self._spent.pop(key)
            self._found[key] = replace(self._found[key], spent=spent, spent_delta=delta)
        return self._found.get(key)

    def _charge(self, key: _Key, event: str) -> None:
        """As `Account.admit`, without a new account for each charge."""
        account = self._found[key]
        spent, spent_delta = self._spent.get(key) or (account.spent, account.spent_delta)
        cost, delta = _price(event, account.currency)
        spent, spent_delta = round_total(spent + cost), round_total(spent_delta + delta)
        if spent > account.limit or spent_delta > account.delta - account.conversion_delta:
            account = self._settle(key) or account
            account.admit(loss_of(event))  # says what is passed
        self._spent[key] = spent, spent_delta

    def after(self, last: tuple[int, str, str], accounts: Iterable[Account]) -> "Replay":
        """This replay moved on by entries that the ledger itself has just written.

        >>> Replay().after((2, "2025", "ab"), []).count
        2
        """
        replayed = Replay()
        replayed.count, replayed.time, replayed.seal = last
        for key in list(self._spent):
            self._settle(key)
        replayed._found = self._found | {(known.holder, known.name): known for known in accounts}
        return replayed

    def skip(self, sequence: int, time: str, seal: str) -> None:
        """Pass over an entry that was adopted as it stands."""
        self.count, self.time, self.seal = sequence, max(time, self.time), seal

    def take(self, row: list[Any], written: str, history: Callable[[], Iterable[Any]]) -> None:
        """Check the next entry against the ones before and carry it out.

        >>> Replay().take([2, "", "open", None, "ana", "{}", "{}", ""], "ab", list)
        Traceback (most recent call last):
        discreet.ledger.verification.Broken: entry 1 is missing.
        """
        entry = _link(row, written, self.count, self.seal)
        if entry.time < self.time:
            raise Broken(entry.sequence, f"entry {entry.sequence} is older than the last.")
        self._apply(entry, history)
        self.count, self.seal, self.time = entry.sequence, written, entry.time

    def check_head(self, head: tuple[int, str] | None) -> None:
        """The newest entry must be the one that was written last."""
        sequence, seal = head or (0, FIRST)
        if self.count < sequence:
            raise Broken(self.count + 1, f"entry {self.count + 1} is missing.")
        if (self.count, self.seal) != (sequence, seal):
            raise Broken(self.count, f"entry {self.count} is not the one that was written last.")

    def check_accounts(self, accounts: Iterable[Account]) -> None:
        """The accounts must have the totals of their entries."""
        stored = {(account.holder, account.name): account for account in accounts}
        for key in sorted(self._found.keys() | stored.keys()):
            if self._settle(key) != stored.get(key):
                problem = f"the totals of {key[0]} {key[1]!r} are not those of its entries."
                raise Broken(None, problem)

    def _apply(self, entry: Entry, history: Callable[[], Iterable[Any]]) -> None:
        """Carry one entry out on the accounts, as the ledger did."""
        try:
            if entry.act is Act.CHARGE:
                for holder, name in _names(entry).items():
                    self._charge((holder, name or ""), entry.event)
            elif entry.act is Act.ADOPT:
                self._found = {(e.holder, e.name): e for e in read_adoption(entry)}
                self._spent = {}
            else:
                account = _open_account(entry)
                past = () if entry.act is Act.OPEN else map(_entry, history())
                self._spent.pop((account.holder, account.name), None)
                self._found[account.holder, account.name] = replay(past, account)
        except KeyError:
            raise Broken(
                entry.sequence, f"entry {entry.sequence} charges an account that was not open."
            ) from None
        except (DiscreetError, TypeError, ValueError, ZeroDivisionError) as error:
            raise Broken(entry.sequence, f"entry {entry.sequence}: {error}") from None


def verify(
    rows: Iterable[tuple[Any, ...]], head: tuple[int, str], accounts: Iterable[Account]
) -> Verification:
    """Check entry rows (with their hash last) against each other, the head and the accounts.

    >>> verify([], (0, FIRST), [])
    Verification(entries=0, head='discreet ledger 1', bad=None, problem=None)
    """
    replayed, past = Replay(), list[tuple[Any, ...]]()

    def walk() -> None:
        for *row, written in rows:
            replayed.take(row, written, lambda: past)
            past.append((*row, written))
        replayed.check_head(head)
        replayed.check_accounts(accounts)

    return found_by(walk, replayed)


def found_by(walk: Callable[[], None], replayed: Replay) -> Verification:
    """What a walk along the ledger found.

    >>> found_by(lambda: None, Replay()).sound
    True
    """
    bad, problem = None, None
    try:
        walk()
    except DiscreetError as error:
        problem = str(error)
    except Broken as broken:
        bad, problem = broken.bad, broken.problem
    return Verification(entries=replayed.count, head=replayed.seal, bad=bad, problem=problem)


@lru_cache(maxsize=4096)
def _price(event: str, currency: Currency) -> tuple[Fraction, Fraction]:
    return price(loss_of(event), currency)


def _open_account(entry: Entry) -> Account:
    account = account_of(entry)
    if not account.pure and (
        zcdp_epsilon(rho=account.limit, delta=account.conversion_delta) > account.epsilon
    ):
        raise Broken(entry.sequence, f"entry {entry.sequence} allows more than its epsilon.")
    return account


def _entry(row: Iterable[Any]) -> Entry:
    sequence, time, act, population, analyst, event, memo, previous, *_ = row
    return Entry(sequence, time, Act(act), population, analyst, event, memo, previous)


def _link(row: list[Any], written: str, count: int, seal: str) -> Entry:
    sequence = row[0]
    if sequence != count + 1:
        raise Broken(count + 1, f"entry {count + 1} is missing.")
    try:
        entry = _entry(row)
        true = entry.hash
    except (TypeError, ValueError):
        raise Broken(sequence, f"entry {sequence} cannot be read.") from None
    if true != written:
        raise Broken(sequence, f"entry {sequence} was changed: its hash does not match.")
    if entry.previous != seal:
        raise Broken(
            max(count, 1), f"entry {max(count, 1)} is not the one entry {sequence} follows."
        )
    return entry


def _names(entry: Entry) -> dict[Holder, str | None]:
    return {Holder.POPULATION: entry.population, Holder.ANALYST: entry.analyst}
