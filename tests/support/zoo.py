"""A zoo of messy files: each animal is true rows, written in some messy way, and what must come of
it: which rows and cells are read, what the report counts and on which lines, or a refusal.
The oracle is the truth the files were written from, never a reading of them.
"""

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

REGIONS = ("north", "south", "Zürich", "Île de Ré")
NAMES = ("id", "age", "paid", "region", "day")
COLUMNS: dict[str, Any] = {
    "age": {"type": "integer", "lower": 0, "upper": 120},
    "paid": {"type": "number", "lower": 0, "upper": 100000, "step": Decimal("0.01")},
    "region": {"type": "category", "keys": list(REGIONS)},
    "day": {"type": "date", "lower": date(2000, 1, 1), "upper": date(2030, 12, 31)},
}
Row = tuple[Any, ...]


def truth(count: int = 24) -> list[Row]:
    """Rows of a person, an age, an amount, a region and a day; amounts reach millions."""
    return [
        (
            f"p{row}",
            (7 * row + 3) % 100,
            Decimal((1234567 * (row + 1)) % 9999999) / 100,
            REGIONS[row % len(REGIONS)],
            date(2001, 1, 13) + timedelta(days=97 * row),
        )
        for row in range(count)
    ]


@dataclass(frozen=True)
class Style:
    """How true rows become text."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    newline: str = "\n"
    decimal: str = "."
    thousands: str = ""
    day: str = "%Y-%m-%d"
    names: tuple[str, ...] = NAMES
    all_quoted: bool = False
    cells: dict[tuple[int, str], str] = field(default_factory=dict)

    def number(self, value: Decimal) -> str:
        shown = f"{value:,.2f}"
        return "".join({",": self.thousands, ".": self.decimal}.get(sign, sign) for sign in shown)

    def row(self, place: int, row: Row) -> list[str]:
        made = [row[0], str(row[1]), self.number(row[2]), row[3], row[4].strftime(self.day)]
        for column, name in enumerate(NAMES):
            made[column] = self.cells.get((place, name), made[column])
        return made

    def text(self, rows: list[Row]) -> str:
        target = io.StringIO()
        quoting = csv.QUOTE_ALL if self.all_quoted else csv.QUOTE_MINIMAL
        writer = csv.writer(
            target,
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=quoting if self.quote else csv.QUOTE_NONE,
            lineterminator=self.newline,
        )
        writer.writerow(self.names)
        writer.writerows(self.row(place, row) for place, row in enumerate(rows))
        return target.getvalue()

    def bytes(self, rows: list[Row]) -> bytes:
        return self.text(rows).encode(self.encoding)


@dataclass(frozen=True)
class Animal:
    """A messy file and what must come of it.

    `gone` are rows that cannot be read at all and `missing` cells that are missing afterwards, as
    (row, column); `report` is what is told, without the unit; `refusal` a part of a refusal.
    """

    name: str
    write: Callable[[Path], str]
    format: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=truth)
    gone: frozenset[int] = frozenset()
    missing: frozenset[tuple[int, str]] = frozenset()
    report: tuple[str, ...] = ()
    refusal: str = ""
    share: Any = Decimal("0.5")
    columns: dict[str, Any] = field(default_factory=lambda: COLUMNS)
    unit: str | None = None
    rows_per_unit: int = 1
    guessed: bool = True

    def expected(self) -> list[tuple[int | None, ...]]:
        """The lattice integers of every row that is read, in order."""
        made = []
        for place, (_, age, paid, region, day) in enumerate(self.rows):
            if place in self.gone:
                continue
            codes = {
                "age": age,
                "paid": min(int(paid * 100), 100000 * 100),
                "region": REGIONS.index(region),
                "day": (day - date(1970, 1, 1)).days,
            }
            made.append(
                tuple(None if (place, name) in self.missing else codes[name] for name in codes)
            )
        return sorted(made, key=repr)


def plain(style: Style, ending: str = ".csv", change: Callable[[bytes], bytes] = bytes):
    def write(folder: Path) -> str:
        file = folder / f"animal{ending}"
        data = change(style.bytes(truth()))
        file.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
        return str(file)

    return write


def _lines(change: Callable[[list[bytes]], None]) -> Callable[[bytes], bytes]:
    """A change of a file's lines; number 0 is the header, so row k is on line k + 2 of a text."""

    def changed(data: bytes) -> bytes:
        lines = data.split(b"\n")
        change(lines)
        return b"\n".join(lines)

    return changed


def _put(place: int, line: bytes) -> Callable[[bytes], bytes]:
    return _lines(lambda lines: lines.__setitem__(place, line))


def _style(name: str, *, read: dict[str, Any] | None = None, ending: str = ".csv", **given: Any):
    return Animal(name, plain(Style(**given), ending), read or {})


def _cell(name: str, column: str, text: str, report: str, **more: Any) -> Animal:
    """One odd cell, in row 5, on line 7."""
    style = Style(cells={(5, column): text})
    told = (report,) if report else ()
    return Animal(name, plain(style), missing=frozenset({(5, column)}), report=told, **more)


def _unread(column: str, lines: str = "line 7", count: int = 1, cells: int = 24) -> str:
    return f"{column}: {count} of {cells} cells cannot be read ({lines}) and count as missing."


def encodings() -> list[Animal]:
    return [
        _style("plain"),
        _style("bom", encoding="utf-8-sig"),
        _style("utf16", encoding="utf-16", read={"encoding": "utf-16"}),
        Animal(
            "utf16 big end first",
            plain(Style(encoding="utf-16-be"), change=lambda data: b"\xfe\xff" + data),
            {"encoding": "utf-16"},
        ),
        _style("utf16 without a mark", encoding="utf-16-le", read={"encoding": "utf-16"}),
        Animal("latin1", plain(Style(encoding="latin-1")), {"encoding": "latin-1"}, guessed=False),
        _style("cp1252", encoding="cp1252", read={"encoding": "cp1252"}),
        Animal(
            "latin1 not declared",
            plain(Style(encoding="latin-1")),
            gone=frozenset(row for row in range(24) if row % 4 > 1),
            report=("12 lines are no records and are left out (lines 4, 5, 8, ...).",),
            guessed=False,
        ),
        Animal(
            "utf16 not declared",
            plain(Style(encoding="utf-16")),
            refusal='it is UTF-16: write encoding = "utf-16" in [format]',
            guessed=False,
        ),
    ]


def marks() -> list[Animal]:
    euro = {"decimal": ",", "thousands": "."}
    return [
        _style("semicolons", delimiter=";", decimal=",", read={"decimal": ","}),
        _style("tabs", delimiter="\t", ending=".tsv"),
        _style("pipes", delimiter="|", ending=".txt"),
        Animal("carets", plain(Style(delimiter="^")), {"delimiter": "^"}, guessed=False),
        _style("apostrophes for quotes", quote="'", all_quoted=True, read={"quote": "'"}),
        _style("all quoted", all_quoted=True),
        Animal("no quotes", plain(Style(quote="")), {"quote": ""}, guessed=False),
        _style("european numbers", delimiter=";", decimal=",", thousands=".", read=euro),
        _style("comma for decimals in quotes", decimal=",", read={"decimal": ","}),
        _style("american numbers", thousands=",", read={"thousands": ","}),
        _style("swiss numbers", thousands="'", read={"thousands": "'"}),
        _style("french spaces", decimal=",", thousands="\u202f", delimiter=";",
               read={"decimal": ",", "thousands": " "}),
        _style("hard spaces", decimal=",", thousands="\u00a0", delimiter=";",
               read={"decimal": ",", "thousands": " "}),
        Animal(
            "european numbers not declared",
            plain(Style(decimal=",", delimiter=";")),
            refusal="24 of 24 cells of the column 'paid' cannot be read as type number "
            "(lines 2, 3, 4, ...). That is 100% of them, and at most 1% may be.",
            share=None,
            guessed=False,
        ),
        Animal(
            "a point among commas",
            plain(Style(decimal=",", delimiter=";", cells={(5, "paid"): "12.5"})),
            euro,
            missing=frozenset({(5, "paid")}),
            report=(_unread("paid"),),
            guessed=False,
        ),
    ]  # fmt: skip


def days() -> list[Animal]:
    return [
        _style("german days", day="%d.%m.%Y", read={"date": "%d.%m.%Y"}),
        _style("american days", day="%m/%d/%Y", read={"date": "%m/%d/%Y"}),
        _style("short years", day="%d.%m.%y", read={"date": "%d.%m.%y"}),
        _style("digits only", day="%Y%m%d", read={"date": "%Y%m%d"}),
        _style("names of months", day="%d %b %Y", read={"date": "%d %b %Y"}),
        _style("days with times", day="%d.%m.%Y 17:30", read={"date": "%d.%m.%Y %H:%M"}),
        Animal(
            "two patterns",
            plain(Style(day="%d.%m.%Y", cells={(5, "day"): truth()[5][4].isoformat()})),
            {"date": ["%d.%m.%Y", "%Y-%m-%d"]},
            guessed=False,
        ),
        _cell("no such day", "day", "2024-02-30", _unread("day")),
        _style("midnights", day="%Y-%m-%dT00:00:00"),
        _style("times in UTC", day="%Y-%m-%d 23:59:59.999Z"),
        _style("days without zeros", day="%Y-%-m-%-d", read={"date": "%Y-%m-%d"}),
        Animal(
            "times with an offset of nothing",
            plain(Style(day="%d.%m.%Y 17:30 +0000")),
            {"date": "%d.%m.%Y %H:%M %z"},
            guessed=False,
        ),
        *(
            _cell(name, "day", text, _unread("day"), guessed=False)
            for name, text in (
                ("a day that an offset changes", "2024-05-01T00:30:00+02:00"),
                ("a half of the day", "2024-05-01 10:00 PM"),
                ("a name of a zone", "2024-05-01 10:00 Europe/Berlin"),
                ("two digits of a year", "24-05-01"),
                ("five digits of a year", "12024-05-01"),
                ("a year before the first", "2024-05-01 (BC)"),
                ("a leap second", "2016-12-31T23:59:60Z"),
                ("the epoch", "epoch"),
                ("an infinite day", "-infinity"),
            )
        ),
        *(
            Animal(
                f"{name} by a pattern",
                plain(Style(day="%d.%m.%Y", cells={(5, "day"): text})),
                {"date": "%d.%m.%Y"},
                missing=frozenset({(5, "day")}),
                report=(_unread("day"),),
                guessed=False,
            )
            for name, text in (
                ("two digits of a year", "01.05.24"),
                ("a time", "01.05.2024 10:00"),
                ("the epoch", "epoch"),
            )
        ),
        Animal(
            "german days not declared",
            plain(Style(day="%d.%m.%Y")),
            refusal="24 of 24 cells of the column 'day' cannot be read as type date",
            share=None,
            guessed=False,
        ),
    ]


def missing() -> list[Animal]:
    words = {(3, "age"): "n/a", (4, "paid"): "-", (5, "day"): "NULL", (6, "region"): "n/a"}
    holes = frozenset(words)
    return [
        Animal(
            "words for missing",
            plain(Style(cells=words)),
            {"missing": ["n/a", "-", "NULL"]},
            missing=holes,
        ),
        Animal(
            "words for missing not declared",
            plain(Style(cells=words)),
            missing=holes,
            report=(
                _unread("age", "line 5"),
                _unread("paid", "line 6"),
                "region: 1 of 24 cells hold no declared key (line 8) and count as missing.",
                _unread("day", "line 7"),
            ),
            guessed=False,
        ),
        Animal(
            "empty cells and blanks",
            plain(Style(cells={(3, "age"): "", (4, "paid"): "  ", (5, "region"): ""})),
            missing=frozenset({(3, "age"), (4, "paid"), (5, "region")}),
        ),
        _cell("one n/a", "age", "n/a", _unread("age"), guessed=False),
        _cell("one n/a is too many", "age", "n/a", "", share=0, guessed=False,
              refusal="1 of 24 cells of the column 'age' cannot be read as type integer (line 7). "
              "That is 4.17% of them, and at most 0% may be."),
    ]  # fmt: skip


def lines() -> list[Animal]:
    short = "1 line is no record and is left out (line 7)."
    six = frozenset({5})
    quoted = Style(cells={(2, "id"): "a\nb", (5, "age"): "x"})
    return [
        Animal("windows lines", plain(Style(newline="\r\n"))),
        Animal("old mac lines", plain(Style(newline="\r"))),
        Animal("mixed lines", plain(Style(), change=_lines(
            lambda them: them.__setitem__(5, them[5] + b"\r")))),
        Animal("no last newline", plain(Style(), change=lambda data: data.rstrip(b"\n"))),
        Animal("blank lines", plain(Style(), change=_lines(
            lambda them: (them.insert(4, b""), them.insert(9, b"  "), None)[2]))),
        Animal("blank lines first", plain(Style(), change=lambda data: b"\n\n" + data)),
        Animal("too few cells", plain(Style(), change=_put(6, b"p5,1")), gone=six, report=(short,)),
        Animal("too many cells", plain(Style(), change=_put(6, b"p5,1,2,north,2024-01-01,9")),
               gone=six, report=(short,)),
        Animal("delimiters at the end", plain(Style(), change=_lines(
            lambda them: them.__setitem__(slice(1, -1), [each + b"," for each in them[1:-1]])))),
        Animal("text behind a quote", plain(Style(), change=_put(6, b'"p5"x,1,2,north,2024-01-01')),
               gone=six, report=(short,)),
        Animal("a quote never closed", plain(Style(), change=_put(6, b'"p5,1,2,north,2024-01-01')),
               gone=six, report=(short,)),
        Animal("newlines in quotes", plain(quoted), missing=frozenset({(5, "age")}),
               format={"multiline": True}, report=(_unread("age", "line 8"),)),
        Animal("newlines in quotes that nobody declared", plain(Style(cells={(2, "id"): "a\nb"})),
               guessed=False, share=0, refusal="2 of 25 lines are no records (lines 4, 5)."),
        Animal("a broken byte", plain(Style(), change=_put(6, b"p\xff5,1,2,north,2024-01-01")),
               gone=six, report=(short,)),
        Animal("a zero byte", plain(Style(cells={(5, "id"): "p\x005"}))),
        Animal("other delimiters", plain(Style(), change=_lines(
            lambda them: them.__setitem__(slice(1, 25), [b"a|b|c" for _ in range(24)]))),
            refusal="24 of 24 lines are no records (lines 2, 3, 4, ...). That is 100% of them",
            guessed=False),
        Animal("an empty file", plain(Style(), change=lambda _: b""),
               refusal="the file is empty", guessed=False),
        Animal("a header only", plain(Style(), change=lambda data: data.split(b"\n")[0]), rows=[],
               guessed=False, report=("The source has no rows.",)),
    ]  # fmt: skip


def names() -> list[Animal]:
    twin = ("id", "age", "paid", "AGE", "day")
    odd = ("", " age ", "paid", "region", "day")
    return [
        Animal("two names alike", plain(Style(names=twin)),
               refusal="two columns have the same name, 'AGE'; rename one", guessed=False),
        Animal("a column without a name", plain(Style(names=odd))),
        Animal("no such column", plain(Style(names=("id", "years", "paid", "region", "day"))),
               refusal="the source has no column 'age'", guessed=False),
        Animal("no names at all", plain(Style(names=("", "", "", "", ""))),
               refusal="the first line must hold the column names", guessed=False),
    ]  # fmt: skip


PLACES = {
    name: {**entry, "source_name": f"column_{place}"}
    for place, (name, entry) in enumerate(COLUMNS.items(), 2)
}


def beginnings() -> list[Animal]:
    """Tables below titles, and without names."""
    title = b"Patients of 2024\n\n"
    odd = Style(delimiter=";", decimal=",", day="%d.%m.%Y")
    german = {"decimal": ",", "date": "%d.%m.%Y"}
    bare = {"header": False, "columns": 5}
    return [
        Animal("a title", plain(Style(), change=lambda data: title + data), {"first_line": 3}),
        Animal("titles and comments", plain(odd, change=lambda data: (
            b"Patients, of 2024;;;;\n# made by hand; on Monday\n" + data)),
            {"first_line": 3, **german}),
        Animal("a title not declared", plain(Style(), change=lambda data: title + data),
               refusal="write first_line and the number of their line in [format]",
               guessed=False),
        Animal("a title above an odd cell", plain(Style(cells={(5, "age"): "x"}),
               change=lambda data: title + data), {"first_line": 3}, guessed=False,
               missing=frozenset({(5, "age")}), report=(_unread("age", "line 9"),)),
        Animal("a title and newlines in quotes", plain(
            Style(cells={(2, "id"): "a\nb", (5, "age"): "x"}), change=lambda data: title + data),
            {"first_line": 3, "multiline": True}, missing=frozenset({(5, "age")}),
            report=(_unread("age", "line 10"),), guessed=False),
        Animal("no header", plain(Style(), change=_no_header), {**bare, "delimiter": ","},
               columns=PLACES),
        Animal("no header and other marks", plain(odd, change=_no_header),
               {**bare, "delimiter": ";", **german}, columns=PLACES),
        Animal("a title and no header", plain(Style(), change=lambda data: (
            title + _no_header(data))), {**bare, "delimiter": ",", "first_line": 3},
            columns=PLACES),
        Animal("no header and not declared", plain(Style(), change=_no_header), guessed=False,
               refusal="if there are none, header = false"),
        Animal("a sheet with a title", _titled_sheet, {"first_line": 2}),
        Animal("a sheet without a header", _bare_sheet, bare, columns=PLACES),
        Animal("no header and a first row that is none", plain(Style(), change=lambda data: (
            b"p0|x|\n" + _no_header(data).partition(b"\n")[2])), {**bare, "delimiter": ","},
            columns=PLACES, gone=frozenset({0}), guessed=False,
            report=("1 line is no record and is left out (line 1).",)),
        Animal("no header and no delimiter", plain(Style(), change=_no_header), bare,
               columns=PLACES, refusal="[format] must say the delimiter", guessed=False),
    ]  # fmt: skip


def _no_header(data: bytes) -> bytes:
    return data.partition(b"\n")[2]


def kinds() -> list[Animal]:
    odd = {"encoding": "cp1252", "decimal": ",", "delimiter": ";"}
    euro = Style(encoding="cp1252", decimal=",", delimiter=";")
    return [
        Animal("packed", plain(Style(), ".csv.gz")),
        Animal("packed and odd", plain(euro, ".csv.gz"), odd),
        Animal("zstd", _zstd(Style())),
        Animal("zstd and odd", _zstd(euro), odd),
        Animal("a broken archive", _broken, refusal="the first line must hold the column names",
               guessed=False),
        Animal("several files", _several(Style())),
        Animal("several odd files", _several(euro), odd),
        Animal("several files of other columns", _others, guessed=False,
               refusal="'two.csv' has other columns than 'one.csv'"),
        Animal("json lines", _json_lines),
        Animal("json lines with junk", _json_junk, gone=frozenset({5}),
               report=("1 line is no record and is left out (line 6).",)),
        Animal("a sheet", _sheet),
        Animal("arrow", _arrow),
    ]  # fmt: skip


def _wide(folder: Path) -> str:
    """The five columns among 4,995 others."""
    file = folder / "animal.csv"
    lines = Style().text(truth()).splitlines()
    more = ",".join(f"x{place}" for place in range(4995))
    rest = "," * 4994
    file.write_text("\n".join([f"{lines[0]},{more}", *(f"{each},{rest}" for each in lines[1:])]))
    return str(file)


def shapes() -> list[Animal]:
    return [Animal("five thousand columns", _wide)]


def people() -> list[Animal]:
    alone = Style(cells={(row, "id"): "p0" for row in range(24)})
    long = Style(cells={(5, "id"): "x" * 1001})
    none = Style(cells={(5, "id"): "n/a"})
    return [
        Animal("a person with all rows", plain(alone), unit="id", rows_per_unit=24),
        Animal("a person of too long a name", plain(long), unit="id", gone=frozenset({5}),
               report=("id: 1 text is longer than 1000 characters (line 7) and is left out.",)),
        Animal("a person without a name", plain(none), {"missing": ["n/a"]}, unit="id",
               gone=frozenset({5}), guessed=False,
               report=("id: 1 of 24 rows have no value (line 7) and are left out.",)),
    ]  # fmt: skip


def _zstd(style: Style) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        import pyarrow

        file = folder / "animal.csv.zst"
        with pyarrow.output_stream(str(file), compression="zstd") as target:
            target.write(style.bytes(truth()))
        return str(file)

    return write


def _broken(folder: Path) -> str:
    file = folder / "animal.csv.gz"
    file.write_bytes(gzip.compress(Style().bytes(truth()))[:20])
    return str(file)


def _several(style: Style) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        rows = truth()
        (folder / "two.csv").write_bytes(style.bytes(rows[10:]))
        (folder / "one.csv").write_bytes(style.bytes(rows[:10]))
        return str(folder / "*.csv")

    return write


def _others(folder: Path) -> str:
    (folder / "one.csv").write_bytes(Style().bytes(truth()))
    (folder / "two.csv").write_bytes(Style(names=(*NAMES[:4], "date")).bytes(truth()))
    return str(folder / "*.csv")


def _objects() -> list[str]:
    made = [dict(zip(NAMES, row, strict=True)) for row in truth()]
    return [
        json.dumps({**each, "paid": "PAID", "day": str(each["day"])}).replace(
            '"PAID"', str(each["paid"])
        )
        for each in made
    ]


def _json_lines(folder: Path) -> str:
    file = folder / "animal.jsonl"
    file.write_text("\n".join(_objects()) + "\n", encoding="utf-8")
    return str(file)


def _json_junk(folder: Path) -> str:
    file = folder / "animal.ndjson"
    objects = _objects()
    objects[5] = '{"id": "p5", '
    objects.insert(8, "")
    file.write_text("\n".join(objects) + "\n", encoding="utf-8")
    return str(file)


def _sheet(folder: Path) -> str:
    return _book(folder, [NAMES])


def _titled_sheet(folder: Path) -> str:
    return _book(folder, [["Patients of 2024"], NAMES])


def _bare_sheet(folder: Path) -> str:
    return _book(folder, [])


def _book(folder: Path, heads: list[Any]) -> str:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    for head in heads:
        sheet.append(list(head))
    for row in truth():
        sheet.append([row[0], row[1], float(row[2]), row[3], row[4]])
    book.save(folder / "animal.xlsx")
    return str(folder / "animal.xlsx")


def _arrow(folder: Path) -> str:
    import pyarrow
    from pyarrow import feather

    columns = list(zip(*truth(), strict=True))
    table = pyarrow.table(dict(zip(NAMES, columns, strict=True)))
    feather.write_feather(table, str(folder / "animal.feather"))
    return str(folder / "animal.feather")


def animals() -> list[Animal]:
    """Every animal."""
    parts = (encodings, marks, days, missing, lines, names, beginnings, kinds, shapes, people)
    return [animal for part in parts for animal in part()]
