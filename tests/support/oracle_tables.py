"""The tables of the oracle: a column of every type, raw rows in them, and the bounded rows as a
plain DuckDB database of real dates, times, decimals and texts. Written without the emitted SQL:
the lattice is computed here, in Python, from what the schema says in words.
"""

import hashlib
import math
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb

from discreet.schema.column import Column
from discreet.schema.table import Table

EPOCH, MIDNIGHT = date(1970, 1, 1), datetime(1970, 1, 1)
PLAIN_TYPES = {
    "integer": "BIGINT",
    "number": "DECIMAL(18,3)",
    "boolean": "BOOLEAN",
    "category": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
}
TREES, WARDS = ("ash", "Beech", "oak"), ("east", "north", "west")

Row = tuple[Any, ...]


def _times(name: str, step: int, start: datetime, end: datetime) -> Column:
    lower, upper = (int((each - MIDNIGHT).total_seconds()) // step for each in (start, end))
    return Column(name, "datetime", step=Fraction(step), lower=lower, upper=upper)


def _days(name: str, start: date, end: date, null: str | int = "drop") -> Column:
    lower, upper = ((each - EPOCH).days for each in (start, end))
    return Column(name, "date", lower=lower, upper=upper, null=null)


YEAR_END = datetime(2023, 12, 31, 23, 50)
VISITS = Table(
    "visits",
    unit="who",
    rows_per_unit=4,
    population="people",
    columns=(
        Column("i", "integer", lower=-5, upper=40),
        Column("j", "integer", lower=0, upper=12, null=2),
        Column("k", "integer", step=Fraction(5), lower=-2, upper=6),
        Column("h", "number", step=Fraction(1, 2), lower=-9, upper=30),
        Column("m", "number", step=Fraction(1, 10), lower=-20, upper=77, null=3),
        Column("q", "number", step=Fraction(1, 1000), lower=-10, upper=4990),
        Column("w", "number", step=Fraction(25), lower=-1, upper=9),
        Column("f", "boolean"),
        Column("g", "boolean", null=0),
        Column("c", "category", upper=2, keys=TREES),
        Column("e", "category", upper=2, keys=TREES, null=1),
        Column("o", "category", upper=3, keys=TREES, other=True),
        Column("p", "category", lower=0, upper=0, private_keys=True),
        _days("d", date(2023, 11, 20), date(2024, 12, 31)),
        _days("b", date(1969, 12, 20), date(1970, 3, 3), null=0),
        _times("t1", 1, YEAR_END, YEAR_END + timedelta(minutes=25)),
        _times("t60", 60, YEAR_END - timedelta(hours=15), YEAR_END + timedelta(hours=11)),
        _times("t900", 900, datetime(1969, 12, 27), datetime(1970, 1, 8, 11, 45)),
        _times("t3600", 3600, datetime(2023, 12, 30), datetime(2024, 3, 2)),
    ),
)
STAYS = Table(
    "stays",
    unit="guest",
    rows_per_unit=2,
    population="people",
    columns=(
        Column("nights", "integer", lower=0, upper=30),
        Column("c", "category", upper=2, keys=("oak", "ash", "elm")),
        Column("ward", "category", upper=2, keys=WARDS),
        _days("d", date(2023, 12, 1), date(2024, 2, 29)),
        Column("p", "category", lower=0, upper=0, private_keys=True),
    ),
)
PLACES = Table(
    "places",
    kind="public",
    key=("ward",),
    rows_per_key=1,
    population="",
    columns=(
        Column("ward", "category", upper=2, keys=("west", "east", "south")),
        Column("beds", "integer", lower=0, upper=99),
        _times("opened", 3600, datetime(2000, 1, 1), datetime(2001, 1, 1)),
    ),
)
SINGLES = Table(
    "singles",
    population="others",
    columns=(Column("x", "number", step=Fraction(1, 2), lower=0, upper=40), VISITS.columns[9]),
)
TABLES = {each.name: each for each in (VISITS, STAYS, PLACES, SINGLES)}

SOURCES: dict[str, str] = {
    "who": "BIGINT",
    "guest": "BIGINT",
    **dict.fromkeys("ijk", "BIGINT"),
    **dict.fromkeys("hqw", "DOUBLE"),
    "m": "DECIMAL(18,3)",
    "x": "DOUBLE",
    **dict.fromkeys("fg", "BOOLEAN"),
    **dict.fromkeys(("c", "e", "o", "p", "ward"), "VARCHAR"),
    **dict.fromkeys("db", "DATE"),
    **dict.fromkeys(("t1", "t60", "t900", "t3600", "opened"), "TIMESTAMP"),
    "nights": "BIGINT",
    "beds": "BIGINT",
}
"""The types of the raw columns, by name."""


def names_of(table: Table) -> list[str]:
    """The raw columns of a table, its unit first."""
    unit = [] if table.unit is None else [table.unit]
    return [*unit, *(column.name for column in table.columns)]


def _raw(column: Column, draw: random.Random) -> Any:
    """A raw value: usually inside the bounds, often off the lattice, sometimes outside or NULL."""
    if draw.random() < 0.15:
        return None
    if column.private_keys:
        return draw.choice(("Köln", "köln", "Rom", "a|b", "", "'"))
    if column.kind == "category":
        return draw.choice((*column.keys, *column.keys, "Oak", "elsewhere"))
    if column.kind == "boolean":
        return draw.random() < 0.5
    place = draw.uniform(column.lower - 2, column.upper + 2)
    if draw.random() < 0.2:
        place = draw.choice((column.lower, column.upper))
    if column.kind == "date":
        return EPOCH + timedelta(days=round(place))
    if column.kind == "datetime":
        return MIDNIGHT + timedelta(microseconds=int(place * int(column.step) * 10**6))
    if SOURCES[column.name] == "BIGINT":
        return round(place * column.step)
    if SOURCES[column.name] == "DOUBLE":
        value = place * float(column.step)
        usual = (value,) * 8
        return draw.choice((*usual, float(round(value)), math.nan, math.inf, -math.inf))
    return Decimal(round(place * float(column.step) * 1000)).scaleb(-3)


def raw_rows() -> dict[str, list[Row]]:
    """The same rows in every run: units with none, some and too many of them, and one without."""
    draw = random.Random(15)
    made: dict[str, list[Row]] = {name: [] for name in TABLES}
    for unit in (None, *range(-3, 32)):
        for table, most in ((VISITS, 8), (STAYS, 4)):
            for _ in range(draw.randrange(most)):
                values = [_raw(column, draw) for column in table.columns]
                made[table.name].append((unit, *values))
    for ward in ("west", "east", "north"):
        made["places"].append((ward, *(_raw(each, draw) for each in PLACES.columns[1:])))
    made["singles"] = [tuple(_raw(each, draw) for each in SINGLES.columns) for _ in range(40)]
    return made


def code(column: Column, value: Any) -> int | str | None:
    """The lattice integer of a raw value, or the text of a private key."""
    if column.private_keys:
        return None if value is None else str(value)
    found = _inside(column, value)
    if found is not None:
        return found
    if column.other:
        return len(column.keys)
    return column.null if isinstance(column.null, int) else None


def _inside(column: Column, value: Any) -> int | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if column.kind == "category":
        return column.keys.index(value) if value in column.keys else None
    if column.kind == "boolean":
        return int(value)
    if column.kind == "date":
        steps: Fraction | float = Fraction((value - EPOCH).days)
    elif column.kind == "datetime":  # down to the step that has begun
        steps = Fraction((value - MIDNIGHT) // timedelta(seconds=int(column.step)))
    elif isinstance(value, float):  # as documented: one product and one quotient of doubles
        steps = value * column.step.denominator / column.step.numerator
    else:
        steps = Fraction(value) / column.step
    if isinstance(steps, float) and math.isinf(steps):
        return column.upper if steps > 0 else column.lower
    return min(max(round(Fraction(steps)), column.lower), column.upper)


def value(column: Column, code: Any) -> Any:
    """The exact public value of a lattice integer."""
    if code is None or column.private_keys:
        return code
    if column.kind == "number":
        exact = code * column.step
        return Decimal(exact.numerator) / Decimal(exact.denominator)
    return column.decode(code)


def md5(*texts: str, mark: str = "|") -> str:
    """The hash that orders rows and groups."""
    return hashlib.md5(mark.join(texts).encode()).hexdigest()


def hash_text(column: Column | None, code: Any) -> str:
    """A code in a hash: a text stands there as its own hash, what is missing as nothing."""
    if code is None:
        return ""
    return md5(code) if column is not None and column.private_keys else str(code)


@dataclass(frozen=True)
class Bounded:
    """The rows that bounds leave of a table, as lattice codes, each with its unit."""

    table: Table
    rows: tuple[tuple[Any, tuple[Any, ...]], ...]

    @classmethod
    def of(cls, table: Table, raw: Iterable[Row]) -> "Bounded":
        """The first rows of every unit; those without a unit are nobody's."""
        first = 0 if table.unit is None else 1
        coded = [
            (row[0] if first else None, tuple(map(code, table.columns, row[first:]))) for row in raw
        ]
        if table.unit is None:
            return cls(table, tuple(coded))
        coded = [each for each in coded if each[0] is not None]
        return cls(table, tuple(coded)).first(table.rows_per_unit, "\x1f")

    def first(self, most: int, mark: str = "|") -> "Bounded":
        """At most so many rows of each unit, in the order of a hash of unit and codes."""
        found: dict[Any, list[tuple[str, tuple[Any, ...]]]] = defaultdict(list)
        for unit, codes in self.rows:
            texts = map(hash_text, self.table.columns, codes)
            found[unit].append((md5(str(unit), *texts, mark=mark), codes))
        kept = [
            (unit, codes)
            for unit, rows in found.items()
            for _, codes in sorted(rows, key=lambda each: each[0])[:most]
        ]
        return Bounded(self.table, tuple(kept))

    def first_groups(self, keys: tuple[str, ...], most: int) -> "Bounded":
        """The rows in the first groups of each unit, in the order of a hash of unit and codes."""
        columns = {column.name: place for place, column in enumerate(self.table.columns)}
        places = [columns[key] for key in keys]
        order: dict[Any, set[str]] = defaultdict(set)

        def placed(unit: Any, codes: tuple[Any, ...]) -> str:
            texts = [hash_text(self.table.columns[place], codes[place]) for place in places]
            return md5(str(unit), *texts)

        for unit, codes in self.rows:
            order[unit].add(placed(unit, codes))
        kept = {unit: set(sorted(found)[:most]) for unit, found in order.items()}
        rows = tuple(each for each in self.rows if placed(*each) in kept[each[0]])
        return Bounded(self.table, rows)

    def values(self) -> list[Row]:
        """The rows as people would read them."""
        unit = [] if self.table.unit is None else [0]
        return [
            (*(each[0] for _ in unit), *map(value, self.table.columns, each[1]))
            for each in self.rows
        ]


class Plain:
    """A plain DuckDB with the bounded rows, and nothing of the package in it."""

    def __init__(self, raw: dict[str, list[Row]]) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.bounded = {name: Bounded.of(TABLES[name], rows) for name, rows in raw.items()}
        for name, each in self.bounded.items():
            self.hold(name, each)

    def hold(self, name: str, rows: Bounded) -> None:
        """Make a table of bounded rows."""
        columns = [f'"{each.name}" {PLAIN_TYPES[each.kind]}' for each in rows.table.columns]
        if rows.table.unit is not None:
            columns.insert(0, f'"{rows.table.unit}" BIGINT')
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(columns)})")
        marks = ", ".join("?" for _ in columns)
        values = rows.values()
        if values:
            self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", values)

    def rows(self, sql: str) -> list[Row]:
        """What plain SQL gives."""
        return self.connection.execute(sql).fetchall()

    def close(self) -> None:
        """End it."""
        self.connection.close()
