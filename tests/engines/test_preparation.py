"""Preparation is all or nothing, whoever is killed; frames of three libraries arrive the same."""

import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pytest

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.preparation import prepare, write_frame
from discreet.engines.duckdb.scratch import Scratch, sweep
from discreet.engines.files.sources import describe
from discreet.errors import InvalidValue, SchemaError
from discreet.plan.sql.preparation.duckdb import DUCKDB_READER
from discreet.plan.sql.preparation.postgresql import POSTGRESQL_READER
from discreet.plan.sql.preparation.spark import SPARK_READER
from discreet.schema.column import KINDS

pytestmark = pytest.mark.usefixtures("children_from_nothing")

CANARY = "canary-77aa"
SLOW = (
    "SELECT k, row_number() OVER (ORDER BY md5((k * j)::VARCHAR)) AS r "
    "FROM source, range(30000) t(j)"
)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "it's.parquet"
    with duckdb.connect() as connection:
        quoted = str(path).replace("'", "''")
        connection.execute(
            f"COPY (SELECT i AS k, '{CANARY}' AS word FROM range(1000) t(i)) TO '{quoted}'"
        )
    return str(path)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    made = tmp_path / "vault"
    made.mkdir()
    return made


def total(path: Path) -> list[tuple[int | None, ...]]:
    with DuckDB(path, time_limit_seconds=60) as engine:
        return engine.rows("SELECT COUNT(*), SUM(k) FROM prepared")


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            if int(status.rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def wait_for(condition: object, seconds: float = 300) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_prepare_makes_a_private_file_and_nothing_else(source: str, vault: Path) -> None:
    shares: list[float] = []
    target = vault / "t.duckdb"
    prepare(
        source=source,
        select_sql="SELECT k::SMALLINT AS k FROM source WHERE k < 10 ORDER BY k",
        target=target,
        on_progress=shares.append,
    )
    assert list(vault.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o600
    assert total(target) == [(10, 45)]
    assert describe(str(target)) == [("k", "SMALLINT")]
    assert shares[-1] == 1
    assert all(0 <= share <= 1 for share in shares)


class Enough(Exception):
    """What was waited for has been seen."""


def test_progress_is_reported(source: str, vault: Path) -> None:
    """On however quick a machine: the work is long, and ended when it has told two shares."""
    shares: set[float] = set()

    def told(share: float) -> None:
        shares.add(share)
        if len({each for each in shares if 0 < each < 1}) >= 2:
            raise Enough

    with pytest.raises(Enough):
        prepare(source=source, select_sql=SLOW, target=vault / "t.duckdb", on_progress=told)
    assert list(vault.iterdir()) == []


def test_prepare_replaces_whole(source: str, vault: Path) -> None:
    target = vault / "t.duckdb"
    prepare(source=source, select_sql="SELECT k FROM source", target=target)
    with DuckDB(target, time_limit_seconds=60) as old:
        assert old.rows("SELECT COUNT(*) FROM prepared") == [(1000,)]
        prepare(source=source, select_sql="SELECT k FROM source WHERE k < 2", target=target)
        assert old.rows("SELECT COUNT(*) FROM prepared") == [(1000,)]
        old.close()
        assert old.rows("SELECT COUNT(*) FROM prepared") == [(2,)]


def test_failure_keeps_the_old_file_and_quotes_no_row(source: str, vault: Path) -> None:
    target = vault / "t.duckdb"
    prepare(source=source, select_sql="SELECT k FROM source", target=target)
    reasons: list[str] = []
    with pytest.raises(SchemaError, match="ConversionException") as caught:
        prepare(
            source=source,
            select_sql="SELECT word::INTEGER AS k FROM source",
            target=target,
            on_failure=reasons.append,
        )
    assert CANARY in reasons[0]
    assert caught.value.__context__ is None
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert list(vault.iterdir()) == [target]
    assert total(target) == [(1000, 499500)]


@pytest.mark.parametrize(
    "select", ["SELECT content FROM read_text('/etc/hostname')", "FROM glob('/etc/*')"]
)
def test_preparation_reads_the_source_only(source: str, vault: Path, select: str) -> None:
    with pytest.raises(SchemaError, match="PermissionException"):
        prepare(source=source, select_sql=select, target=vault / "t.duckdb")
    assert list(vault.iterdir()) == []


def test_a_killed_child_leaves_nothing(source: str, vault: Path) -> None:
    others = children(os.getpid())

    def kill(_: float) -> None:
        for number in set(children(os.getpid())) - set(others):
            os.kill(number, signal.SIGKILL)

    with pytest.raises(SchemaError, match="the child process was lost"):
        prepare(source=source, select_sql=SLOW, target=vault / "t.duckdb", on_progress=kill)
    assert list(vault.iterdir()) == []


def test_an_interrupted_caller_leaves_nothing(source: str, vault: Path) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    before = set(children(os.getpid()))
    with pytest.raises(KeyboardInterrupt):
        prepare(source=source, select_sql=SLOW, target=vault / "t.duckdb", on_progress=interrupt)
    assert list(vault.iterdir()) == []
    assert set(children(os.getpid())) <= before  # one that had ended may have been reaped


def test_a_killed_parent_leaves_nothing_after_the_next_preparation(
    source: str, vault: Path
) -> None:
    target = vault / "t.duckdb"
    script = (
        "import sys; from pathlib import Path; "
        "from discreet.engines.duckdb.preparation import prepare; "
        "prepare(source=sys.argv[1], select_sql=sys.argv[2], target=Path(sys.argv[3]), "
        "on_progress=lambda share: print(share, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, source, SLOW, str(target)], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline()
        workers = children(parent.pid)
        assert workers
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait_for(lambda: not any(Path(f"/proc/{number}/exe").exists() for number in workers))
    assert not target.exists()
    assert len(list(vault.iterdir())) == 1  # the leftover
    prepare(source=source, select_sql="SELECT k FROM source", target=target)
    assert list(vault.iterdir()) == [target]


def test_sweep_spares_a_folder_in_use(vault: Path) -> None:
    with Scratch(vault) as scratch:
        assert sweep(vault) == 0
        assert scratch.path.exists()
        with Scratch(vault) as other:
            assert other.path.exists()
            assert scratch.path.exists()
    leftover = vault / ".scratch-left"
    leftover.mkdir()
    (leftover / "rows").write_text(CANARY, encoding="utf-8")
    assert sweep(vault) == 1
    assert list(vault.iterdir()) == []


FRAMES = {
    "pandas": lambda: pandas.DataFrame({"k": [1, 2, 3], "word": ["x", None, "y"]}),
    "polars": lambda: polars.DataFrame({"k": [1, 2, 3], "word": ["x", None, "y"]}),
    "lazy": lambda: polars.LazyFrame({"k": [1, 2, 3], "word": ["x", None, "y"]}),
    "arrow": lambda: pyarrow.table({"k": [1, 2, 3], "word": ["x", None, "y"]}),
}


@pytest.mark.parametrize("kind", sorted(FRAMES))
def test_frames(vault: Path, kind: str) -> None:
    target = vault / "f.parquet"
    write_frame(FRAMES[kind](), target)
    assert list(vault.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o600
    assert describe(str(target)) == [("k", "BIGINT"), ("word", "VARCHAR")]
    with DuckDB.in_place(str(target), time_limit_seconds=60) as engine:
        assert engine.rows("SELECT SUM(k), COUNT(word), COUNT(*) FROM source") == [(6, 2, 3)]


def test_a_missing_package_is_named(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InvalidValue, match="package duckdb"):
        write_frame(FRAMES["pandas"](), vault / "f.parquet")
    assert list(vault.iterdir()) == []


@pytest.mark.parametrize(
    "frame",
    [pandas.DataFrame({CANARY: [1j]}), polars.DataFrame({CANARY: [object()]})],
    ids=["pandas", "polars"],
)
def test_a_frame_that_cannot_be_written_is_not_quoted(vault: Path, frame: object) -> None:
    with pytest.raises(SchemaError, match="could not be written") as caught:
        write_frame(frame, vault / "f.parquet")
    assert caught.value.__context__ is None
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert list(vault.iterdir()) == []


def test_polars_needs_no_arrow(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write_frame(FRAMES["polars"](), vault / "f.parquet")
    assert describe(str(vault / "f.parquet")) == [("k", "BIGINT"), ("word", "VARCHAR")]


@pytest.mark.parametrize("reader", [DUCKDB_READER, POSTGRESQL_READER, SPARK_READER])
def test_readers_have_a_function_for_each_kind_in_order(reader):
    numbers = {"integer": "_number"}
    wanted = [numbers.get(kind, f"_{kind}") for kind in KINDS]
    assert [each.__name__ for each in reader.readings] == wanted
