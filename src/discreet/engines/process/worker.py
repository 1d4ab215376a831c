"""The child process that holds DuckDB: reads one request at a time, answers, exits with its parent.
Run as a script in an isolated interpreter; imports nothing of this package, so that it starts
quickly. Never answers a query with anything but integers and NULL, and keys ("$k0") as text.
"""

import json
import marshal
import os
import re
import resource
import select
import signal
import struct
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__: list[str] = []

_HEADER = struct.Struct("<cQ")
_READY, _RESULT, _FAILURE, _PROGRESS = b"S", b"R", b"E", b"P"
_WIDTHS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_INTEGERS = {*_WIDTHS, *(f"U{width}" for width in _WIDTHS), '"NULL"', "NULL"}
_BINARY = ("", "binary", "c", "posix")  # collations by which texts are equal as their bytes are
_KNOWN = (ArithmeticError, MemoryError, OSError, RuntimeError, TypeError, ValueError)
_SECONDS_BETWEEN_PROGRESS = 0.1
_MOST_ROWS = 100_000  # of a result above released rows
_MOST_TEXT = 1 << 23


class _Pipe:
    """Frames to and from the parent: a tag and a length, then that many bytes."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
        self._replies = os.dup(1)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # whatever a library prints must not reach anybody
            os.dup2(nowhere, descriptor)
        threading.Thread(target=self._exit_with_parent, daemon=True).start()

    def _exit_with_parent(self) -> None:
        poll = select.poll()
        poll.register(self._requests.fileno(), 0)  # wakes for a hang-up only
        poll.poll()
        os._exit(1)

    def receive(self) -> Any:
        header = self._requests.read(_HEADER.size)
        if len(header) < _HEADER.size:
            os._exit(0)
        return json.loads(self._requests.read(_HEADER.unpack(header)[1]))

    def send(self, tag: bytes, payload: bytes = b"") -> None:
        unsent = memoryview(_HEADER.pack(tag, len(payload)) + payload)
        while unsent:
            unsent = unsent[os.write(self._replies, unsent) :]


def _protect() -> None:
    """No core file, no debugger, no file that others can read, no interrupt from a terminal."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        # PR_SET_DUMPABLE: a core pattern that is a pipe does not look at the limit above.
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def _library(folder: str) -> Any:
    """DuckDB; its compiled half suffices here and loads in a third of the time."""
    sys.path.append(folder)
    try:
        import _duckdb

        return _duckdb
    except ImportError:
        import duckdb

        return duckdb


def _open(duckdb: Any, order: dict[str, Any]) -> "DuckDBPyConnection":
    """Connect, attach and allow what the order names, then shut the door and lock it."""
    connection: DuckDBPyConnection = duckdb.connect(
        order["database"], read_only=order["read_only"], config=order["settings"]
    )
    for statement in order["statements"]:
        connection.execute(statement.replace(order["key_mark"], order["key"]))
    if order["address_space"]:
        most = order["address_space"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _rows(connection: "DuckDBPyConnection", sql: str) -> bytes:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise ValueError("the engine runs one SELECT statement and nothing else")
    connection.execute(sql)
    others = {
        str(column[1])
        for column in connection.description
        if str(column[1]) not in _INTEGERS
        and not (column[0].startswith("$k") and str(column[1]) == "VARCHAR")
    }
    if others:
        raise TypeError(f"the statement yields {sorted(others)}; integers only")
    return marshal.dumps(connection.fetchall())


def _load(connection: "DuckDBPyConnection", told: str) -> bytes:
    """Make a table of released values: columns of texts that are cast to their type, or floats."""
    import base64

    import numpy

    table = json.loads(told)
    arrays, casts = {}, []
    for place, column in enumerate(table["columns"]):
        if "floats" in column:
            values = numpy.frombuffer(base64.b64decode(column["floats"]), dtype="<f8")
        else:
            values = numpy.array([*column["texts"], ""], dtype=object)[:-1]
        arrays[f"v{place}"] = values
        casts.append(f'CAST(v{place} AS {column["type"]}) AS "c{place}"')
    connection.register("loaded", arrays)
    connection.execute(
        f'CREATE OR REPLACE TABLE "{table["name"]}" AS SELECT {", ".join(casts)} FROM loaded'
    )
    connection.unregister("loaded")
    return marshal.dumps(None)


def _table(connection: "DuckDBPyConnection", sql: str) -> bytes:
    """The names and types of a result, and its rows: numbers, texts, booleans and NULL."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise ValueError("the engine runs one SELECT statement and nothing else")
    connection.execute(sql)
    columns = [(column[0], str(column[1])) for column in connection.description]
    rows = connection.fetchmany(_MOST_ROWS + 1)
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"the result has more than {_MOST_ROWS} rows")
    plain = [tuple(map(_plain, row)) for row in rows]
    if sum(len(cell) for row in plain for cell in row if isinstance(cell, str)) > _MOST_TEXT:
        raise ValueError("the result has too much text")
    return marshal.dumps((columns, plain))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return "[" + ", ".join(str(_plain(part)) for part in value) + "]"
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "as_tuple"):  # a decimal
        return float(value)
    return str(value)


def _names(connection: "DuckDBPyConnection", sql: str) -> bytes:
    """Names and types of the columns a SELECT would yield; no row is kept."""
    connection.execute(f"SELECT * FROM ({sql}) LIMIT 0")
    columns = [(column[0], str(column[1])) for column in connection.description]
    texts = {place for place, (_, kind) in enumerate(columns) if kind == "VARCHAR"}
    collated = _collations(connection, sql, len(columns), texts) if texts else {}
    return marshal.dumps(
        [(name, kind + collated.get(place, "")) for place, (name, kind) in enumerate(columns)]
    )


def _collations(
    connection: "DuckDBPyConnection", sql: str, count: int, texts: set[int]
) -> dict[int, str]:
    """What stands after the type of a text that is not compared byte by byte.

    A type's own text leaves it out; the definition of a table tells it.
    """
    every = ", ".join(f"c{place}" for place in range(count))
    listed = ", ".join(f"c{place}" for place in sorted(texts))
    connection.execute(
        f"CREATE TEMP TABLE collated AS SELECT {listed} FROM ({sql}) AS every({every}) LIMIT 0"
    )
    ((definition,),) = connection.execute(
        "SELECT sql FROM duckdb_tables() WHERE table_name = 'collated' AND temporary"
    ).fetchall()
    connection.execute("DROP TABLE collated")
    collations = re.findall(r"c(\d+) VARCHAR(?: COLLATE ([^,)]+))?", definition.replace('"', ""))
    if {int(place) for place, _ in collations} != texts:
        raise ValueError("the collations are not known")
    return {
        int(place): f" COLLATE {name}" for place, name in collations if name.lower() not in _BINARY
    }


def _tables(connection: "DuckDBPyConnection", database: str) -> bytes:
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND "
        "NOT internal UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
        "WHERE database_name = ? AND NOT internal ORDER BY ALL",
        [database, database],
    )
    return marshal.dumps(rows.fetchall())


def _execute(connection: "DuckDBPyConnection", sql: str, pipe: _Pipe) -> bytes:
    """Run statements for their effect, with the share done so far sent along."""
    finished = threading.Event()

    def report() -> None:
        while not finished.wait(_SECONDS_BETWEEN_PROGRESS):
            percent = connection.query_progress()
            if percent >= 0:
                pipe.send(_PROGRESS, marshal.dumps(min(percent / 100, 1.0)))

    reporter = threading.Thread(target=report)
    reporter.start()
    try:
        connection.execute(sql)
    finally:
        finished.set()
        reporter.join()
    return marshal.dumps(None)


def _answer(connection: "DuckDBPyConnection", request: list[str], pipe: _Pipe) -> bytes:
    command, text = request
    if command == "rows":
        return _rows(connection, text)
    if command == "load":
        return _load(connection, text)
    if command == "table":
        return _table(connection, text)
    if command == "names":
        return _names(connection, text)
    if command == "tables":
        return _tables(connection, text)
    if command == "execute":
        return _execute(connection, text, pipe)
    raise ValueError(f"unknown command {command!r}")


def _reason(error: Exception, key: str = "") -> bytes:
    said = f"{type(error).__name__}: {error}"
    return (said.replace(key, "(the key)") if key else said).encode(errors="replace")


def _serve() -> None:
    pipe = _Pipe()
    _protect()
    order = pipe.receive()
    try:
        duckdb = _library(order["library"])
    except ImportError as error:
        pipe.send(_FAILURE, _reason(error))
        return
    try:
        connection = _open(duckdb, order)
    except (duckdb.Error, *_KNOWN) as error:
        pipe.send(_FAILURE, _reason(error, order["key"]))
        return
    pipe.send(_READY)
    while True:
        request = pipe.receive()
        try:
            if request[0] not in order["commands"]:
                raise ValueError(f"this child does not take {request[0]!r}")
            reply = _answer(connection, request, pipe)
        except (duckdb.Error, *_KNOWN) as error:
            pipe.send(_FAILURE, _reason(error, order["key"]))
        else:
            pipe.send(_RESULT, reply)


if __name__ == "__main__":
    _serve()
