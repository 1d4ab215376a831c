"""A small vault of trips whose cities are private keys, beside columns of every other kind."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.curator.curator import Curator

SCHEMA = """
[table]
name = "trips"
source = "trips.parquet"
population = "riders"
unit = "rider"
rows_per_unit = {rows_per_unit}
neighbours = "{neighbours}"
[columns]
age    = {{ type = "integer", lower = 0, upper = 110 }}
fare   = {{ type = "number", lower = 0, upper = 100, step = 0.5 }}
region = {{ type = "category", keys = ["north", "south", "east"], other = true }}
vip    = {{ type = "boolean" }}
day    = {{ type = "date", lower = 2024-01-01, upper = 2024-12-31 }}
city   = {{ type = "category", keys = "private" }}
[budget]
{budget}
"""

Row = tuple[Any, ...]
NAMES = ("rider", "age", "fare", "region", "vip", "day", "city")
TYPES = (
    pa.int64(),
    pa.int64(),
    pa.float64(),
    pa.string(),
    pa.bool_(),
    pa.string(),
    pa.string(),
)
WITH_DELTA = "epsilon = 1000\ndelta = 1e-3"
PURE = "epsilon = 1000"
CITIES = ("Zürich", "東京", "Ørsta", "e\u0301", "é", "a", "A", "a ", "a\x00", "🙂", "", "\x1b[2J")


def riders(count: int, cities: tuple[str | None, ...] = CITIES) -> list[Row]:
    """One trip of each rider, cities in turn."""
    return [
        (
            n,
            20 + n % 61,
            (n % 150) * 0.5,
            ("north", "south", "south", "mars")[n % 4],
            n % 3 == 0,
            f"2024-{1 + n % 12:02d}-10",
            cities[n % len(cities)],
        )
        for n in range(count)
    ]


def trips_of(
    folder: Path,
    rows: list[Row],
    *,
    rows_per_unit: int = 1,
    neighbours: str = "add-remove",
    budget: str = WITH_DELTA,
) -> Curator:
    """A curator with the table added, and the analyst ana."""
    folder.mkdir(exist_ok=True)
    values = zip(*rows, strict=True) if rows else ((),) * len(NAMES)
    columns = zip(NAMES, TYPES, values, strict=True)
    arrays = {name: pa.array(list(each), type=kind) for name, kind, each in columns}
    pq.write_table(pa.table(arrays), folder / "trips.parquet")
    text = SCHEMA.format(rows_per_unit=rows_per_unit, neighbours=neighbours, budget=budget)
    (folder / "trips.toml").write_text(text)
    curator = Curator.open(folder / "vault", price_floor=0)
    curator.add(folder / "trips.toml")
    pure = "delta" not in budget
    curator.grant("ana", epsilon=900, **({} if pure else {"delta": 9e-4}))
    return curator
