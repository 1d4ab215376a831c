"""The tables of a ledger on a PostgreSQL server, in a schema of their own.
The same columns in the same order as in a file; what must not be undone a trigger refuses.
"""

from typing import Any

from discreet.errors import Unavailable
from discreet.noise.bits import system

__all__ = ["SCHEMA", "prepare_server"]

SCHEMA = "discreet"
"""Where the tables lie in their database."""

_VERSION = b"3"
_LOCK = 0x44495343  # "DISC": of several who make the tables at once, one does
_TABLES = """
CREATE TABLE meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE head (
    "only" bigint PRIMARY KEY CHECK ("only" = 1),
    sequence bigint NOT NULL,
    hash text NOT NULL
);
CREATE TABLE accounts (
    holder text COLLATE "C" NOT NULL CHECK (holder IN ('population', 'analyst')),
    name text COLLATE "C" NOT NULL,
    epsilon text NOT NULL,
    delta text NOT NULL,
    conversion_delta text NOT NULL,
    "limit" text NOT NULL,
    spent text NOT NULL,
    spent_delta text NOT NULL,
    PRIMARY KEY (holder, name)
);
CREATE TABLE entries (
    sequence bigint PRIMARY KEY,
    time text NOT NULL,
    act text NOT NULL CHECK (act IN ('open', 'amend', 'charge', 'adopt')),
    population text,
    analyst text,
    event text NOT NULL,
    memo text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL UNIQUE
);
CREATE TABLE releases (
    number bigint PRIMARY KEY,
    key text COLLATE "C" NOT NULL,
    analyst text COLLATE "C" NOT NULL,
    entry bigint NOT NULL REFERENCES entries (sequence),
    body bytea NOT NULL
);
CREATE INDEX releases_by_key ON releases USING hash (key);
CREATE INDEX releases_by_analyst ON releases (analyst);
CREATE INDEX releases_by_entry ON releases (entry);
CREATE TABLE tables (
    name text COLLATE "C" PRIMARY KEY,
    schema text NOT NULL,
    schema_version text NOT NULL,
    data_version bigint NOT NULL,
    population text NOT NULL,
    source text,
    prepared text,
    fingerprint bytea NOT NULL,
    stamp text NOT NULL,
    registered text NOT NULL
);
CREATE TABLE sources (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('path', 'content')),
    value bytea NOT NULL,
    population text NOT NULL,
    PRIMARY KEY (kind, value)
);
CREATE TABLE seals (
    number bigint PRIMARY KEY,
    kind text NOT NULL,
    reference text NOT NULL,
    digest text NOT NULL,
    mac text NOT NULL
);
CREATE INDEX seals_that_start ON seals (number) WHERE kind = 'start';
CREATE TABLE requests (
    analyst text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    question text NOT NULL,
    entry bigint NOT NULL REFERENCES entries (sequence),
    PRIMARY KEY (analyst, key)
);
CREATE TABLE failures (
    entry bigint PRIMARY KEY REFERENCES entries (sequence),
    error text NOT NULL,
    message text NOT NULL
);
CREATE TABLE states (
    number bigint PRIMARY KEY,
    analyst text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    version bigint NOT NULL,
    entry bigint NOT NULL,
    body bytea NOT NULL,
    UNIQUE (analyst, name, version)
);
CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% are kept', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE FUNCTION entries_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.sequence IS DISTINCT FROM (SELECT coalesce(max(sequence), 0) + 1 FROM entries) THEN
        RAISE EXCEPTION 'entries follow each other'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION releases_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number IS DISTINCT FROM (SELECT coalesce(max(number), 0) + 1 FROM releases) THEN
        RAISE EXCEPTION 'releases follow each other'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_in_order();
CREATE TRIGGER releases_follow BEFORE INSERT ON releases
    FOR EACH ROW EXECUTE FUNCTION releases_in_order();
"""
_ADDITIONS = {  # as in a file: what earlier versions do without
    "entries_by_analyst": "CREATE INDEX {} ON entries (analyst, sequence)",
    "entries_by_population": "CREATE INDEX {} ON entries (population, sequence)",
    "entries_adopted": "CREATE INDEX {} ON entries (sequence) WHERE act = 'adopt'",
    "releases_of_analyst": "CREATE INDEX {} ON releases (analyst, number)",
    "states_begun": "CREATE INDEX {} ON states (analyst, number) WHERE version = 1",
    "states_by_kind": "CREATE INDEX {} ON states (kind, analyst, number) WHERE version = 1",
    "causes": "CREATE TABLE {} (number bigint PRIMARY KEY, time text NOT NULL, "
    "analyst text NOT NULL, entry bigint, label text NOT NULL, cause text NOT NULL)",
}
_UNCHANGED = ("meta", "entries", "releases", "sources", "seals", "requests", "failures", "states")
_NOT_REMOVED = ("accounts", "tables", "head")


def prepare_server(connection: Any) -> None:
    """Make the tables unless they are there; refuse those of another version.

    Runs inside a transaction whose search path is the schema.
    """
    if not _is_there(connection):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if not _is_there(connection):
            _make(connection)
    query = "SELECT value FROM meta WHERE name = 'version'"
    if connection.execute(query).fetchone() != (_VERSION,):
        raise Unavailable(
            f"the schema {SCHEMA!r} of that database is no ledger of this version; name another "
            "database, or use the version of discreet that made it. Nothing was changed."
        )
    if _missing(connection):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        for name in _missing(connection):
            connection.execute(_ADDITIONS[name].format(name))


def _missing(connection: Any) -> list[str]:
    query = (
        "SELECT indexname FROM pg_catalog.pg_indexes WHERE schemaname = %s "
        "UNION ALL SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = %s"
    )
    known = {name for (name,) in connection.execute(query, (SCHEMA, SCHEMA)).fetchall()}
    return [name for name in _ADDITIONS if name not in known]


def _is_there(connection: Any) -> bool:
    # Looked up in a table, not by its name: a connection may remember that a name was unknown.
    query = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'meta'"
    return connection.execute(query, (SCHEMA,)).fetchone() is not None


def _make(connection: Any) -> None:
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    connection.execute(_TABLES)
    for table in _UNCHANGED:
        _keep(connection, table, "UPDATE OR DELETE OR TRUNCATE")
    for table in _NOT_REMOVED:
        _keep(connection, table, "DELETE OR TRUNCATE")
    key = system.bits(256).to_bytes(32, "little")
    connection.execute("INSERT INTO meta VALUES ('key', %s), ('version', %s)", (key, _VERSION))


def _keep(connection: Any, table: str, acts: str) -> None:
    connection.execute(
        f"CREATE TRIGGER {table}_are_kept BEFORE {acts} ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION kept()"
    )
