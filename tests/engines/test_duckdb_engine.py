"""The DuckDB engine against real files: exact integers out, one message for every failure."""

import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.process.child import Child, Failed
from discreet.engines.protocol import MESSAGE, Engine
from discreet.errors import InvalidValue, Unavailable

pytestmark = pytest.mark.usefixtures("children_from_nothing")

CANARY = "canary-5f2a"
STUBBORN = "SELECT list_sum(range(200000000))"  # runs on when interrupted
ENDLESS = "SELECT COUNT(*) FROM range(10000000) a, range(10000000) b WHERE hash(a, b) = 7"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vault") / "it's prepared.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE prepared AS SELECT i::INTEGER AS k, (i % 7)::UTINYINT AS g, "
            f"9223372036854775807::BIGINT AS big, '{CANARY}' AS word FROM range(1000) t(i)"
        )
    return path


@pytest.fixture(scope="module")
def engine(prepared: Path) -> Iterator[DuckDB]:
    with DuckDB(prepared, time_limit_seconds=60) as made:
        yield made


def child_of(engine: DuckDB) -> int:
    (holding,) = engine._holdings.values()
    assert holding.child is not None
    return holding.child.number


def rejects(engine: DuckDB, sql: str) -> str:
    """The reason kept for the custodian, after checking that the caller learns nothing of it."""
    with pytest.raises(Unavailable) as caught:
        engine.rows(sql)
    error = caught.value
    assert str(error) == MESSAGE
    assert error.args == (MESSAGE,)
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join(traceback.format_exception(error)) + repr(error)
    assert CANARY not in shown
    assert engine.last_failure is not None
    assert engine.last_failure not in shown
    return engine.last_failure


def test_is_an_engine(engine: DuckDB) -> None:
    used: Engine = engine
    assert used.dialect == "duckdb"
    assert used.rows("SELECT g, COUNT(*) FROM prepared GROUP BY g ORDER BY g") == [
        (g, len(range(g, 1000, 7))) for g in range(7)
    ]


def test_text_is_taken_in_key_columns_only(engine: DuckDB) -> None:
    grouped = 'SELECT word AS "$k0", COUNT(*) AS "$s0" FROM prepared GROUP BY 1'
    assert engine.rows(grouped) == [(CANARY, 1000)]
    assert "integers only" in rejects(engine, grouped.replace("$k0", "$s1"))
    assert "integers only" in rejects(engine, 'SELECT k / 2 AS "$k0" FROM prepared')


def test_integers_and_null_survive_exactly(engine: DuckDB) -> None:
    assert engine.rows("SELECT SUM(big), -SUM(big) FROM prepared") == [
        (1000 * (2**63 - 1), -1000 * (2**63 - 1))
    ]
    edges = engine.rows(
        "SELECT '-170141183460469231731687303715884105728'::HUGEINT, "
        "'340282366920938463463374607431768211455'::UHUGEINT, 18446744073709551615::UBIGINT, "
        "(-128)::TINYINT, NULL, NULL::BIGINT, SUM(k) FROM prepared WHERE k < 0"
    )
    assert edges == [(-(2**127), 2**128 - 1, 2**64 - 1, -128, None, None, None)]


def test_no_rows(engine: DuckDB) -> None:
    assert engine.rows("SELECT k FROM prepared WHERE k < 0") == []


@pytest.mark.parametrize(
    "value",
    ["1.5::DOUBLE", "1.5::DECIMAL(4,1)", "1::DECIMAL(38,0)", "true", "word", "[k]",
     "DATE '2024-01-01'", "{'a': k}", "k::VARCHAR::BLOB", "1e0::FLOAT", "INTERVAL 1 DAY"],
)  # fmt: skip
def test_anything_but_integers_is_refused(engine: DuckDB, value: str) -> None:
    assert "integers only" in rejects(engine, f"SELECT k, {value} FROM prepared")
    assert "integers only" in rejects(engine, f"SELECT k, {value} FROM prepared WHERE k < 0")


def test_reasons_quote_rows_but_errors_do_not(engine: DuckDB) -> None:
    reason = rejects(engine, "SELECT CAST(word AS INTEGER) FROM prepared")
    assert CANARY in reason  # else this test would prove nothing
    assert CANARY not in repr(engine)


def test_an_error_leaves_the_child_usable(engine: DuckDB) -> None:
    engine.rows("SELECT 1")
    before = child_of(engine)
    rejects(engine, "SELECT nonsense")
    assert engine.rows("SELECT 1") == [(1,)]
    assert child_of(engine) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/hostname', header = false)",
        "SELECT LENGTH(content) FROM read_text('/etc/hostname')",
        "SELECT COUNT(*) FROM glob('/etc/*')",
        "SELECT COUNT(*) FROM sniff_csv('/etc/hostname')",
        "COPY prepared TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.duckdb' AS other",
        "ATTACH ':memory:' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{folder}/own.duckdb_extension'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET threads = 1",
        "PRAGMA threads = 1",
        "CREATE TABLE other (k INTEGER)",
        "CREATE TEMP TABLE other (k INTEGER)",
        "CREATE MACRO f(x) AS x",
        "INSERT INTO prepared VALUES (1, 1, 1, 'x')",
        "UPDATE prepared SET k = 0",
        "DELETE FROM prepared",
        "DROP TABLE prepared",
        "WITH gone AS (DELETE FROM prepared RETURNING k) SELECT k FROM gone",
        "CHECKPOINT",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE prepared",
        "",
        "EXPLAIN SELECT 1",
        "SELECT COUNT(*) FROM connection",  # a Python variable of the child
    ],
)
def test_the_door_is_shut(engine: DuckDB, tmp_path: Path, sql: str) -> None:
    rejects(engine, sql.replace("{folder}", str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    assert engine.rows("SELECT COUNT(*) FROM prepared") == [(1000,)]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE copied AS FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb' AS other",
        "INSTALL httpfs",
        "SET threads = 1",
        "SET allowed_paths = ['/etc/hostname']",
        "RESET lock_configuration",
        "DELETE FROM prepared",
        "CREATE TABLE other (k INTEGER)",
    ],
)
def test_the_connection_is_shut_even_without_the_check_of_statements(
    engine: DuckDB, tmp_path: Path, sql: str
) -> None:
    with (
        Child(replace(engine._order, commands=("execute",))) as child,
        pytest.raises(Failed, match=r"disabled by configuration|locked|read-only"),
    ):
        child.ask("execute", sql.replace("{folder}", str(tmp_path)), limit_seconds=60)
    assert list(tmp_path.iterdir()) == []


def test_a_child_takes_only_the_commands_it_was_ordered_to(engine: DuckDB) -> None:
    with Child(engine._order) as child, pytest.raises(Failed, match="does not take"):
        child.ask("names", "FROM prepared", limit_seconds=60)


def test_settings_are_locked_in_the_child_itself(prepared: Path) -> None:
    """Not only because the child refuses statements that are no SELECT."""
    with DuckDB(prepared, time_limit_seconds=60, threads=1, memory_limit="200MB") as engine:
        wanted = {
            "enable_external_access": "false",
            "lock_configuration": "true",
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "python_enable_replacements": "false",
            "temp_directory": "",
            "threads": "1",
            "memory_limit": "190.7 MiB",
        }
        for name, value in wanted.items():
            sql = (
                f"SELECT (value = '{value}')::INTEGER FROM duckdb_settings() WHERE name = '{name}'"
            )
            assert engine.rows(sql) == [(1,)], name


def test_the_file_is_not_touched(prepared: Path, engine: DuckDB) -> None:
    before = (prepared.stat().st_mtime_ns, prepared.read_bytes())
    engine.rows("SELECT SUM(k) FROM prepared")
    assert (prepared.stat().st_mtime_ns, prepared.read_bytes()) == before
    assert [entry.name for entry in prepared.parent.iterdir()] == [prepared.name]


def test_the_time_limit_kills(prepared: Path) -> None:
    with DuckDB(prepared, time_limit_seconds=60) as engine:
        engine.rows("SELECT 1")
        victim = child_of(engine)
        engine._seconds = 0.3
        assert "time limit" in rejects(engine, STUBBORN)
        with pytest.raises(ProcessLookupError):
            os.kill(victim, 0)
        engine._seconds = 60.0  # what follows has all the time of a busy machine
        assert engine.rows("SELECT COUNT(*) FROM prepared") == [(1000,)]
        assert child_of(engine) != victim


def test_a_child_that_died_between_queries_is_replaced(prepared: Path) -> None:
    with DuckDB(prepared, time_limit_seconds=60) as engine:
        engine.rows("SELECT 1")
        victim = child_of(engine)
        os.kill(victim, signal.SIGKILL)
        while engine._holdings[os.getpid()].child.alive():  # type: ignore[union-attr]
            time.sleep(0.001)
        assert engine.rows("SELECT 2") == [(2,)]
        assert child_of(engine) != victim


def worked(number: int) -> int:
    """The processor time of a child so far, in ticks."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_child_that_dies_during_a_query_is_a_failure(prepared: Path) -> None:
    with DuckDB(prepared, time_limit_seconds=300) as engine:
        engine.rows("SELECT 1")
        victim = child_of(engine)
        before = worked(victim)

        def kill() -> None:
            while worked(victim) < before + 5:  # until it is at work on the query
                time.sleep(0.005)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        assert "died" in rejects(engine, ENDLESS)
        killer.join()
        assert engine.rows("SELECT 2") == [(2,)]


def test_core_dumps_are_off_and_output_is_silent(engine: DuckDB) -> None:
    engine.rows("SELECT 1")
    number = child_of(engine)
    limits = Path(f"/proc/{number}/limits").read_text()
    (core,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert core.split()[4:6] == ["0", "0"]


def test_the_child_shares_no_module_with_its_parent(engine: DuckDB) -> None:
    """A fresh interpreter: neither numpy nor this package is mapped into it."""
    engine.rows("SELECT 1")
    command = Path(f"/proc/{child_of(engine)}/cmdline").read_bytes().split(b"\0")
    assert command[1:3] == [b"-I", b"-S"]


def test_threads_take_turns(engine: DuckDB) -> None:
    wrong: list[int] = []

    def ask(number: int) -> None:
        for step in range(20):
            value = number * 1000 + step
            if engine.rows(f"SELECT {value}, COUNT(*) FROM prepared") != [(value, 1000)]:
                wrong.append(value)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_fork_uses_a_child_of_its_own(prepared: Path) -> None:
    with DuckDB(prepared, time_limit_seconds=60) as engine:
        engine.rows("SELECT 1")
        before = child_of(engine)
        number = os.fork()
        if number == 0:
            code = 1
            try:
                right = engine.rows("SELECT COUNT(*) FROM prepared") == [(1000,)]
                code = 0 if right and child_of(engine) != before else 1
                engine.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
        assert engine.rows("SELECT 3") == [(3,)]
        assert child_of(engine) == before


def test_an_interrupted_caller_leaves_no_stale_reply(
    engine: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    engine.rows("SELECT 1")
    with monkeypatch.context() as patch:
        patch.setattr(Child, "_expect", interrupt)
        with pytest.raises(KeyboardInterrupt):
            engine.rows("SELECT 41")
    assert engine.rows("SELECT 42") == [(42,)]


def test_spilling_stays_in_the_scratch_folder_and_is_removed(
    prepared: Path, tmp_path: Path
) -> None:
    sort = (
        "SELECT COUNT(*), MAX(r) FROM (SELECT row_number() OVER (ORDER BY md5(i::VARCHAR)) AS r "
        "FROM range(1500000) t(i))"
    )
    with DuckDB(prepared, time_limit_seconds=60, memory_limit="60MB", threads=1) as engine:
        assert "Memory" in rejects(engine, sort)
    with DuckDB(
        prepared, time_limit_seconds=60, memory_limit="60MB", threads=1, scratch=tmp_path
    ) as engine:
        assert engine.rows(sort) == [(1500000, 1500000)]
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_a_missing_or_broken_file_is_unavailable(tmp_path: Path) -> None:
    with DuckDB(tmp_path / "absent.duckdb", time_limit_seconds=60) as engine:
        engine.warm()
        rejects(engine, "SELECT 1")
        rejects(engine, "SELECT 1")
    broken = tmp_path / "broken.duckdb"
    broken.write_text(CANARY * 10000)
    with DuckDB(broken, time_limit_seconds=60) as engine:
        rejects(engine, "SELECT 1")


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "5"])
def test_the_time_limit_is_a_positive_number(prepared: Path, seconds: float) -> None:
    with pytest.raises(InvalidValue):
        DuckDB(prepared, time_limit_seconds=seconds)


def test_cannot_be_pickled(engine: DuckDB) -> None:
    with pytest.raises(InvalidValue):
        pickle.dumps(engine)


def test_round_trip_is_short(engine: DuckDB) -> None:
    """Of 200 the quickest: no other load can slow all of them down, a new child each time would."""
    engine.rows("SELECT 1")
    seconds = []
    for _ in range(200):
        begun = time.perf_counter()
        engine.rows("SELECT 1")
        seconds.append(time.perf_counter() - begun)
    assert min(seconds) < 0.02


def test_many_rows_arrive_whole(engine: DuckDB) -> None:
    rows = engine.rows(
        "SELECT i, i * 1000003, (i::HUGEINT) << 64, NULLIF(i % 3, 0), -i FROM range(100000) t(i) "
        "ORDER BY i"
    )
    assert rows == [
        (i, i * 1000003, i << 64, i % 3 or None, -i) for i in range(100000)
    ]  # fmt: skip


def in_place_sources(folder: Path) -> Iterator[str]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS k FROM range(10) t(i)")
        for suffix in ("parquet", "csv"):
            path = folder / f"it's.{suffix}"
            connection.execute(f"COPY t TO '{str(path).replace(chr(39), chr(39) * 2)}'")
            yield str(path)
    with duckdb.connect(str(folder / "it's.duckdb")) as connection:
        connection.execute('CREATE TABLE "a ""b" AS SELECT i AS k FROM range(10) t(i)')
    yield str(folder / "it's.duckdb")


def test_in_place_reads_its_source_and_nothing_else(tmp_path: Path) -> None:
    for source in list(in_place_sources(tmp_path)):
        with DuckDB.in_place(source, time_limit_seconds=60) as engine:
            total = "SELECT SUM(TRY_CAST(k AS BIGINT)), COUNT(*) FROM source"
            assert engine.rows(total) == [(45, 10)]
            others = [entry for entry in tmp_path.iterdir() if str(entry) != source]
            for other in others:
                quoted = str(other).replace("'", "''")
                reason = rejects(engine, f"SELECT COUNT(*) FROM read_text('{quoted}')")
                assert "disabled by configuration" in reason
            for sql in (
                "SELECT COUNT(*) FROM read_text('/etc/hostname')",
                "SET threads = 1",
                "CREATE TABLE other (k INTEGER)",
                "DELETE FROM source",
                'WITH gone AS (DELETE FROM origin.main."a ""b" RETURNING k) SELECT k FROM gone',
            ):
                rejects(engine, sql)
            assert engine.rows(total) == [(45, 10)]
