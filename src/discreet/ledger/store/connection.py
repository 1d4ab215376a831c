"""What the ledger asks of a connection, whichever database is behind it.
The ledger writes its statements for SQLite, with `?` for values; others translate them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

__all__ = ["Connection", "Rows"]


class Rows(Protocol):
    """What a statement found."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """One open connection."""

    @property
    def total_changes(self) -> int:
        """How many rows were written over it so far."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, sound or not."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Rows:
        """Run one statement for each of several rows."""

    def close(self) -> None:
        """End the connection; what was not committed is undone."""
