"""PostgreSQL as an engine: one emitted SELECT at a time, in a read-only transaction with a time
limit. The caller sees exact integers or one fixed message; the reason is kept for the custodian.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from discreet.engines.postgresql.source import PostgreSQLSource, library
from discreet.engines.protocol import MESSAGE, Cell, is_key, is_query
from discreet.errors import InvalidValue, Unavailable
from discreet.rationals import Number, positive

__all__ = ["PostgreSQL"]

_INTEGERS = {20, 21, 23, 1700}  # int8, int2, int4, numeric
_TEXTS = {25, 1043}  # text, varchar
_GRACE_SECONDS = 2.0
_SETTINGS = (
    "-c default_transaction_read_only=on -c TimeZone=UTC -c DateStyle=ISO,YMD "
    "-c standard_conforming_strings=on -c extra_float_digits=1 -c bytea_output=hex "
    # Joins run in the order in which they are written, the one whose rows the plan bounds, and by
    # hashing: nothing is read once for each row of somebody, or only as far as somebody's key.
    "-c join_collapse_limit=1 -c from_collapse_limit=1 "
    "-c enable_nestloop=off -c enable_mergejoin=off"
)


class PostgreSQL:
    """Runs one emitted statement at a time over one connection, which is made with the first.

    Rows are exact. The transaction is read-only; the server ends a statement at the time limit, and
    if it does not, the connection is cut.
    """

    __slots__ = ("_connections", "_lock", "_seconds", "_source", "last_failure")

    dialect = "postgresql"

    def __init__(self, source: str, *, time_limit_seconds: Number) -> None:
        self._source = PostgreSQLSource.read(source)
        self._seconds = float(positive(time_limit_seconds, "time_limit_seconds"))
        self._connections: dict[int, Any] = {}  # by process: a fork must not share one
        self._lock = threading.Lock()
        self.last_failure: str | None = None

    def __enter__(self) -> "PostgreSQL":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise InvalidValue("an engine cannot be pickled or copied; make a new one.")

    def ready(self) -> bool:
        """Make the connection unless there is one."""
        with self._lock:
            known = self._connections.get(os.getpid())
            if known is not None and not (known.closed or known.broken):
                return False
            try:
                self._connection()
            except (library().Error, OSError) as failure:
                self.last_failure = f"{type(failure).__name__}: {failure}"
            return True

    def stop(self) -> None:
        """Tell the server to end the statement that another thread waits for, and cut the line."""
        connection = self._connections.get(os.getpid())  # without the lock, which that thread holds
        if connection is not None:
            with contextlib.suppress(library().Error, OSError):
                descriptor = connection.fileno()
                connection.cancel()
                _cut(descriptor)

    def rows(self, sql: str) -> list[tuple[Cell, ...]]:
        """All rows of one SELECT; from several threads, one after the other. Rows are exact."""
        return self.rows_together((sql,))[0]

    def rows_together(self, statements: Sequence[str]) -> list[list[tuple[Cell, ...]]]:
        """All rows of several SELECTs in one transaction. Rows are exact."""
        with self._lock:
            results = self._attempt_all(statements)
        if results is None:
            # Raised here, outside any handler, so that no reason hangs on it as a context.
            raise Unavailable(MESSAGE)
        return results

    def close(self) -> None:
        """Close the connection; the next statement makes a new one."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection = self._connections.pop(os.getpid(), None)
        if connection is not None:
            with contextlib.suppress(library().Error, OSError):
                connection.close()

    def _connection(self) -> Any:
        known = self._connections.get(os.getpid())
        if known is None or known.closed or known.broken:
            self._connections[os.getpid()] = known = library().connect(
                self._source.server,
                autocommit=True,
                application_name="discreet",
                client_encoding="utf8",
                connect_timeout=10,
                options=_SETTINGS,
                prepare_threshold=None,
            )
        return known

    def _attempt(self, sql: str) -> list[tuple[Cell, ...]] | None:
        results = self._attempt_all((sql,))
        return None if results is None else results[0]

    def _attempt_all(self, statements: Sequence[str]) -> list[list[tuple[Cell, ...]]] | None:
        try:
            if not all(map(is_query, statements)):
                raise ValueError("the engine runs one SELECT statement and nothing else")
            return self._run(self._connection(), statements)
        except (library().Error, ArithmeticError, OSError, TypeError, ValueError) as failure:
            self.last_failure = f"{type(failure).__name__}: {failure}"
            self._drop()
            return None

    def _run(self, connection: Any, statements: Sequence[str]) -> list[list[tuple[Cell, ...]]]:
        # The limit is set before the statement starts, and its clock runs from its start: nothing
        # inside a statement can change it. The next statement sets its own.
        limit = self._seconds * len(statements) + _GRACE_SECONDS
        guard = threading.Timer(limit, _cut, (connection.fileno(),))
        guard.daemon = True
        guard.start()
        try:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute(f"SET LOCAL statement_timeout = {_milliseconds(self._seconds)}")
                cursor.execute("SET LOCAL jit = off")
                results = []
                for sql in statements:
                    # Binary results use the extended protocol, which takes one statement only.
                    cursor.execute(sql, binary=True)
                    _check_types(cursor.description)
                    results.append([tuple(map(_cell, row)) for row in cursor.fetchall()])
                cursor.execute("ROLLBACK")
        finally:
            guard.cancel()
        return results


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _cut(descriptor: int) -> None:
    """End a connection from another thread: whoever waits for it is told."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as line:
        line.shutdown(socket.SHUT_RDWR)


def _check_types(columns: Any) -> None:
    for column in columns or ():
        allowed = _INTEGERS | _TEXTS if is_key(column.name) else _INTEGERS
        if column.type_code not in allowed:
            raise TypeError(f"the statement yields the type {column.type_code}; integers only")


def _cell(value: Any) -> Cell:
    if isinstance(value, Decimal):
        whole = int(value)
        if whole != value:
            raise ValueError("the statement yields a number that is no integer")
        return whole
    return value if value is None or isinstance(value, str) else int(value)
