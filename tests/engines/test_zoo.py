"""Messy files: what is read is exactly what was meant, and what is not read is told, or refused."""

import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import duckdb
import pandas
import pytest

from discreet import Curator
from discreet.curator.tables.admission import advise_seconds
from discreet.curator.tables.identity import _links
from discreet.curator.tables.intake import take_in
from discreet.engines.files.preview import preview
from discreet.engines.files.sources import relation
from discreet.engines.origins import Origin
from discreet.errors import SchemaError, Unavailable
from discreet.plan.parts.patience import ENGINE_SECONDS
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.schema.column import Column
from discreet.schema.format import Format
from discreet.schema.table import Table
from discreet.schema.toml.format_section import read_format
from discreet.schema.toml.read import read_schema, read_schema_text
from discreet.schema.toml.write import schema_text
from support.pace import thinned
from support.zoo import COLUMNS, Animal, animals

ANIMALS = animals()
BARE = {"header": False, "columns": 2, "delimiter": ","}


def document(animal: Animal, source: str) -> dict:
    table = {"name": "animal", "source": source}
    if animal.share is not None:
        table["unreadable_share"] = animal.share
    if animal.unit is not None:
        table |= {"unit": animal.unit, "rows_per_unit": animal.rows_per_unit}
    made = {"table": table, "columns": animal.columns, "budget": {"epsilon": 1}}
    return {**made, "format": animal.format} if animal.format else made


def held(curator: Curator) -> list[tuple]:
    """The prepared rows, as they are."""
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    engine = curator._warehouse.engine(("animal",))
    return sorted(engine.rows(f"SELECT {names} FROM prepared"), key=repr)


def test_the_zoo_is_large_enough():
    assert len({animal.name for animal in ANIMALS}) == len(ANIMALS) >= 40


@pytest.mark.parametrize(
    "animal", thinned(ANIMALS, 8, "messy files"), ids=lambda animal: animal.name
)
def test_a_messy_file(animal, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    schema = document(animal, animal.write(folder))
    with Curator.open(tmp_path / "vault") as curator:
        if animal.refusal:
            with pytest.raises(SchemaError) as refused:
                curator.add(schema)
            assert animal.refusal in str(refused.value)
            assert not curator.tables
            assert not list((tmp_path / "vault" / "prepared").iterdir())
            return
        told = []
        curator.add(schema, on_report=told.append)
        assert [sentence for report in told for sentence in report.sentences()] == list(
            animal.report
        )
        assert held(curator) == animal.expected()
    assert len(list((tmp_path / "vault" / "prepared").iterdir())) == 1  # no copy is left


@pytest.mark.parametrize(
    "animal",
    thinned([each for each in ANIMALS if each.guessed], 8, "messy files"),
    ids=lambda animal: animal.name,
)
def test_what_init_guesses_reads_the_file_as_meant(animal, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    source = animal.write(folder)
    guess = preview(source).guess
    schema = document(animal, source)
    wanted = read_schema(schema).format
    called = {name: entry.get("source_name", name) for name, entry in animal.columns.items()}
    assert {name for name, _ in guess.columns} >= set(called.values())
    for name in ("encoding", "decimal", "thousands", "quote", "header", "first_line", "columns"):
        assert getattr(guess.format, name) == getattr(wanted, name), name
    if animal.format.get("date"):
        assert set(wanted.date) <= set(guess.format.date) | set(guess.format.datetime)
    assert set(wanted.missing) <= set(guess.format.missing)
    assert read_format("animal", guess.format.facts()) == guess.format
    types = dict(guess.columns)
    assert types[called["age"]] == "BIGINT"
    assert types[called["day"]] in ("DATE", "DATETIME")


def test_a_file_of_one_column_keeps_its_blank_lines(tmp_path):
    (tmp_path / "ages.csv").write_bytes(b"age\n1\n\n3\nx\n5\n")
    schema = {
        "table": {"name": "ages", "source": str(tmp_path / "ages.csv"), "unreadable_share": 1},
        "columns": {"age": {"type": "integer", "lower": 0, "upper": 9}},
        "budget": {"epsilon": 1},
    }
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema)
        engine = curator._warehouse.engine(("ages",))
        assert engine.rows("SELECT COUNT(*), COUNT(age), SUM(age) FROM prepared") == [(5, 3, 9)]
        assert curator.report("ages").sentences() == [
            "age: 1 of 4 cells cannot be read (line 5) and count as missing."
        ]


@pytest.mark.parametrize("unit", thinned([None, "id"], 2, "messy files"))
def test_one_word_in_a_column_of_numbers_fails_nothing_and_is_told(tmp_path, unit):
    """With a unit the cells became NULL without a word; without one nothing could be added."""
    rows = [f"p{row},{'n/a' if row == 70 else row % 90},{row}" for row in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["id,age,other", *rows]) + "\n")
    table = {"name": "t", "source": str(tmp_path / "t.csv")}
    table |= {} if unit is None else {"unit": unit, "rows_per_unit": 1}
    columns = {"age": {"type": "integer", "lower": 0, "upper": 99}}
    with Curator.open(tmp_path / "vault") as curator:
        told = []
        curator.add({"table": table, "columns": columns, "budget": {"epsilon": 1}},
                    on_report=told.append)  # fmt: skip
        assert told[0].sentences() == [
            "age: 1 of 200 cells cannot be read (line 72) and count as missing."
        ]
        assert "1" not in repr(told[0]) + repr(told[0].findings)
        counts = curator.inspect("t")
        assert counts["rows kept"] == 200
        assert counts["age: cannot be read"] == 1
        (tmp_path / "t.csv").write_text("id,age,other\n" + "p,n/a,1\n" * 3)
        with pytest.raises(SchemaError, match=r"3 of 3 cells .* \(lines 2, 3, 4\).*or changed"):
            curator.refresh("t")
        assert curator.vault.catalogue.table("t").data_version == 1


def test_long_texts_are_counted(tmp_path):
    (tmp_path / "t.csv").write_text(f"city\nx\n{'y' * 1001}\n")
    columns = {"city": {"type": "category", "keys": "private"}}
    table = {"name": "t", "source": str(tmp_path / "t.csv")}
    with Curator.open(tmp_path / "vault") as curator:
        budget = {"epsilon": 1, "delta": 1e-9}
        curator.add({"table": table, "columns": columns, "budget": budget})
        assert curator.inspect("t")["city: longer than is read"] == 1
        assert curator.report("t").sentences() == [
            "city: 1 text is longer than 1000 characters (line 3) and is left out."
        ]


@pytest.mark.parametrize("name", ["t.xlsx", "t.jsonl", "t.feather"])
def test_what_must_be_rewritten_is_not_read_in_place(tmp_path, name):
    (tmp_path / name).write_bytes(b'{"age": 1}\n')
    table = {"name": "t", "source": str(tmp_path / name)}
    columns = {"age": {"type": "integer", "lower": 0, "upper": 9}}
    with (
        Curator.open(tmp_path / "vault") as curator,
        pytest.raises(SchemaError, match="cannot be read in place"),
    ):
        curator.add_in_place({"table": table, "columns": columns, "budget": {"epsilon": 1}})


@pytest.mark.parametrize(
    "given", thinned([BARE, {"first_line": 2}, {"encoding": "cp1252"}], 3, "messy files")
)
def test_a_table_that_begins_elsewhere_is_not_read_in_place_but_prepared(tmp_path, given):
    (tmp_path / "t.csv").write_text("age,b\nage,b\n" + "4,5\n" * 200)
    schema = small(tmp_path / "t.csv") | {"format": given}
    if not given.get("header", True):
        schema["columns"]["age"]["source_name"] = "column_1"
    with Curator.open(tmp_path / "vault") as curator:
        with pytest.raises(SchemaError, match="cannot be read in place"):
            curator.add_in_place(schema)
        with pytest.raises(SchemaError, match="cannot be read in place"):
            relation(str(tmp_path / "t.csv"), Format(**given))
        curator.add(schema)
        rows = {"header": 202, "first_line": 200, "encoding": 201}[next(iter(given))]
        assert curator.inspect("t")["rows kept"] == rows


@pytest.mark.parametrize("kind", ["t.parquet", "t.jsonl"])
@pytest.mark.parametrize("given", [{"header": False, "columns": 2}, {"first_line": 2}])
def test_only_texts_and_sheets_begin_somewhere(tmp_path, kind, given):
    (tmp_path / "t.jsonl").write_text('{"age": 1}\n')
    pandas.DataFrame({"age": [1]}).to_parquet(tmp_path / "t.parquet")
    with (
        Curator.open(tmp_path / "vault") as curator,
        pytest.raises(SchemaError, match=f"has {next(iter(given))}, which a source of the kind"),
    ):
        curator.add(small(tmp_path / kind) | {"format": given})


def test_a_ragged_file_is_not_read_in_place_but_prepared(tmp_path):
    (tmp_path / "t.csv").write_text("age,b\n1,2\n3\n" + "4,5\n" * 200)
    schema = {
        "table": {"name": "t", "source": str(tmp_path / "t.csv")},
        "columns": {"age": {"type": "integer", "lower": 0, "upper": 9}},
        "budget": {"epsilon": 1},
    }
    with Curator.open(tmp_path / "vault") as curator:
        with pytest.raises(SchemaError, match="cannot be read in place"):
            curator.add_in_place(schema)
        curator.add(schema)
        assert curator.report("t").left_out == 1


def test_a_format_is_read_in_place_too(tmp_path):
    (tmp_path / "t.csv").write_text("day;paid\n31.12.2024;1.234,50\nn/a;7,25\n")
    schema = {
        "table": {"name": "t", "source": str(tmp_path / "t.csv")},
        "format": {"decimal": ",", "thousands": ".", "date": "%d.%m.%Y", "missing": "n/a"},
        "columns": {
            "day": {"type": "date", "lower": date(2024, 1, 1), "upper": date(2024, 12, 31)},
            "paid": {"type": "number", "lower": 0, "upper": 5000, "step": Decimal("0.01")},
        },
        "budget": {"epsilon": 1},
    }
    with Curator.open(tmp_path / "vault") as curator:
        curator.add_in_place(schema)
        shown = curator._warehouse.relation("t")
        rows = curator._warehouse.engine(("t",)).rows(f"SELECT day, paid FROM {shown}")
        assert sorted(rows, key=repr) == sorted([(20088, 123450), (None, 725)], key=repr)


@pytest.mark.parametrize("source", ["postgresql://db.example/clinic#t", "spark:clinic.t"])
def test_other_engines_have_no_format(source):
    table = Table("t", source=source, columns=(Column("a", "boolean"),), format=Format(decimal=","))
    with pytest.raises(SchemaError, match="is for files that DuckDB reads"):
        lattice_rows(table, "t", {"a": "boolean"}, Origin.of(source).dialect)


def test_a_package_that_is_not_there_is_named_with_its_command(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").touch()
    (tmp_path / "t.feather").touch()
    for name, module, extra in (
        ("t.xlsx", "openpyxl", "excel"),
        ("t.feather", "pyarrow", "arrow"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(SchemaError, match=rf'pip install "discreet\[{extra}\]"'):
            preview(str(tmp_path / name))


def test_advice_follows_the_time_that_counting_people_takes():
    class Slow:
        dialect = "duckdb"

        def __init__(self):
            self.now = 0.0

        def rows(self, sql):
            self.now += 0.2 if "DISTINCT" in sql else 5.0
            return [(1,)]

    engine = Slow()
    usual = ENGINE_SECONDS["prepared"]
    assert advise_seconds(engine, usual, clock=lambda: engine.now) == Fraction(1, 2)
    assert advise_seconds(engine, Fraction(1), clock=lambda: engine.now) is None


def test_the_usual_format_changes_no_stored_schema():
    table = Table("t", columns=(Column("a", "boolean"),))
    assert "format" not in table.to_json()
    assert "unreadable_share" not in table.to_json()
    odd = replace(table, format=Format(decimal=","), unreadable_share=Fraction(1, 3))
    assert Table.from_json(odd.to_json()) == odd
    assert odd.version != table.version == replace(odd, format=Format()).version
    assert read_schema_text(schema_text(replace(odd, unreadable_share=Fraction(1, 4)))) == replace(
        odd, unreadable_share=Fraction(1, 4)
    )


def test_a_pattern_may_match_one_file(tmp_path):
    (tmp_path / "x-1.csv").write_text("age,b\n1,0\n2,0\n")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(small(tmp_path / "x-*.csv"))
        assert curator.inspect("t")["rows kept"] == 2
        (tmp_path / "x-1.csv").write_text("age,b\n1,0\n2,0\n3,0\n")
        curator.refresh("t")
        assert curator.inspect("t")["rows kept"] == 3


def test_files_of_a_pattern_are_known_by_their_other_names(tmp_path):
    for number in (1, 2):
        (tmp_path / f"x-{number}.csv").write_text(f"age,b\n{number},0\n2,0\n")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(small(tmp_path / "x-*.csv"))
        link = tmp_path / "linked.csv"
        link.hardlink_to(tmp_path / "x-2.csv")
        places = (str(link),)
        found = _links(places, curator.vault.catalogue.tables())
        assert found == (str(tmp_path / "x-2.csv"),)


def test_places_name_the_file_where_there_are_several(tmp_path):
    for name, rows in (("one", ["1", "2", "3"]), ("two", ["4", "x", "6"])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,b", *(f"{row},0" for row in rows)]))
    schema = small(tmp_path / "*.csv")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema)
        told = ["age: 1 of 6 cells cannot be read (two.csv line 3) and count as missing."]
        assert curator.report("t").sentences() == told
        version = curator.vault.catalogue.table("t").data_version
        (tmp_path / "three.csv").write_text("age,b\n7,0\n")
        with pytest.raises(Unavailable, match="has changed since it was added"):
            curator._warehouse.current("t")
        curator.refresh("t")
        assert curator.inspect("t")["rows kept"] == 7
        assert curator.vault.catalogue.table("t").data_version == version + 1


def test_texts_of_a_frame_are_told_too(tmp_path):
    frame = pandas.DataFrame({"age": ["1", "n/a", "3"]})
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(small(None), data=frame)
        assert curator.report("t").sentences() == [
            "age: 1 of 3 cells cannot be read (row 2) and count as missing."
        ]


def test_a_copy_is_refused_where_a_data_key_is_set(tmp_path):
    (tmp_path / "t.csv").write_text("age,b\n1,2\n3\n")
    table = read_schema(small(tmp_path / "t.csv"))
    origin = Origin.of(table.source)
    with (
        pytest.raises(SchemaError, match="a data key is set"),
        take_in(table, origin, tmp_path, object()),
    ):
        pass
    assert {file.name for file in tmp_path.iterdir()} == {"t.csv"}


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("postgresql", marks=pytest.mark.slow("PostgreSQL")),
        pytest.param("spark", marks=pytest.mark.soak),
    ],
)
def test_servers_count_what_they_cannot_read(tmp_path, request, engine):
    loaded = request.getfixturevalue(engine)
    texts = ["1", "n/a", " ", "3", "NaN"]
    if engine == "postgresql":
        loaded.run("DROP TABLE IF EXISTS texts")
        loaded.run("CREATE TABLE texts (age TEXT)")
        for text in texts:
            loaded.admin.execute("INSERT INTO texts VALUES (%s)", (text,))
        loaded.run("SELECT 1")
        source = str(loaded.source.replace("#source", "#texts"))
    else:
        file = tmp_path / "texts.parquet"
        pandas.DataFrame({"age": texts}).to_parquet(file)
        source = f"spark:{file}"
    with Curator.open(tmp_path / "vault", time_limit_seconds=300) as curator:
        curator.add(small(source))
        assert curator.report("t").sentences() == [
            "age: 1 of 4 cells cannot be read and count as missing."
        ]


def small(source):
    table = {"name": "t", "unreadable_share": Decimal("0.5")}
    table |= {} if source is None else {"source": str(source)}
    columns = {"age": {"type": "integer", "lower": 0, "upper": 9}}
    return {"table": table, "columns": columns, "budget": {"epsilon": 1}}


def _typed(folder, cells):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (age DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?)", [(float(each),) for each in cells])
    connection.execute(f"COPY t TO '{folder}/t.parquet'")
    return "t.parquet"


def _lines(folder, cells):
    (folder / "t.csv").write_text("age\n" + "".join(f"{each}\n" for each in cells))
    return "t.csv"


def _objects(folder, cells):
    (folder / "t.jsonl").write_text("".join(f'{{"age": {each}}}\n' for each in cells))
    return "t.jsonl"


@pytest.mark.parametrize("kind", [_typed, _lines, _objects])
def test_decimals_in_a_column_of_integers_are_told(tmp_path, kind):
    """They are rounded, as every value is to its step; but the type may be a wrong guess."""
    source = kind(tmp_path, ["3", "4.0", "1e1", "0.4", "-7.25", "5"])
    reports = []
    with Curator.open(tmp_path / "vault") as curator:
        entry = {"type": "integer", "lower": -9, "upper": 20}
        table = {"name": "t", "source": str(tmp_path / source)}
        document = {"table": table, "columns": {"age": entry}, "budget": {"epsilon": 1}}
        curator.add(document, on_report=reports.append)
        (sentence,) = reports[0].sentences()
        assert sentence.startswith("age: 2 of 6 cells have decimals")
        assert 'declare type = "number" with a step' in sentence
        number = {"type": "number", "lower": -9, "upper": 20, "step": 0.25}
        curator.add({**document, "columns": {"age": number}}, on_report=reports.append)
    assert not reports[1].sentences()


def test_a_key_is_no_word_for_missing(tmp_path):
    (tmp_path / "t.csv").write_text("region,age\n" + "NA,NA\nEU,4\n" * 50)
    entry = {"type": "category", "keys": ["NA", "EU"]}
    document = {
        "table": {"name": "t", "source": str(tmp_path / "t.csv")},
        "format": {"missing": ["NA"]},
        "columns": {"region": entry},
        "budget": {"epsilon": 1},
    }
    with Curator.open(tmp_path / "vault") as curator:
        with pytest.raises(SchemaError, match="the key 'NA' is also a word for missing"):
            curator.add(document)
        curator.add({**document, "format": {}})
