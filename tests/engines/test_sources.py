"""Sources: how files are named in SQL, what is said of their columns, whether they changed."""

import os
import traceback
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.curator import Curator
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.files.contents import value_codes
from discreet.engines.files.sources import describe, opening, relation
from discreet.errors import SchemaError
from support.plan_cases import exact_of

CANARY = "canary-91c0"


def literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "it's a folder"
    made.mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            'CREATE TABLE t AS SELECT i::INTEGER AS "a b", \'x\'\'y\' AS "q""q", '
            "DATE '2024-01-01' AS d FROM range(3) t(i)"
        )
        connection.execute(f"COPY t TO {literal(made / 't.parquet')}")
        connection.execute(f"COPY t TO {literal(made / 't.csv')}")
    with duckdb.connect(str(made / "one.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1::TINYINT AS k")
    with duckdb.connect(str(made / "two.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1::TINYINT AS k")
        connection.execute("CREATE SCHEMA s")
        connection.execute('CREATE TABLE s."u#v" AS SELECT 2::BIGINT AS m')
    return made


def test_describe(folder: Path) -> None:
    assert describe(str(folder / "t.parquet")) == [
        ("a b", "INTEGER"),
        ('q"q', "VARCHAR"),
        ("d", "DATE"),
    ]
    texts = [("a b", "VARCHAR"), ('q"q', "VARCHAR"), ("d", "VARCHAR")]
    assert describe(str(folder / "t.csv")) == texts
    assert describe(str(folder / "one.duckdb")) == [("k", "TINYINT")]
    assert describe(str(folder / "one.duckdb#t")) == [("k", "TINYINT")]
    assert describe(str(folder / "two.db#t")) == [("k", "TINYINT")]
    assert describe(str(folder / "two.db#s.u#v")) == [("m", "BIGINT")]


def test_relation_quotes(folder: Path) -> None:
    path = os.path.realpath(folder / "t.parquet").replace("'", "''")
    assert relation(str(folder / "t.parquet")) == (
        f"read_parquet('{path}', hive_partitioning = false, can_have_nan = true)"
    )
    assert relation(str(folder / "one.duckdb")) == 'origin."main"."t"'
    with duckdb.connect() as connection:
        for name in ("t.parquet", "t.csv"):
            text = relation(str(folder / name))
            assert connection.execute(f"SELECT COUNT(*) FROM {text}").fetchall() == [(3,)]


def test_csv_is_read_as_text_so_that_no_row_changes_another(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("code,n\n01,5\n02,6\n", encoding="utf-8")
    before = relation(str(source))
    source.write_text("code,n\n01,5\n02,6\nzz,many\n", encoding="utf-8")
    assert relation(str(source)) == before
    with DuckDB.in_place(str(source), time_limit_seconds=60) as engine:
        assert engine.rows(
            "SELECT COUNT(*) FILTER (code = '01'), SUM(TRY_CAST(n AS BIGINT)) FROM source"
        ) == [(1, 11)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_delimiter_and_names_come_from_the_header(tmp_path: Path, delimiter: str) -> None:
    source = tmp_path / "t.csv"
    text = 'a,"b ""x"""\n1,"x\n,y"\n,\n'.replace(",", delimiter)
    source.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert [name for name, _ in describe(str(source))] == ["a", 'b "x"']
    with DuckDB.in_place(str(source), time_limit_seconds=60) as engine:
        assert engine.rows('SELECT COUNT(*), COUNT(a), COUNT("b ""x""") FROM source') == [(2, 1, 1)]


def test_hive_folders_add_no_column(tmp_path: Path) -> None:
    folder = tmp_path / f"secret={CANARY}"
    folder.mkdir()
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS k) TO {literal(folder / 't.parquet')}")
    assert describe(str(folder / "t.parquet")) == [("k", "INTEGER")]


def failing(source: Path | str) -> str:
    """The message, the same from every function, without a row in it or behind it."""
    errors = []
    for function in (describe, relation, opening):
        try:
            function(str(source))
        except SchemaError as error:
            errors.append(error)
    for error in errors:
        assert error.__cause__ is None
        assert error.__context__ is None
        assert CANARY not in "".join(traceback.format_exception(error))
    (message,) = {str(error) for error in errors}
    return message


def test_errors_name_the_file_and_the_remedy(folder: Path) -> None:
    assert "does not exist" in failing(folder / "absent.parquet")
    assert "no known kind" in failing(folder / "t.xls")
    message = failing(folder / "two.db")
    assert "['t', 's.u#v']" in message
    assert "'#'" in message
    assert "'t'" in failing(folder / "one.duckdb#absent")


@pytest.mark.parametrize("name", ["t.parquet", "t.duckdb"])
def test_garbage_is_unreadable_without_being_quoted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(CANARY * 1000, encoding="utf-8")
    assert "cannot be read" in failing(tmp_path / name)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b",,\n1,2,3\n", b"a,A\n1,2\n", "a,\xe9\n".encode("latin-1")]
)
def test_csv_needs_a_header(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "t.csv"
    source.write_bytes(content)
    with pytest.raises(SchemaError, match=r"first line|same name"):
        relation(str(source))


def test_a_path_that_is_a_pattern_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "t[1].parquet"
    source.touch()
    with pytest.raises(SchemaError, match="rename"):
        relation(str(source))


def test_the_zone_of_the_machine_does_not_move_times(tmp_path, monkeypatch):
    path = tmp_path / "zoned.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT TIMESTAMPTZ '2024-01-02 02:30:00+00' AS t) TO '{path}'")
    found = set()
    for zone in ("UTC", "America/New_York", "Pacific/Auckland"):
        monkeypatch.setenv("TZ", zone)
        with DuckDB.in_place(str(path), time_limit_seconds=60) as engine:
            day = "date_diff('day', DATE '1970-01-01', TRY_CAST(t AS DATE))"
            found.update(engine.rows(f"SELECT {day} FROM source"))
    assert found == {(19_724,)}


MOMENT = datetime(2024, 1, 2, 2, 30, tzinfo=UTC)
SCHEMA = """
[table]
name = "t"
{source}
[columns]
day = {{ type = "date", lower = 2023-01-01, upper = 2025-01-01 }}
at = {{ type = "datetime", lower = 2023-01-01T00:00:00, upper = 2025-01-01T00:00:00, step = 1 }}
[budget]
epsilon = 1
"""
KINDS = list(product(["s", "ms", "us", "ns"], [None, "UTC", "Europe/Berlin"]))


def moments(unit, zone, rows=60):
    at = pa.array([MOMENT if zone else MOMENT.replace(tzinfo=None), None] * (rows // 2))
    column = at.cast(pa.timestamp(unit, tz=zone))
    return pa.table({"day": column, "at": column})


@pytest.mark.parametrize(("unit", "zone"), KINDS)
@pytest.mark.parametrize("how", ["file", "in place", "frame"])
def test_moments_are_read_alike_in_every_unit_and_zone(tmp_path, unit, zone, how):
    """Counts of NULL and of the moment itself; DuckDB has a type of its own for ns with a zone."""
    source = tmp_path / "moments.parquet"
    table = moments(unit, zone)
    pq.write_table(table, source, version="2.6")
    schema = tmp_path / "t.toml"
    schema.write_text(SCHEMA.format(source="" if how == "frame" else f'source = "{source}"'))
    with Curator.open(tmp_path / "vault") as curator:
        if how == "file":
            curator.add(schema)
        elif how == "frame":
            curator.add(schema, data=table)
        else:
            curator.add_in_place(schema)
        curator.grant("ana", epsilon=1)
        assert curator.report("t").sentences() == []
        wanted = "at = TIMESTAMP '2024-01-02 02:30:00' AND day = DATE '2024-01-02'"
        counts = f"COUNT(at), COUNT(CASE WHEN {wanted} THEN 1 END), COUNT(*)"
        plan = curator.session("ana").explain(f"SELECT {counts} FROM t", epsilon=1)
        exact = exact_of(plan, curator._warehouse.engine(("t",)).rows(plan.sql))
        assert [column.tolist() for column in exact] == [[30], [30], [60]]


def test_a_copy_with_moments_of_another_unit_or_zone_is_known(tmp_path):
    """All of them are the same moments; each later one asks for a budget of its own."""
    codes = []
    for unit, zone in KINDS:
        source = tmp_path / f"{unit}{zone is None}.parquet"
        pq.write_table(moments(unit, zone), source, version="2.6")
        types = dict(describe(str(source)))
        with DuckDB.in_place(str(source), time_limit_seconds=60) as engine:
            codes.append({*value_codes(types, lambda sql, ask=engine: list(ask.rows(sql)))})
    for one, other in combinations(codes, 2):
        assert one & other
