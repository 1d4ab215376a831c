"""Tables that stay where they are, on every engine, behind a curator: the same plans, the same
exact counts; several tables in one statement; what cannot be read together is refused.
"""

from pathlib import Path

import duckdb
import pytest

from discreet.curator.curator import Curator
from discreet.errors import InvalidValue, SchemaError, Unavailable

ROWS = "SELECT i AS who, i % 90 AS age, ['north', 'south'][1 + i % 2] AS region FROM range(60) t(i)"
SCHEMA = """
[table]
name = "{name}"
source = "{source}"
population = "people"
unit = "who"
rows_per_unit = 2
[columns]
age = {{ type = "integer", lower = 0, upper = 50 }}
region = {{ type = "category", keys = ["north", "south"] }}
[budget]
epsilon = 1000
"""
ASKED = "SELECT region, COUNT(*) AS n, SUM(age) AS s FROM {name} GROUP BY region"


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    made = tmp_path / "visits.parquet"
    duckdb.sql(f"COPY ({ROWS}) TO '{made}'")
    return made


@pytest.fixture
def curator(tmp_path: Path):
    with Curator.open(tmp_path / "vault", time_limit_seconds=300, price_floor=0) as made:
        made.grant("ann", epsilon=900)
        yield made


@pytest.fixture
def people(postgresql) -> str:
    postgresql.run("DROP TABLE IF EXISTS visits")
    postgresql.run("CREATE TABLE visits (who BIGINT, age BIGINT, region TEXT)")
    for row in duckdb.sql(ROWS).fetchall():
        postgresql.admin.execute("INSERT INTO visits VALUES (%s, %s, %s)", row)
    postgresql.run("SELECT 1")
    return str(postgresql.source.replace("#source", "#visits"))


def add(curator, tmp_path, name, source) -> None:
    file = tmp_path / f"{name}.toml"
    file.write_text(SCHEMA.format(name=name, source=source))
    curator.add(file)


def check_answers(curator, name) -> None:
    """Nearly without noise the answers are the exact ones, and they cost what they should."""
    session = curator.session("ann")
    plan = session.explain(ASKED.format(name=name), epsilon=200)
    rows = session.run(plan).to_pandas()
    assert rows["n"].round().tolist() == [30, 30]
    exact = duckdb.sql(f"SELECT region, SUM(least(age, 50)) FROM ({ROWS}) GROUP BY 1 ORDER BY 1")
    assert rows["s"].tolist() == pytest.approx([row[1] for row in exact.fetchall()], abs=20)
    seen = curator.inspect(name)
    assert seen["rows kept"] == seen["rows in the source"] == 60
    assert seen["age: cut to upper"] == 9


def test_postgresql_in_place(curator, tmp_path, people, postgresql):
    add(curator, tmp_path, "visits", people)
    check_answers(curator, "visits")
    postgresql.run("INSERT INTO visits VALUES (100, 1, 'north')")
    curator.refresh("visits")
    assert curator.inspect("visits")["rows kept"] == 61


def test_a_postgresql_role_that_can_write_is_refused(curator, tmp_path, people):
    with pytest.raises(SchemaError, match="superuser"):
        add(curator, tmp_path, "visits", people.replace("reader@", "postgres@"))
    with pytest.raises(SchemaError, match="holds a password"):
        add(curator, tmp_path, "visits", people.replace("reader@", "reader:x@"))
    assert curator.tables == {}


def test_one_postgresql_table_has_one_population(curator, tmp_path, people):
    add(curator, tmp_path, "visits", people)
    other = tmp_path / "again.toml"
    text = SCHEMA.format(name="again", source=people.replace("#visits", "#public.visits"))
    other.write_text(text.replace('population = "people"', 'population = "others"'))
    with pytest.raises(SchemaError, match="belongs to the population 'people'"):
        curator.add(other)


@pytest.mark.usefixtures("spark_present")
def test_spark_in_place_notices_changed_files(curator, tmp_path, parquet):
    add(curator, tmp_path, "visits", f"spark:{parquet.name}")  # beside the schema file
    check_answers(curator, "visits")
    duckdb.sql(f"COPY ({ROWS} UNION ALL SELECT 200, 3, 'north') TO '{parquet}'")
    with pytest.raises(Unavailable, match="discreet refresh visits"):
        curator.session("ann").sql(ASKED.format(name="visits"), epsilon=1)
    curator.refresh("visits")
    assert curator.inspect("visits")["rows kept"] == 61


COUNTED = 'SELECT (SELECT COUNT(*) FROM {0}), (SELECT COUNT(DISTINCT "$unit") FROM {1})'


def counted(curator, names) -> list[tuple[int, ...]]:
    """One statement over two tables."""
    warehouse = curator._warehouse
    relations = warehouse.relations(names)
    engine = warehouse.engine(names)
    return engine.rows(COUNTED.format(*(relations[name] for name in names)))


def test_prepared_tables_are_read_together(curator, tmp_path, parquet):
    add(curator, tmp_path, "visits", parquet)
    text = tmp_path / "stays.csv"
    duckdb.sql(f"COPY (SELECT * FROM ({ROWS}) LIMIT 7) TO '{text}'")
    add(curator, tmp_path, "stays", text)
    assert counted(curator, ("visits", "stays")) == [(60, 7)]
    assert counted(curator, ("stays", "visits")) == [(7, 60)]
    file = tmp_path / "again.toml"
    file.write_text(SCHEMA.format(name="again", source=parquet))
    curator.add_in_place(file)
    assert counted(curator, ("again", "stays")) == [(60, 7)]
    with pytest.raises(Unavailable, match="ask again"):
        curator._warehouse.engine(("visits", "stays"), data_versions=(1, 2))
    engine = curator._warehouse.engine(("visits", "stays"))
    assert curator._warehouse.engine(("visits", "stays"), data_versions=(1, 1)) is engine
    curator.refresh("stays")
    assert curator._warehouse.engine(("visits", "stays")) is not engine


def test_postgresql_tables_are_read_together(curator, tmp_path, people, postgresql, parquet):
    postgresql.run("DROP TABLE IF EXISTS stays")
    postgresql.run("CREATE TABLE stays AS SELECT * FROM visits LIMIT 7")
    add(curator, tmp_path, "visits", people)
    add(curator, tmp_path, "stays", people.replace("#visits", "#stays"))
    assert counted(curator, ("visits", "stays")) == [(60, 7)]
    add(curator, tmp_path, "copies", parquet)
    with pytest.raises(InvalidValue, match="one engine"):
        curator._warehouse.relations(("visits", "copies"))
    with pytest.raises(InvalidValue, match="one engine"):
        curator._warehouse.engine(("visits", "copies"))


@pytest.mark.usefixtures("spark_present")
def test_spark_tables_are_read_together(curator, tmp_path, parquet):
    few = tmp_path / "few.parquet"
    duckdb.sql(f"COPY (SELECT * FROM ({ROWS}) LIMIT 7) TO '{few}'")
    add(curator, tmp_path, "visits", f"spark:{parquet}")
    add(curator, tmp_path, "stays", f"spark:{few}")
    assert counted(curator, ("visits", "stays")) == [(60, 7)]


def test_rules_that_say_error_are_held_at_registration(curator, tmp_path, postgresql):
    postgresql.run("DROP TABLE IF EXISTS strict")
    postgresql.run("CREATE TABLE strict (x DOUBLE PRECISION)")
    file = tmp_path / "strict.toml"
    text = (
        '[table]\nname = "strict"\nsource = "{source}"\n[columns]\n'
        'x = {{ type = "number", lower = 0, upper = 9, step = 1, {rule} }}\n[budget]\nepsilon = 1\n'
    )
    source = postgresql.source.replace("#source", "#strict")
    for rule, value in (("null", None), ("nan", "NaN"), ("infinity", "-Infinity")):
        postgresql.admin.execute("DELETE FROM strict")
        postgresql.admin.execute("INSERT INTO strict VALUES (1), (%s::float8)", [value])
        file.write_text(text.format(source=source, rule=f'{rule} = "error"'))
        with pytest.raises(SchemaError, match=f'{rule} = "error"'):
            curator.add(file)
    postgresql.admin.execute("DELETE FROM strict WHERE x <> 1")
    curator.add(file)
    assert list(curator.tables) == ["strict"]
