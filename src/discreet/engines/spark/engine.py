"""Spark as an engine: one emitted SELECT at a time, of which only the group rows reach the driver.
The caller sees exact integers or one fixed message; the reason is kept for the custodian.
"""

import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from discreet.engines.protocol import MESSAGE, Cell, is_key, is_query
from discreet.engines.spark.session import new_session
from discreet.engines.spark.source import SparkSource
from discreet.errors import DiscreetError, InvalidValue, SchemaError, Unavailable
from discreet.rationals import Number, positive

__all__ = ["Spark"]

_INTEGERS = ("ByteType", "ShortType", "IntegerType", "LongType", "NullType")
_GRACE_SECONDS = 20.0
_SECONDS_BETWEEN_CANCELS = 0.5


class Spark:
    """Runs one emitted statement at a time in a session of its own.

    `sources` maps the names of views to sources: statements read `FROM source`, say. Rows are
    exact. A statement over the time limit is cancelled.
    """

    __slots__ = (
        "_lock",
        "_owner",
        "_seconds",
        "_session",
        "_sources",
        "_statement",
        "last_failure",
    )

    dialect = "spark"

    def __init__(self, sources: Mapping[str, str], *, time_limit_seconds: Number) -> None:
        self._sources = {name: SparkSource.read(source) for name, source in sources.items()}
        self._seconds = float(positive(time_limit_seconds, "time_limit_seconds"))
        self._session: Any = None
        self._statement: _Statement | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self.last_failure: str | None = None

    def __enter__(self) -> "Spark":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise InvalidValue("an engine cannot be pickled or copied; make a new one.")

    def describe(self, view: str) -> list[tuple[str, str]]:
        """Names and types of the columns of one of the sources."""
        source = self._sources[view]
        reason = ""
        with self._lock:
            try:
                # Asked of Spark itself: the types of its Python half leave out some collations.
                fields = self._open().table(view)._jdf.schema().fields()
                return [(field.name(), field.dataType().catalogString()) for field in fields]
            except _errors() as failure:
                self.last_failure = _reason(failure)
                reason = type(failure).__name__
        raise SchemaError(f"source {source.given!r} cannot be read by Spark ({reason}); check it.")

    def ready(self) -> bool:
        """Open the session and its views unless they are open."""
        with self._lock:
            if self._session is not None:
                return False
            try:
                self._open()
            except _errors() as failure:
                self.last_failure = _reason(failure)
            return True

    def stop(self) -> None:
        """Cancel the statement that another thread waits for."""
        under_way = self._statement  # without the lock, which that thread holds
        if under_way is not None:
            under_way.cancel()

    def places(self, view: str) -> tuple[str, ...]:
        """Where one of the sources lies: the full name of a table, and the files that are read."""
        source = self._sources[view]
        with self._lock:
            try:
                session = self._open()
                if source.table is None:
                    return source.places()
                above = [session.catalog.currentCatalog(), session.catalog.currentDatabase()]
                parts = source.table.replace("`", "").split(".")
                name = ".".join([*above, *parts][-max(3, len(parts)) :])
                files = [SparkSource(file, file, None) for file in _files(session, view)]
                return (f"/spark/{name}", *(place for file in files for place in file.places()))
            except _errors() as failure:
                self.last_failure = _reason(failure)
        raise SchemaError(f"source {source.given!r} cannot be found by Spark; check it.")

    def rows(self, sql: str) -> list[tuple[Cell, ...]]:
        """All rows of one SELECT; from several threads, one after the other. Rows are exact."""
        with self._lock:
            rows = self._attempt(sql)
        if rows is None:
            # Raised here, outside any handler, so that no reason hangs on it as a context.
            raise Unavailable(MESSAGE)
        return rows

    def rows_together(self, statements: Sequence[str]) -> list[list[tuple[Cell, ...]]]:
        """All rows of several SELECTs, one after the other. Rows are exact."""
        return [self.rows(sql) for sql in statements]

    def close(self) -> None:
        """Let the session go; Spark itself stays, for the next one."""
        with self._lock:
            self._session = None

    def _open(self) -> Any:
        if os.getpid() != self._owner:
            raise ValueError("a fork cannot use its parent's Spark")
        if self._session is None:
            session = new_session()
            for view, source in self._sources.items():
                read = session.table(source.table) if source.table else _parquet(session, source)
                read.createOrReplaceTempView(view)
            self._session = session
        return self._session

    def _attempt(self, sql: str) -> list[tuple[Cell, ...]] | None:
        """In a thread of its own, so that a Spark that hangs cannot hold the caller."""
        self._statement = statement = _Statement(self._open, sql)
        worker = threading.Thread(target=statement.run, daemon=True)
        worker.start()
        worker.join(self._seconds)
        waited = 0.0
        while worker.is_alive() and waited < _GRACE_SECONDS:
            statement.cancel()
            worker.join(_SECONDS_BETWEEN_CANCELS)
            waited += _SECONDS_BETWEEN_CANCELS
        if worker.is_alive():
            self._session = None
        if waited:
            statement.reason, statement.rows = (
                "the time limit ran out; the jobs were cancelled",
                None,
            )
        if statement.rows is None:
            self.last_failure = statement.reason
        return statement.rows


class _Statement:
    """One statement under way: its rows, or the reason why there are none."""

    def __init__(self, opened: Any, sql: str) -> None:
        self._open = opened
        self._sql = sql
        self._group = secrets.token_hex(8)
        self._context: Any = None
        self.rows: list[tuple[Cell, ...]] | None = None
        self.reason = "no result"

    def cancel(self) -> None:
        if self._context is not None:
            self._context.cancelJobGroup(self._group)

    def run(self) -> None:
        try:
            session = self._open()
            self._context = session.sparkContext
            self._context.setJobGroup(self._group, "discreet", interruptOnCancel=True)
            self.rows = _rows(session, self._sql)
        except _errors() as failure:
            self.reason = _reason(failure)


def _parquet(session: Any, source: SparkSource) -> Any:
    return session.read.option("recursiveFileLookup", "false").parquet(source.path)


def _files(session: Any, view: str) -> list[str]:
    """The addresses of the files that a view reads."""
    return [unquote(file) for file in session.table(view).inputFiles()]


def _rows(session: Any, sql: str) -> list[tuple[Cell, ...]]:
    if not is_query(sql):
        raise ValueError("the engine runs one SELECT statement and nothing else")
    # This parser takes queries only: no command, and no WITH before an INSERT. It goes by the
    # settings of the thread's session.
    java = session._jsparkSession
    java.setActiveSession(java)
    java.sessionState().sqlParser().parseQuery(sql)
    frame = session.sql(sql)
    for field in frame.schema.fields:
        kind = type(field.dataType).__name__
        whole = kind == "DecimalType" and field.dataType.scale == 0
        text = kind == "StringType" and is_key(field.name)
        if not (kind in _INTEGERS or whole or text):
            raise TypeError(f"the statement yields {kind}; integers only")
    return [tuple(map(_cell, row)) for row in frame.collect()]


def _cell(value: Any) -> Cell:
    return int(value) if isinstance(value, Decimal) else value


def _errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    known = (ArithmeticError, DiscreetError, OSError, TypeError, ValueError)
    return (Py4JError, PySparkException, *known)


def _reason(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"
