"""The same rows, reached a second time in every way that can be told, open no second population
and give nobody a second guarantee; what lies in a vault is no source.
"""

import os
import shutil
from types import SimpleNamespace

import duckdb
import pandas
import polars
import pyarrow.parquet as pq
import pytest

from discreet.curator.curator import Curator
from discreet.engines.origins import Origin
from discreet.engines.process.child import Child
from discreet.errors import SchemaError, Unavailable
from discreet.ledger import catalogue
from support.pace import thinned

QUERY = """SELECT range AS patient, range % 90 AS age, (range * 7 % 100) / 4 AS income,
['North', 'south'][1 + range % 2] AS region, DATE '2024-01-01' + CAST(range % 300 AS INT) AS day,
range % 3 = 0 AS insured, 9007199254740993 + range AS code,
CASE WHEN range % 5 > 0 THEN range % 7 END AS children
FROM range(40)"""
COLUMNS = """
[columns]
age = { type = "integer", lower = 0, upper = 110 }
"""
BUDGET = "[budget]\nepsilon = 1\n"


def schema(name="visits", source=None, population="people", unit="patient", neighbours=None):
    """The text of a schema."""
    lines = [f'name = "{name}"', f'population = "{population}"']
    if source is not None:
        lines.append(f'source = "{source}"')
    if unit is not None:
        lines += [f'unit = "{unit}"', "rows_per_unit = 2"]
    if neighbours is not None:
        lines.append(f'neighbours = "{neighbours}"')
    return "[table]\n" + "\n".join(lines) + COLUMNS + BUDGET


def write(sql, file):
    duckdb.sql(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")


# How the rows are reached again: from a folder with visits.parquet, a source or a frame.


def symlink(folder):
    (folder / "link.parquet").symlink_to(folder / "visits.parquet")
    return "link.parquet"


def linked_folder(folder):
    (folder / "elsewhere").symlink_to(folder)
    return "elsewhere/visits.parquet"


def hard_link(folder):
    os.link(folder / "visits.parquet", folder / "hard.parquet")
    return "hard.parquet"


def dots(folder):
    (folder / "sub").mkdir()
    return "sub/../visits.parquet"


def byte_copy(folder):
    shutil.copy(folder / "visits.parquet", folder / "copy.pq")
    return "copy.pq"


def other_order(folder):
    write(f"SELECT * FROM ({QUERY}) ORDER BY age DESC", folder / "sorted.parquet")
    return "sorted.parquet"


def other_columns(folder):
    write(f"SELECT region, patient AS PATIENT, * EXCLUDE (region, patient) FROM ({QUERY})",
          folder / "turned.parquet")  # fmt: skip
    return "turned.parquet"


def other_types(folder):
    casts = "CAST(age AS DOUBLE) AS age, CAST(day AS TIMESTAMP) AS day"
    write(f"SELECT * REPLACE ({casts}) FROM ({QUERY})", folder / "wide.parquet")
    return "wide.parquet"


def time_zones(folder):
    casts = "timezone('UTC', CAST(day AS TIMESTAMP)) AS day"
    write(f"SELECT * REPLACE ({casts}) FROM ({QUERY})", folder / "zoned.parquet")
    return "zoned.parquet"


def csv(folder):
    duckdb.sql(f"COPY (FROM '{folder}/visits.parquet') TO '{folder}/visits.csv'")
    return "visits.csv"


def tabs(folder):
    duckdb.sql(f"COPY ({QUERY}) TO '{folder}/visits.tsv' (DELIMITER '\t')")
    return "visits.tsv"


def pandas_csv(folder):
    pandas.read_parquet(folder / "visits.parquet").to_csv(folder / "written.csv", index=False)
    return "written.csv"


def pandas_parquet(folder):
    frame = pandas.read_parquet(folder / "visits.parquet").sort_values("age")
    frame.to_parquet(folder / "written.parquet")
    return "written.parquet"


def database(folder):
    with duckdb.connect(str(folder / "all.duckdb")) as made:
        made.execute(f"CREATE TABLE t AS {QUERY}; CREATE TABLE other AS SELECT 1 AS a")
    return "all.duckdb#t"


def view(folder):
    with duckdb.connect(str(folder / "viewed.db")) as made:
        made.execute(f"CREATE TABLE t AS {QUERY}; CREATE VIEW v AS FROM t")
    return "viewed.db#v"


SOURCES = {
    "itself": lambda _: "visits.parquet",
    "absolute": lambda folder: str(folder / "visits.parquet"),
    **{
        made.__name__: made
        for made in (
            symlink, linked_folder, hard_link, dots, byte_copy, other_order, other_columns,
            other_types, time_zones, csv, tabs, pandas_csv, pandas_parquet, database, view,
        )
    },
}  # fmt: skip
FRAMES = {
    "pandas": pandas.read_parquet,
    "polars": polars.read_parquet,
    "lazy polars": polars.scan_parquet,
    "Arrow": pq.read_table,
}
SECOND = {  # what the second schema changes, and what its refusal says
    "no unit": ({"name": "again", "unit": None}, "the unit is the row"),
    "other unit": ({"name": "again", "unit": "code"}, "the unit is code"),
    "other population": ({"name": "again", "population": "others"}, "population 'people'"),
    "own population": ({"name": "again", "population": "again"}, "population 'people'"),
    "both": (
        {"name": "again", "population": "others", "unit": None},
        "population 'people'|the unit is the row",  # whichever is noticed first
    ),
    "other neighbours": ({"name": "again", "neighbours": "replace"}, "needs one relation"),
    "other name": ({"name": "again"}, None),
    "nothing": ({}, None),
}
FEW = ("no unit", "other population", "other name")
WAYS = {"prepared": Curator.add, "in place": Curator.add_in_place}


@pytest.fixture
def site(tmp_path):
    write(QUERY, tmp_path / "visits.parquet")
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        yield SimpleNamespace(folder=tmp_path, curator=curator)


def add(site, text, way="prepared", data=None):
    file = site.folder / "schema.toml"
    file.write_text(text)
    if data is not None:
        return site.curator.add(file, data=data)
    return WAYS[way](site.curator, file)


def standing(site):
    """All that a refusal must leave as it was."""
    vault = site.curator.vault
    files = sorted(each.name for each in (vault.folder / "prepared").iterdir())
    accounts = [(each.name, each.epsilon) for each in vault.ledger.accounts()]
    return vault.catalogue.tables(), accounts, files


def check_second(site, way, source=None, data=None, changes=FEW):
    """A second schema, changed in each way, for rows that are known already."""
    for change in changes:
        facts, words = SECOND[change]
        text = schema(**{"name": "visits", "source": source, **facts})
        if words is None:
            add(site, text, way, data)
        else:
            before = standing(site)
            with pytest.raises(SchemaError, match=words) as refusal:
                add(site, text, way, data)
            assert str(refusal.value).endswith(("Nothing was changed.", "Nothing was added."))
            assert standing(site) == before, change
    assert [each.name for each in site.curator.ledger.accounts()] == ["people"]
    units = {each.unit for each in site.curator.tables.values()}
    assert units == {"patient"}
    assert site.curator.ledger.verify().sound


# One of each kind: the same place, a link, other types and columns, text, a database and its view.
FAST = [
    ("itself", "prepared"), ("hard_link", "in place"), ("other_columns", "prepared"),
    ("time_zones", "in place"), ("tabs", "prepared"), ("database", "in place"),
    ("view", "prepared"),
]  # fmt: skip
SLOW = [(reached, way) for reached in SOURCES for way in WAYS if (reached, way) not in FAST]


def run_slowly(cases):
    return [pytest.param(*case, marks=pytest.mark.slow("known sources")) for case in cases]


@pytest.mark.parametrize(("reached", "way"), [*FAST, *run_slowly(SLOW)])
def test_known_rows_of_a_file(site, reached, way):
    add(site, schema(source="visits.parquet"), way="prepared" if way == "in place" else "in place")
    check_second(site, way, SOURCES[reached](site.folder))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "reached",
    [
        "byte_copy",
        pytest.param("csv", marks=pytest.mark.slow("known sources")),
        *(pytest.param(each, marks=pytest.mark.soak) for each in SOURCES),
    ],
)
def test_every_second_schema_of_known_rows(site, reached, way):
    add(site, schema(source="visits.parquet"))
    check_second(site, way, SOURCES[reached](site.folder), changes=SECOND)


@pytest.mark.parametrize("zoned_first", thinned([False, True], 2, "known sources"))
def test_moments_with_and_without_a_time_zone_are_the_same_rows(site, zoned_first):
    """They are read as the same moments, but a copy of the other type opened a new budget."""
    plain = "SELECT range AS patient, range % 90 AS age, TIMESTAMP '2024-01-01 10:20:30.5' AS seen "
    plain += "FROM range(40)"
    zoned = f"SELECT * REPLACE (timezone('UTC', seen) AS seen) FROM ({plain})"
    first, second = (zoned, plain) if zoned_first else (plain, zoned)
    write(first, site.folder / "visits.parquet")
    add(site, schema(source="visits.parquet"))
    write(second, site.folder / "other.parquet")
    check_second(site, "prepared", "other.parquet")


@pytest.mark.parametrize("reached", thinned(FRAMES, 4, "known sources"))
def test_known_rows_of_a_frame(site, reached):
    add(site, schema(source="visits.parquet"))
    check_second(site, "prepared", data=FRAMES[reached](site.folder / "visits.parquet"))


@pytest.mark.parametrize(
    "reached", thinned(["itself", "csv", "database", "pandas_csv"], 4, "known sources")
)
def test_known_rows_of_a_frame_in_a_file(site, reached):
    add(site, schema(), data=polars.read_parquet(site.folder / "visits.parquet"))
    check_second(site, "in place", SOURCES[reached](site.folder))


def parts(folder, count, *, kind="csv"):
    """Files of a pattern, each of other people."""
    for number in range(3):
        rows = f"SELECT range + {1000 * number} AS patient, range % 90 AS age FROM range({count})"
        duckdb.sql(f"COPY ({rows}) TO '{folder}/part-{number}.{kind}'")


@pytest.mark.parametrize("kind", thinned(["csv", "parquet"], 2, "known sources"))
def test_a_copy_of_one_file_of_a_pattern_is_known(site, kind):
    parts(site.folder, 1000, kind=kind)
    add(site, schema(source=f"part-*.{kind}"))
    shutil.copy(site.folder / f"part-1.{kind}", site.folder / f"elsewhere.{kind}")
    check_second(site, "prepared", f"elsewhere.{kind}")


@pytest.mark.parametrize("kind", thinned(["parquet", "csv"], 2, "known sources"))
def test_a_pattern_with_a_copy_of_known_rows_is_known(site, kind):
    parts(site.folder, 1000, kind=kind)
    shutil.copy(site.folder / f"part-1.{kind}", site.folder / f"first.{kind}")
    add(site, schema(source=f"first.{kind}"))
    check_second(site, "prepared", f"part-*.{kind}")


def test_short_files_of_patterns_that_are_alike_are_not_taken_for_the_same(site):
    """A month with one row looks the same in two hospitals: no row stops another's refresh."""
    for name in ("one", "two"):
        (site.folder / name).mkdir()
        rows = "".join(f"{name}{number},{number % 90}\n" for number in range(50))
        (site.folder / name / "1.csv").write_text(f"patient,age\n{rows}")
        add(site, schema(name=name, source=f"{name}/*.csv", population=name))
    for name in ("one", "two"):
        (site.folder / name / "2.csv").write_text("patient,age\n7,40\n")
        site.curator.refresh(name)
        assert site.curator.vault.catalogue.table(name).data_version == 2


def test_a_file_of_a_pattern_may_have_any_name(site):
    (site.folder / "odd").mkdir()
    for name in ("x.db#1.csv", "a b.csv", "#.csv"):
        (site.folder / "odd" / name).write_text("patient,age\n" + "7,40\n" * 1000)
    add(site, schema(source="odd/*.csv"))
    assert site.curator.tables["visits"].source.endswith("odd/*.csv")


def test_rows_that_were_refreshed_away_are_known_still(site):
    add(site, schema(source="visits.parquet"))
    copy = site.folder / byte_copy(site.folder)
    bills = schema(name="bills", source="bills.parquet", unit="payer")
    write("SELECT 1 AS payer, 2 AS age", site.folder / "bills.parquet")
    add(site, bills)  # another unit of the same people
    write(f"{QUERY} WHERE range > 3", site.folder / "visits.parquet")
    site.curator.refresh("visits")
    for unit in (None, "code"):
        with pytest.raises(SchemaError, match="protects patient"):
            add(site, schema(name="old", source=copy.name, unit=unit))
    shutil.copy(copy, site.folder / "visits.parquet")  # the old rows are put back
    site.curator.refresh("visits")
    os.utime(copy)
    add(site, schema(name="old", source=copy.name))


def test_a_refresh_cannot_take_known_rows_of_another_unit(site):
    add(site, schema(source="visits.parquet"))
    write("SELECT 1 AS payer, 2 AS age", site.folder / "bills.parquet")
    add(site, schema(name="bills", source="bills.parquet", unit="payer"))
    sql = f"SELECT *, patient AS payer FROM ({QUERY})"
    write(sql, site.folder / "wider.parquet")
    add(site, schema(name="wider", source="wider.parquet"))
    before = standing(site)
    write(f"{sql} ORDER BY age", site.folder / "bills.parquet")
    with pytest.raises(SchemaError, match="protects patient"):
        site.curator.refresh("bills")
    assert standing(site) == before


def test_where_a_link_leads_after_a_refresh_is_known(site):
    link = site.folder / symlink(site.folder)
    add(site, schema(source=link.name))
    write(f"{QUERY} WHERE range > 3", site.folder / "newer.parquet")
    link.unlink()
    link.symlink_to(site.folder / "newer.parquet")
    site.curator.refresh("visits")
    write(f"{QUERY} WHERE range > 5", site.folder / "newer.parquet")
    with pytest.raises(SchemaError, match="population 'people'"):
        add(site, schema(name="new", source="newer.parquet", population="new"))


def test_a_hard_link_is_known_after_the_file_changed(site):
    add(site, schema(source="visits.parquet"), "in place")
    name = hard_link(site.folder)
    write(f"{QUERY} WHERE range > 5", site.folder / "fresh.parquet")
    (site.folder / name).write_bytes((site.folder / "fresh.parquet").read_bytes())
    with pytest.raises(SchemaError, match="population 'people'"):
        add(site, schema(name="new", source=name, population="new"), "in place")
    with pytest.raises(SchemaError, match="protects patient"):
        add(site, schema(name="new", source=name, unit=None), "in place")


def test_tables_of_one_database_have_one_population_and_units_of_their_own(site):
    with duckdb.connect(str(site.folder / "all.duckdb")) as made:
        made.execute(f"CREATE TABLE visits AS {QUERY}")
        made.execute("CREATE TABLE bills AS SELECT 7 AS payer, 8 AS age")
        made.execute("CREATE VIEW seen AS SELECT patient AS payer, age FROM visits")
    add(site, schema(source="all.duckdb#visits"))
    add(site, schema(name="bills", source="all.duckdb#bills", unit="payer"))
    (site.folder / "link.ddb").symlink_to(site.folder / "all.duckdb")
    for source in ("all.duckdb#visits", "./all.duckdb#visits", "link.ddb#visits"):
        with pytest.raises(SchemaError, match="protects patient"):
            add(site, schema(name="again", source=source, unit=None))
    with pytest.raises(SchemaError, match="population 'people'"):
        add(site, schema(name="seen", source="all.duckdb#seen", unit="payer", population="new"))


def test_empty_tables_and_tables_of_others_are_not_taken_for_the_same(site):
    write(f"{QUERY} WHERE range < 0", site.folder / "empty.parquet")
    duckdb.sql(f"COPY ({QUERY} WHERE range < 0) TO '{site.folder}/empty.csv' (HEADER)")
    write(QUERY.replace("range % 90", "range % 89 + 1"), site.folder / "others.parquet")
    for name in ("visits.parquet", "empty.parquet", "empty.csv", "others.parquet"):
        plain = name.replace(".", "_")
        add(site, schema(name=plain, source=name, population=plain, unit=None))
    assert len(site.curator.ledger.accounts()) == 4


@pytest.fixture
def vaults(site):
    """Two vaults with the same table, the second with a ledger on a server, as far as one sees."""
    add(site, schema(source="visits.parquet"))
    other = site.folder / "other"
    (other / "prepared").mkdir(parents=True)
    (other / "ledger").write_text("postgresql://db.example/ledger\n")
    shutil.copy(site.folder / "visits.parquet", other / "prepared" / "rows.parquet")
    return [next((site.folder / "vault" / "prepared").glob("*.duckdb")), other / "prepared"]


def through_nothing(_, file):
    return str(file)


def through_a_link(folder, file):
    link = folder / f"linked{file.suffix}"
    link.symlink_to(file)
    return link.name


def through_a_folder(folder, file):
    (folder / "aside").symlink_to(file.parent)
    return f"aside/{file.name}"


def through_dots(folder, file):
    return f"../{folder.name}/vault/../{file.relative_to(folder)}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "through", [through_nothing, through_a_link, through_a_folder, through_dots]
)
def test_what_lies_in_a_vault_is_no_source(site, vaults, through, way):
    own, other = vaults
    before = standing(site)
    for number, file in enumerate((own, other / "rows.parquet")):
        folder = site.folder / f"from{number}"
        folder.mkdir()
        source = through(site.folder, file) if through is not through_a_folder else None
        source = source or os.path.relpath(folder / through(folder, file), site.folder)
        for unit in (None, "patient"):
            with pytest.raises(SchemaError, match=r"lies in the vault .* Nothing was added"):
                add(site, schema(name="inner", source=source, population="new", unit=unit), way)
        (site.folder / f"linked{file.suffix}").unlink(missing_ok=True)
    assert standing(site) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_refresh_does_not_follow_a_link_into_a_vault(site, vaults, way):
    link = site.folder / "link.parquet"
    write(f"{QUERY} WHERE range > 9", site.folder / "first.parquet")
    link.symlink_to(site.folder / "first.parquet")
    add(site, schema(name="linked", source="link.parquet", population="new"), way)
    before = standing(site)
    link.unlink()
    link.symlink_to(vaults[1] / "rows.parquet")
    with pytest.raises(SchemaError, match="lies in the vault"):
        site.curator.refresh("linked")
    with pytest.raises(Unavailable, match="has changed"):
        site.curator._warehouse.current("linked")
    assert standing(site) == before


@pytest.mark.parametrize("copied", thinned([shutil.copy, os.link], 2, "known sources"))
def test_a_prepared_file_outside_of_its_vault_is_known(site, vaults, copied):
    copied(vaults[0], site.folder / "out.duckdb")
    with pytest.raises(SchemaError, match="population 'people'"):
        add(site, schema(name="out", source="out.duckdb#prepared", population="new", unit=None))
    with pytest.raises(SchemaError, match="protects patient"):
        add(site, schema(name="out", source="out.duckdb#prepared", unit=None))


def test_a_file_called_ledger_makes_no_vault(site):
    (site.folder / "ledger").write_text("2024-01-01 groceries 3.50\n")
    add(site, schema(source="visits.parquet"))
    (site.folder / "ledger").write_bytes(b"\xff\xfe")
    add(site, schema(source="visits.parquet"))
    assert site.curator.vault.catalogue.table("visits").data_version == 2


def test_hashes_of_rows_stay_in_the_vault(site, capsys):
    add(site, schema(source="visits.parquet"))
    with site.curator.vault._store.reading() as connection:
        rows = connection.execute("SELECT value FROM sources WHERE kind = 'content'").fetchall()
    assert len(rows) >= 4  # bytes, their end, values, the prepared file
    shown = [repr(site.curator.vault.catalogue.tables())]
    with pytest.raises(SchemaError) as refusal:
        add(site, schema(name="again", source=csv(site.folder), unit=None))
    shown += [str(refusal.value), *capsys.readouterr()]
    assert not [True for (value,) in rows for text in shown if value.hex() in text.lower()]
    with Curator.open(site.folder / "second", price_floor=0) as other:
        other.add(site.folder / "schema.toml")
        with other.vault._store.reading() as connection:
            there = connection.execute("SELECT value FROM sources WHERE kind = 'content'")
            assert not set(rows) & set(there.fetchall())


def _bind_as_before(book, made, unit, identity):
    """How earlier versions tied a source: its path and its bytes, to the population alone."""
    del unit, identity
    for kind, value in catalogue._own(made):
        query = "SELECT 1 FROM sources WHERE kind = ? AND value = ?"
        if book.connection.execute(query, (kind, value)).fetchone() is None:
            row = (kind, value, made.population)
            book.connection.execute("INSERT INTO sources VALUES (?, ?, ?)", row)
            book.seal("source", (f"{kind}:{value.hex().upper()}", made.population))


@pytest.mark.parametrize(
    "reached", thinned(["symlink", "itself", "byte_copy", "hard_link"], 2, "known sources")
)
def test_what_an_earlier_version_has_registered_is_known(site, monkeypatch, reached):
    with monkeypatch.context() as earlier:
        earlier.setattr(catalogue, "_bind", _bind_as_before)
        add(site, schema(source="visits.parquet"))
    check_second(site, "prepared", SOURCES[reached](site.folder))


def test_rows_that_an_earlier_version_has_refreshed_away(site, monkeypatch):
    copy = site.folder / byte_copy(site.folder)
    with monkeypatch.context() as earlier:
        earlier.setattr(catalogue, "_bind", _bind_as_before)
        add(site, schema(source="visits.parquet"))
        write(f"{QUERY} WHERE range > 3", site.folder / "visits.parquet")
        site.curator.refresh("visits")
    check_second(site, "in place", copy.name)
    site.curator.refresh("visits")  # ties what was not tied then
    check_second(site, "in place", csv(site.folder))


def test_the_values_of_a_source_are_hashed_however_long_it_takes(site, monkeypatch):
    """A time limit would leave a large source without what its copies are known by."""
    limits, ask = {}, Child.ask

    def watched(child, command, argument, *, limit_seconds, **words):
        limits["md5" in argument and "FROM source" in argument] = limit_seconds
        return ask(child, command, argument, limit_seconds=limit_seconds, **words)

    monkeypatch.setattr(Child, "ask", watched)
    add(site, schema(source="visits.parquet"))
    assert limits[True] is None


def test_an_inspection_hashes_nothing(site, monkeypatch):
    add(site, schema(source="visits.parquet"))
    monkeypatch.setattr(Origin, "codes", None)
    assert site.curator.inspect("visits")["rows kept"] == 40
