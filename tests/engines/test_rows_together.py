"""Several statements of one run: each gives what it gives alone, all of them or none, and on
PostgreSQL over one state of the data.
"""

import threading
from pathlib import Path

import duckdb
import pytest

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.protocol import MESSAGE
from discreet.errors import Unavailable

COUNT, SUM = 'SELECT COUNT(*) AS "$s0" FROM source', 'SELECT SUM("a") AS "$s0" FROM source'


@pytest.fixture
def local(tmp_path):
    path = tmp_path / "rows.parquet"
    duckdb.sql("SELECT range AS a FROM range(10)").write_parquet(str(path))
    engine = DuckDB.in_place(str(Path(path)), time_limit_seconds=30)
    yield engine
    engine.close()


def test_each_statement_gives_what_it_gives_alone(local):
    assert local.rows_together((COUNT, SUM)) == [local.rows(COUNT), local.rows(SUM)]


def test_one_that_fails_takes_the_others_with_it(local):
    with pytest.raises(Unavailable, match=MESSAGE[:20]):
        local.rows_together((COUNT, 'SELECT "no" AS "$s0" FROM source'))


def test_postgresql_reads_one_state_of_the_data(postgresql):
    postgresql.load({"a": "BIGINT"}, [(1,), (2,)])
    slow = 'SELECT COUNT(*) AS "$s0" FROM source, (SELECT pg_sleep(1.5)) AS waited'
    writer = threading.Timer(0.5, lambda: postgresql.run("INSERT INTO source VALUES (3)"))
    writer.start()
    try:
        found = postgresql.engine.rows_together((slow, COUNT, SUM))
    finally:
        writer.join()
    assert found == [[(2,)], [(2,)], [(3,)]]
    assert postgresql.engine.rows(COUNT) == [(3,)]


def test_one_that_fails_on_postgresql_takes_the_others_with_it(postgresql):
    postgresql.load({"a": "BIGINT"}, [(1,)])
    with pytest.raises(Unavailable):
        postgresql.engine.rows_together((COUNT, "SELECT 1 / 0 FROM source"))


def test_spark_gives_what_each_gives_alone(spark):
    spark.load({"a": "BIGINT"}, [(1,), (2,)])
    assert spark.engine.rows_together((COUNT, SUM)) == [[(2,)], [(3,)]]
