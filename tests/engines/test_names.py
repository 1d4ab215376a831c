"""Names on every engine: what tables, columns, units and results may be called makes no difference
to what is read. Each odd name takes every place that a name has, beside a plain one.
"""

import string
import unicodedata
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas
import pytest

from discreet.curator.curator import Curator
from discreet.errors import SchemaError, UnsafeQuery
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.names import any_name, fold, propose_names, sql_name
from discreet.schema.table import Table
from discreet.schema.toml.read import read_schema_text
from discreet.schema.toml.write import schema_text
from support.loaded_engines import planned

WORDS = [
    "all", "and", "as", "between", "by", "case", "cast", "column", "count", "create",
    "cross", "current_date", "date", "desc", "distinct", "drop", "else", "end", "exists",
    "false", "from", "full", "group", "having", "in", "index", "inner", "interval", "into",
    "is", "join", "key", "left", "like", "limit", "natural", "not", "null", "offset", "on",
    "or", "order", "outer", "over", "partition", "prepared", "primary", "range", "right",
    "row", "rows", "select", "set", "source", "sum", "table", "then", "timestamp", "to",
    "true", "union", "unique", "update", "user", "using", "value", "values", "view", "when",
    "where", "window", "with", "year",
]  # fmt: skip
SIGNS = [f"a{sign}b" for sign in string.punctuation if sign not in '"`\\']
LETTERS = [
    "Größe", "naïve é", "Доход", "收入", "الدخل", "आय", "สูง", "Σίσυφος", "İstanbul", "ıd", "ﬁne",
    "🙂1", "²", "Net income (€)", "100 %", "2024", "_", "x y  z",
]  # fmt: skip
TRICKS = [
    "a; DROP TABLE t", "a -- b", "a /* b", "a */ b", "{0}", "{name}", "%s", "%(x)s", ":x", "?1",
    "a$1", "a'b", "''''1", "a.b", "x" * 63, "ä" * 31, "unit", "row", "c1", "n", "v0", "k0", "s0",
]  # fmt: skip


def usable() -> list[str]:
    """The names that may be declared, each once by the engines' own comparison."""
    found: dict[str, str] = {}
    for name in (*WORDS, *SIGNS, *LETTERS, *TRICKS):
        if any(each.isalnum() for each in name):
            found.setdefault(fold(name), any_name(name, "a name"))
    return list(found.values())


NAMES = usable()
PLAIN = [f"column_{place}" for place in range(len(NAMES))]
ROWS = [(who, *((who * 7 + place) % 11 for place in range(len(NAMES)))) for who in range(6)]
ASKED = [
    "SELECT SUM({c}) AS {c}, COUNT({c}) AS n FROM {t}",
    "SELECT {c}, COUNT(*) AS n FROM {t} GROUP BY {c}",
    "SELECT SUM({t}.{c}) AS s FROM {t} WHERE {c} BETWEEN 2 AND 7",
    "SELECT SUM({a}) AS s FROM (SELECT {u}, {c} + 1 AS {a} FROM {t} WHERE {c} > 3) AS {b}",
    "WITH {b} AS (SELECT {u}, SUM({c}) AS {a} FROM {t} GROUP BY {u}) SELECT SUM({a}) AS s FROM {b}",
]


def table(names: list[str], name: str, unit: str) -> Table:
    columns = tuple(Column(each, "integer", lower=0, upper=10) for each in names)
    return Table(name, unit=unit, rows_per_unit=2, columns=columns)


def statements(names: list[str], title: str, unit: str, others: list[str]) -> list[str]:
    """Every template, each over its share of the columns."""
    found = []
    for place, name in enumerate(names):
        text = ASKED[place % len(ASKED)]
        spelt = {"c": name, "t": title, "u": unit, "a": others[place], "b": others[place - 1]}
        found.append(text.format(**{key: f'"{each}"' for key, each in spelt.items()}))
    return found


def test_what_things_are_called_makes_no_difference(quick_engines):
    odd, title, unit = NAMES[2:], NAMES[0], NAMES[1]
    plain = PLAIN[2:]
    kinds = ("BIGINT",) * (1 + len(odd))
    rows = [row[: len(kinds)] for row in ROWS]
    strange = table(odd, title, unit)
    asked = [
        (table(plain, "t", "id"), statements(plain, "t", "id", [f"o{n}" for n in range(200)])),
        (strange, statements(odd, title, unit, odd[1:] + odd[:1])),
    ]
    for loaded in quick_engines:
        seen = []
        for known, texts in asked:
            names = [known.unit, *(each.name for each in known.columns)]
            loaded.load(dict(zip(names, kinds, strict=True)), rows)
            loaded.prepare(known)
            plans = [
                planned(parse(text, {known.name: known}), known, loaded.dialect) for text in texts
            ]
            some = plans if loaded.dialect != "spark" else plans[:: 2 * len(ASKED) + 1]
            seen.append([sorted(loaded.rows(each.sql)) for each in some])
        assert seen[0] == seen[1], loaded.dialect


def test_a_question_may_write_a_name_in_any_form_of_its_letters():
    known = {"t": table(["naïve é"], "t", "id")}
    apart = unicodedata.normalize("NFD", 'SELECT SUM("NAÏVE É") AS s FROM t')
    assert parse(apart, known).outputs == parse('SELECT SUM("naïve é") AS s FROM t', known).outputs


@pytest.mark.parametrize("name", NAMES)
def test_sql_name_is_read_as_that_name(name):
    known = table([name], name.replace("/", "-"), "whose")
    title, column = sql_name(known.name), sql_name(name)
    found = parse(
        f"SELECT {column}, COUNT(*) AS counted FROM {title} GROUP BY {column}", {known.name: known}
    )
    assert [each.expression.name for each in found.keys] == [name]


def test_a_schema_file_has_any_name():
    made = replace(table(NAMES[1:], NAMES[0], "Akte Nr."), unit_source_name='"Akte"\n')
    named = replace(made.columns[0], source_name='a "b"\x7f\\\t')
    made = replace(made, columns=(named, *made.columns[1:]))
    assert read_schema_text(schema_text(made)) == made
    assert Table.from_json(made.to_json()) == made


def test_proposed_names_can_be_declared_and_differ():
    headings = [*NAMES, *NAMES, "", " ", '"', "a\nb", "\x00", "ä" * 200, "ä" * 200, "\ud800"]
    found = propose_names(headings)
    assert len({fold(each) for each in found}) == len(headings)
    assert [any_name(each, "a name") for each in found] == found


def test_twins_of_one_engine_are_refused():
    for first, second in (("id", "ıd"), ("İd", "id"), ("Straße", "STRASSE"), ("σ", "ς")):
        with pytest.raises(SchemaError, match="have the same name"):
            table([first, second], "t", "who")


ODD = [
    "Net income (€)",
    'say "when"',
    "line\nbreak",
    "order",
    "Größe",
    " padded ",
    "a`b\\",
    "$unit",
]


def frame() -> pandas.DataFrame:
    return pandas.DataFrame({"Akte #": [1, 1, 2, 3], **{name: [1, 2, 3, 4] for name in ODD}})


def schema(source: Path | None, title: str) -> str:
    names = propose_names(ODD)
    table = Table(
        title,
        source=None if source is None else str(source),
        unit="Akte #",
        rows_per_unit=5,
        columns=tuple(
            Column(name, "integer", upper=9, source_name=called)
            for name, called in zip(names, ODD, strict=True)
        ),
    )
    return schema_text(table) + "\n[budget]\nepsilon = 100000\n"


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "duckdb"])
@pytest.mark.parametrize("title", ["Umsätze 2024?", "select"])
def test_source_names_of_every_kind_of_source(kind, title, tmp_path):
    data, file = frame(), tmp_path / f"data.{kind}"
    if kind == "csv":
        data.to_csv(file, index=False)
    elif kind == "parquet":
        data.to_parquet(file)
    elif kind == "duckdb":
        with duckdb.connect(str(file)) as made:
            made.execute("CREATE TABLE data AS SELECT * FROM data")
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        source = None if kind == "frame" else (f"{file}#data" if kind == "duckdb" else file)
        known = tmp_path / "schema.toml"
        text = schema(source, title)
        if kind == "csv":  # one of its headings holds the end of a line
            text = text.replace("[columns]", "[format]\nmultiline = true\n[columns]", 1)
        known.write_text(text)
        curator.add(known, **({"data": data} if kind == "frame" else {}))
        curator.grant("ann", epsilon=90000)
        session = curator.session("ann")
        for name in propose_names(ODD):
            text = f"SELECT SUM({sql_name(name)}) AS s FROM {sql_name(title)}"
            assert round(session.sql(text, epsilon=1000).to_dicts()[0]["s"]) == 10
        assert session.sql(text, epsilon=1000).free


def test_a_missing_source_name_is_named(tmp_path):
    file = tmp_path / "data.csv"
    frame().to_csv(file, index=False)
    made = schema(file, "t").replace("Net income (€)", "Net income (EUR)")
    made = made.replace("[columns]", "[format]\nmultiline = true\n[columns]", 1)
    (tmp_path / "schema.toml").write_text(made)
    with (
        Curator.open(tmp_path / "vault") as curator,
        pytest.raises(
            SchemaError, match=r"no column 'Net income \(EUR\)'. Did you mean 'Net income"
        ),
    ):
        curator.add(tmp_path / "schema.toml")


def test_a_word_of_sql_without_quotes_is_told_how_to_write_it():
    known = {"t": table(["case"], "t", "id")}
    with pytest.raises(UnsafeQuery, match="stands in double quotes"):
        parse("SELECT SUM(case) AS s FROM t", known)
