"""The SQLite file of a vault: how it is opened and locked, and what its failures are called.
Knows no privacy. One connection per process for reading and one for writing, each guarded by a
lock; both are closed before a fork.
"""

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from discreet.errors import DiscreetError, InvalidValue, Unavailable
from discreet.ledger._tables import prepare

__all__ = ["Database"]

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
_UNTOUCHED = "Nothing was run or charged"


class _Line:
    """One connection to the file, its lock, and the process that opened it."""

    __slots__ = ("connection", "lock", "path", "process")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None
        self.process = os.getpid()

    def connected(self) -> sqlite3.Connection:
        if self.connection is None:
            self.connection, self.process = _connect(self.path), os.getpid()
        if self.process != os.getpid():  # a fork that skipped the hooks below Python
            raise Unavailable("the vault was opened by another process; open it in this one.")
        return self.connection

    def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Database:
    """One SQLite file; `reading` and `writing` are its only ways in."""

    def __init__(self, path: Path) -> None:
        self._lines: tuple[_Line, ...] = ()
        self._path = path
        self._closed = False
        _create(path)
        self._reader, self._writer = _Line(path), _Line(path)
        self._lines = (self._writer, self._reader)
        # SQLite's locks belong to a process: no connection may be open while it forks.
        here = weakref.ref(self)
        os.register_at_fork(
            before=lambda: _each(here, Database._before_fork),
            after_in_parent=lambda: _each(here, Database._after_fork),
            after_in_child=lambda: _each(here, Database._after_fork),
        )
        with self._reader.lock:
            self._reader.connected()

    def __del__(self) -> None:
        for line in self._lines:
            line.disconnect()

    def _before_fork(self) -> None:
        for line in self._lines:
            line.lock.acquire()
            line.disconnect()

    def _after_fork(self) -> None:
        for line in reversed(self._lines):
            line.lock.release()

    def close(self) -> None:
        """Close the connections for good."""
        for line in self._lines:
            with line.lock:
                self._closed = True
                line.disconnect()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file, also while something is written."""
        with self._transaction(self._reader, "BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one writer at a time; durable when the block has been left."""
        with self._transaction(self._writer, "BEGIN IMMEDIATE") as connection:
            yield connection

    @contextlib.contextmanager
    def _transaction(self, line: _Line, begin: str) -> Iterator[sqlite3.Connection]:
        with line.lock:
            if self._closed:
                raise InvalidValue(f"the vault at {self._path.parent} is closed; open it again.")
            connection, committing = line.connected(), False
            try:
                connection.execute(begin)
                yield connection
                committing = True
                connection.execute("COMMIT")
            except (sqlite3.Error, UnicodeDecodeError) as error:
                happened = "Nothing was run; a charge may stand" if committing else _UNTOUCHED
                _refuse(self._path, error, happened)
            finally:
                with contextlib.suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")


def _each(here: "weakref.ref[Database]", step: Callable[[Database], None]) -> None:
    database = here()
    if database is not None:
        step(database)


def _refuse(path: Path, error: sqlite3.Error | UnicodeDecodeError, happened: str) -> NoReturn:
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
            f"choose another or change its permissions. {_UNTOUCHED}."
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
            _refuse(path, error, _UNTOUCHED)
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
