"""Two values are one unit when the source's own type says that they are equal. Every type of each
engine's own catalogue is either proved, against the engine's GROUP BY on the raw column, or
refused: no value of it is ever split into several units, nor are several merged.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.origins import Origin
from discreet.engines.postgresql import PostgreSQL
from discreet.errors import SchemaError
from discreet.plan.dialects.postgresql import POSTGRESQL
from support.unit_values import SPELLINGS, check_units

PARAMETERS = {
    "array": "INTEGER[2]",
    "decimal": "DECIMAL(30,4)",
    "dec": "DECIMAL(18,0)",
    "numeric": "DECIMAL(9,2)",
    "enum": "ENUM('a', 'A', 'a ', '1', '1.0')",
    "list": "DOUBLE[]",
    "map": "MAP(VARCHAR, DOUBLE)",
    "row": "STRUCT(a DOUBLE)",
    "struct": "STRUCT(a INTEGER, b INTERVAL)",
    "tuple": "STRUCT(a INTEGER)",
    "union": "UNION(a INTEGER, b VARCHAR)",
}
ONLY_BY_VALUE = {"null", "type"}
"""No column can have these types."""

EXPRESSIONS = ("-CAST('nan' AS DOUBLE)", "CAST('-0.0' AS DOUBLE)", "interval 1 month")
DUCKDB_ACCEPTED = (
    "bigint", "blob", "boolean", "date", "dec", "decimal", "double", "enum", "float", "hugeint",
    "integer", "smallint", "timestamp", "tinyint", "ubigint", "uhugeint", "uuid", "varchar",
)  # fmt: skip


def duckdb_columns(connection) -> dict[str, str]:
    """A column for every type name and every collation that this DuckDB knows."""
    names = connection.execute("SELECT DISTINCT lower(type_name) FROM duckdb_types() ORDER BY 1")
    found = {
        column(name): PARAMETERS.get(name, name)
        for (name,) in names.fetchall()
        if name not in ONLY_BY_VALUE
    }
    collations = connection.execute("SELECT collname FROM pragma_collations() ORDER BY 1")
    listed = [name for (name,) in collations.fetchall()]
    for name in (*listed, "nocase.noaccent", "nfc.nocase", "binary", "C", "POSIX"):
        found[column(f"text {name}")] = "VARCHAR COLLATE " + ".".join(
            f'"{part}"' for part in name.split(".")
        )
    return found


@pytest.fixture(scope="module")
def duckdb_file(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A DuckDB file with every type, a table of the rows and a view of it."""
    file = tmp_path_factory.mktemp("units") / "every.duckdb"
    with duckdb.connect(file) as connection:
        columns = duckdb_columns(connection)
        made = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        connection.execute(f"CREATE TABLE every (n INTEGER, {made})")
        connection.execute("CREATE TEMP TABLE spelt (n INTEGER, s VARCHAR)")
        twice = [(number, text) for number, text in enumerate(SPELLINGS * 2)]
        connection.executemany("INSERT INTO spelt VALUES (?, ?)", twice)
        casts = []
        for name, kind in columns.items():
            cast = f"TRY_CAST(s AS {kind})" if "COLLATE" not in kind else "s"
            with contextlib.suppress(duckdb.Error):
                connection.execute(f"SELECT {cast} FROM spelt").fetchall()
                casts.append(f'{cast} AS "{name}"')
        connection.execute(f"INSERT INTO every BY NAME SELECT n, {', '.join(casts)} FROM spelt")
        plain = {name: kind for name, kind in columns.items() if "COLLATE" not in kind}
        for number, expression in enumerate(EXPRESSIONS, len(twice)):
            casts = []
            for name, kind in plain.items():
                with contextlib.suppress(duckdb.Error):
                    connection.execute(f"SELECT ({expression})::{kind}").fetchall()
                    casts.append(f'({expression})::{kind} AS "{name}"')
            listed = ", ".join(casts)
            connection.execute(f"INSERT INTO every BY NAME SELECT {number} AS n, {listed}")
        connection.execute("CREATE VIEW seen AS SELECT * FROM every")
    return file, columns


def column(name: str) -> str:
    """A column's name for a type's."""
    return re.sub(r"\W+", "_", name.replace("[]", " array")).strip("_")


def proved(columns, types, check) -> list[str]:
    """The columns whose type is accepted and proved, one for each type."""
    known: dict[str, bool] = {}
    accepted = []
    for name in columns:
        if types[name] not in known:
            known[types[name]] = False
            try:
                check(name)
                known[types[name]] = True
            except SchemaError as refusal:
                assert "a unit of the type" in str(refusal)
        if known[types[name]]:
            accepted.append(name)
    return accepted


def test_every_duckdb_type_is_proved_or_refused(duckdb_file):
    file, columns = duckdb_file
    source = f"{file}#every"
    types = Origin.of(source).types()
    assert Origin.of(f"{file}#seen").types() == types  # a view tells the same, collations too
    with (
        DuckDB.in_place(source, time_limit_seconds=60) as engine,
        duckdb.connect(file, read_only=True) as owner,
    ):

        def rows(sql):
            if "FROM every" in sql:
                return owner.execute(sql).fetchall()
            found = engine._attempt(engine._holding(), sql)
            assert found is not None, f"{engine.last_failure}\n{sql}"
            return found

        accepted = proved(
            columns, types, lambda name: check_units(rows, "every", "source", types, "duckdb", name)
        )
    assert set(DUCKDB_ACCEPTED) <= set(accepted)
    assert {"interval", "json", "timestamptz", "timetz", "list"}.isdisjoint(accepted)
    texts = [name for name in accepted if name.startswith("text_")]
    assert texts == ["text_binary", "text_C", "text_POSIX"]


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
POSTGRESQL_ACCEPTED = {
    "bigint", "boolean", "char_domain", "character", "character_varying", "date", "integer", "integer_domain",
    "long", "mood", "mood_domain", "name", "short", "smallint", "text", "uuid",
}  # fmt: skip


class Units:
    """A database of a PostgreSQL server, with a table of every type."""

    def __init__(self, folder: Path) -> None:
        server = f"postgresql://{{}}@/{{}}?host={folder}"
        with psycopg.connect(server.format("postgres", "postgres"), autocommit=True) as admin:
            admin.execute("DROP DATABASE IF EXISTS units")
            admin.execute("CREATE DATABASE units ENCODING 'UTF8' TEMPLATE template0")
        self.owner = psycopg.connect(server.format("postgres", "units"), autocommit=True)
        self.source = f"{server.format('reader', 'units')}#{{}}"
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


@pytest.fixture(scope="module")
def units(postgresql_folder: Path) -> Iterator[Units]:
    made = Units(postgresql_folder)
    with contextlib.closing(made):
        yield made


def check_postgresql(units: Units) -> None:
    types = Origin.of(units.source.format("every")).types()
    assert Origin.of(units.source.format("seen")).types() == types
    with PostgreSQL(units.source.format("every"), time_limit_seconds=60) as engine:

        def rows(sql):
            if "FROM every" in sql:
                return units.owner.execute(sql).fetchall()
            found = engine._attempt(sql)
            assert found is not None, f"{engine.last_failure}\n{sql}"
            return found

        accepted = proved(
            units.columns,
            types,
            lambda name: check_units(rows, "every", '"public"."every"', types, "postgresql", name),
        )
    assert set(accepted) == POSTGRESQL_ACCEPTED


def test_every_postgresql_type_is_proved_or_refused(units):
    check_postgresql(units)


@pytest.fixture(scope="module")
def full_folder(tmp_path_factory) -> Iterator[Path]:
    """The folder of this machine's own PostgreSQL, if it has ICU and the extension citext."""
    found = shutil.which("postgres")
    programs = Path(found).resolve().parent if found else Path()
    if not found or not (programs / "initdb").exists():
        pytest.skip("no PostgreSQL of the machine's own")
    folder = Path(tempfile.mkdtemp(prefix="discreet-units-"))
    user = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
    data = folder / "data"
    if user:
        shutil.chown(folder, **user)

    def run(*words: str) -> None:
        said = folder / "log"
        done = subprocess.run(
            [programs / words[0], "-D", data, *words[1:]],
            **user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"{words[0]} does not run here ({said.name})")

    try:
        run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-w", "-t", "200", "-l", str(folder / "log"), "-o", options, "start")
        try:
            server = f"postgresql://postgres@/postgres?host={folder}"
            with psycopg.connect(server, autocommit=True) as admin:
                admin.execute("CREATE ROLE reader LOGIN")
                try:
                    admin.execute("CREATE EXTENSION citext")
                    admin.execute(FOLDING)
                except psycopg.Error as reason:
                    pytest.skip(f"the machine's PostgreSQL: {reason}")
            yield folder
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_every_type_of_a_postgresql_with_citext_and_icu(full_folder):
    with contextlib.closing(Units(full_folder)) as units:
        # The two columns have other equalities than their texts, or the test would show nothing.
        for name in ("citext", "folding"):
            asked = f'SELECT count(DISTINCT "{name}") < count(DISTINCT "{name}"::text COLLATE "C") '
            assert units.owner.execute(f"{asked} FROM every").fetchone() == (True,)
        check_postgresql(units)
