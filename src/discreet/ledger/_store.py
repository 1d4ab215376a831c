"""The file of a vault with its one way to read and its one way to write.
Only puts database, groups and seals together; each owns its own rules.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from discreet.ledger._book import Book
from discreet.ledger._database import Database
from discreet.ledger._groups import Groups
from discreet.ledger._keeper import Keeper
from discreet.ledger._place import Place
from discreet.ledger.verification import Verification

__all__ = ["Store"]

_Result = TypeVar("_Result")


class Store:
    """What ledger, releases and catalogue keep themselves in."""

    __slots__ = ("_database", "_groups", "_keeper")

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self._keeper = Keeper(Place.of(path.parent))
        self._groups: Groups[Book] = Groups(self._database, self._keeper.turn)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """One consistent view of the file."""
        return self._database.reading()

    def share(self, work: Callable[[Book], _Result]) -> _Result:
        """Write in a transaction that other threads may share; durable on return."""
        if not self._keeper.followed:
            self.check()  # outside the transaction: the first time it takes long
        return self._groups.share(work)

    def check(self) -> None:
        """Refuse a record that is not sound."""
        self._keeper.check(self._database.reading)

    def verify(self) -> Verification:
        """What a check of everything finds."""
        return self._keeper.verify(self._database.reading)

    def adopt(self, memo: Mapping[str, str]) -> None:
        """Seal everything as it stands, as a recorded act."""
        with self._database.writing() as connection:
            book = self._keeper.adopt(connection, memo)
            book.save()
        book.settle()

    def close(self) -> None:
        """Close the file; the vault can be opened again."""
        self._database.close()
