"""What went out: released answers in the order of their charges, to be replayed for free.
Bodies are noisy, released content only; nothing exact is ever stored here.
"""

import re
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidValue
from discreet.ledger.entry import Act, Entry, Receipt
from discreet.ledger.store.book import Book
from discreet.ledger.store.store import Store

__all__ = ["Listed", "Release", "Releases", "keep"]

_ID = re.compile("[0-9a-f]{20}")
_SELECT = """
SELECT r.key, r.body,
    e.sequence, e.time, e.act, e.population, e.analyst, e.event, e.memo, e.previous
FROM releases r JOIN entries e ON e.sequence = r.entry
"""


_LIST = """
SELECT r.number, e.sequence, e.time, e.act, e.population, e.analyst, e.event, e.memo, e.previous
FROM releases r JOIN entries e ON e.sequence = r.entry WHERE r.analyst = ?
AND r.number = (SELECT max(p.number) FROM releases p WHERE p.entry = r.entry)
"""


@dataclass(frozen=True, slots=True)
class Listed:
    """A release in a list: its number in the order of all, and the charge that paid for it."""

    number: int
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Release:
    """A released answer with the charge that paid for it."""

    key: str
    body: bytes
    receipt: Receipt


class Releases:
    """The released answers of a vault. Giving a release again is post-processing [DR14, Prop.
    2.1].
    """

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def store(self, key: str, receipt: Receipt, body: bytes) -> Release:
        """Keep a released answer under the key of its question, for the analyst who paid."""
        raw: object = body
        if not isinstance(raw, bytes):
            raise InvalidValue(f"a release's body is {type(body).__name__}; it must be bytes.")
        self._store.share(lambda book: keep(book, key, receipt, body))
        return Release(key=key, body=body, receipt=receipt)

    def find(self, key: str, *, analyst: str | None) -> Release | None:
        """The newest release under a key: this analyst's, or anyone's where analyst is None.

        Anyone's is for populations whose custodian allows sharing.
        """
        where, values = "r.key = ?", [key]
        if analyst is not None:
            where, values = "r.key = ? AND r.analyst = ?", [key, analyst]
        query = f"{_SELECT} WHERE {where} ORDER BY r.number DESC LIMIT 1"
        with self._store.reading() as connection:
            row = connection.execute(query, values).fetchone()
        return None if row is None else _release(row)

    def paid_by(self, entry: int) -> Release | None:
        """The newest release that an entry paid for."""
        query = f"{_SELECT} WHERE r.entry = ? ORDER BY r.number DESC LIMIT 1"
        with self._store.reading() as connection:
            row = connection.execute(query, (entry,)).fetchone()
        return None if row is None else _release(row)

    def find_cited(self, receipt: str, *, analyst: str) -> Release | None:
        """The release to an analyst under the id of its receipt."""
        if not _ID.fullmatch(receipt):
            return None
        # By the index of the hashes first: a long history makes no question slower.
        entries = "SELECT sequence FROM entries WHERE hash >= ? AND hash < ?"
        query = f"{_SELECT} WHERE r.entry = ? AND r.analyst = ? ORDER BY r.number"
        with self._store.reading() as connection:
            entry_rows = connection.execute(entries, (receipt, f"{receipt}g")).fetchall()
            rows = [
                row
                for (entry,) in entry_rows
                for row in connection.execute(query, (entry, analyst)).fetchall()
            ]
        return _release(rows[-1]) if rows else None

    def list_after(self, number: int, *, analyst: str, limit: int) -> tuple[Listed, ...]:
        """The first so many releases to an analyst after one, oldest first, without their
        bodies.
        """
        query = f"{_LIST} AND r.number > ? ORDER BY r.number LIMIT ?"
        with self._store.reading() as connection:
            rows = connection.execute(query, (analyst, number, limit)).fetchall()
        return tuple(_read_listed(row) for row in rows)

    def transcript(self, analyst: str) -> tuple[Release, ...]:
        """Everything that was released to an analyst, in order."""
        query = f"{_SELECT} WHERE r.analyst = ? ORDER BY r.number"
        with self._store.reading() as connection:
            rows = connection.execute(query, (analyst,)).fetchall()
        return tuple(_release(row) for row in rows)


def keep(book: Book, key: str, receipt: Receipt, body: bytes) -> None:
    """Inside a transaction: keep a release that a charge of this vault paid for."""
    query = "SELECT analyst, hash FROM entries WHERE sequence = ? AND act = 'charge'"
    stored = book.connection.execute(query, (receipt.sequence,)).fetchone()
    if stored is None or stored[0] != receipt.analyst or stored[1][:20] != receipt.id:
        raise InvalidValue(f"receipt {receipt.id!r:.40} is not of this vault; nothing was stored.")
    newest = "SELECT coalesce(max(number), 0) + 1 FROM releases"
    (number,) = book.connection.execute(newest).fetchone()
    row = (number, key, receipt.analyst, receipt.sequence, body)
    book.connection.execute(
        "INSERT INTO releases (number, key, analyst, entry, body) VALUES (?, ?, ?, ?, ?)", row
    )
    book.seal("release", row)


def _read_listed(row: tuple[Any, ...]) -> Listed:
    number, sequence, time, act, *rest = row
    return Listed(number, Entry(sequence, time, Act(act), *rest).receipt)


def _release(row: tuple[Any, ...]) -> Release:
    key, body, sequence, time, act, *rest = row
    entry = Entry(sequence, time, Act(act), *rest)
    return Release(key=key, body=body, receipt=entry.receipt)
