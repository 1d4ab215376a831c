"""Why runs failed after they began: for the custodian alone, beside the ledger and not in it.
Holds the kind of a failure, never an engine's own text, which may quote rows.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.ledger.entry import MOMENT
from discreet.ledger.store.book import Book
from discreet.ledger.store.store import Store

__all__ = ["Cause", "Causes"]

_COLUMNS = "number, time, analyst, entry, label, cause"
_KEPT = 1000  # the newest; a list of the vault's failures, not of its releases


@dataclass(frozen=True, slots=True)
class Cause:
    """One failed run: whose, paid by which entry (None: by an earlier one), and why it failed.

    May depend on data; for the custodian alone.
    """

    number: int
    time: str
    analyst: str
    entry: int | None
    label: str
    cause: str


class Causes:
    """The failed runs of a vault, as far as they are remembered.

    May depend on data; for the custodian alone.
    >>> from discreet.ledger.vault import Vault
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Vault.open(f"{folder}/vault") as vault:
    ...     vault.causes.add("ana", None, "The monitor fever", "it took too long")
    ...     [each.cause for each in vault.causes.newest(limit=10)]
    ['it took too long']
    """

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, analyst: str, entry: int | None, label: str, cause: str) -> None:
        """Write down why a run failed; called when its outcome can be seen, not before.

        For the custodian alone.
        """
        now = datetime.now(UTC).strftime(MOMENT)

        def write(book: Book) -> None:
            newest = "SELECT coalesce(max(number), 0) + 1 FROM causes"
            (number,) = book.connection.execute(newest).fetchone()
            row = (number, now, analyst, entry, label, cause)
            book.connection.execute(
                f"INSERT INTO causes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row
            )
            book.connection.execute("DELETE FROM causes WHERE number <= ?", (number - _KEPT,))

        self._store.share(write)

    def newest(self, *, limit: int) -> tuple[Cause, ...]:
        """The last so many failed runs, newest first. For the custodian alone."""
        query = f"SELECT {_COLUMNS} FROM causes ORDER BY number DESC LIMIT ?"
        with self._store.reading() as connection:
            return tuple(Cause(*row) for row in connection.execute(query, (limit,)).fetchall())
