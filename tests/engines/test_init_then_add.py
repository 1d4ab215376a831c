"""What `discreet init` proposes is accepted by `discreet add` on the same file and read as meant,
or `init` has said why not: over the zoo, and over generated files whose true values are known.
"""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import duckdb
import pyarrow
import pytest

from discreet.curator.curator import Curator
from discreet.curator.tables.intake import take_in
from discreet.engines.files.preview import Preview, preview
from discreet.engines.origins import Origin
from discreet.errors import SchemaError
from discreet.plan.sql.preparation.statement import Raw
from discreet.schema.column import Column
from discreet.schema.format import Format
from discreet.schema.guess.cells import read_cell
from discreet.schema.table import Table
from discreet.schema.toml.read import FILL_IN, read_schema_text
from discreet.schema.toml.skeleton import skeleton
from support.pace import thinned
from support.zoo import animals

_FILLED = {
    "integer": f"lower = {-(10**9)}, upper = {10**9}",
    "number": f"lower = {-(10**9)}, upper = {10**9}, step = 0.001",
    "date": "lower = 1990-01-01, upper = 2040-12-31",
    "datetime": "lower = 1990-01-01T00:00:00, upper = 2040-12-31T00:00:00",
    "category": 'keys = ["a key"]',
}
_MOST = 50  # columns that are declared


def filled(found: Preview, source: str, keys: tuple[str, ...] = ()) -> str:
    """The schema that init writes, with a value in every place that it leaves open."""
    columns = found.guess.columns[:_MOST]
    text = skeleton("made", source, columns, None, found.guess.format)
    lines = []
    for line in text.splitlines():
        kind = re.search(r'type = "(\w+)"', line)
        if kind and FILL_IN in line:
            name = re.search(r"(source_name = .*?), (lower|keys)", line)
            values = _FILLED[kind[1]]
            if kind[1] == "category" and keys:
                values = f"keys = [{', '.join(map(repr, keys))}]"
            values += f", {name[1]}" if name else ""
            line = f'{line.partition(" = {")[0]} = {{ type = "{kind[1]}", {values} }}'
        lines.append(line.replace(FILL_IN, "1"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "animal", thinned(animals(), 8, "messy files"), ids=lambda animal: animal.name
)
def test_the_zoo_is_added_as_init_proposes_or_init_says_why_not(animal, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    source = animal.write(folder)
    found, refusal = tried(lambda: preview(source))
    if found is None:
        assert animal.refusal, refusal
        return
    table = read_schema_text(filled(found, source))

    def add() -> bool:
        with take_in(table, Origin.of(source, table.format), tmp_path, None):
            return True

    _, refusal = tried(add)
    column = re.search(r"cells of the column '(.*?)' cannot be read", refusal)
    if column is not None:
        said = [doubt for doubt in found.guess.doubts if doubt.startswith(f"{column[1]}: ")]
        assert any("`discreet add` refuses" in doubt for doubt in said), (refusal, said)
    elif refusal:
        assert animal.gone or animal.refusal
        assert "lines are no records" in refusal or animal.refusal in refusal


def tried(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call gives, or the words of its refusal."""
    try:
        return call(), ""
    except SchemaError as error:
        return None, str(error)


@dataclass(frozen=True)
class Made:
    """A generated file: how its columns are written, and what they mean."""

    delimiter: str
    number: str
    day: str
    heading: str
    words: str
    rows: int = 40
    names: tuple[str, ...] = ("who", "paid", "many", "code", "day", "at", "smokes")
    types: dict[str, str] = field(default_factory=dict)

    def values(self) -> list[dict]:
        return [
            {
                "who": f"person {row}",
                "paid": Decimal(123457 * (row + 3) % 9999999) / 100,
                "many": (7919 * (row + 1)) % 9_000_000 + 1000,
                "code": f"{(row * 31) % 99999:05}",
                "day": date(2001, 1, 13) + timedelta(days=97 * row),
                "at": datetime(2001, 1, 13, 14, 5) + timedelta(days=97 * row, minutes=61 * row),
                "smokes": row % 3 == 0,
            }
            for row in range(self.rows)
        ]

    def cells(self, row: dict) -> list[str]:
        marks = NUMBERS[self.number]
        day, time = DAYS[self.day]
        yes, no = WORDS[self.words]
        return [
            row["who"],
            _number(f"{row['paid']:,.2f}", *marks),
            _number(f"{row['many']:,}", *marks),
            row["code"],
            row["day"].strftime(day),
            row["at"].strftime(time),
            yes if row["smokes"] else no,
        ]

    def text(self) -> str:
        target = io.StringIO()
        writer = csv.writer(target, delimiter=self.delimiter, lineterminator="\n")
        writer.writerows([[*title] for title in TITLES[self.heading]])
        if self.heading != "none":
            writer.writerow(self.names)
        writer.writerows(self.cells(row) for row in self.values())
        return target.getvalue()


def _number(shown: str, decimal: str, thousands: str) -> str:
    return "".join({",": thousands, ".": decimal}.get(sign, sign) for sign in shown)


NUMBERS = {
    "plain": (".", ""),
    "american": (".", ","),
    "german": (",", "."),
    "french": (",", "\u202f"),
    "swiss": (".", "'"),
    "comma": (",", ""),
}
DAYS = {
    "iso": ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S"),
    "iso utc": ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"),
    "iso short": ("%Y-%m-%d", "%Y-%m-%dT%H:%M"),
    "iso without zeros": ("%Y-%-m-%-d", "%Y-%-m-%-d %H:%M"),
    "german": ("%d.%m.%Y", "%d.%m.%Y %H:%M"),
    "american": ("%m/%d/%Y", "%m/%d/%Y %I:%M %p"),
    "mixed": ("%d.%m.%Y", "%Y-%m-%dT%H:%M:%S"),
    "mixed utc": ("%Y-%m-%d", "%d.%m.%Y %H:%M:%S"),
}
WORDS = {
    "true": ("true", "false"),
    "yes": ("Y", "n"),
    "german": ("ja", "nein"),
    "truth": ("WAHR", "FALSCH"),
}
TITLES: dict[str, list[list[str]]] = {
    "names": [],
    "none": [],
    "title": [["Payments of a clinic"]],
    "titles": [["Payments, of a clinic"], [], ["# made by hand"], ["made on", "2024-05-01"]],
}


def covering() -> list[Made]:
    """Every two choices of different kinds, in some file."""
    families = (",;\t|", list(NUMBERS), list(DAYS), list(TITLES), list(WORDS))
    left = {
        ((one, a), (two, b))
        for one, first in enumerate(families)
        for two, second in enumerate(families)
        if one < two
        for a, b in product(first, second)
    }
    pairs = {parts: set(combinations(enumerate(parts), 2)) for parts in product(*families)}
    chosen = []
    while left:
        best = max(pairs, key=lambda parts: len(pairs[parts] & left))
        left -= pairs[best]
        chosen.append(Made(*best))
    return chosen


MADE = covering()


def label(made: Made) -> str:
    return " ".join((repr(made.delimiter), made.number, made.day, made.heading, made.words))


@pytest.mark.parametrize(
    "made",
    [
        *thinned(MADE[:14], 3, "messy files"),
        *(pytest.param(each, marks=pytest.mark.soak) for each in MADE[14:]),
    ],
    ids=label,
)
def test_a_generated_file_is_read_as_it_was_meant(made, tmp_path):
    source = tmp_path / "made.csv"
    source.write_text(made.text(), encoding="utf-8", newline="")
    found = preview(str(source))
    words = WORDS[made.words]
    values = made.values()
    keys = (*words, *(row["code"] for row in values))
    schema = tmp_path / "made.toml"
    schema.write_text(filled(found, str(source), keys), encoding="utf-8")
    names = dict(
        zip(
            made.names,
            made.names if made.heading != "none" else [f"column_{n}" for n in range(1, 8)],
            strict=True,
        )
    )
    with Curator.open(tmp_path / "vault") as curator:
        table = curator.add(schema)
        assert curator.report("made").counts().keys() <= {f"{names['who']}: no declared key"}
        wanted = [names[name] for name in made.names[1:]]
        listed = ", ".join(f'"{name}"' for name in wanted)
        engine = curator._warehouse.engine(("made",))
        rows = engine.rows(f"SELECT {listed} FROM prepared")
    kinds = {column.name: column.kind for column in table.columns}
    assert [kinds[name] for name in wanted[:5]] == [
        "number", "integer", "category", "date", "datetime",
    ]  # fmt: skip
    truth = kinds[names["smokes"]]
    assert truth == ("boolean" if made.words in ("true", "yes") else "category")
    yes, no = (1, 0) if truth == "boolean" else (keys.index(words[0]), keys.index(words[1]))
    expected = [
        (
            int(row["paid"] * 1000),
            row["many"],
            keys.index(row["code"]),
            (row["day"] - date(1970, 1, 1)).days,
            int((_written(row["at"], made) - datetime(1970, 1, 1)).total_seconds()),
            yes if row["smokes"] else no,
        )
        for row in values
    ]
    assert sorted(rows) == sorted(expected)


def _written(moment: datetime, made: Made) -> datetime:
    pattern = DAYS[made.day][1]
    return datetime.strptime(moment.strftime(pattern), pattern.replace("%-", "%"))


CELLS = (
    "", " ", "0", "12", "-7", "+3", "12.5", "12,5", "39,576", "12.345", "1.234.567", "1,234,567.25",
    "1.234.567,25", "1 234", "1\u202f234,5", "1'234.5", "1\u2019234", "1,23,456", ".5", ",5", "5.",
    "1e3", "1,5e3", "x", "n/a", "24%", "(120)", "39,50 \u20ac", "true", "YES", "n", "ja", "1", " y",
    "2024-01-31", "2024-02-30", "31.12.2024", "3.2.2024", "31.12.2024 14:30",
    "2024-01-31 10:30", "2024-01-31T10:30:00", "2024-01-31T10:30:00Z", "2024-01-31 10:30:00.25",
    "01/02/2024", "20241231", "inf", "nan", "--5", "1.2.3", " 7 ", "0123", "+49123456",
)  # fmt: skip
FORMATS = (
    Format(),
    Format(decimal=",", thousands=".", missing=("n/a",)),
    Format(thousands=","),
    Format(decimal=",", thousands=" "),
    Format(thousands="'", date=("%d.%m.%Y",)),
    Format(date=("%d.%m.%Y",), datetime=("%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ")),
    Format(date=("%m/%d/%Y", "%Y%m%d", "%Y-%m-%d")),
)
LATTICES = {
    "BIGINT": Column("cell", "integer", lower=-(10**12), upper=10**12),
    "DOUBLE": Column("cell", "number", Fraction(1, 1000), lower=-(10**12), upper=10**12),
    "DATE": Column("cell", "date", lower=0, upper=40_000),
    "DATETIME": Column("cell", "datetime", lower=0, upper=40_000 * 86_400),
    "BOOLEAN": Column("cell", "boolean", upper=1),
}
ENDLESS = ("inf", "nan")


def lattice(shown: str, kind: str) -> int:
    """The lattice integer of what a preview shows."""
    if kind == "BOOLEAN":
        return int(shown == "true")
    if kind == "DATE":
        return (date.fromisoformat(shown) - date(1970, 1, 1)).days
    if kind == "DATETIME":
        return (datetime.fromisoformat(shown) - datetime(1970, 1, 1)) // timedelta(seconds=1)
    return round(Fraction(shown) * (1000 if kind == "DOUBLE" else 1))


@pytest.mark.parametrize("given", FORMATS, ids=lambda given: str(given.facts()))
@pytest.mark.parametrize("kind", list(LATTICES))
def test_the_preview_shows_what_the_engine_reads(kind, given):
    column = LATTICES[kind]
    table = Table("t", columns=(column,), format=given)
    reading = Raw.of(table, {"cell": "VARCHAR"}, "duckdb").reading(column)
    cells = [cell for cell in CELLS if cell not in ENDLESS]
    if kind == "BOOLEAN":
        cells = [cell for cell in cells if cell not in ("0", "1")]  # numbers, for the guess
    if kind in ("DATE", "DATETIME"):
        cells = [cell for cell in cells if cell != "1.2.3"]
    listed = pyarrow.table({"n": list(range(len(cells))), "cell": cells})
    with duckdb.connect() as connection:
        connection.register("cells", listed)
        rows = connection.execute(f"SELECT cell, {reading.code} FROM cells ORDER BY n").fetchall()
    assert [cell for cell, _ in rows] == cells
    for cell, read in rows:
        shown = read_cell(cell, kind, given)
        rounded = None if read is None else round(read)  # as the cast that follows does
        assert (None if not shown else lattice(shown, kind)) == rounded, (cell, shown)
