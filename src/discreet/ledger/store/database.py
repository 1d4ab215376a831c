"""The database behind a vault: one connection per process for reading, one for writing and one for
checks of everything, each guarded by a lock; all are closed before a fork. Knows no privacy, and
not which database it is.
"""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol

from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.store.connection import Connection

__all__ = ["Access", "Database", "UNTOUCHED"]

UNTOUCHED = "Nothing was run or charged"
"""What is said where a transaction did not get as far as its commit."""


class Access(Protocol):
    """How one kind of database is reached, and what its failures are called."""

    where: str
    failures: tuple[type[Exception], ...]

    def connect(self) -> Connection:
        """A new connection, with the tables in place."""

    def begin_reading(self, connection: Connection) -> None:
        """Begin a transaction with one consistent view."""

    def begin_writing(self, connection: Connection) -> None:
        """Begin a transaction that has the only write lock."""

    def commit(self, connection: Connection) -> None:
        """Make the transaction durable, or raise."""

    def refuse(self, error: Exception, happened: str) -> NoReturn:
        """Say what a failure means."""

    def intact(self, connection: Connection, /) -> bool:
        """Whether the database itself finds no damage."""


class _Line:
    """One connection, its lock, and the process that opened it."""

    __slots__ = ("access", "connection", "lock", "process")

    def __init__(self, access: Access) -> None:
        self.access = access
        self.lock = threading.RLock()
        self.connection: Connection | None = None
        self.process = os.getpid()

    def own_connection(self) -> Connection:
        if self.connection is None:
            self.connection, self.process = self.access.connect(), os.getpid()
        if self.process != os.getpid():  # a fork that skipped the hooks below Python
            raise Unavailable("the vault was opened by another process; open it in this one.")
        return self.connection

    def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Database:
    """What a vault is kept in; `reading` and `writing` are its only ways in."""

    def __init__(self, access: Access) -> None:
        self._lines: tuple[_Line, ...] = ()
        self._access = access
        self._closed = False
        self._reader, self._writer, self._checker = _Line(access), _Line(access), _Line(access)
        self._lines = (self._writer, self._checker, self._reader)
        # Locks and sockets belong to a process: no connection may be open while it forks.
        here = weakref.ref(self)
        os.register_at_fork(
            before=lambda: _each(here, Database._before_fork),
            after_in_parent=lambda: _each(here, Database._after_fork),
            after_in_child=lambda: _each(here, Database._after_fork),
        )
        with self._reader.lock:
            self._reader.own_connection()

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
    def reading(self) -> Iterator[Connection]:
        """One consistent view, also while something is written."""
        with self._transaction(self._reader, self._access.begin_reading) as connection:
            yield connection

    @contextlib.contextmanager
    def checking(self) -> Iterator[Connection]:
        """As `reading`, for what takes long and comes seldom: those who read wait for nothing."""
        with self._checker.lock:
            try:
                with self._transaction(self._checker, self._access.begin_reading) as connection:
                    yield connection
            finally:
                with contextlib.suppress(*self._access.failures):
                    self._checker.disconnect()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """All or nothing, one writer at a time; durable when the block has been left."""
        with self._transaction(self._writer, self._access.begin_writing) as connection:
            yield connection

    def intact(self, connection: Connection) -> bool:
        """Whether the database itself finds no damage."""
        return self._access.intact(connection)

    @contextlib.contextmanager
    def _transaction(
        self, line: _Line, begin: Callable[[Connection], None]
    ) -> Iterator[Connection]:
        with line.lock:
            if self._closed:
                raise InvalidValue(f"the vault at {self._access.where} is closed; open it again.")
            connection, committing = line.own_connection(), False
            try:
                begin(connection)
                yield connection
                committing = True
                self._access.commit(connection)
            except self._access.failures as error:
                happened = "Nothing was run; a charge may stand" if committing else UNTOUCHED
                self._access.refuse(error, happened)
            finally:
                self._roll_back(line, connection)

    def _roll_back(self, line: _Line, connection: Connection) -> None:
        """Leave no transaction open; a connection that cannot do so is given up."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except self._access.failures:
            with contextlib.suppress(*self._access.failures):
                line.disconnect()


def _each(here: "weakref.ref[Database]", step: Callable[[Database], None]) -> None:
    database = here()
    if database is not None:
        step(database)
