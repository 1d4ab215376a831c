"""The durable filter: both accounts are read, checked and charged in one SQLite transaction.
When `charge` returns, the entry is on the disk; when it raises, nothing was charged.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import astuple, fields
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from discreet.errors import InvalidValue, Unavailable
from discreet.ledger._database import Database
from discreet.ledger.account import Account, Holder, Remaining, account_name, jointly, rounded_up
from discreet.ledger.entry import (
    FIRST,
    Act,
    Entry,
    Receipt,
    describe_account,
    describe_loss,
    memo_text,
)
from discreet.ledger.verification import Verification, replay, verify
from discreet.loss import Loss
from discreet.schema.column import nearest
from discreet.schema.table import Budget

__all__ = ["Ledger", "open_account"]

_ENTRY = "sequence, time, act, population, analyst, event, memo, previous"
_ACCOUNT = 'holder, name, epsilon, delta, conversion_delta, "limit", spent, spent_delta'


class Ledger:
    """Accounts and the append-only record of every charge to them, in one SQLite file.

    Several processes and threads may use one file.
    Privacy: a charge is admitted only within both budgets, whatever was asked before
    (see `Account`); the entry is durable before anything is run.
    >>> import tempfile
    >>> from discreet.loss import Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/vault.db")
    ...     ledger.add_account("population", "patients", Budget(epsilon=1))
    ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
    ...     receipt = ledger.charge(population="patients", analyst="ana", loss=Pure(epsilon=0.1))
    ...     print(receipt.sequence, ledger.remaining("analyst", "ana").epsilon)
    ...     ledger.close()
    3 9/10
    """

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: str | Path) -> "Ledger":
        """Open the file, or make it.

        Privacy: none (touches no data).
        >>> Ledger.open("")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the ledger's path is empty; name a file.
        """
        if not str(path):
            raise InvalidValue("the ledger's path is empty; name a file.")
        return cls(Database(Path(path).absolute()))

    def close(self) -> None:
        """Close the file; what was charged stays.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Ledger.open(f"{folder}/vault.db").close()
        """
        self._database.close()

    def add_account(self, holder: Holder | str, name: str, budget: Budget) -> None:
        """Open an account; once more with the same budget changes nothing, with another is refused.

        Privacy: none (touches no data); nothing opens a second budget for the same people.
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=2))
        Traceback (most recent call last):
        discreet.errors.InvalidValue: analyst 'ana' has a budget of epsilon=1, delta=0 already; \
raising it to epsilon=2, delta=0 is an act of its own (amend). Nothing was changed.
        """
        account = Account.open(_holder(holder), name, budget)
        with self._database.writing() as connection:
            open_account(connection, account)

    def amend(
        self, holder: Holder | str, name: str, budget: Budget, memo: Mapping[str, str]
    ) -> None:
        """Give an account another budget, as a recorded act; what was spent is priced again.

        Privacy: the guarantee from now on is that of the new budget, for all charges so far too.
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
        ...     ledger.amend("analyst", "ana", Budget(epsilon=2), {"why": "second year"})
        ...     ledger.remaining("analyst", "ana").epsilon
        Fraction(2, 1)
        """
        fresh = Account.open(_holder(holder), name, budget)
        with self._database.writing() as connection:
            _account(connection, fresh.holder, name)  # must be there
            amended = replay(_entries(connection), fresh)
            _append(connection, Act.AMEND, fresh, describe_account(fresh), memo_text(memo))
            _write(connection, amended)

    def charge(
        self, *, population: str, analyst: str, loss: Loss, memo: Mapping[str, str] | None = None
    ) -> Receipt:
        """Charge both accounts and record it, or raise and change nothing.

        The memo says what was asked, in public terms; its `label` begins a refusal.
        Privacy: see `Account`; refusals depend on budgets and prices only, never on data.
        >>> import tempfile
        >>> from discreet.loss import Pure
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("population", "patients", Budget(epsilon=1))
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=5))
        ...     memo = {"label": "COUNT(*) by city"}
        ...     ledger.charge(population="patients", analyst="ana", loss=Pure(epsilon=2), memo=memo)
        Traceback (most recent call last):
        discreet.errors.BudgetExceeded: COUNT(*) by city would bring the epsilon of population \
'patients' to 2; the budget is 1. Nothing was run or charged.
        """
        text, loss = memo_text(memo or {}), rounded_up(loss)
        label = (memo or {}).get("label") or "This charge"
        with self._database.writing() as connection:
            charged = tuple(
                _account(connection, holder, name).admit(loss, label=label)
                for holder, name in ((Holder.POPULATION, population), (Holder.ANALYST, analyst))
            )
            entry = _append(connection, Act.CHARGE, charged, describe_loss(loss), text)
            for account in charged:
                _write(connection, account)
        return entry.receipt

    def account(self, holder: Holder | str, name: str) -> Account:
        """An account as it stands now.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
        ...     ledger.account("analyst", "ana").spent
        Fraction(0, 1)
        """
        with self._database.reading() as connection:
            return _account(connection, _holder(holder), name)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, populations first, by name.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Ledger.open(f"{folder}/vault.db").accounts()
        ()
        """
        with self._database.reading() as connection:
            return tuple(_accounts(connection))

    def remaining(self, holder: Holder | str, name: str) -> Remaining:
        """What an account can still admit, rounded down.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("population", "patients", Budget(epsilon=1, delta=1e-6))
        ...     ledger.remaining("population", "patients").delta
        Fraction(1, 2000000)
        """
        return self.account(holder, name).remaining

    def available(self, *, population: str, analyst: str) -> Remaining:
        """What both accounts together can still admit from one query, rounded down.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("population", "patients", Budget(epsilon=1))
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=2))
        ...     ledger.available(population="patients", analyst="ana").epsilon
        Fraction(1, 1)
        """
        with self._database.reading() as connection:
            return jointly(
                _account(connection, Holder.POPULATION, population),
                _account(connection, Holder.ANALYST, analyst),
            )

    def entries(self) -> tuple[Entry, ...]:
        """Everything that was recorded, in order.

        Privacy: public parameters only.
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault.db")
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
        ...     [(entry.sequence, entry.act.value) for entry in ledger.entries()]
        [(1, 'open')]
        """
        with self._database.reading() as connection:
            return tuple(_entries(connection))

    def verify(self) -> Verification:
        """Check the chain of hashes and recompute every account's totals from the entries.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Ledger.open(f"{folder}/vault.db").verify().sound
        True
        """
        with self._database.reading() as connection:
            rows = connection.execute(f"SELECT {_ENTRY}, hash FROM entries ORDER BY sequence")
            head = connection.execute("SELECT sequence, hash FROM head").fetchone()
            return verify(rows, head or (0, FIRST), _accounts(connection))


def open_account(connection: sqlite3.Connection, account: Account) -> None:
    """Inside a transaction: open the account unless it is there with the same budget.

    Privacy: none (touches no data).
    >>> callable(open_account)
    True
    """
    known = _find(connection, account.holder, account.name)
    if known is None:
        _append(connection, Act.OPEN, account, describe_account(account), "{}")
        _write(connection, account)
        return
    if known.budget != account.budget:
        raise InvalidValue(
            f"{known.holder} {known.name!r} has a budget of {_shown(known)} already; raising it to "
            f"{_shown(account)} is an act of its own (amend). Nothing was changed."
        )


def _shown(account: Account) -> str:
    text = f"epsilon={float(account.epsilon):.12g}, delta={float(account.delta):.12g}"
    share = account.budget.delta_for_conversion
    return text if account.pure else f"{text}, delta_for_conversion={float(share):.12g}"


def _holder(holder: Holder | str) -> Holder:
    try:
        return Holder(holder)
    except ValueError:
        raise InvalidValue(
            f"{holder!r:.80} holds no account; write population or analyst."
        ) from None


def _find(connection: sqlite3.Connection, holder: Holder, name: str) -> Account | None:
    query = f"SELECT {_ACCOUNT} FROM accounts WHERE holder = ? AND name = ?"
    row = connection.execute(query, (holder.value, account_name(name))).fetchone()
    return None if row is None else _account_row(row)


def _account(connection: sqlite3.Connection, holder: Holder, name: str) -> Account:
    account = _find(connection, holder, name)
    if account is None:
        rows = connection.execute("SELECT name FROM accounts WHERE holder = ?", (holder.value,))
        remedy = nearest(name, [row[0] for row in rows])
        raise InvalidValue(f"there is no {holder} {name!r}. {remedy} Nothing was run or charged.")
    return account


def _accounts(connection: sqlite3.Connection) -> Iterator[Account]:
    rows = connection.execute(f"SELECT {_ACCOUNT} FROM accounts ORDER BY holder DESC, name")
    return (_account_row(row) for row in rows)


def _account_row(row: tuple[str, ...]) -> Account:
    names = [field.name for field in fields(Account)]
    try:
        values = {name: Fraction(value) for name, value in zip(names[2:], row[2:], strict=True)}
        return Account(holder=Holder(row[0]), name=row[1], **values)
    except (ValueError, ZeroDivisionError):
        raise Unavailable(
            f"the account of {row[0]} {row[1]!r:.80} cannot be read; verify the ledger and restore "
            "it from a backup. Nothing was run or charged."
        ) from None


def _write(connection: sqlite3.Connection, account: Account) -> None:
    row = [str(value) for value in astuple(account)]
    places = ", ".join("?" * len(row))
    connection.execute(
        f"INSERT INTO accounts ({_ACCOUNT}) VALUES ({places}) ON CONFLICT (holder, name) DO UPDATE "
        'SET epsilon = excluded.epsilon, delta = excluded.delta, "limit" = excluded."limit", '
        "conversion_delta = excluded.conversion_delta, spent = excluded.spent, "
        "spent_delta = excluded.spent_delta",
        row,
    )


def _entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    rows = connection.execute(f"SELECT {_ENTRY} FROM entries ORDER BY sequence")
    return (Entry(row[0], row[1], Act(row[2]), *row[3:]) for row in rows)


def _append(
    connection: sqlite3.Connection,
    act: Act,
    charged: Account | tuple[Account, ...],
    event: str,
    memo: str,
) -> Entry:
    accounts = (charged,) if isinstance(charged, Account) else charged
    names = {account.holder: account.name for account in accounts}
    last = connection.execute(
        "SELECT sequence, time, hash FROM entries ORDER BY sequence DESC LIMIT 1"
    ).fetchone()
    sequence, time, previous = last or (0, "", FIRST)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    entry = Entry(
        sequence=sequence + 1,
        time=max(now, time),  # a clock set back does not reorder the record
        act=act,
        population=names.get(Holder.POPULATION),
        analyst=names.get(Holder.ANALYST),
        event=event,
        memo=memo,
        previous=previous,
    )
    row = [str(value) if isinstance(value, Act) else value for value in astuple(entry)]
    seal = entry.hash
    connection.execute(
        f"INSERT INTO entries ({_ENTRY}, hash) VALUES ({', '.join('?' * 9)})", [*row, seal]
    )
    connection.execute(
        "INSERT INTO head VALUES (1, ?, ?) ON CONFLICT (only) DO UPDATE "
        "SET sequence = excluded.sequence, hash = excluded.hash",
        (entry.sequence, seal),
    )
    return entry
