"""The engine of outer queries is a process of its own that reaches nothing: no file, no network, no
setting, no exact row. Statements are given to it directly here, past the allow-list.
"""

import os
from pathlib import Path

import pytest

from discreet.upper.engine import Loaded, UpperEngine, UpperFailed
from support.pace import thinned

pytestmark = pytest.mark.usefixtures("children_from_nothing")


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "rows.csv"
    path.write_text("name,age\nAna Lima,44\n")
    return path


@pytest.fixture
def engine():
    with UpperEngine(seconds=3) as made:
        made.load("b", [Loaded("BIGINT", ["1", "2"]), Loaded("VARCHAR", ["x", None])])
        yield made


def test_it_runs_selects_over_what_was_loaded(engine):
    table = engine.run('SELECT "c0" + 1 AS n, "c1" AS t FROM "b" ORDER BY 1')
    assert table.columns == (("n", "BIGINT"), ("t", "VARCHAR"))
    assert table.rows == ((2, "x"), (3, None))


FILES = [
    "SELECT * FROM read_csv('{path}')",
    "SELECT * FROM read_text('{path}')",
    "SELECT * FROM read_blob('{path}')",
    "SELECT * FROM read_parquet('{path}')",
    "SELECT * FROM read_json('{path}')",
    "SELECT * FROM '{path}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{path}')",
    "SELECT content FROM read_text('/proc/self/environ')",
    "SELECT * FROM query('SELECT * FROM read_csv(''{path}'')')",
    "SELECT * FROM query_table('{path}')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM "
    "read_csv(''{path}'')'))",
    "SELECT * FROM parquet_metadata('{path}')",
    "SELECT * FROM duckdb_logs()",
    "SELECT * FROM read_csv('https://127.0.0.1:1/x.csv')",
    "SELECT * FROM read_duckdb('{path}')",
]  # fmt: skip


def outcome_of(engine, sql):
    """The rows of a statement as text, or why there are none."""
    try:
        return str(engine.run(sql).rows)
    except UpperFailed as failure:
        return str(failure)


@pytest.mark.parametrize("sql", thinned(FILES, 3, "an engine"))
def test_it_reads_no_file_and_no_address(engine, secret, sql):
    text = sql.format(path=secret, folder=secret.parent)
    said = outcome_of(engine, text)
    for word in ("Ana", "44", "PATH=", "rows.csv'"):
        assert word not in said.replace(text, "")


ACTS = [
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY b FROM '{path}'",
    "ATTACH '{folder}/other.duckdb' AS other",
    "EXPORT DATABASE '{folder}/all'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET disabled_filesystems",
    "PRAGMA enable_profiling",
    "CREATE MACRO m(x) AS x",
    "CREATE TABLE z AS SELECT 1",
    "DROP TABLE b",
    "DELETE FROM b",
    "CALL pragma_version()",
    "SELECT 1; SELECT 2",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "PREPARE q AS SELECT 1",
    "CHECKPOINT",
    "",
]


@pytest.mark.parametrize("sql", thinned(ACTS, 3, "an engine"))
def test_it_does_nothing_but_one_select(engine, secret, sql):
    before = sorted(path.name for path in secret.parent.iterdir())
    with pytest.raises(UpperFailed):
        engine.run(sql.format(path=secret, folder=secret.parent))
    assert sorted(path.name for path in secret.parent.iterdir()) == before


BOMBS = {
    "time": "SELECT sleep_ms(60000)",
    "rows": "SELECT COUNT(*) FROM range(1000000000) a, range(1000000000) b",
    "memory": "SELECT length(string_agg(repeat('x', 100000000), '')) FROM range(1000)",
    "text": "SELECT repeat('x', 1000000) FROM range(1000)",
    "many rows": "SELECT * FROM range(100001)",
    "sort": "SELECT range FROM range(2000000000) ORDER BY hash(range) LIMIT 1 OFFSET 1000000000",
}


@pytest.mark.parametrize("kind", thinned(BOMBS, 3, "bombs"))
def test_bombs_end_with_the_process_or_before(engine, kind):
    with pytest.raises(UpperFailed) as failed:
        engine.run(BOMBS[kind])
    assert len(str(failed.value)) < 300


def test_the_process_ends_with_its_context():
    with UpperEngine() as engine:
        number = engine._child.number
        assert engine.alive()
    assert not engine.alive()
    assert not Path(f"/proc/{number}").exists() or os.name != "posix"


def test_its_reasons_quote_released_values_at_most(engine):
    with pytest.raises(UpperFailed, match="Could not convert string 'x'"):
        engine.run('SELECT CAST("c1" AS INTEGER) FROM "b"')
