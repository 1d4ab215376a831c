"""The database of a vault with its one way to read and its one way to write.
Only combines database, groups and seals; each owns its own rules.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from discreet.errors import InvalidValue
from discreet.ledger.store.book import Book
from discreet.ledger.store.chain import Halted
from discreet.ledger.store.chain_guard import Keeper
from discreet.ledger.store.connection import Connection
from discreet.ledger.store.database import Access, Database
from discreet.ledger.store.file import File
from discreet.ledger.store.group_commit import Groups
from discreet.ledger.store.place import Place
from discreet.ledger.store.server import Server
from discreet.ledger.verification import Verification

__all__ = ["Store"]

_Result = TypeVar("_Result")


class Store:
    """What ledger, releases and catalogue keep themselves in."""

    __slots__ = ("_database", "_groups", "_keeper")

    def __init__(self, access: Access, folder: Path) -> None:
        self._database = Database(access)
        self._keeper = Keeper(Place.of(folder))
        self._groups: Groups[Book] = Groups(self._database, self._keeper.turn)

    @classmethod
    def file(cls, path: Path) -> "Store":
        """In an SQLite file of the vault's folder."""
        return cls(File(path), path.parent)

    @classmethod
    def server(cls, url: str, folder: Path) -> "Store":
        """On a PostgreSQL server; what stays local belongs to the folder."""
        return cls(Server(url), folder)

    def reading(self) -> AbstractContextManager[Connection]:
        """One consistent view."""
        return self._database.reading()

    def share(self, work: Callable[[Book], _Result]) -> _Result:
        """Write in a transaction that other threads may share; durable on return."""
        if not self._keeper.followed:
            self.check()  # outside the transaction: the first time it takes long
        return self._groups.share(work)

    def check(self) -> None:
        """Refuse a ledger that is not sound: all of it once, then only what was written since."""
        if not self._keeper.followed:
            with _unless_halted():
                self._keeper.check_first(self._database.checking)
        self._keeper.check(self._database.reading)

    def verify(self) -> Verification:
        """What a check of everything finds; meanwhile others read, charge and wait for nothing."""
        with _unless_halted():
            return self._keeper.verify(self._database.checking, self._database.intact)

    def adopt(self, memo: Mapping[str, str]) -> None:
        """Seal everything as it stands, as a recorded act."""
        with self._database.writing() as connection:
            book = self._keeper.adopt(connection, memo)
            book.save()
        book.settle()

    def close(self) -> None:
        """Close the connections; the vault can be opened again."""
        self._keeper.halt()
        self._database.close()


@contextmanager
def _unless_halted() -> Iterator[None]:
    """A long check that was ended because the vault is closed has found nothing."""
    try:
        yield
    except Halted:
        raise InvalidValue("the vault was closed meanwhile; open it again.") from None
