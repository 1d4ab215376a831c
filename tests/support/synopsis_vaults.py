"""A curator with a small table whose joint distribution no single column shows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.curator.curator import Curator

COLUMNS = ("a", "b", "c", "d")
SCHEMA = """
[table]
name = "answers"
source = "answers.parquet"
{unit}
[columns]
a = {{ type = "boolean", null = false }}
b = {{ type = "boolean", null = false }}
c = {{ type = "category", keys = ["x", "y", "z"] }}
d = {{ type = "integer", lower = 1, upper = 4 }}
[budget]
epsilon = 1000000
delta = 1e-6
"""


def rows_of(count: int) -> list[tuple[bool, bool, str | None, int | None]]:
    """b equals a, and c and d follow from the place; every tenth row misses c, every 15th d."""
    return [
        (
            bool(n % 2),
            bool(n % 2),
            None if n % 10 == 9 else "xyz"[n % 3],
            None if n % 15 == 14 else 1 + n % 4,
        )
        for n in range(count)
    ]


def make_vault(folder: Path, rows: list[tuple], unit: str = "") -> Curator:
    """The curator, with a grant for ana."""
    folder.mkdir(exist_ok=True)
    arrays = {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
    pq.write_table(pa.table(arrays), folder / "answers.parquet")
    (folder / "answers.toml").write_text(SCHEMA.format(unit=unit))
    curator = Curator.open(folder / "vault", price_floor=0)
    curator.add(folder / "answers.toml")
    curator.grant("ana", epsilon=10**6, delta=1e-6)
    return curator


def complete(rows: list[tuple]) -> np.ndarray:
    """The rows without a missing value, as places."""
    return np.array(
        [(int(a), int(b), "xyz".index(c), d - 1) for a, b, c, d in rows if c and d], dtype=np.int64
    )
