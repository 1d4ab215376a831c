"""The SQLite file of a vault: how it is made, opened and locked, and what its failures are called.
Knows no privacy. One connection per process, guarded by a lock and closed across forks.
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
from discreet.noise.bits import system

__all__ = ["Database"]

_APPLICATION = 0x44495343  # "DISC"
_VERSION = 1
_BUSY_SECONDS = 30.0
_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
"""
_TABLES = """
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    sequence INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE TABLE accounts (
    holder TEXT NOT NULL CHECK (holder IN ('population', 'analyst')),
    name TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    conversion_delta TEXT NOT NULL,
    "limit" TEXT NOT NULL,
    spent TEXT NOT NULL,
    spent_delta TEXT NOT NULL,
    PRIMARY KEY (holder, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    act TEXT NOT NULL CHECK (act IN ('open', 'amend', 'charge')),
    population TEXT,
    analyst TEXT,
    event TEXT NOT NULL,
    memo TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX entries_by_analyst ON entries (analyst, sequence);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    analyst TEXT NOT NULL,
    entry INTEGER NOT NULL REFERENCES entries (sequence),
    body BLOB NOT NULL
) STRICT;
CREATE INDEX releases_by_key ON releases (key, analyst);
CREATE INDEX releases_by_analyst ON releases (analyst);
CREATE TABLE tables (
    name TEXT PRIMARY KEY,
    schema TEXT NOT NULL,
    schema_version TEXT NOT NULL,
    data_version INTEGER NOT NULL,
    population TEXT NOT NULL,
    source TEXT,
    prepared TEXT,
    fingerprint BLOB NOT NULL,
    stamp TEXT NOT NULL,
    registered TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sources (
    kind TEXT NOT NULL CHECK (kind IN ('path', 'content')),
    value BLOB NOT NULL,
    population TEXT NOT NULL,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
    WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entries)
    BEGIN SELECT RAISE(ABORT, 'entries follow each other'); END;
CREATE TRIGGER releases_in_order BEFORE INSERT ON releases
    WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM releases)
    BEGIN SELECT RAISE(ABORT, 'releases follow each other'); END;
"""
_KEPT = {  # what may never be changed, and never be removed
    "entries": ("UPDATE", "DELETE"),
    "releases": ("UPDATE", "DELETE"),
    "sources": ("UPDATE", "DELETE"),
    "meta": ("UPDATE", "DELETE"),
    "accounts": ("DELETE",),
    "tables": ("DELETE",),
    "head": ("DELETE",),
}
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


class Database:
    """One SQLite file; `reading` and `writing` are its only ways in."""

    def __init__(self, path: Path) -> None:
        self._connection: sqlite3.Connection | None = None
        self._path = path
        self._lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()
        _create(path)
        # SQLite's locks belong to a process: no connection may be open while it forks.
        here = weakref.ref(self)
        os.register_at_fork(
            before=lambda: _each(here, Database._before_fork),
            after_in_parent=lambda: _each(here, Database._after_fork),
            after_in_child=lambda: _each(here, Database._after_fork),
        )
        with self._lock:
            self._connected()

    def __del__(self) -> None:
        self._disconnect()

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._disconnect()

    def _after_fork(self) -> None:
        self._lock.release()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise InvalidValue(f"the vault at {self._path.parent} is closed; open it again.")
        if self._connection is None:
            self._connection, self._process = _connect(self._path), os.getpid()
        if self._process != os.getpid():  # a fork that skipped the hooks below Python
            raise Unavailable("the vault was opened by another process; open it in this one.")
        return self._connection

    def close(self) -> None:
        """Close the connection for good."""
        with self._lock:
            self._closed = True
            self._disconnect()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one writer at a time; durable when the block has been left."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection, committing = self._connected(), False
            try:
                connection.execute(begin)
                yield connection
                committing = True
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                happened = "Nothing was run; a charge may stand" if committing else _UNTOUCHED
                _refuse(self._path, error, happened)
            finally:
                with contextlib.suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")


_UNTOUCHED = "Nothing was run or charged"


def _each(here: "weakref.ref[Database]", step: Callable[[Database], None]) -> None:
    database = here()
    if database is not None:
        step(database)


def _refuse(path: Path, error: sqlite3.Error, happened: str) -> NoReturn:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
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
        _prepare(connection, path)
    except (sqlite3.Error, DiscreetError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error):
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


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file; refuse a file of another kind or a newer version."""
    if _version(connection, path) == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection, path) == 0:
            _make_tables(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if (application, version) == (_APPLICATION, _VERSION) or not (application or version or tables):
        return version
    raise Unavailable(
        f"{path.name} is not a vault of version {_VERSION}; open another folder, or use the "
        "version of discreet that made it."
    )


def _make_tables(connection: sqlite3.Connection) -> None:
    statement = ""
    for line in _TABLES.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    for table, acts in _KEPT.items():
        for act in acts:
            connection.execute(
                f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are kept'); END"
            )
    key = system.bits(256).to_bytes(32, "little")
    connection.execute("INSERT INTO meta VALUES ('key', ?)", (key,))
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
