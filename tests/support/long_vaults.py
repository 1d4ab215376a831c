"""Vaults with a long ledger, written in bulk: the same rows and the same chain that charges one by
one would leave, sealed by the vault's own key.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.curator.curator import Curator
from discreet.ledger.account import Holder
from discreet.ledger.entry import Act, describe_loss, memo_text
from discreet.ledger.store.book import Book
from discreet.loss import Pure

LOSS = Pure(epsilon=Fraction(1, 1000))
_RELEASED = 4  # every so many charges one has a stored answer
_MOVED = 20  # and a service moved on
_SERVICES = 3  # of each analyst
_BEGUN = 4  # and every so many turns a new one
_ADD_RELEASE = "INSERT INTO releases (number, key, analyst, entry, body) VALUES (?, ?, ?, ?, ?)"
_ADD_STATE = "INSERT INTO states VALUES (?, ?, ?, ?, ?, ?, ?)"
_MEMOS = [
    memo_text(
        {
            "label": "The question about visits",
            "table": "visits",
            "question": f"SELECT COUNT(*) AS n FROM visits WHERE age > {age}",
            "data_version": "1",
        }
    )
    for age in range(90)
]


def lengthen(curator: Curator, *, analysts: tuple[str, ...], entries: int) -> None:
    """Go on until the ledger has so many entries: charges to the analysts in turn, some with a
    release, and services of theirs that were moved on many times.
    """
    count = entries - curator.ledger.count()
    event = describe_loss(LOSS)

    def write(book: Book) -> None:
        people = book.account(Holder.POPULATION, "patients")
        accounts = [book.account(Holder.ANALYST, name) for name in analysts]
        releases = _Rows(book, "release", "releases")
        states = _Rows(book, "state", "states")
        charged = Counter[int]()
        for number in range(entries - count + 1, entries + 1):
            turn, place = divmod(number, len(accounts))
            account = accounts[place]
            book.append(Act.CHARGE, (people, account), event, _MEMOS[number % len(_MEMOS)])
            charged[place] += 1
            if turn % _RELEASED == 0:
                releases.add(f"key{number}", account.name, number, b"{}")
            if turn % _MOVED == 0:
                name = f"long{turn // _MOVED % _SERVICES}"
                version = states.version(account.name, name)
                states.add(account.name, name, "note", version, number, b"{}")
            if turn % _BEGUN == 0:
                states.add(account.name, f"new{number}", "note", 1, number, b"{}")
        for place, account in enumerate(accounts):
            book.put(replace(account, spent=account.spent + charged[place] * LOSS.epsilon))
        book.put(replace(people, spent=people.spent + count * LOSS.epsilon))
        book.connection.executemany(_ADD_RELEASE, releases.rows)
        book.connection.executemany(_ADD_STATE, states.rows)

    curator.vault._store.share(write)


class _Rows:
    """Rows of one table, numbered on and sealed."""

    def __init__(self, book: Book, kind: str, table: str) -> None:
        newest = f"SELECT coalesce(max(number), 0) FROM {table}"
        self._book, self._kind = book, kind
        self._last: int = book.connection.execute(newest).fetchone()[0]
        self._versions: dict[tuple[str, str], int] = {}
        self.rows: list[tuple[Any, ...]] = []

    def version(self, analyst: str, name: str) -> int:
        """The next version of a service."""
        query = "SELECT coalesce(max(version), 0) FROM states WHERE analyst = ? AND name = ?"
        if (analyst, name) not in self._versions:
            found = self._book.connection.execute(query, (analyst, name)).fetchone()
            self._versions[analyst, name] = found[0]
        self._versions[analyst, name] += 1
        return self._versions[analyst, name]

    def add(self, *values: Any) -> None:
        self.rows.append((self._last + len(self.rows) + 1, *values))
        self._book.seal(self._kind, self.rows[-1])
