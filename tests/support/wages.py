"""Small vaults of wages with many rows of each person and a wide column, under pure budgets."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.curator.curator import Curator

UPPER = 1_000_000
ROWS_PER_PERSON = 50


def wages_of(
    folder: Path,
    wages: Any,
    *,
    rows_per_unit: int = ROWS_PER_PERSON,
    neighbours: str = "add-remove",
    upper: int = UPPER,
) -> Curator:
    """A curator with these wages, `rows_per_unit` of each person in turn, and the analyst ana."""
    values = np.asarray(wages, dtype=np.int64)
    schema = {
        "table": {
            "name": "staff",
            "unit": "person",
            "rows_per_unit": rows_per_unit,
            "neighbours": neighbours,
        },
        "columns": {
            "wage": {"type": "integer", "lower": 0, "upper": upper},
            "place": {"type": "category", "keys": ["here", "there"]},
        },
        "budget": {"epsilon": 10**6},
    }
    people = np.arange(len(values)) // rows_per_unit
    places = np.where(people % 2 == 0, "here", "there")
    curator = Curator.open(folder, price_floor=0)
    data = pa.table({"person": people, "wage": values, "place": pa.array(places, pa.string())})
    curator.add(schema, data=data)
    curator.grant("ana", epsilon=10**6)
    return curator
