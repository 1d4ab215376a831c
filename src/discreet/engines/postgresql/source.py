"""A PostgreSQL table as a source: where it lies, what its columns are, what the role may do.
Reads the catalogue of the database, never a row. Secrets come from the environment or a file.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from discreet.engines.process.child import quote
from discreet.errors import InvalidValue, SchemaError

__all__ = ["PostgreSQLSource", "library"]

_SCHEMES = ("postgresql", "postgres")
_SECRETS = ("password", "sslpassword", "passfile")
_HOW = (
    "Secrets belong into the environment (PGPASSWORD), a password file (PGPASSFILE, ~/.pgpass) or "
    "a service file (PGSERVICEFILE)."
)
_COLUMNS = """
WITH RECURSIVE typed AS (
    SELECT attnum, attname, attcollation, atttypid AS id, atttypmod AS modifier FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT attnum, attname, attcollation, typbasetype, typtypmod
    FROM typed JOIN pg_type t ON t.oid = id WHERE typtype = 'd'
)
SELECT attname, CASE WHEN typtype = 'e' THEN 'text'
    WHEN typnamespace = 'pg_catalog'::regnamespace OR typname = 'citext'
    THEN format_type(t.oid, modifier) ELSE typnamespace::regnamespace::text || '.' || typname END
    || CASE WHEN collisdeterministic OR collname IS NULL THEN '' ELSE ' COLLATE ' || collname END
FROM typed JOIN pg_type t ON t.oid = id LEFT JOIN pg_collation c ON c.oid = attcollation
WHERE typtype <> 'd' ORDER BY attnum
"""
_RIGHTS = """
SELECT current_user, rolsuper, pg_encoding_to_char(encoding), current_setting('server_version_num'),
    has_table_privilege(%s::regclass, 'SELECT') OR has_any_column_privilege(%s::regclass, 'SELECT'),
    has_table_privilege(%s::regclass, 'INSERT, UPDATE, DELETE, TRUNCATE')
FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()
"""
_IDENTITY = """
SELECT system_identifier::text, d.oid::text, %s::regclass::oid::text
FROM pg_control_system(), pg_database d WHERE datname = current_database()
"""
_OLDEST = 140000


def library() -> Any:
    """psycopg, or how to get it."""
    try:
        import psycopg
    except ImportError:
        raise InvalidValue(
            "PostgreSQL needs the package psycopg: pip install 'discreet[postgres]'."
        ) from None
    return psycopg


@dataclass(frozen=True, slots=True)
class PostgreSQLSource:
    """postgresql://user@host:port/database#schema.table, in its parts.

    >>> PostgreSQLSource.read("postgresql://db.example/clinic#visits").relation
    '"public"."visits"'
    """

    given: str
    server: str
    schema: str
    table: str

    @classmethod
    def read(cls, source: str) -> "PostgreSQLSource":
        """The parts of a source; one that holds a secret or names no table is refused.

        A password is never repeated.
        >>> PostgreSQLSource.read("postgresql://me:secret@db.example/clinic#visits")
        Traceback (most recent call last):
        discreet.errors.SchemaError: the source holds a password. Secrets belong into the \
environment (PGPASSWORD), a password file (PGPASSFILE, ~/.pgpass) or a service file \
(PGSERVICEFILE). Nothing was opened.
        """
        try:
            parts = urlsplit(source)
            secret = parts.password is not None
        except ValueError:
            raise SchemaError("the source is no URL; write postgresql://host/db#table.") from None
        if parts.scheme not in _SCHEMES:
            raise SchemaError("a PostgreSQL source begins with postgresql://.")
        if secret or any(name.lower() in _SECRETS for name, _ in parse_qsl(parts.query, True)):
            raise SchemaError(f"the source holds a password. {_HOW} Nothing was opened.")
        schema, mark, table = unquote(parts.fragment).rpartition(".")
        if not table or (mark and not schema):
            raise SchemaError(
                f"source {source!r} names no table; write '#' and schema.table at its end."
            )
        server = parts._replace(fragment="").geturl()
        return cls(source, server, schema or "public", table)

    @property
    def relation(self) -> str:
        """The FROM item of the source.

        >>> PostgreSQLSource.read("postgresql:///clinic#ward.visits").relation
        '"ward"."visits"'
        """
        return f"{quote(self.schema)}.{quote(self.table)}"

    def describe(self) -> list[tuple[str, str]]:
        """Names and types of the columns; an enum counts as text, a domain as what it is made of.

        A collation is named if it calls texts of different bytes equal.
        """
        columns = self._ask(_COLUMNS)
        if not columns:
            raise SchemaError(f"source {self.given!r}: the table has no columns; check its name.")
        return [(str(name), str(kind)) for name, kind in columns]

    def identity(self) -> bytes:
        """What tells this table from all others, however its server is called."""
        ((system, database, table),) = self._ask(_IDENTITY)
        return f"postgresql {system} {database} {table}".encode()

    def check(self) -> None:
        """Refuse a role that can change the table, and a server that is too old or not UTF-8."""
        ((role, superuser, encoding, version, reads, writes),) = self._ask(_RIGHTS)
        if superuser or writes:
            can = "is a superuser" if superuser else f"can change {self.relation}"
            raise SchemaError(
                f"the role {role!r} {can}; the curator needs one that can only read: "
                f"CREATE ROLE reader LOGIN; GRANT SELECT ON {self.relation} TO reader. "
                "Nothing was added."
            )
        if not reads:
            raise SchemaError(
                f"the role {role!r} may not read {self.relation}: GRANT SELECT ON "
                f"{self.relation} TO {role}. Nothing was added."
            )
        if encoding != "UTF8" or int(version) < _OLDEST:
            raise SchemaError(
                f"the database is of version {int(version) // 10000} with encoding {encoding}; "
                "PostgreSQL 14 or later and UTF8 are needed. Nothing was added."
            )

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Answers from the database's own catalogue."""
        psycopg = library()
        names = (self.relation,) * sql.count("%s")
        reason = ""
        try:
            with psycopg.connect(self.server, connect_timeout=10) as connection:
                connection.read_only = True
                rows: list[tuple[Any, ...]] = connection.execute(sql, names).fetchall()
                return rows
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            reason = "there is no such table"
        except psycopg.OperationalError as error:
            # What libpq says about a connection: names of hosts and roles, never a row.
            reason = " ".join(str(error).split()) or "no connection"
        except psycopg.Error as error:
            reason = type(error).__name__
        raise SchemaError(f"source {self.given!r} cannot be read: {reason}.")
