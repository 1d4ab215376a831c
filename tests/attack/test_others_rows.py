"""One person's line, cell or key never changes how the rows of others are read, whatever it holds;
and the privacy unit cannot be exchanged behind their budget.
"""

import json
from pathlib import Path

import duckdb
import pandas
import pytest

from discreet.curator.curator import Curator
from discreet.errors import SchemaError
from support.pace import thinned

REGIONS = ("north", "south")
PEOPLE = 300


def schema(folder: Path, source: Path | None, **facts: str) -> Path:
    lines = ["[table]", 'name = "v"', "unreadable_share = 1", f'unit = "{facts.pop("unit", "id")}"']
    if source is not None:
        lines.append(f'source = "{source}"')
    lines += [facts.pop("table", ""), "rows_per_unit = 2", facts.pop("format", "")]
    lines += [
        "[columns]",
        facts.pop("column", 'region = { type = "category", keys = ["north", "south"] }'),
    ]
    lines += ["[budget]", "epsilon = 9"]
    file = folder / "v.toml"
    file.write_text("\n".join(lines))
    return file


def prepared(folder: Path, file: Path, data: object = None) -> list[tuple[object, ...]]:
    """The prepared rows of all but the odd person, in order."""
    with Curator.open(folder / "vault") as curator:
        curator.add(file, data=data)
        (made,) = (folder / "vault" / "prepared").glob("*.duckdb")
    with duckdb.connect(str(made), read_only=True) as connection:
        rows = connection.sql("SELECT * FROM prepared").fetchall()
    return sorted((row for row in rows if not str(row[0]).startswith("odd")), key=str)


STYLES = {
    "plain": "{id},{region}",
    "quoted": '"{id}","{region}"',
    "a blank before a quote": '{id}, "{region}"',
    "a blank after a quote": '"{id}" ,{region}',
}
ODD = [
    "odd", "odd,north,east", 'odd,"', 'odd,"north', 'odd,nor"th', 'odd,north"', '"odd',
    'odd, "north"', '"odd" ,north', "odd,a\rb\rc,d", "odd,\x00", "",
    "odd," + "x" * 140_000, "odd," + "x" * 300_000,
    'odd,"\nodd,"', "odd,\udcff",
]  # fmt: skip

ALIKE = ['odd,"', '"odd', 'odd,north"', '"odd" ,north', "odd," + "x" * 300_000]
UNLIKE = [line for line in ODD if line not in ALIKE]  # one of each kind
TEXTS = [
    ("plain", UNLIKE),
    *(
        pytest.param(style, lines, marks=pytest.mark.slow("messy files"))
        for style, lines in [("plain", ALIKE), *((style, ODD) for style in list(STYLES)[1:])]
    ),
]


@pytest.mark.parametrize(("style", "odd_lines"), TEXTS, ids=["few", "more", *list(STYLES)[1:]])
def test_one_line_of_a_text_file(style, odd_lines, tmp_path):
    lines = [
        STYLES[style].format(id=number, region=REGIONS[number % 2]) for number in range(PEOPLE)
    ]
    seen = []
    for place, odd in enumerate([None, *odd_lines]):
        folder = tmp_path / str(place)
        folder.mkdir()
        text = "\n".join(["id,region", *lines[:100], *([] if odd is None else [odd]), *lines[100:]])
        (folder / "v.csv").write_bytes(f"{text}\n".encode("utf-8", "surrogateescape"))
        seen.append(prepared(folder, schema(folder, folder / "v.csv")))
    assert len(seen[0]) == PEOPLE
    assert [place for place, rows in enumerate(seen) if rows != seen[0]] == []


NAMELESS = """[format]
header = false
columns = 2
delimiter = ","
encoding = "{encoding}"
"""


@pytest.mark.slow("messy files")
@pytest.mark.parametrize("encoding", thinned(["utf-8", "utf-16", "cp1252"], 3, "messy files"))
@pytest.mark.parametrize("first", ["at the start", "at the end"])
def test_one_line_of_a_file_without_a_header(first, encoding, tmp_path):
    """The first line is somebody's row, and says nothing of how others end or are encoded."""
    lines = [f"{number},{REGIONS[number % 2]}" for number in range(PEOPLE)]
    odd_lines = ["odd\r1,north", "\rodd,north", "odd,north\r", "\x85odd,\u0430\u043d\u044f"]
    odd_lines += ODD[:-2] if encoding == "utf-8" else []
    found = []
    for place, odd in enumerate([None, *odd_lines]):
        folder = tmp_path / str(place)
        folder.mkdir()
        more = [] if odd is None else [odd]
        text = "\n".join([*more, *lines] if first == "at the start" else [*lines, *more])
        (folder / "v.csv").write_bytes(f"{text}\n".encode(encoding, "replace"))
        facts = {"unit": "id", "table": 'unit_source_name = "column_1"'}
        facts["column"] = (
            'region = { type = "category", keys = ["north", "south"], source_name = "column_2" }'
        )
        facts["format"] = NAMELESS.format(encoding=encoding)
        found.append(prepared(folder, schema(folder, folder / "v.csv", **facts)))
    others = [[row for row in rows if "odd" not in str(row[0])] for rows in found]
    assert len(others[0]) == PEOPLE
    assert [place for place, rows in enumerate(others) if rows != others[0]] == []


@pytest.mark.parametrize(
    ("first", "some"),
    [
        ("at the start", slice(None)),
        ("at the end", slice(1, None, 2)),
        pytest.param("at the end", slice(0, None, 2), marks=pytest.mark.slow("messy files")),
    ],
)
def test_one_line_of_json_lines(first, some, tmp_path):
    rows = [json.dumps({"id": n, "region": REGIONS[n % 2]}) for n in range(PEOPLE)]
    odd_lines = [
        '{\r"id": "odd", "region": "north"}',
        "\rodd",
        "odd\r",
        "{",
        '{"id": "odd"',
        "\x00",
    ]
    found = []
    for place, odd in enumerate([None, *odd_lines[some]]):
        folder = tmp_path / str(place)
        folder.mkdir()
        more = [] if odd is None else [odd]
        text = "\n".join([*more, *rows] if first == "at the start" else [*rows, *more])
        (folder / "v.jsonl").write_bytes(f"{text}\n".encode())
        found.append(prepared(folder, schema(folder, folder / "v.jsonl")))
    assert len(found[0]) == PEOPLE
    assert [place for place, made in enumerate(found) if made != found[0]] == []


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_utf_16_without_a_mark_and_without_names_is_refused(kind, tmp_path):
    """Only somebody's row could say in which order the bytes of a sign stand."""
    text = "1,north\n" if kind == "csv" else '{"id": 1, "region": "north"}\n'
    (tmp_path / f"v.{kind}").write_bytes((text * 40).encode("utf-16-be"))
    given = NAMELESS.format(encoding="utf-16")
    facts = {"format": given if kind == "csv" else '[format]\nencoding = "utf-16"'}
    with (
        Curator.open(tmp_path / "vault") as curator,
        pytest.raises(SchemaError, match="no byte order mark"),
    ):
        curator.add(schema(tmp_path, tmp_path / f"v.{kind}", **facts))


KEYS = ["STRASSE", "Id", "$line", "$file", "straße ", " id", "x", "", "straße", "id"]


def test_one_key_of_json_lines(tmp_path):
    rows = [{"id": number, "STRASSE": REGIONS[number % 2]} for number in range(PEOPLE)]
    column = 'r = { type = "category", keys = ["north", "south"], source_name = "straße" }'
    seen = []
    for place, key in enumerate([None, *KEYS]):
        folder = tmp_path / str(place)
        folder.mkdir()
        odd = [] if key is None else [{"id": "odd", key: "odd"}]
        text = "\n".join(json.dumps(row) for row in [*rows, *odd])
        (folder / "v.jsonl").write_text(text, encoding="utf-8")
        seen.append(prepared(folder, schema(folder, folder / "v.jsonl", column=column)))
    assert [row[1] for row in seen[0]].count(0) == PEOPLE // 2
    assert [place for place, found in enumerate(seen) if found != seen[0]] == []


def test_json_numbers_that_are_equal_are_one_person(tmp_path):
    rows = (f'{{"id": {number}, "region": "north"}}\n' for number in ("1", "1.0", "1e0"))
    text = "".join(rows)
    (tmp_path / "v.jsonl").write_text(text)
    assert len(prepared(tmp_path, schema(tmp_path, tmp_path / "v.jsonl"))) == 2


def test_one_cell_of_a_frame(tmp_path):
    column = 'paid = { type = "number", lower = 0, upper = 99, step = 0.5 }'
    seen = []
    odd = ["x", None, 3, 2.5, pandas.Timestamp("2024-01-01")]
    for place, more in enumerate([[], *([cell] for cell in odd)]):
        folder = tmp_path / str(place)
        folder.mkdir()
        paid = pandas.Series([1.5, 2.0] * 50 + more, dtype=object)
        ids = [*(str(number) for number in range(100)), *(["odd"] * len(more))]
        file = schema(folder, None, column=column, format='[format]\ndecimal = ","')
        seen.append(prepared(folder, file, pandas.DataFrame({"id": ids, "paid": paid})))
    assert [row[1] for row in seen[0]].count(3) == 50
    assert [place for place, found in enumerate(seen) if found != seen[0]] == []


def test_the_unit_cannot_be_exchanged_by_its_source_name(tmp_path):
    source = tmp_path / "v.csv"
    source.write_text("id,visit,region\n" + "".join(f"{n // 10},{n},north\n" for n in range(50)))
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(tmp_path, source))
        for facts in (
            {"unit": "visit"},
            {"unit": "id", "table": 'unit_source_name = "visit"'},
            {"unit": "other", "table": 'unit_source_name = "visit"'},
        ):
            with pytest.raises(SchemaError, match="the unit is visit, but what was charged"):
                curator.add(schema(tmp_path, source, **facts))
        curator.add(schema(tmp_path, source, unit="person", table='unit_source_name = "id"'))


def test_the_type_of_a_unit_is_that_of_the_column_that_is_read(tmp_path):
    frame = pandas.DataFrame({"id": ["1", "01"], "id ": [1, 2], "region": ["north", "south"]})
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(tmp_path, None), data=frame)
        (made,) = (tmp_path / "vault" / "prepared").glob("*.duckdb")
    assert "-texts" in made.name
