"""A PostgreSQL database with a table of every type: those of its own catalogue, and some made of
them. Where the server lacks citext or ICU, something of the same equality, or of the same name,
stands for them.
"""

from pathlib import Path

import psycopg

from discreet.plan.sql.dialects import POSTGRESQL
from support.unit_values import SPELLINGS, column

CITEXT = """
CREATE TYPE citext;
CREATE FUNCTION citextin(cstring) RETURNS citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION citextout(citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE citext (INPUT = citextin, OUTPUT = citextout, LIKE = text, CATEGORY = 'S',
    COLLATABLE = true);
CREATE CAST (citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS citext) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION citext_eq(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT lower($1::text) COLLATE "C" = lower($2::text) COLLATE "C"';
CREATE FUNCTION citext_hash(citext) RETURNS integer LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT hashtext(lower($1::text) COLLATE "C")';
CREATE OPERATOR = (LEFTARG = citext, RIGHTARG = citext, FUNCTION = citext_eq, COMMUTATOR = =,
    HASHES, RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR CLASS citext_ops DEFAULT FOR TYPE citext USING hash AS
    OPERATOR 1 =, FUNCTION 1 citext_hash(citext);
"""
"""The extension's type for a server without the extension: its equality, in SQL."""

FOLDING = (
    "CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
FOLDED = """
CREATE COLLATION folding FROM "C.utf8";
SET allow_system_table_mods = on;
UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'folding'
"""
"""A collation that only says of itself that it is not deterministic, for a server without ICU."""

VALID = """
CREATE FUNCTION valid(given text, kind text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN EXECUTE format('SELECT CAST(%L AS %s)', given, kind); RETURN true;
EXCEPTION WHEN OTHERS THEN RETURN false; END $$
"""
POSTGRESQL_TYPES = """
SELECT format_type(oid, NULL) FROM pg_type t WHERE typnamespace = 'pg_catalog'::regnamespace
AND typtype IN ('b', 'r', 'm', 'd', 'e') AND typisdefined AND oid <> 'gtsvector'::regtype
AND (typelem = 0 OR typcategory <> 'A' OR typelem IN ('float8'::regtype, 'text'::regtype,
    'numeric'::regtype)) ORDER BY 1
"""
POSTGRESQL_MADE = {
    "short": "character(5)",
    "long": "character varying(50)",
    "scaled": "numeric(20,2)",
    "mood": "mood",
    "mood_domain": "mood_domain",
    "citext": "citext",
    "citext_domain": "citext_domain",
    "citext_domain_domain": "citext_domain_domain",
    "char_domain": "char_domain_domain",
    "number_domain": "numeric_domain",
    "integer_domain": "integer_domain",
    "folding": "text COLLATE folding",
    "folding_varchar": "varchar(9) COLLATE folding",
    "folding_char": "character(9) COLLATE folding",
    "folding_domain": "folding_domain",
    "pair": "pair",
    "other_text": "other.text",
}
POSTGRESQL_SET_UP = """
CREATE TYPE mood AS ENUM ('happy', 'Happy', 'a', 'A');
CREATE TYPE pair AS (a integer, b text);
CREATE SCHEMA other; CREATE TYPE other.text AS (a integer, b text);
CREATE DOMAIN mood_domain AS mood;
CREATE DOMAIN citext_domain AS citext; CREATE DOMAIN citext_domain_domain AS citext_domain;
CREATE DOMAIN char_domain AS character(9); CREATE DOMAIN char_domain_domain AS char_domain;
CREATE DOMAIN numeric_domain AS numeric; CREATE DOMAIN integer_domain AS integer;
CREATE DOMAIN folding_domain AS text COLLATE folding
"""


class Units:
    """A database of a PostgreSQL server, with a table of every type."""

    def __init__(self, folder: Path, database: str = "units") -> None:
        server = f"postgresql://{{}}@/{{}}?host={folder}"
        with psycopg.connect(server.format("postgres", "postgres"), autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {database} ENCODING 'UTF8' TEMPLATE template0")
        self.owner = psycopg.connect(server.format("postgres", database), autocommit=True)
        self.source = f"{server.format('reader', database)}#{{}}"
        self._either("CREATE EXTENSION citext", CITEXT)
        self._either(FOLDING, FOLDED)
        self.owner.execute(POSTGRESQL_SET_UP)
        self.owner.execute(VALID)
        listed = [name for (name,) in self.owner.execute(POSTGRESQL_TYPES).fetchall()]
        self.columns = {column(name): name for name in listed} | POSTGRESQL_MADE
        self._fill()

    def _either(self, statement: str, other: str) -> None:
        try:
            self.owner.execute(statement)
        except psycopg.Error:
            self.owner.execute(other)

    def close(self) -> None:
        self.owner.close()

    def _fill(self) -> None:
        made = ", ".join(f'"{name}" {kind}' for name, kind in self.columns.items())
        self.owner.execute("SET DateStyle = 'ISO, DMY'")
        self.owner.execute(f"CREATE TABLE every (n integer, {made})")
        cells = []
        for kind in self.columns.values():
            bare = kind.partition(" COLLATE ")[0]
            asked = "SELECT valid(s, %s) FROM unnest(%s::text[]) WITH ORDINALITY t(s, n) ORDER BY n"
            known = self.owner.execute(asked, [bare, list(SPELLINGS)]).fetchall()
            cells.append(
                [
                    f"CAST({POSTGRESQL.literal(text)} AS {bare})" if valid else "NULL"
                    for text, (valid,) in zip(SPELLINGS, known, strict=True)
                ]
            )
        lines = list(zip(*cells, strict=True)) * 2
        listed = ", ".join(f"({number}, {', '.join(line)})" for number, line in enumerate(lines))
        self.owner.execute(f"INSERT INTO every VALUES {listed}")
        self.owner.execute("CREATE VIEW seen AS SELECT * FROM every")
        self.owner.execute("GRANT SELECT ON every, seen TO reader")
        self.owner.execute("GRANT USAGE ON SCHEMA other TO reader")
