"""Two values are one unit when the source's own type says that they are equal. Every type of each
engine's own catalogue is either proved, against the engine's GROUP BY on the raw column, or
refused: no value of it is ever split into several units, nor are several merged.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.origins import Origin
from discreet.engines.postgresql.engine import PostgreSQL
from support.unit_database import FOLDING, Units
from support.unit_values import SPELLINGS, check_units, column, proved

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
            found = engine._attempt(engine._own_holding(), "rows", sql, 60)
            assert found is not None, f"{engine.last_failure}\n{sql}"
            return found

        accepted = proved(
            columns, types, lambda name: check_units(rows, "every", "source", types, "duckdb", name)
        )
    assert set(DUCKDB_ACCEPTED) <= set(accepted)
    assert {"interval", "json", "timestamptz", "timetz", "list"}.isdisjoint(accepted)
    texts = [name for name in accepted if name.startswith("text_")]
    assert texts == ["text_binary", "text_C", "text_POSIX"]


POSTGRESQL_ACCEPTED = {
    "bigint", "boolean", "char_domain", "character", "character_varying", "date", "integer",
    "integer_domain", "long", "mood", "mood_domain", "name", "short", "smallint", "text", "uuid",
}  # fmt: skip


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
def full_folder() -> Iterator[Path]:
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
            pytest.skip(f"{words[0]} does not run here")

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
