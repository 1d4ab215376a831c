"""Remote runs on each engine: started before the charge, ended when late, declared seconds; and a
server over a database names neither host, database, schema nor table of it.
"""

import threading
from fractions import Fraction

import duckdb
import pytest
from starlette.testclient import TestClient

from discreet.curator.curator import Curator
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.postgresql.engine import PostgreSQL
from discreet.errors import Unavailable
from discreet.plan.parts.patience import ENGINE_SECONDS
from discreet.server.accounts import Accounts, Role
from discreet.server.application import application
from support.clocks import InstantClock

SCHEMA = """
[table]
name = "visits"
source = "{source}"
unit = "who"
rows_per_unit = 2
{more}
[columns]
age = {{ type = "integer", lower = 0, upper = 50 }}
region = {{ type = "category", keys = ["north", "south"] }}
[budget]
epsilon = 1000
"""
ROWS = "SELECT i AS who, i % 90 AS age, ['north', 'south'][1 + i % 2] AS region FROM range(60) t(i)"
SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.fixture
def canary(postgresql) -> str:
    """A table in a schema with a name that nobody may read."""
    postgresql.run("DROP SCHEMA IF EXISTS canary_schema CASCADE")
    postgresql.run("CREATE SCHEMA canary_schema")
    postgresql.run("CREATE TABLE canary_schema.canary_table (who BIGINT, age BIGINT, region TEXT)")
    for row in duckdb.sql(ROWS).fetchall():
        postgresql.admin.execute("INSERT INTO canary_schema.canary_table VALUES (%s, %s, %s)", row)
    postgresql.run("GRANT USAGE ON SCHEMA canary_schema TO reader")
    postgresql.run("GRANT SELECT ON canary_schema.canary_table TO reader")
    return str(postgresql.source.replace("#source", "#canary_schema.canary_table"))


def curator_over(folder, source, more=""):
    folder.mkdir(exist_ok=True)
    (folder / "visits.toml").write_text(SCHEMA.format(source=source, more=more))
    curator = Curator.open(folder / "vault", clock=InstantClock(), price_floor=0)
    curator.add(folder / "visits.toml")
    curator.grant("ana", epsilon=900)
    return curator


def test_a_server_over_a_database_names_nothing_of_it(canary, postgresql, tmp_path):
    with curator_over(tmp_path / "c", canary) as curator:
        accounts = Accounts(curator.vault.states)
        token = accounts.issue("ana", Role.ANALYST, days=1).text
        headers = {"Authorization": f"Bearer {token}"}
        with TestClient(application(curator), base_url="http://127.0.0.1") as client:

            def said(path, **body):
                return client.post(f"/api/v1{path}", json=body, headers=headers)

            found = [said("/explain", sql=SQL, epsilon=1), said("/queries", sql=SQL, epsilon=1)]
            assert [each.status_code for each in found] == [200, 200]
            assert '"visits"' in found[0].json()["sql"]
            assert found[0].json()["answer_seconds"] == 2
            found.append(client.get("/api/v1/tables", headers=headers))
            postgresql.run("DROP SCHEMA canary_schema CASCADE")
            found.append(said("/queries", sql=SQL, epsilon=2))
            curator._warehouse._relations.clear()  # as after a restart
            found += [said("/explain", sql=SQL, epsilon=2), said("/queries", sql=SQL, epsilon=3)]
        assert [each.status_code for each in found[3:]] == [503, 400, 400]
        words = ("canary", "reader", "host=", "postgresql:", str(tmp_path))
        for each in found:
            assert not [word for word in words if word in each.text], each.text


def test_a_statement_that_is_late_is_ended_on_postgresql(canary):
    engine = PostgreSQL(canary, time_limit_seconds=600)
    assert engine.ready()
    assert not engine.ready()
    _check_stopped(engine, "SELECT COUNT(*) FROM pg_sleep(600)")
    engine.close()


def test_a_statement_that_is_late_is_ended_on_duckdb(tmp_path):
    file = tmp_path / "rows.parquet"
    duckdb.sql(f"COPY ({ROWS}) TO '{file}'")
    with DuckDB.in_place(str(file), time_limit_seconds=600) as engine:
        assert engine.ready()
        assert not engine.ready()
        _check_stopped(
            engine, "SELECT sum(a.range % b.range) FROM range(1000000) a, range(1000000) b"
        )
        assert engine.rows("SELECT count(*) FROM source") == [(60,)]


def _check_stopped(engine, sql):
    told = []

    def run():
        with pytest.raises(Unavailable):
            engine.rows(sql)
        told.append(sql)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    for _ in range(2400):
        engine.stop()
        thread.join(0.1)
        if not thread.is_alive():
            break
    assert told == [sql]


def test_seconds_are_declared_or_those_of_the_engine(canary, tmp_path):
    """Never of the rows: the plan of a table with more rows has the same."""
    for name, count in (("few", 2), ("many", 5000)):
        file = tmp_path / f"{name}.parquet"
        duckdb.sql(f"COPY ({ROWS.replace('60', str(count))}) TO '{file}'")
        for more, seconds in (("", ENGINE_SECONDS["prepared"]), ("answer_seconds = 1.5", 1.5)):
            with curator_over(tmp_path / f"{name}{len(more)}", file, more) as curator:
                session = curator.session("ana")
                made = session.explain(SQL, epsilon=1)
                assert made.answer_seconds == Fraction(seconds)
                twice = "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.who = b.who"
                twofold = session.explain(twice, epsilon=1)
                passes = max(1, Fraction(twofold.work, 2 * made.work))
                assert twofold.answer_seconds == 2 * Fraction(seconds) * passes
                many = (
                    "SELECT age, region, COUNT(*) AS n, MEDIAN(age) AS m FROM visits GROUP BY 1, 2"
                )
                assert session.explain(many, epsilon=1).answer_seconds >= Fraction(seconds)
    with curator_over(tmp_path / "p", canary) as curator:
        made = curator.session("ana").explain(SQL, epsilon=1)
        assert made.answer_seconds == ENGINE_SECONDS["postgresql"]
