"""A PostgreSQL server as the ledger's database, for curators in several processes and machines.
Every writer locks the one row of the head first, so reading totals, checking them and appending
is one step for all. Secrets come from the environment or a file, never from the URL.
"""

import contextlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from discreet.engines.postgresql.source import library
from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.entry import FIRST
from discreet.ledger.store.connection import Connection, Rows
from discreet.ledger.store.database import UNTOUCHED
from discreet.ledger.store.server_tables import SCHEMA, prepare_server

__all__ = ["Link", "Server", "is_server", "server_url"]

_SCHEMES = ("postgresql", "postgres")
_SECRETS = ("password", "sslpassword", "passfile")
_WAIT_SECONDS = 30
_OLDEST = 140000
_HERE = f"SET LOCAL search_path = {SCHEMA}, pg_temp"
_BEGIN_READING = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_HERE}"
_BEGIN_WRITING = (  # each statement sees what was committed when it starts: after the lock, all
    f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {_HERE}; "
    "SET LOCAL synchronous_commit = on; "
    f"SET LOCAL lock_timeout = '{_WAIT_SECONDS}s'; "
    "SET LOCAL idle_in_transaction_session_timeout = '60s'"
)
_LOCK = 'SELECT 1 FROM head WHERE "only" = 1 FOR UPDATE'
_MAKE_HEAD = 'INSERT INTO head VALUES (1, 0, ?) ON CONFLICT ("only") DO NOTHING'
_FACTS = """
SELECT current_setting('fsync'), current_setting('server_version_num'),
    pg_encoding_to_char(encoding)
FROM pg_database WHERE datname = current_database()
"""
_LOST = "it cannot be reached or refuses the role; check it and try again"
_REASONS = {  # by the beginning of the server's code
    "55P03": "another process holds it; try again",
    "25P03": "the writer was too slow; try again",
    "25006": "it is read-only; name the server that takes writes",
    "53": "its disk or memory is full; make room",
    "42501": "the role may not do that; let it own the schema",
    "57P": _LOST,
    "08": _LOST,
    "28": _LOST,
}


class Link:
    """A connection that takes the ledger's statements as they are written for SQLite."""

    __slots__ = ("_connection", "total_changes")

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.total_changes = 0

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, sound or not; true where nobody knows."""
        status = self._connection.info.transaction_status
        return bool(status != library().pq.TransactionStatus.IDLE)

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""
        return self._count_changes(self._connection.execute(_translate(sql), values or None))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Rows:
        """Run one statement for each of several rows."""
        cursor = self._connection.cursor()
        cursor.executemany(_translate(sql), rows)
        return self._count_changes(cursor)

    def close(self) -> None:
        """End the connection; what was not committed is undone."""
        self._connection.close()

    def _count_changes(self, cursor: Any) -> Rows:
        if cursor.description is None:  # it wrote
            self.total_changes += max(0, cursor.rowcount)
        rows: Rows = cursor
        return rows


@lru_cache(maxsize=256)
def _translate(sql: str) -> str:
    """The few differences: how values and bytes are written."""
    return sql.replace("hex(value)", "upper(encode(value, 'hex'))").replace("?", "%s")


class Server:
    """One database of a server; the ledger lies in a schema of its own."""

    where = "its server"

    def __init__(self, url: str) -> None:
        self._url = server_url(url)
        self.failures: tuple[type[Exception], ...] = (library().Error, UnicodeDecodeError)

    def connect(self) -> Connection:
        """A new connection, with the tables in place."""
        connection = None
        try:
            connection = library().connect(
                self._url,
                autocommit=True,
                application_name="discreet",
                client_encoding="utf8",
                connect_timeout=10,
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=_WAIT_SECONDS * 1000,
                prepare_threshold=None,
            )
            _check(connection)
            connection.execute(f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {_HERE}")
            prepare_server(connection)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection is not None:
                with contextlib.suppress(library().Error):
                    connection.close()
            if isinstance(error, self.failures):
                self.refuse(error, UNTOUCHED)
            raise
        return Link(connection)

    def begin_reading(self, connection: Connection) -> None:
        """One consistent view from the first statement on."""
        _begin(connection, _BEGIN_READING)

    def begin_writing(self, connection: Connection) -> None:
        """The head's row is locked first: whatever is read afterwards stays so."""
        _begin(connection, _BEGIN_WRITING)
        if connection.execute(_LOCK).fetchone() is None:  # a new ledger, or a damaged one
            connection.execute(_MAKE_HEAD, (FIRST,))
            if connection.execute(_LOCK).fetchone() is None:
                raise Unavailable(f"the ledger's server did not give the lock. {UNTOUCHED}.")

    def commit(self, connection: Connection) -> None:
        """Flush everything on the server; one that rolls back instead is not believed."""
        if getattr(connection.execute("COMMIT"), "statusmessage", None) != "COMMIT":
            raise Unavailable(f"the ledger's server rolled the transaction back. {UNTOUCHED}.")

    def refuse(self, error: Exception, happened: str) -> NoReturn:
        """Say what a failure means, without the server's own words."""
        code = getattr(error, "sqlstate", None) or "08"
        reasons = [reason for start, reason in _REASONS.items() if code.startswith(start)]
        reason = reasons[0] if reasons else f"it refused ({type(error).__name__} {code})"
        raise Unavailable(f"the ledger's server: {reason}. {happened}.") from error

    def intact(self, _: Connection, /) -> bool:
        """The server keeps its own files; data checksums and amcheck are its means."""
        return True


def _begin(connection: Connection, statements: str) -> None:
    if connection.in_transaction:  # a second BEGIN would only warn
        raise Unavailable(f"the ledger's connection is in use or lost; try again. {UNTOUCHED}.")
    connection.execute(statements)


def _check(connection: Any) -> None:
    fsync, version, encoding = connection.execute(_FACTS).fetchone()
    if fsync != "on":
        raise Unavailable(
            "the ledger's server runs with fsync = off, so a charge could be lost; turn it on. "
            f"{UNTOUCHED}."
        )
    if int(version) < _OLDEST or encoding != "UTF8":
        raise Unavailable(
            f"the ledger's server is of version {int(version) // 10000} with encoding {encoding}; "
            f"PostgreSQL 14 or later and UTF8 are needed. {UNTOUCHED}."
        )


def is_server(place: object) -> bool:
    """Whether a place is written as the URL of a server."""
    return isinstance(place, str) and place.startswith(tuple(f"{scheme}://" for scheme in _SCHEMES))


def server_url(url: str) -> str:
    """The URL, without anything that is not for a ledger; one that holds a secret is refused."""
    try:
        parts = urlsplit(url)
        secret = parts.password is not None
    except ValueError:
        raise InvalidValue("the ledger's URL is none; write postgresql://host/database.") from None
    if secret or any(name.lower() in _SECRETS for name, _ in parse_qsl(parts.query, True)):
        raise InvalidValue(
            "the ledger's URL holds a password. Secrets belong into the environment (PGPASSWORD), "
            "a password file (PGPASSFILE, ~/.pgpass) or a service file (PGSERVICEFILE). Nothing "
            "was opened."
        )
    if parts.scheme not in _SCHEMES or parts.fragment:
        raise InvalidValue(
            "the ledger's URL names a database and no table; write postgresql://host/database."
        )
    return url
