"""Small curators for tests: a made-up table of people in a Parquet file and a vault beside it."""

import atexit
import pickle
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.curator.curator import Curator
from discreet.curator.runs.pacing import Clock
from support.canary import PERSON, TEXT

SCHEMA = """
[table]
name = "visits"
source = "visits.parquet"
population = "patients"
unit = "patient"
unreadable_share = 1
rows_per_unit = 2
neighbours = "{neighbours}"
[columns]
age    = {{ type = "integer", lower = 0, upper = 110 }}
income = {{ type = "number", lower = 0, upper = 200000, step = 0.5, null = "drop" }}
region = {{ type = "category", keys = ["north", "south", "east", "empty"] }}
day    = {{ type = "date", lower = 2024-01-01, upper = 2024-12-31 }}
big    = {{ type = "integer", lower = -9007199254740992, upper = 9007199254740992 }}
[budget]
{budget}
"""

Row = tuple[Any, ...]
NAMES = ("patient", "age", "income", "region", "day", "big")
TYPES = (pa.int64(), pa.int64(), pa.float64(), pa.string(), pa.string(), pa.int64())


def people(count: int = 60) -> list[Row]:
    """Two rows of each person, nothing special about any."""
    return [
        (
            PERSON + n // 2,
            (7 * n) % 90,
            None if n % 11 == 0 else 1000.0 * (n % 50),
            ("north", "south", "east")[n % 3],
            f"2024-{1 + n % 12:02d}-15",
            n,
        )
        for n in range(count)
    ]


def write_source(folder: Path, rows: list[Row], name: str = "visits.parquet") -> Path:
    """The rows as a Parquet file."""
    columns = zip(NAMES, TYPES, zip(*rows, strict=True), strict=True)
    arrays = {n: pa.array(list(values), type=kind) for n, kind, values in columns}
    arrays["note"] = pa.array([TEXT] * len(rows))
    path = folder / name
    pq.write_table(pa.table(arrays), path)
    return path


def write_schema(
    folder: Path, *, budget: str = "epsilon = 10", neighbours: str = "add-remove"
) -> Path:
    """The schema file of the table."""
    path = folder / "visits.toml"
    path.write_text(SCHEMA.format(budget=budget, neighbours=neighbours))
    return path


def curator_of(
    folder: Path, rows: list[Row], *, clock: Clock | None = None, **schema: str
) -> Curator:
    """A curator with the table added."""
    folder.mkdir(exist_ok=True)
    write_source(folder, rows)
    curator = Curator.open(folder / "vault", price_floor=0, clock=clock)
    curator.add(write_schema(folder, **schema))
    return curator


@cache
def _make_once(make: Callable[..., Curator], facts: bytes) -> tuple[Path, list[int]]:
    """A folder that was filled for an earlier test, and when the sources in it were written."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-prepared-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make(folder / "template", *pickle.loads(facts)).close()
    return folder / "template", _written(folder / "template")


def _written(folder: Path) -> list[int]:
    return [source.stat().st_mtime_ns for source in sorted(folder.glob("*.parquet"))]


def copied_vault(
    folder: Path, make: Callable[..., Curator], *facts: Any, clock: Clock | None = None
) -> Curator:
    """The same as `make(folder, *facts)`, but the vault is a copy of one that was made for an
    earlier test; the sources of its tables lie elsewhere and are never changed.
    """
    template, written = _make_once(make, pickle.dumps(facts))
    assert _written(template) == written, "a test changed the source"
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return Curator.open(folder / "vault", price_floor=0, clock=clock)


def copied_curator(
    folder: Path, rows: list[Row], *, clock: Clock | None = None, **schema: str
) -> Curator:
    """A copy of what `curator_of` makes."""
    known = (rows, sorted(schema.items()), SCHEMA)
    return copied_vault(folder, _curator_of, *known, clock=clock)


def _curator_of(folder: Path, rows: list[Row], schema: list[tuple[str, str]], _: str) -> Curator:
    return curator_of(folder, rows, **dict(schema))
