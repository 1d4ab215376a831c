"""Days and moments in texts: read wholly and in UTC, or counted as unreadable."""

import csv
import json
import re
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import combinations, product

import duckdb
import pandas
import polars
import pyarrow
import pytest

from discreet import Curator
from discreet.engines.files.preview import preview
from discreet.errors import SchemaError
from discreet.plan.sql.preparation import duckdb as prepare_duckdb
from discreet.plan.sql.preparation.format import apply_format
from discreet.schema.format import Format
from discreet.schema.toml.read import read_schema_text
from discreet.schema.toml.skeleton import skeleton
from support.pace import thinned
from support.written_times import (
    CLOCKS,
    DAYS,
    GAPS,
    OFFSETS,
    WORDS,
    WRAPS,
    all_cells,
    as_datetime,
    day_code,
    moment_code,
    some_cells,
)

MOMENTS = {"type": "datetime", "lower": datetime(1, 1, 1), "upper": datetime(9999, 12, 31, 23, 59)}
FIRST, LAST = -62_135_596_800, 253_402_300_740
COLUMNS = {
    "row": {"type": "integer", "lower": 0, "upper": 10**6},
    "seen": MOMENTS,
    "day": {"type": "date", "lower": date(1, 1, 1), "upper": date(9999, 12, 31)},
}


def schema(source=None, written=None, columns=COLUMNS) -> dict:
    table = {"name": "t", "unreadable_share": 1} | ({"source": str(source)} if source else {})
    made = {"table": table, "columns": columns, "budget": {"epsilon": 1}}
    return made | ({"format": written} if written else {})


def prepared(curator: Curator, names: str = "row, seen, day") -> list[tuple]:
    return curator._warehouse.engine(("t",)).rows(f"SELECT {names} FROM prepared ORDER BY ALL")


def expected(texts: list[str]) -> list[tuple]:
    codes = [(moment_code(text), day_code(text)) for text in texts]
    return [
        (row, None if moment is None else min(max(moment, FIRST), LAST), day)
        for row, (moment, day) in enumerate(codes)
    ]


def told(name: str, texts: list[str], codes: list, places: str, first: int) -> str:
    there = [place for place, text in enumerate(texts) if text.strip(" ")]
    bad = [place for place in there if codes[place] is None]
    assert len(bad) > 3
    shown = ", ".join(str(place + first) for place in bad[:3])
    count = f"{len(bad)} of {len(there)}"
    return f"{name}: {count} cells cannot be read ({places} {shown}, ...) and count as missing."


def check_cells(curator: Curator, texts: list[str], places: str = "rows", first: int = 1) -> None:
    """Every cell is what the oracle says or counted, and nothing else is."""
    found, wanted = prepared(curator), expected(texts)
    wrong = [(texts[a[0]], a, b) for a, b in zip(found, wanted, strict=True) if a != b]
    assert not wrong, wrong[:5]
    assert curator.report("t").sentences() == [
        told(name, texts, [row[place] for row in wanted], places, first)
        for place, name in enumerate(COLUMNS)
        if name != "row"
    ]


def test_one_moment_written_with_three_offsets_is_one_hour(tmp_path):
    """It was three hours: the offset was dropped without a word."""
    written = ["2024-01-01 10:00:00+02:00", "2024-01-01T08:00:00Z", "2024-01-01 02:30:00-05:30"]
    lines = "\n".join(written[row % 3] for row in range(300))
    (tmp_path / "t.csv").write_text(f"seen\n{lines}\n")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(tmp_path / "t.csv", columns={"seen": MOMENTS}))
        assert {as_datetime(code) for (code,) in prepared(curator, "seen")} == {
            datetime(2024, 1, 1, 8)
        }
        assert curator.report("t").sentences() == []


HALF_UNDERSTOOD = [
    "2024-01-01 10:00 PM", "2024-01-01 10:00 Europe/Berlin", "24-01-01", "epoch", "infinity",
    "2024-01-01 (BC)", "2024-01-01 24:00:00",
]  # fmt: skip


def test_texts_that_are_not_wholly_understood_are_counted(tmp_path):
    cells = ["2024-01-01", *HALF_UNDERSTOOD]
    lines = "".join(f"{row},{cell},{cell}\n" for row, cell in enumerate(cells))
    (tmp_path / "t.csv").write_text(f"row,seen,day\n{lines}")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(tmp_path / "t.csv"))
        assert curator.report("t").sentences() == [
            f"{kind}: 7 of 8 cells cannot be read (lines 3, 4, 5, ...) and count as missing."
            for kind in ("seen", "day")
        ]
        (first, *others) = prepared(curator)
        assert None not in first
        assert others == [(row, None, None) for row in range(1, 8)]


@pytest.mark.slow("messy files")
@pytest.mark.parametrize("cell", HALF_UNDERSTOOD)
@pytest.mark.parametrize("kind", ["seen", "day"])
def test_a_text_that_is_not_wholly_understood_is_counted(tmp_path, cell, kind):
    """The same, each without the others beside it."""
    (tmp_path / "t.csv").write_text(f"{kind}\n2024-01-01\n{cell}\n")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(tmp_path / "t.csv", columns={kind: COLUMNS[kind]}))
        assert curator.report("t").sentences() == [
            f"{kind}: 1 of 2 cells cannot be read (line 3) and count as missing."
        ]
        assert [code is None for (code,) in prepared(curator, kind)] == [False, True]


def test_the_parts_of_the_product_all_appear():
    texts = some_cells(47)
    assert all(word in texts for word in WORDS)
    for parts in (DAYS, GAPS, CLOCKS, OFFSETS):
        assert all(any(part in text for text in texts) for part in parts), parts
    read = [text for text in texts if moment_code(text) is not None]
    for parts in (DAYS[:4], GAPS[:2], CLOCKS[:6], OFFSETS[3:10]):
        assert all(any(part in text for text in read) for part in parts), parts


@pytest.mark.slow("messy files")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_combination_in_a_frame(tmp_path, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)  # of the engine's process
    texts = all_cells() if zone == "UTC" else some_cells(101)
    frame = polars.DataFrame({"row": range(len(texts)), "seen": texts, "day": texts})
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(), data=frame)
        check_cells(curator, texts)


def _csv(folder, texts) -> tuple:
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["row", "seen", "day"], *([n, t, t] for n, t in enumerate(texts))])
    return folder / "t.csv", 2


def _json(folder, texts) -> tuple:
    lines = [json.dumps({"row": n, "seen": t, "day": t}) for n, t in enumerate(texts)]
    (folder / "t.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "t.jsonl", 1


@pytest.mark.parametrize("write", [_csv, _json])
def test_cells_of_files(tmp_path, write):
    texts = [text for text in some_cells(47) if "\n" not in text]
    source, first = write(tmp_path, texts)
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(source))
        check_cells(curator, texts, "lines", first)


FRAMES = {
    "objects": lambda table: pandas.DataFrame(table, dtype=object).astype({"row": int}),
    "strings": lambda table: pandas.DataFrame(table).astype({"seen": "string", "day": "string"}),
    "categories": lambda table: pandas.DataFrame(table).astype({"seen": "category"}),
    "arrow": pyarrow.table,
}


@pytest.mark.slow("messy files")
@pytest.mark.parametrize("kind", FRAMES)
def test_texts_of_frames(tmp_path, kind):
    texts = some_cells(1009)
    table = {"row": list(range(len(texts))), "seen": texts, "day": texts}
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(), data=FRAMES[kind](table))
        check_cells(curator, texts)


ZONE = timezone(timedelta(hours=2))
TYPED = [
    datetime(2024, 1, 1, 0, 30, tzinfo=ZONE),
    datetime(2024, 1, 1, 0, 0, tzinfo=ZONE),
    datetime(2024, 1, 1, 10, 20, 30, 500_000, tzinfo=UTC),
    datetime(2024, 1, 1, 10, 20, 30),
    pandas.Timestamp("2024-01-01 10:20", tz="America/New_York"),
]


@pytest.mark.parametrize(
    "written",
    [
        None,
        {"missing": "n/a"},
        {"datetime": ["%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S.%f"]},
        {"datetime": ["%d.%m.%Y %H:%M:%S%z", "%d.%m.%Y %H:%M:%S.%f%z"]},
        {"datetime": ["%d.%m.%y %I:%M:%S.%f %p"], "date": ["%d.%m.%y"]},
    ],
)
def test_moments_among_texts_keep_their_offsets_and_their_seconds(tmp_path, written):
    """By the first pattern they lost both; a pattern that keeps all of a value writes it."""
    column = ["n/a", pandas.NaT, *TYPED]
    with Curator.open(tmp_path / "vault") as curator:
        frame = pandas.DataFrame({"seen": column}, dtype=object)
        curator.add(schema(written=written, columns={"seen": MOMENTS}), data=frame)
        found = [code and as_datetime(code) for (code,) in prepared(curator, "seen")]
    wanted = [at.astimezone(UTC) if at.tzinfo else at for at in TYPED]
    whole = [at.replace(tzinfo=None, microsecond=0) for at in wanted]
    assert [at for at in found if at is not None] == sorted(whole)


@pytest.mark.slow("messy files")
@pytest.mark.parametrize("written", [None, {"missing": "n/a"}])
@pytest.mark.parametrize("column", ["seen", "day"])
def test_a_text_among_moments_changes_how_no_other_is_read(tmp_path, written, column):
    found = []
    for name, other in (("one", TYPED[1]), ("two", "n/a")):
        with Curator.open(tmp_path / name) as curator:
            frame = pandas.DataFrame({column: [TYPED[0], other]}, dtype=object)
            curator.add(schema(written=written, columns={column: COLUMNS[column]}), data=frame)
            found.append(prepared(curator, column))
    assert max(found[0]) in found[1]


def test_a_moment_that_no_pattern_keeps_is_told(tmp_path):
    frame = pandas.DataFrame({"seen": [datetime(2024, 1, 1, 10, 20, 30), "01.01.2024 10:20"]})
    with Curator.open(tmp_path / "vault") as curator:
        written = {"datetime": "%d.%m.%Y %H:%M"}
        curator.add(schema(written=written, columns={"seen": MOMENTS}), data=frame)
        assert curator.report("t").sentences() == [
            "seen: 1 of 2 cells cannot be read (row 1) and count as missing."
        ]


PATTERNS = (
    "%d.%m.%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y-%m-%dT%H:%M:%S%z", "%d.%m.%y", "%Y%m%d",
    "%d %b %Y", "%A, %d. %B %Y", "%Y-%j", "%Y-%m-%d %H:%M:%S.%f", "%H:%M:%S %z, %d/%m/%Y", "%Y",
    "%Y%m%d%H%M%S%z", "%a %d.%m.%Y", "%d.%m.%Y %H:%M %p", "[%Y_%m_%d] 100%% (%H)",
)  # fmt: skip
TRUTH = [
    datetime(2024, 2, 29, 22, 5, 9, 250_000),
    datetime(1999, 12, 31, 0, 0, 0),
    datetime(2001, 1, 2, 12, 30, 59, 1),
]
ZONES = [UTC, ZONE, timezone(timedelta(hours=-23, minutes=-59))]


def _read_by_python(text: str, pattern: str) -> datetime | None:
    """What Python's strptime reads, in UTC."""
    text = text.strip()
    if "%z" in pattern:  # Python wants minutes too
        text = re.sub(r"([+-][0-9]{2})(?=,|$)", r"\g<1>00", text)
    try:
        found = datetime.strptime(text, pattern)
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _patterned() -> list[tuple[str, str, datetime | None]]:
    """Patterns, texts, and what a text must be read as; the texts of truths are all to be read."""
    made = []
    for pattern, truth, zone in product(PATTERNS, TRUTH, ZONES):
        text = truth.replace(tzinfo=zone).strftime(pattern)
        if "%p" in pattern and "%H" in pattern and truth.hour != 12:
            continue
        python = _read_by_python(text, pattern)
        made += [(pattern, wrap.format(text), python) for wrap in ("{}", " {}  ")]
        made += [
            (pattern, wrap.format(text, text), None) for wrap in WRAPS[2:] if "\u00a0" not in wrap
        ]
        made += [(pattern, text[:cut], _SHORTER) for cut in range(len(text))]
        made += [(pattern, text[:cut] + "0" + text[cut:], _SHORTER) for cut in range(len(text))]
    # An offset takes the first and the last day out of the years that Python has.
    middle = [cell for cell in some_cells(5003) if "0001-" not in cell and "9999-" not in cell]
    made += [(*case, _SHORTER) for case in product(PATTERNS, middle)]
    return made


_SHORTER = datetime.max  # whatever Python reads, or nothing


def test_a_pattern_is_matched_as_a_whole():
    """Every text is unreadable, or what Python's strict strptime reads in it."""
    cases = _patterned()
    with duckdb.connect() as connection:
        for pattern in PATTERNS:
            mine = [(text, wanted) for each, text, wanted in cases if each == pattern]
            texts = pyarrow.table({"n": list(range(len(mine))), "x": [text for text, _ in mine]})
            connection.register("texts", texts)
            moment, _ = apply_format(Format(datetime=(pattern,)), "datetime", "x", "VARCHAR")
            day, _ = apply_format(Format(date=(pattern,)), "date", "x", "VARCHAR")
            rows = connection.execute(f"SELECT {moment}, {day} FROM texts ORDER BY n").fetchall()
            for (text, wanted), (moment, day) in zip(mine, rows, strict=True):
                python = _read_by_python(text, pattern)
                if wanted is not _SHORTER:
                    assert moment == wanted, (pattern, text, moment, wanted)
                assert moment is None or moment == python, (pattern, text, moment, python)
                if "%z" not in pattern:
                    assert day == (moment and moment.date()), (pattern, text, day)
                else:
                    assert day is None or day == python.date() == moment.date(), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "part"),
    [("%d.%m.%Y %m", "month"), ("%Y %y-%j", "year"), ("%d.%j.%Y", "day"), ("%Y %H %I", "hour")],
)
def test_a_pattern_that_names_a_part_twice_is_refused(tmp_path, pattern, part):
    """The engine kept the last of two, without a word about the first."""
    (tmp_path / "t.csv").write_text("seen\n")
    with Curator.open(tmp_path / "vault") as curator:
        made = schema(tmp_path / "t.csv", {"datetime": pattern}, {"seen": MOMENTS})
        with pytest.raises(SchemaError, match=f"names the {part} twice. Name it once"):
            curator.add(made)
        assert not curator.tables


def test_json_cells_of_a_database_are_read_like_texts(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (seen JSON)")
        for cell in ('"2024-01-01T10:00:00+02:00"', '"2024-01-01 10:00 PM"', "5", "null"):
            connection.execute("INSERT INTO t VALUES (?)", [cell])
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(schema(tmp_path / "t.duckdb", columns={"seen": MOMENTS}))
        found = [code and as_datetime(code) for (code,) in prepared(curator, "seen")]
        assert found == [datetime(2024, 1, 1, 8), None, None, None]


def test_one_key_of_a_join_whatever_its_offset(tmp_path):
    """Moments are compared as the integers that they became, so keys of tables agree."""
    (tmp_path / "t.csv").write_text("seen,n\n" + "2024-01-01 10:00:00+02:00,1\n" * 50)
    (tmp_path / "hours.csv").write_text("hour,label\n2024-01-01T08:00:00Z,x\n")
    private = {**schema(tmp_path / "t.csv"), "columns": {"seen": MOMENTS}}
    public = {
        "table": {"name": "hours", "source": str(tmp_path / "hours.csv"), "kind": "public"}
        | {"key": "hour"},
        "columns": {"hour": MOMENTS, "label": {"type": "category", "keys": ["x"]}},
    }
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(private)
        curator.add(public)
        curator.grant("ana", epsilon=10**6)
        answer = curator.session("ana").sql(
            "SELECT COUNT(*) AS n FROM t JOIN hours ON seen = hour WHERE label = 'x'", epsilon=0.9
        )
        assert abs(int(answer.to_pandas().n[0]) - 50) <= 45


def test_a_table_that_was_read_in_the_old_way_replays_and_is_read_anew_at_its_refresh(
    tmp_path, monkeypatch
):
    (tmp_path / "t.csv").write_text("seen\n" + "2024-01-01 10:00:00+02:00\n" * 50)
    question = "SELECT COUNT(*) AS n FROM t WHERE seen < '2024-01-01 09:00:00'"
    with monkeypatch.context() as before, Curator.open(tmp_path / "vault") as curator:
        before.setattr(prepare_duckdb, "_is_text", lambda _: False)  # TRY_CAST, as it was
        curator.add(schema(tmp_path / "t.csv", columns={"seen": MOMENTS}))
        curator.grant("ana", epsilon=1)
        first = curator.session("ana").sql(question, epsilon=0.25)
        assert {as_datetime(code).hour for (code,) in prepared(curator, "seen")} == {10}
    with Curator.open(tmp_path / "vault") as curator:
        session = curator.session("ana")
        left = session.remaining
        again = session.sql(question, epsilon=0.25)
        assert (again.to_pandas().n[0], session.remaining) == (first.to_pandas().n[0], left)
        curator.refresh("t")
        assert {as_datetime(code).hour for (code,) in prepared(curator, "seen")} == {8}
        assert curator.report("t").sentences() == []


WRITTEN = {
    "day": "2024-01-05",
    "plain": "2024-01-05 10:20:00",
    "ahead": "2024-01-05T10:20:00+02:00",
    "utc": "2024-01-05T10:20:00.25Z",
    "short": "2024-1-5 9:30",
    "german": "05.01.2024 10:20",
    "german_day": "25.01.2024",
}


@pytest.mark.parametrize("names", thinned(combinations(WRITTEN, 2), 4, "messy files"), ids="-".join)
def test_what_init_proposes_for_a_file_reads_its_times(tmp_path, names):
    """Patterns are guessed where they are needed, and a column of offsets is no column of days."""
    source = tmp_path / "t.csv"
    lines = [",".join(names), *([",".join(WRITTEN[name] for name in names)] * 20)]
    source.write_text("\n".join(lines) + "\n")
    guess = preview(str(source)).guess
    filled = []
    for line in skeleton("t", str(source), guess.columns, given=guess.format).splitlines():
        clock = "T00:00:00" if 'type = "datetime"' in line else ""
        assert bool(clock) or not line.startswith("ahead"), line
        line = line.replace("epsilon = FILL-IN", "epsilon = 1")
        line = line.replace("FILL-IN", f"2020-01-01{clock}", 1)
        filled.append(line.replace("FILL-IN", f"2030-01-01{clock}"))
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(read_schema_text("\n".join(filled)))
        assert curator.report("t").sentences() == []
