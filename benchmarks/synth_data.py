"""Public tables as value numbers, for benchmarks/synth.py: Adult, military personnel, flights.

Categories are numbered in the order of their names and numbers cut into fixed buckets; where the
domain is not given it is that of the data, for us and the peers alike.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.release.synth.domain import Attribute

FOLDER = Path(__file__).parents[2] / "shared" / "data"
NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
Table = tuple[Any, list[Attribute]]


def adult() -> Table:
    """UCI Adult, discretised: 48,842 rows, 14 columns, with the sizes of its domain file."""
    with (FOLDER / "adult.csv").open() as file:
        names = file.readline().strip().split(",")
        rows = np.loadtxt(file, delimiter=",", dtype=np.int64)
    sizes = json.loads((FOLDER / "adult-domain.json").read_text())
    return rows, [Attribute(name, sizes[name], ordered=name in NUMBERS) for name in names]


def military() -> Table:
    """US military personnel: 1,414,593 rows, six columns."""
    named = ["grade", "branch", "gender", "race", "hisp", "rank"]
    ranked = ", ".join(f"dense_rank() OVER (ORDER BY {name}) - 1" for name in named)
    rows = _rows(f"SELECT {ranked} FROM read_csv('{FOLDER / 'military.csv.gz'}')")
    return rows, [
        Attribute(name, int(rows[:, at].max()) + 1, ordered=name == "rank")
        for at, name in enumerate(named)
    ]


def flights() -> Table:
    """Flights out of New York: 336,776 rows, eight columns, four of them numbers."""
    named = ["carrier", "origin", "dest"]
    numbers = {"dep_delay": (-60, 300, 5), "air_time": (0, 700, 10), "distance": (0, 5000, 50)}
    keys = [f"dense_rank() OVER (ORDER BY {name}) - 1" for name in named]
    keys += [  # least and greatest pass over NULL, so it is asked for first
        f"CASE WHEN {name} IS NULL THEN 0 ELSE "
        f"1 + floor((least({high}, greatest({low}, {name})) - ({low})) / {step}) END"
        for name, (low, high, step) in numbers.items()
    ]
    source = f"read_csv('{FOLDER / 'flights.csv.gz'}', nullstr=['NA', ''])"
    rows = _rows(f"SELECT month - 1, hour, {', '.join(keys)} FROM {source}")
    sizes = [(high - low) // step + 2 for low, high, step in numbers.values()]
    return rows, [
        Attribute("month", 12, ordered=True),
        Attribute("hour", 24, ordered=True),
        *(Attribute(name, int(rows[:, 2 + at].max()) + 1) for at, name in enumerate(named)),
        *(Attribute(name, size, ordered=True) for name, size in zip(numbers, sizes, strict=True)),
    ]


TABLES: dict[str, tuple[str, Callable[[], Table]]] = {
    "adult": ("adult.csv", adult),
    "military": ("military.csv.gz", military),
    "flights": ("flights.csv.gz", flights),
}


def _rows(sql: str) -> Any:
    import duckdb

    found = duckdb.sql(sql).fetchnumpy()
    return np.stack([np.asarray(column).astype(np.int64) for column in found.values()], axis=1)
