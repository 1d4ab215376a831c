"""The tables of a vault: how they are made and brought to the present version.
Every write that must not be undone is refused by a trigger; knows no privacy.
"""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import Unavailable
from discreet.noise.bits import system

__all__ = ["prepare"]

_APPLICATION = 0x44495343  # "DISC"
_VERSION = 3
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
_ADDED = """
CREATE TABLE seals (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    reference TEXT NOT NULL,
    digest TEXT NOT NULL,
    mac TEXT NOT NULL
) STRICT;
CREATE TABLE requests (
    analyst TEXT NOT NULL,
    key TEXT NOT NULL,
    question TEXT NOT NULL,
    entry INTEGER NOT NULL REFERENCES entries (sequence),
    PRIMARY KEY (analyst, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE failures (
    entry INTEGER PRIMARY KEY REFERENCES entries (sequence),
    error TEXT NOT NULL,
    message TEXT NOT NULL
) STRICT;
CREATE INDEX releases_by_entry ON releases (entry);
"""
_STATES = """
CREATE TABLE states (
    number INTEGER PRIMARY KEY,
    analyst TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (analyst, name, version)
) STRICT;
CREATE TRIGGER states_in_order BEFORE INSERT ON states
    WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM states)
    BEGIN SELECT RAISE(ABORT, 'states follow each other'); END;
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
_KEPT_SINCE = {  # as above, in the tables that version 2 added
    "seals": ("UPDATE", "DELETE"),
    "requests": ("UPDATE", "DELETE"),
    "failures": ("UPDATE", "DELETE"),
}
_ADDITIONS = {  # what earlier versions do without, so that they open the file as well
    # So that no page reads more of a longer ledger.
    "entries_by_population": "CREATE INDEX {} ON entries (population, sequence)",
    "entries_adopted": "CREATE INDEX {} ON entries (sequence) WHERE act = 'adopt'",
    "seals_that_start": "CREATE INDEX {} ON seals (number) WHERE kind = 'start'",
    "states_begun": "CREATE INDEX {} ON states (analyst, number) WHERE version = 1",
    "states_by_kind": "CREATE INDEX {} ON states (kind, analyst, number) WHERE version = 1",
    # Why runs failed: for the custodian alone, so neither sealed nor in the chain.
    "causes": "CREATE TABLE {} (number INTEGER PRIMARY KEY, time TEXT NOT NULL, "
    "analyst TEXT NOT NULL, entry INTEGER, label TEXT NOT NULL, cause TEXT NOT NULL) STRICT",
}


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make or extend the tables; refuse a file of another kind or a newer version."""
    if _version(connection, path) == _VERSION and not _missing(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)
        if version == 0:
            _make_tables(connection)
        if version < 2:
            _extend_tables(connection)
        if version < 3:
            _add_states(connection)
        for name in _missing(connection):
            connection.execute(_ADDITIONS[name].format(name))
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _missing(connection: sqlite3.Connection) -> list[str]:
    known = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    return [name for name in _ADDITIONS if name not in known]


def _version(connection: sqlite3.Connection, path: Path) -> int:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    ours = application == _APPLICATION and 1 <= version <= _VERSION
    if ours or not (application or version or tables):
        return version
    raise Unavailable(
        f"{path.name} is not a vault of version {_VERSION} or before; open another folder, or use "
        "the version of discreet that made it."
    )


def _make_tables(connection: sqlite3.Connection) -> None:
    _run(connection, _TABLES, _KEPT)
    key = system.bits(256).to_bytes(32, "little")
    connection.execute("INSERT INTO meta VALUES ('key', ?)", (key,))
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")


def _extend_tables(connection: sqlite3.Connection) -> None:
    """From version 1, whose entries knew no adoption, to version 2."""
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'entries'",
        ("'charge'))", "'charge', 'adopt'))"),
    )
    connection.execute("PRAGMA writable_schema = RESET")
    _run(connection, _ADDED, _KEPT_SINCE)


def _add_states(connection: sqlite3.Connection) -> None:
    """From version 2, which knew no services, to version 3."""
    _run(connection, _STATES, {"states": ("UPDATE", "DELETE")})


def _run(connection: sqlite3.Connection, script: str, kept: Mapping[str, tuple[str, ...]]) -> None:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    for table, acts in kept.items():
        for act in acts:
            connection.execute(
                f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are kept'); END"
            )
