"""Curators on the tables of `support.questions` that differ in one person: the ordinary people,
and persons as far out as a person can be. `outcome` is all of a reply that is not noise.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.curator.access import Access
from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.errors import DiscreetError
from discreet.noise.bits import SeededBits
from discreet.plan.pipeline import Plan
from discreet.schema.table import Budget
from support.questions import TABLES

Rows = list[tuple[Any, ...]]
Tables = dict[str, Rows]

WHO = 10**9  # the person in whom twins differ
KINDS: Mapping[str, Mapping[str, pa.DataType]] = {
    "visits": {
        "patient_id": pa.int64(), "age": pa.float64(), "income": pa.float64(),
        "region": pa.string(), "home": pa.string(), "smoker": pa.bool_(), "day": pa.string(),
        "format": pa.string(),
    },
    "people": {"age": pa.float64()},
    "stays": {
        "patient_id": pa.int64(), "age": pa.int64(), "nights": pa.float64(), "code": pa.int64(),
        "ward": pa.string(),
    },
    "trips": {"person": pa.int64(), "km": pa.float64()},
    "bills": {"payer": pa.string(), "amount": pa.float64()},
    "codes": {"code": pa.int64(), "title": pa.string(), "age": pa.float64()},
    "events": {
        "patient_id": pa.int64(), "seen": pa.string(), "day": pa.string(), "city": pa.string(),
        "born_in": pa.string(), "ward": pa.string(),
    },
    "cities": {"city": pa.string(), "coast": pa.bool_()},
}  # fmt: skip
REGIONS = ("north", "south", "east", "West_1")
CITIES = ("Köln", "Lund")
INF, NAN = float("inf"), float("nan")


def ordinary() -> Tables:
    """Forty people, nothing special about any."""
    many = range(40)
    return {
        "visits": [
            (n, 20.0 + n, 500.0 * n, REGIONS[n % 4], REGIONS[n % 3], n % 2 == 0,
             f"2024-{1 + n % 12:02d}-11", str(n % 6))
            for n in (*many, *many)
        ],
        "people": [(float(n),) for n in many],
        "stays": [(n, 20 + n, n % 9, n % 5, "ab"[n % 2]) for n in many],
        "trips": [(n, float(n % 9)) for n in many],
        "bills": [(str(n), 7.25 * n) for n in many],
        "codes": [(n, ("flu", "cold")[n % 2], 10.0 * n) for n in range(5)],
        "events": [
            (n, f"2024-05-{1 + n % 28:02d} 10:30:00", f"2024-05-{1 + n % 28:02d}",
             CITIES[n % 2], CITIES[0], "ab"[n % 2])
            for n in many
        ],
        "cities": [(city, city == "Lund") for city in CITIES],
    }  # fmt: skip


def _nothing() -> Tables:
    """A person of whom nothing is known."""
    return {
        "visits": [(WHO, *[None] * 7), (WHO, NAN, NAN, "", "", None, "", "")],
        "people": [(None,)],
        "stays": [(WHO, None, None, None, None), (WHO, None, NAN, None, "")],
        "trips": [(WHO, None), (WHO, NAN)],
        "bills": [(str(WHO), None), (str(WHO), NAN)],
        "events": [(WHO, None, None, None, None, None), (WHO, "", "", "", "", "")],
    }  # fmt: skip


def _far() -> Tables:
    """Infinite, huge, undeclared, and text that somebody might take for something else."""
    odd = ("nowhere", "'; DROP TABLE visits; --", "\x00\x1b[2J", "NaN", "\ufeffnorth", "😀" * 40)
    return {
        "visits": [
            (WHO, 1e308, INF, odd[0], odd[1], True, "9999-12-31", "inf"),
            (WHO, -1e308, -INF, odd[2], odd[3], False, "0001-01-01", "-1e999"),
            (WHO, INF, 5e-324, odd[4], odd[5], None, "2024-02-30", "9" * 60),
            (WHO, -0.0, -0.0, "NORTH", " north", True, "not a day", "0x10"),
        ],
        "people": [(INF,)],
        "stays": [(WHO, 2**63 - 1, 1e300, -(2**63), odd[1]), (WHO, -(2**63), -INF, 2**62, odd[2])],
        "trips": [(WHO, INF), (WHO, -1e308)],
        "bills": [(str(WHO), INF), (str(WHO), -1e308), (str(WHO), 1e308)],
        "events": [
            (WHO, "9999-12-31 23:59:60", "2024-13-01", odd[5], odd[1], odd[0]),
            (WHO, "-infinity", "infinity", odd[2], odd[3], odd[1]),
        ],
    }


def _many() -> Tables:
    """Far more rows than one person may have, in every group, with keys of nobody else."""
    return {
        "visits": [
            (WHO, float(n % 111), 400_000.0, REGIONS[n % 4], REGIONS[n % 4], True,
             f"2025-{1 + n % 12:02d}-28", "5")
            for n in range(400)
        ],
        "people": [(110.0,)],
        "stays": [(WHO, n % 111, 60.0, n % 1000, "ab"[n % 2]) for n in range(300)],
        "trips": [(WHO, 9.0)] * 300,
        "bills": [(str(WHO), 1e6)] * 300,
        "events": [
            (WHO, f"2025-12-{1 + n % 31:02d} 23:59:59", "2025-12-31", f"key {n}", f"key {n}", "a")
            for n in range(300)
        ],
    }  # fmt: skip


PERSONS: Mapping[str, Callable[[], Tables]] = {"nothing": _nothing, "far": _far, "many": _many}
"""Who may be in one table and not in the other."""


def make_vault(
    folder: Path, person: str | None, how: str, budget: Budget, names: Iterable[str] = tuple(KINDS)
) -> Curator:
    """A curator with these tables; "prepared" or "in place"; ana has the same budget."""
    extra = {} if person is None else PERSONS[person]()
    rows = {name: [*each, *extra.get(name, [])] for name, each in ordinary().items()}
    return make_vault_with(folder, rows, how, budget, names)


def make_vault_with(
    folder: Path, tables: Tables, how: str, budget: Budget, names: Iterable[str] = tuple(KINDS)
) -> Curator:
    """The same with these rows; a table that is not named has none."""
    folder.mkdir(parents=True)
    curator = Curator.open(folder / "vault", price_floor=0)
    for name in names:
        kinds = KINDS[name]
        rows = tables.get(name, [])
        arrays = {
            each: pa.array([row[place] for row in rows], kind)
            for place, (each, kind) in enumerate(kinds.items())
        }
        path = folder / f"{name}.parquet"
        pq.write_table(pa.table(arrays), path)
        table = TABLES[name]
        first = table.kind == "private" and name in ("visits", "people", "trips")
        known = {"source": str(path), "unreadable_share": 1}  # a far person has odd values
        made = replace(table, **known, budget=budget if first else None)
        curator.add_in_place(made) if how == "in place" else curator.add(made)
    curator.grant("ana", epsilon=budget.epsilon, delta=budget.delta)
    return curator


def noisy_rows(plan: Plan) -> bool:
    """Whether which rows are shown, or their order, follows from released noise."""
    query = plan.query
    return plan.selection is not None or query.having is not None or bool(query.order)


def shape(answer: Answer) -> dict[str, Any]:
    """All of an answer that is not noise: under the same bits it is to be the same."""
    rows, plan = answer.to_dicts(), answer.plan
    names = {domain.name for domain in plan.domains}
    keys = [[row[name] for name in row if name in names] for row in rows]
    kinds = sorted({tuple(type(value).__name__ for value in row.values()) for row in rows})
    public = not noisy_rows(plan)
    counted = public or (plan.selection is None and plan.query.having is None)
    return {
        "columns": answer.columns,
        "kinds": kinds,
        "keys": keys if public else None,
        "rows": len(answer) if counted else None,
        "intervals": [list(each) for each in answer.intervals()] if public else None,
        "ranks": answer.in_ranks,
        "arrow": [str(field.type) for field in answer.to_arrow().schema] if rows else None,
        "cost": answer.receipt.cost,
        "mechanisms": answer.receipt.mechanisms,
        "free": answer.free,
    }


def outcome(curator: Curator, text: str, *, bits: int | None = None, **price: Any) -> Any:
    """What an analyst can tell from one reply apart from noise, the charge included."""
    session = curator.session("ana")
    try:
        if bits is None:
            answer = session.sql(text, **price)
        else:
            plan = session.explain(text, **price)
            source = SeededBits(bits)
            answer = Access(curator._vault, curator._warehouse, "ana").answer(plan, bits=source)
        said: Any = shape(answer)
    except DiscreetError as refusal:
        said = (type(refusal).__name__, str(refusal), repr(refusal), refusal.__cause__ is None)
    return said, session.remaining
