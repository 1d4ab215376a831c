"""Units behind a curator: a type with an equality of its own is refused when the table is added,
prepared and in place agree with the source on who is one person, joins too, and rows that an
earlier version prepared are not asked while they may hold one person as several.
"""

from contextlib import closing
from pathlib import Path

import duckdb
import pandas
import pytest

from discreet.curator.curator import Curator
from discreet.curator.tables import warehouse as warehouses
from discreet.errors import SchemaError, Unavailable
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.unit_database import Units

SCHEMA = """
[table]
name = "{name}"
source = "{source}"
population = "people"
unit = "who"
rows_per_unit = {most}
[columns]
n = {{ type = "integer", lower = 0, upper = 50 }}
[budget]
epsilon = 10000
"""
ZEROS = "(VALUES (0.0::DOUBLE), ('-0.0'::DOUBLE), (1.0), ('nan'::DOUBLE), (-'nan'::DOUBLE)) t(who)"
ROWS = f"SELECT who, (7 * n)::INTEGER AS n FROM {ZEROS}, range(4) r(n)"
COUNT = "SELECT COUNT(*) AS n FROM {}"


@pytest.fixture
def curator(tmp_path: Path):
    with Curator.open(tmp_path / "vault", time_limit_seconds=300, price_floor=0) as made:
        made.grant("ann", epsilon=9000)
        yield made


def schema(tmp_path: Path, name: str, source: object, most: int = 2) -> Path:
    file = tmp_path / f"{name}.toml"
    text = SCHEMA.format(name=name, source=source, most=most)
    file.write_text(text if source is not None else text.replace('source = "None"\n', ""))
    return file


def parquet(tmp_path: Path, name: str, sql: str) -> Path:
    made = tmp_path / f"{name}.parquet"
    duckdb.sql(f"COPY ({sql}) TO '{made}'")
    return made


def kept(curator: Curator, name: str) -> list[tuple[int, ...]]:
    """How many rows and units are left."""
    warehouse = curator._warehouse
    shown = warehouse.relation(name)
    return warehouse.engine((name,)).rows(f'SELECT COUNT(*), COUNT(DISTINCT "$unit") FROM {shown}')


def counted(curator: Curator, sql: str) -> int:
    """An answer whose noise is 0 but for a chance below 10^-40."""
    return int(curator.session("ann").sql(sql, epsilon=1000).to_pandas()["n"].iloc[0])


def test_both_zeros_and_every_nan_are_one_unit_each(curator, tmp_path):
    file = parquet(tmp_path, "visits", ROWS)
    curator.add(schema(tmp_path, "visits", file))
    assert kept(curator, "visits") == [(6, 3)]
    curator.add_in_place(schema(tmp_path, "again", file))
    assert kept(curator, "again") == [(6, 3)]
    frame = pandas.DataFrame({"who": [0.0, -0.0, 1.0], "n": [1, 2, 3]})
    curator.add(schema(tmp_path, "frame", None), data=frame)
    assert kept(curator, "frame") == [(3, 2)]


def test_units_of_different_numeric_types_meet(curator, tmp_path):
    ids = "SELECT {} AS who, i AS n FROM range(20) r(i)"
    kinds = {"whole": "i", "float": "i::DOUBLE", "fixed": "i::DECIMAL(9,3)", "text": "i::VARCHAR"}
    for name, made in kinds.items():
        curator.add(schema(tmp_path, name, parquet(tmp_path, name, ids.format(made)), 1))
    for name in ("float", "fixed", "text"):
        asked = f'SELECT COUNT(*) AS n FROM whole JOIN "{name}" ON whole.who = "{name}".who'
        assert counted(curator, asked) == 20


def test_a_collated_unit_of_duckdb_is_refused_and_its_view_is_not(curator, tmp_path):
    file = tmp_path / "mail.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE mail (who VARCHAR COLLATE NOCASE, n INTEGER)")
        connection.execute("INSERT INTO mail VALUES ('Ann', 1), ('ANN', 2), ('bob', 3)")
        connection.execute(
            'CREATE VIEW folded AS SELECT lower(who) COLLATE "binary" AS who, n FROM mail'
        )
    for add in (curator.add, curator.add_in_place):
        with pytest.raises(SchemaError, match=r"varchar collate nocase is refused.*Nothing was"):
            add(schema(tmp_path, "mail", f"{file}#mail"))
    assert curator.tables == {}
    curator.add(schema(tmp_path, "mail", f"{file}#folded", 1))
    assert kept(curator, "mail") == [(2, 2)]


def test_citext_and_folding_units_of_postgresql_are_refused(curator, tmp_path, postgresql_folder):
    with closing(Units(postgresql_folder, "mail")) as units:
        units.owner.execute("CREATE TABLE mail (who citext, folded text COLLATE folding, n int)")
        units.owner.execute(
            "INSERT INTO mail SELECT k, k, 1 FROM unnest('{ann,ANN,Ann,aNN,bob}'::text[]) t(k)"
        )
        units.owner.execute(
            "CREATE VIEW lowered AS SELECT lower(who::text) AS who, n FROM mail;"
            "CREATE VIEW folded AS SELECT folded AS who, n FROM mail;"
            "GRANT SELECT ON mail, lowered, folded TO reader"
        )
        with pytest.raises(SchemaError, match=r"citext is refused.*lower\(.*Nothing was"):
            curator.add(schema(tmp_path, "mail", units.source.format("mail")))
        with pytest.raises(SchemaError, match=r"text collate folding is refused"):
            curator.add(schema(tmp_path, "mail", units.source.format("folded")))
        assert curator.tables == {}
        curator.add(schema(tmp_path, "mail", units.source.format("lowered"), 1))
        assert kept(curator, "mail") == [(2, 2)]
        curator.close()


def test_rows_of_an_earlier_version_are_prepared_again(tmp_path, monkeypatch):
    texts = "SELECT 'p' || i AS who, i AS n FROM range(9) r(i)"
    file, words = parquet(tmp_path, "visits", ROWS), parquet(tmp_path, "words", texts)
    frame = pandas.DataFrame({"who": [0.0, -0.0, 1.0], "n": [1, 2, 3]})
    with (
        monkeypatch.context() as before,
        Curator.open(tmp_path / "vault", price_floor=0) as curator,
    ):
        before.setattr(warehouses, "unit_mark", lambda *_: "")
        before.setattr(warehouses, "check_units", lambda *_: None)
        curator.grant("ann", epsilon=9000)
        curator.add(schema(tmp_path, "visits", file))
        curator.add(schema(tmp_path, "words", words))
        curator.add(schema(tmp_path, "frame", None), data=frame)
        old = curator.session("ann").sql(COUNT.format("visits"), epsilon=1).to_pandas()
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        again = curator.session("ann").sql(COUNT.format("visits"), epsilon=1)
        assert again.free
        assert again.to_pandas().equals(old)
        assert counted(curator, COUNT.format("words")) == 9  # a text never was split
        for name, way in (
            ("visits", "`discreet refresh visits`"),
            ("frame", "again with its data"),
        ):
            with pytest.raises(Unavailable, match=f"{way}. Nothing was run or charged"):
                curator.session("ann").sql(COUNT.format(name), epsilon=2)
        curator.refresh("visits")
        assert counted(curator, COUNT.format("visits")) == 6


def test_private_keys_with_a_collation_keep_their_bytes():
    """Else equal texts are one group, shown in the spelling of one person's row."""
    city = Column("city", "category", upper=0, private_keys=True)
    table = Table("t", columns=(city,))
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE source (city VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO source VALUES ('Bern'), ('BERN'), ('bern')")
        assert len(connection.execute("SELECT city FROM source GROUP BY 1").fetchall()) == 1
        lattice = lattice_rows(table, "source", {"city": "VARCHAR COLLATE nocase"})
        connection.execute(f"CREATE TABLE prepared AS {lattice}")
        for shown in ("prepared", f"({lattice})"):
            found = connection.execute(f"SELECT city FROM {shown} GROUP BY 1 ORDER BY 1").fetchall()
            assert found == [("BERN",), ("Bern",), ("bern",)]
