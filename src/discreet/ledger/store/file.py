"""The SQLite file of a vault: how it is made, opened and locked, and what its failures are called.
Knows no privacy. It must lie on a local disk.
"""

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import NoReturn

from discreet.errors import DiscreetError, Unavailable
from discreet.ledger.store.connection import Connection
from discreet.ledger.store.database import UNTOUCHED
from discreet.ledger.store.tables import prepare

__all__ = ["File"]

_BUSY_SECONDS = 30.0
_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
"""
_REASONS = {
    sqlite3.SQLITE_BUSY: "another process holds it; try again",
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_READONLY: "it is read-only; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; make the file and its folder writable",
    sqlite3.SQLITE_PERM: "access is denied; make the file and its folder writable",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; check it",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the file is not a database; restore it from a backup",
}


class File:
    """One SQLite file, made when it is not there."""

    failures: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

    def __init__(self, path: Path) -> None:
        self._path = path
        self.where = str(path.parent)
        _create(path)

    def connect(self) -> Connection:
        """A new connection, with the tables in place."""
        return _connect(self._path)

    def begin_reading(self, connection: Connection) -> None:
        """One consistent view from the first statement on."""
        connection.execute("BEGIN")

    def begin_writing(self, connection: Connection) -> None:
        """The write lock first: whatever is read afterwards stays so."""
        connection.execute("BEGIN IMMEDIATE")

    def commit(self, connection: Connection) -> None:
        """Flush everything to the disk."""
        connection.execute("COMMIT")

    def refuse(self, error: Exception, happened: str) -> NoReturn:
        """Say what a failure means."""
        _refuse(self._path, error, happened)

    def intact(self, connection: Connection, /) -> bool:
        """Whether tables and indexes agree: no row is hidden from those who look for it."""
        return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))


def _refuse(path: Path, error: Exception, happened: str) -> NoReturn:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    reason = _REASONS.get(code, f"SQLite refused ({type(error).__name__} {code})")
    raise Unavailable(f"{path.name}: {reason}. {happened}.") from error


def _create(path: Path) -> None:
    """Make folder and file, readable by their owner only, unless they are there."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise Unavailable(
            f"{path.name}: the vault's folder cannot be written ({error.strerror}); "
            f"choose another or change its permissions. {UNTOUCHED}."
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        _use_write_ahead_log(connection)
        connection.executescript(_SETTINGS)
        prepare(connection, path)
    except (sqlite3.Error, UnicodeDecodeError, DiscreetError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):
            _refuse(path, error, UNTOUCHED)
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Changing the journal does not wait for other processes by itself."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise Unavailable(f"the vault needs a write-ahead log, not {mode!r}; use a local disk.")
        return
