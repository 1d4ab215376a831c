"""Curators over several tables: patients with visits and bills, others, and a public list."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.curator.curator import Curator

Rows = list[tuple[Any, ...]]
KINDS = {
    "visits": {"patient": pa.int64(), "age": pa.int64(), "ward": pa.string()},
    "bills": {"payer": pa.string(), "amount": pa.float64(), "ward": pa.string()},
    "trips": {"person": pa.int64(), "km": pa.int64()},
    "wards": {"ward": pa.string(), "beds": pa.int64(), "kind": pa.string()},
}
WARDS = ["a", "b", "c"]


def data() -> dict[str, Rows]:
    """Thirty people, nothing special about any; one of them without a bill."""
    return {
        "visits": [(n // 2, 20 + n % 50, WARDS[n % 3]) for n in range(60)],
        "bills": [(str(n), 10.0 * n, WARDS[(n + 1) % 3]) for n in range(29)],
        "trips": [(n, n % 9) for n in range(20)],
        "wards": [("a", 10, "old"), ("b", 25, "new")],
    }


def schema(name: str, neighbours: str = "add-remove") -> dict[str, Any]:
    """The schema of a table as a mapping."""
    ward = {"type": "category", "keys": WARDS}
    columns: dict[str, Any] = {
        "visits": {"age": {"type": "integer", "lower": 0, "upper": 110}, "ward": ward},
        "bills": {
            "amount": {"type": "number", "lower": 0, "upper": 1000, "step": 0.5},
            "ward": {"type": "category", "keys": ["c", "b", "a"]},
        },
        "trips": {"km": {"type": "integer", "lower": 0, "upper": 99}},
        "wards": {
            "ward": ward,
            "beds": {"type": "integer", "lower": 0, "upper": 99},
            "kind": {"type": "category", "keys": ["old", "new"]},
        },
    }
    table: dict[str, Any] = {"name": name, "source": f"{name}.parquet"}
    if name == "wards":
        table |= {"kind": "public", "key": ["ward"]}
        return {"table": table, "columns": columns[name]}
    unit = {"visits": "patient", "bills": "payer", "trips": "person"}[name]
    table |= {"unit": unit, "rows_per_unit": 2, "neighbours": neighbours}
    table["population"] = "travellers" if name == "trips" else "patients"
    made = {"table": table, "columns": columns[name]}
    return made if name == "bills" else {**made, "budget": {"epsilon": 50}}


def frame(name: str, rows: Rows) -> pa.Table:
    """Rows as an Arrow table."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in KINDS[name])
    made = zip(KINDS[name].items(), columns, strict=True)
    return pa.table({each: pa.array(list(values), kind) for (each, kind), values in made})


def write(folder: Path, name: str, rows: Rows) -> Path:
    """Rows as the file that the schema names."""
    path = folder / f"{name}.parquet"
    pq.write_table(frame(name, rows), path)
    return path


def make_vault(
    folder: Path, rows: dict[str, Rows], how: str, neighbours: str = "add-remove"
) -> Curator:
    """A curator with all tables: "prepared", "in place" or "frames"; ana has a budget."""
    folder.mkdir(exist_ok=True)
    curator = Curator.open(folder / "vault", price_floor=0)
    for name, each in rows.items():
        made = schema(name, neighbours)
        if how == "frames":
            del made["table"]["source"]
            curator.add(made, data=frame(name, each))
            continue
        made["table"]["source"] = str(write(folder, name, each))
        curator.add_in_place(made) if how == "in place" else curator.add(made)
    curator.grant("ana", epsilon=40)
    return curator
