"""Tables of a server and of Spark that are known already, by every other spelling of where they
are, and files that another engine has read before: no second population, no second guarantee.
"""

import shutil

import duckdb
import pytest

from discreet.curator.curator import Curator
from discreet.errors import SchemaError

ROWS = "SELECT i AS who, i % 90 AS age FROM range(30) t(i)"
SCHEMA = """
[table]
name = "{name}"
source = "{source}"
population = "{population}"
{unit}
[columns]
age = {{ type = "integer", lower = 0, upper = 50 }}
[budget]
epsilon = 1
"""
UNIT = 'unit = "who"\nrows_per_unit = 1'


@pytest.fixture
def curator(tmp_path):
    with Curator.open(tmp_path / "vault", time_limit_seconds=300, price_floor=0) as made:
        yield made


def add(curator, folder, source, name="visits", population="people", unit=UNIT):
    file = folder / "schema.toml"
    file.write_text(SCHEMA.format(name=name, source=source, population=population, unit=unit))
    curator.add(file)


def check_known(curator, folder, source):
    """Refused with another population or without a unit, and else the same."""
    tables = {*curator.tables}
    with pytest.raises(SchemaError, match="belongs to the population 'people'"):
        add(curator, folder, source, name="again", population="others")
    with pytest.raises(SchemaError, match="protects who"):
        add(curator, folder, source, name="again", unit="")
    assert {*curator.tables} == tables
    add(curator, folder, source, name="again")
    assert [each.name for each in curator.ledger.accounts()] == ["people"]


def test_tables_of_postgresql(curator, tmp_path, postgresql):
    postgresql.run("CREATE TABLE IF NOT EXISTS known (who BIGINT, age BIGINT)")
    postgresql.run("CREATE ROLE another LOGIN; GRANT SELECT ON known TO another")
    try:
        source = postgresql.source.replace("#source", "#known")
        add(curator, tmp_path, source)
        server, _, _ = source.partition("#")
        role, _, rest = server.partition("@")
        for again in (
            source,
            f"{server}#public.known",
            f"{server.replace('postgresql:', 'postgres:')}#known",
            f"{role.replace('reader', 'another')}@{rest}#known",
            f"{server}&application_name=x#public.known",
        ):
            check_known(curator, tmp_path, again)
        postgresql.run("ALTER TABLE known RENAME TO renamed")
        check_known(curator, tmp_path, f"{server}#renamed")
    finally:
        postgresql.run("DROP TABLE IF EXISTS known, renamed; DROP OWNED BY another")
        postgresql.admin.execute("DROP ROLE another")


@pytest.fixture
def parts(tmp_path):
    """A folder of two Parquet files."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in (0, 1):
        duckdb.sql(f"COPY ({ROWS} WHERE i % 2 = {part}) TO '{folder}/part{part}.parquet'")
    return folder


@pytest.mark.usefixtures("spark_present")
def test_a_folder_that_spark_reads(curator, tmp_path, parts):
    add(curator, tmp_path, "spark:parts/")
    (tmp_path / "link").symlink_to(parts)
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(parts / "part1.parquet", copy / "renamed.parquet")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "x.parquet").symlink_to(parts / "part0.parquet")
    for again in (
        f"spark:file://{parts}/../parts",
        "spark:link/",
        "spark:copy/",
        "spark:linked/",
        "parts/part1.parquet",  # DuckDB reads one of its files
        "copy/renamed.parquet",
    ):
        check_known(curator, tmp_path, again)
    duckdb.sql(f"COPY ({ROWS} WHERE i > 20) TO '{parts}/part2.parquet'")  # since it was added
    check_known(curator, tmp_path, "parts/part2.parquet")


@pytest.mark.usefixtures("spark_present", "parts")
def test_a_file_that_duckdb_has_read(curator, tmp_path):
    add(curator, tmp_path, "parts/part0.parquet")
    check_known(curator, tmp_path, "spark:parts/")


@pytest.mark.usefixtures("spark_present")
def test_a_table_of_spark(curator, tmp_path, parts):
    from discreet.engines.spark.session import new_session

    session = new_session()
    session.sql(f"CREATE TABLE default.known USING parquet LOCATION '{parts}'")
    try:
        add(curator, tmp_path, "spark:known")
        for again in ("spark:default.known", "spark:spark_catalog.default.known", "spark:parts/"):
            check_known(curator, tmp_path, again)
    finally:
        session.sql("DROP TABLE default.known")


@pytest.mark.usefixtures("spark_present")
def test_spark_reads_nothing_out_of_a_vault(curator, tmp_path, parts):
    inside = tmp_path / "vault" / "prepared" / "x.parquet"
    inside.parent.mkdir(exist_ok=True)
    shutil.copy(parts / "part0.parquet", inside)
    (parts / "part9.parquet").symlink_to(inside)
    for source in (f"spark:{inside}", f"spark:{inside.parent}/", "spark:parts/"):
        with pytest.raises(SchemaError, match="lies in the vault"):
            add(curator, tmp_path, source)
