"""The file of a vault with its one way to read and its one way to write.
Only puts database, groups and book together; each owns its own rules.
"""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from discreet.ledger._book import Book
from discreet.ledger._database import Database
from discreet.ledger._groups import Groups

__all__ = ["Store"]

_Result = TypeVar("_Result")


class Store:
    """What ledger, releases and catalogue keep themselves in."""

    __slots__ = ("_database", "_groups")

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self._groups: Groups[Book] = Groups(self._database, Book)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """One consistent view of the file."""
        return self._database.reading()

    def share(self, work: Callable[[Book], _Result]) -> _Result:
        """Write in a transaction that other threads may share; durable on return."""
        return self._groups.share(work)

    def close(self) -> None:
        """Close the file; the vault can be opened again."""
        self._database.close()
