"""The PostgreSQL engine: read-only, timed, silent about rows; sources without secrets."""

import os
import sys
import traceback

import psycopg
import pytest

from discreet.engines.origins import Origin
from discreet.engines.postgresql.engine import PostgreSQL
from discreet.engines.postgresql.source import PostgreSQLSource, library
from discreet.engines.protocol import MESSAGE
from discreet.errors import InvalidValue, SchemaError, Unavailable

CANARY = "canary-51ab"


@pytest.fixture(scope="module")
def source(postgresql) -> str:
    postgresql.run("DROP TABLE IF EXISTS people")
    postgresql.run("CREATE TABLE people (a BIGINT, b NUMERIC(9,2), word TEXT, x DOUBLE PRECISION)")
    postgresql.run(f"INSERT INTO people VALUES (1, 2.5, '{CANARY}', 0.5), (2, NULL, 'b', 1)")
    return str(postgresql.source.replace("#source", "#people"))


@pytest.fixture
def engine(source):
    with PostgreSQL(source, time_limit_seconds=60) as made:
        yield made


def test_integers_of_any_width_and_keys_as_text(engine):
    huge = f"SUM(CAST(a AS NUMERIC)) * {10**40}"
    assert engine.rows(f"SELECT COUNT(*) AS s, {huge} AS t, NULL::BIGINT AS u FROM people") == [
        (2, 3 * 10**40, None)
    ]
    found = engine.rows('SELECT word AS "$k0", COUNT(*) AS "$s0" FROM people GROUP BY 1')
    assert sorted(found) == [("b", 1), (CANARY, 1)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT word FROM people",
        "SELECT x FROM people",
        "SELECT b FROM people",
        "SELECT CAST(word AS BIGINT) FROM people",
        "SELECT 1; SELECT 2",
        "SELECT 1 FROM nowhere",
        "INSERT INTO people VALUES (1)",
        "WITH gone AS (DELETE FROM people RETURNING a) SELECT a FROM gone",
        "SELECT a INTO copied FROM people",
        "SELECT nextval('pg_catalog.nothing')",
        "SET statement_timeout = 0",
    ],
)
def test_everything_else_fails_with_one_message_and_no_row(engine, sql, caplog, capfd):
    with pytest.raises(Unavailable) as caught:
        engine.rows(sql)
    shown = "".join(traceback.format_exception(caught.value))
    assert str(caught.value) == MESSAGE
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in shown + caplog.text + "".join(capfd.readouterr())
    assert engine.last_failure
    assert engine.rows("SELECT COUNT(*) FROM people") == [(2,)]


def test_the_reason_is_kept_for_the_custodian(engine):
    with pytest.raises(Unavailable):
        engine.rows("SELECT CAST(word AS BIGINT) FROM people")
    assert CANARY in engine.last_failure


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM generate_series(1, 100000000000)",
        "SELECT COUNT(*) FROM generate_series(1, 100000000000) AS g(n), "
        "(SELECT set_config('statement_timeout', '0', false)) AS s",
    ],
)
def test_the_time_limit_cannot_be_changed_by_the_statement(engine, sql, monkeypatch):
    monkeypatch.setattr(
        "discreet.engines.postgresql.engine._GRACE_SECONDS", 600
    )  # the server's own limit
    assert engine.rows("SELECT 1") == [(1,)]
    engine._seconds = 1.0
    with pytest.raises(Unavailable):
        engine.rows(sql)
    assert "timeout" in engine.last_failure
    engine._seconds = 60.0
    assert engine.rows("SELECT 1") == [(1,)]


def test_a_server_that_does_not_end_a_statement_is_cut_off(engine, postgresql, monkeypatch):
    monkeypatch.setattr("discreet.engines.postgresql.engine._GRACE_SECONDS", 0.2)
    monkeypatch.setattr("discreet.engines.postgresql.engine._milliseconds", lambda _: 600_000)
    [(number,)] = engine.rows("SELECT pg_backend_pid()")
    engine._seconds = 1.0
    try:
        with pytest.raises(Unavailable):
            engine.rows("SELECT COUNT(*) FROM generate_series(1, 100000000000)")
    finally:
        postgresql.run(f"SELECT pg_terminate_backend({number})")  # else it fills the disk
    monkeypatch.undo()
    assert "OperationalError" in engine.last_failure
    engine._seconds = 60.0
    assert engine.rows("SELECT 1") == [(1,)]


def test_a_lost_connection_is_made_again(engine, postgresql):
    [(number,)] = engine.rows("SELECT pg_backend_pid()")
    postgresql.run(f"SELECT pg_terminate_backend({number})")
    with pytest.raises(Unavailable):
        engine.rows("SELECT 1")
    assert engine.rows("SELECT 1") == [(1,)]


def test_a_fork_makes_a_connection_of_its_own(engine):
    assert engine.rows("SELECT 1") == [(1,)]
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if engine.rows("SELECT 2") == [(2,)] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.rows("SELECT 3") == [(3,)]


def test_a_server_that_is_not_there(capfd):
    engine = PostgreSQL("postgresql://127.0.0.1:1/none#t", time_limit_seconds=1)
    with pytest.raises(Unavailable, match="could not answer"):
        engine.rows("SELECT 1")
    assert "".join(capfd.readouterr()) == ""
    with pytest.raises(SchemaError, match="cannot be read"):
        PostgreSQLSource.read("postgresql://127.0.0.1:1/none#t").describe()


def test_types_are_those_of_the_table(postgresql, source):
    postgresql.run("DROP TABLE IF EXISTS kinds")
    postgresql.run("DROP TYPE IF EXISTS mood CASCADE")
    postgresql.run("DROP DOMAIN IF EXISTS cents CASCADE")
    postgresql.run("CREATE TYPE mood AS ENUM ('good', 'bad')")
    postgresql.run("CREATE DOMAIN cents AS NUMERIC(9,2)")
    postgresql.run("CREATE TABLE kinds (m mood, c cents, t TIMESTAMPTZ, v VARCHAR(3), i INT[])")
    found = Origin.of(source.replace("#people", "#public.kinds")).types()
    assert found == {
        "m": "text",
        "c": "numeric(9,2)",
        "t": "timestamp with time zone",
        "v": "character varying(3)",
        "i": "integer[]",
    }


def test_a_role_that_can_write_is_refused(postgresql, source):
    Origin.of(source).check()
    admin = source.replace("reader@", "postgres@")
    with pytest.raises(SchemaError, match=r"superuser.*GRANT SELECT"):
        Origin.of(admin).check()
    postgresql.run("GRANT INSERT ON people TO reader")
    try:
        with pytest.raises(SchemaError, match="can change"):
            Origin.of(source).check()
    finally:
        postgresql.run("REVOKE INSERT ON people FROM reader")
    postgresql.run("CREATE TABLE IF NOT EXISTS hidden (a BIGINT)")
    postgresql.admin.execute("REVOKE ALL ON hidden FROM reader")
    with pytest.raises(SchemaError, match="may not read"):
        Origin.of(source.replace("#people", "#hidden")).check()


def test_one_table_has_one_identity(source):
    first, again = Origin.of(source), Origin.of(source.replace("#people", "#public.people"))
    assert first.place() == again.place()
    assert first.content() == again.content()
    assert first.stamp() == again.stamp() == ""


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://me:{CANARY}@host/db#t",
        f"postgresql://host/db?password={CANARY}#t",
        f"postgresql://host/db?user=me&PassWord={CANARY}#t",
        f"postgresql://host/db?sslpassword={CANARY}#t",
        f"postgres://me:{CANARY}@host/db#t",
        "postgresql://me:@host/db#t",
    ],
)
def test_a_secret_in_the_source_is_refused_and_not_repeated(given):
    with pytest.raises(SchemaError, match="PGPASSFILE") as refusal:
        Origin.of(given)
    assert CANARY not in str(refusal.value)


@pytest.mark.parametrize(
    "given", ["postgresql://host/db", "postgresql://host/db#", "postgres:x#.t"]
)
def test_a_source_without_a_table_is_refused(given):
    with pytest.raises(SchemaError, match="names no table"):
        Origin.of(given)


def test_tables_that_are_not_there(source):
    with pytest.raises(SchemaError, match="no such table"):
        Origin.of(source.replace("#people", "#nobody")).types()
    with pytest.raises(SchemaError, match="no such table"):
        Origin.of(source.replace("#people", "#none.nobody")).types()


def test_names_with_quotes_are_quoted(postgresql, source):
    postgresql.run('CREATE TABLE IF NOT EXISTS "we""ird.name" (a BIGINT)')
    quoted = source.replace("#people", '#public.we"ird.name')
    read = PostgreSQLSource.read(quoted)
    assert read.relation == '"public.we""ird"."name"'  # the last dot divides


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    assert library() is psycopg
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidValue, match=r"discreet\[postgres\]"):
        library()
