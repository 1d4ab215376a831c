"""One open transaction as the ledger sees it: accounts read once, entries appended, all of it
written when it is saved. Keeps the ledger's order; whether a charge is admitted, accounts decide.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.account import Account, Holder, account_name, fold
from discreet.ledger.entry import FIRST, MOMENT, Act, Entry
from discreet.ledger.store.chain import Seal, Tail, digest, row_kinds, rows_of, vault_digest
from discreet.ledger.store.connection import Connection
from discreet.ledger.verification import Replay
from discreet.schema.column import nearest

__all__ = [
    "Book",
    "ENTRY",
    "Sealed",
    "accounts_after",
    "find_account",
    "newest_charges",
    "newest_entries",
    "read_accounts",
    "read_entries",
    "require_account",
]

ENTRY = "sequence, time, act, population, analyst, event, memo, previous"
"""The columns of an entry that its hash is about."""
_ACCOUNT = 'holder, name, epsilon, delta, conversion_delta, "limit", spent, spent_delta'
_ADD_ENTRY = f"INSERT INTO entries ({ENTRY}, hash) VALUES ({', '.join('?' * 9)})"
_PUT_ACCOUNT = (
    f"INSERT INTO accounts ({_ACCOUNT}) VALUES ({', '.join('?' * 8)}) "
    "ON CONFLICT (holder, name) DO UPDATE "
    'SET epsilon = excluded.epsilon, delta = excluded.delta, "limit" = excluded."limit", '
    "conversion_delta = excluded.conversion_delta, spent = excluded.spent, "
    "spent_delta = excluded.spent_delta"
)
_PUT_HEAD = (
    'INSERT INTO head VALUES (1, ?, ?) ON CONFLICT ("only") DO UPDATE '
    "SET sequence = excluded.sequence, hash = excluded.hash"
)
_ADD_SEAL = "INSERT INTO seals (number, kind, reference, digest, mac) VALUES (?, ?, ?, ?, ?)"

NOT_SOUND = (
    "the ledger of this vault is not sound, so nothing is answered; its custodian sees why with "
    "`discreet verify`. Nothing was run or charged."
)
"""What everyone hears when the ledger was tampered with; the custodian learns more by verifying."""

Sealed = tuple[Entry, str]
"""An entry and its hash."""

_BEYOND = (1 << 63) - 1  # later than every entry
_NAMES = [field.name for field in fields(Account)]


class Book:
    """A transaction in progress; nothing of it is durable before its group has committed."""

    __slots__ = (
        "_accounts",
        "_changed",
        "_connection",
        "_count",
        "_known",
        "_last",
        "_new",
        "_own",
        "_seals",
        "_settled",
        "_tail",
    )

    def __init__(
        self,
        connection: Connection,
        tail: Tail,
        known: Replay,
        settled: Callable[[Tail, Replay], None] = lambda *_: None,
    ) -> None:
        self._connection = connection
        self._tail = tail
        self._known = known
        self._settled = settled
        self._seals: list[Seal] = []
        self._accounts: dict[tuple[Holder, str], Account] = {}
        self._changed: set[tuple[Holder, str]] = set()
        self._new: list[tuple[object, ...]] = []
        query = "SELECT sequence, time, hash FROM entries ORDER BY sequence DESC LIMIT 1"
        self._last: tuple[int, str, str] = connection.execute(query).fetchone() or (0, "", FIRST)
        self._count = self._own = 0

    @property
    def connection(self) -> Connection:
        """The transaction itself, with everything in it that was written on this page."""
        self.save()
        return self._connection

    @property
    def changes(self) -> int:
        """How much was written on it so far."""
        return self._count + self._connection.total_changes - self._own

    def account(self, holder: Holder, name: str) -> Account:
        """An account as it stands in this transaction; it must be there."""
        known = self.find(holder, name)
        return known or require_account(self._connection, holder, name)

    def find(self, holder: Holder, name: str) -> Account | None:
        """An account as it stands in this transaction, or None."""
        known = self._accounts.get((holder, name))
        if known is None:
            known = find_account(self._connection, holder, name)
            if known != self._known.find(holder, name):
                raise Unavailable(NOT_SOUND)
            if known is not None:
                self._accounts[holder, name] = known
        return known

    def put(self, account: Account) -> None:
        """Give an account these totals and this budget."""
        key = account.holder, account.name
        self._accounts[key] = account
        self._changed.add(key)
        self._count += 1

    def append(self, act: Act, accounts: tuple[Account, ...], event: str, memo: str) -> Sealed:
        """The next entry of the ledger, with its hash."""
        names = {account.holder: account.name for account in accounts}
        sequence, time, previous = self._last
        now = datetime.now(UTC).strftime(MOMENT)
        entry = Entry(
            sequence=sequence + 1,
            time=max(now, time),  # a clock set back does not reorder the ledger
            act=act,
            population=names.get(Holder.POPULATION),
            analyst=names.get(Holder.ANALYST),
            event=event,
            memo=memo,
            previous=previous,
        )
        seal = entry.hash
        row = (*_row(entry), seal)
        self._new.append(row)
        self.seal("entry", row)
        self._last = entry.sequence, entry.time, seal
        self._count += 1
        return entry, seal

    def seal(self, kind: str, row: tuple[Any, ...]) -> None:
        """Seal a row of this transaction; its first value names it."""
        self._seals.append(self._tail.seal(kind, row[0], digest(row)))
        self._count += 1

    def begin(self, adopted: int) -> None:
        """Begin a chain of seals here, with everything that is there, as it stands."""
        content = vault_digest(self._connection)
        self._seals.append(self._tail.seal("start", adopted, content))
        for kind in row_kinds():
            for row in rows_of(self._connection, kind).fetchall():
                self.seal(kind, row)

    def save(self) -> None:
        """Bring entries, head and accounts into the transaction."""
        before = self._connection.total_changes
        if self._new:
            self._connection.executemany(_ADD_ENTRY, self._new)
            self._connection.execute(_PUT_HEAD, (self._last[0], self._last[2]))
            self._new = []
        if self._changed:
            changed = [self._accounts[key] for key in self._changed]
            rows = [[str(getattr(account, name)) for name in _NAMES] for account in changed]
            self._connection.executemany(_PUT_ACCOUNT, rows)
            self._changed = set()
        if self._seals:
            self._connection.executemany(_ADD_SEAL, self._seals)
            self._seals = []
        self._own += self._connection.total_changes - before

    def settle(self) -> None:
        """The transaction is on the disk."""
        self._settled(self._tail, self._known.after(self._last, self._accounts.values()))


def _row(entry: Entry) -> tuple[object, ...]:
    return (
        entry.sequence,
        entry.time,
        str(entry.act),
        entry.population,
        entry.analyst,
        entry.event,
        entry.memo,
        entry.previous,
    )


def find_account(connection: Connection, holder: Holder, name: str) -> Account | None:
    """An account of the file, or None."""
    query = f"SELECT {_ACCOUNT} FROM accounts WHERE holder = ? AND name = ?"
    row = connection.execute(query, (holder.value, account_name(name))).fetchone()
    return None if row is None else _account_row(row)


def require_account(connection: Connection, holder: Holder, name: str) -> Account:
    """An account of the file; an unknown one is refused with the nearest."""
    account = find_account(connection, holder, name)
    if account is None:
        rows = connection.execute("SELECT name FROM accounts WHERE holder = ?", (holder.value,))
        known = [row[0] for row in rows]
        remedy = nearest(name, known)
        if holder is Holder.ANALYST and fold(name) not in map(fold, known):
            remedy += f" A custodian gives one a budget: `discreet grant {name} --epsilon 1`."
        raise InvalidValue(f"there is no {holder} {name!r}. {remedy} Nothing was run or charged.")
    return account


def read_accounts(connection: Connection) -> Iterator[Account]:
    """All accounts, populations first, by name."""
    rows = connection.execute(f"SELECT {_ACCOUNT} FROM accounts ORDER BY holder DESC, name")
    return map(_account_row, rows)


def accounts_after(
    connection: Connection, holder: Holder, name: str, *, limit: int
) -> Iterator[Account]:
    """As `read_accounts`, so many after one."""
    query = (
        f"SELECT {_ACCOUNT} FROM accounts WHERE holder < ? OR (holder = ? AND name > ?) "
        "ORDER BY holder DESC, name LIMIT ?"
    )
    return map(_account_row, connection.execute(query, (holder.value, holder.value, name, limit)))


@lru_cache(maxsize=1024)  # a question reads the same accounts several times
def _account_row(row: tuple[str, ...]) -> Account:
    try:
        values = {name: Fraction(value) for name, value in zip(_NAMES[2:], row[2:], strict=True)}
        return Account(holder=Holder(row[0]), name=row[1], **values)
    except (ValueError, ZeroDivisionError):
        raise Unavailable(
            f"the account of {row[0]} {row[1]!r:.80} cannot be read; verify the ledger and restore "
            "it from a backup. Nothing was run or charged."
        ) from None


def _entry_row(row: tuple[Any, ...]) -> Entry:
    return Entry(row[0], row[1], Act(row[2]), *row[3:])


def read_entries(
    connection: Connection, *, after: int = 0, limit: int | None = None
) -> Iterator[Entry]:
    """The ledger in order, or a part of it."""
    query = f"SELECT {ENTRY} FROM entries WHERE sequence > ? ORDER BY sequence"
    if limit is None:
        return map(_entry_row, connection.execute(query, (after,)))
    return map(_entry_row, connection.execute(f"{query} LIMIT ?", (after, limit)))


def newest_entries(connection: Connection, *, before: int | None, limit: int) -> Iterator[Entry]:
    """The end of the ledger, or of what was before an entry, backwards."""
    query = f"SELECT {ENTRY} FROM entries WHERE sequence < ? ORDER BY sequence DESC LIMIT ?"
    first = _BEYOND if before is None else before
    return map(_entry_row, connection.execute(query, (first, limit)))


def newest_charges(connection: Connection, account: Account, *, limit: int) -> Iterator[Entry]:
    """The last charges to an account, backwards."""
    query = (
        f"SELECT {ENTRY} FROM entries WHERE {account.holder.value} = ? AND act = 'charge' "
        "ORDER BY sequence DESC LIMIT ?"
    )
    return map(_entry_row, connection.execute(query, (account.name, limit)))
