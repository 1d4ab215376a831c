"""What an outer query gave: its columns, rows and simulated intervals, as they are stored.
Post-processing of released numbers; nothing in this file ever sees an exact value.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from discreet.errors import UnsafeQuery
from discreet.plan.results.released import Released
from discreet.upper.engine import UpperEngine, UpperFailed
from discreet.upper.plan import StatementPlan
from discreet.upper.rows import empty_table, load_rows, shown_rows
from discreet.upper.simulate import Spread, simulate

__all__ = ["Outcome", "check_upper", "run_upper"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an outer query: names and types of columns, rows, and simulated intervals."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    spreads: tuple[Spread, ...]

    def values(self) -> list[list[Any]]:
        """The values of every column, dates as dates."""
        return [
            [_read(row[at], kind) for row in self.rows] for at, (_, kind) in enumerate(self.columns)
        ]

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON can carry it; an end that is not finite is null."""
        return {
            "columns": [list(column) for column in self.columns],
            "rows": [[_plain(cell) for cell in row] for row in self.rows],
            "simulated": {
                spread.column: [
                    None if cell is None else [[_end(low), _end(high)] for low, high in cell]
                    for cell in spread.ends
                ]
                for spread in self.spreads
            },
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Outcome":
        """The outcome that `to_json` wrote.

        >>> one = Outcome((("n", "BIGINT"),), ((3,),), ())
        >>> Outcome.from_json(one.to_json()) == one
        True
        """
        spreads = [
            Spread(
                column,
                tuple(
                    None if cell is None else tuple(_ends(low, high) for low, high in cell)
                    for cell in ends
                ),
            )
            for column, ends in told["simulated"].items()
        ]
        columns = tuple((column, kind) for column, kind in told["columns"])
        rows = tuple(
            tuple(_back(cell, kind) for cell, (_, kind) in zip(row, columns, strict=True))
            for row in told["rows"]
        )
        return cls(columns, rows, tuple(spreads))


def _plain(cell: Any) -> Any:
    return repr(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def _back(cell: Any, kind: str) -> Any:
    is_float = kind in ("DOUBLE", "FLOAT") and isinstance(cell, str)
    return float(cell) if is_float else cell


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ends(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else low, math.inf if high is None else high


def _read(cell: Any, kind: str) -> Any:
    if cell is None or not isinstance(cell, str):
        return cell
    with suppress(ValueError):  # beyond the years that Python knows it stays a text
        if kind == "DATE":
            return date.fromisoformat(cell)
        if kind.startswith("TIMESTAMP"):
            return datetime.fromisoformat(cell)
    return cell


def check_upper(engine: UpperEngine, plan: StatementPlan) -> tuple[tuple[str, str], ...]:
    """The names and types of the columns of an outer query; `UnsafeQuery` if it cannot be run.

    Runs on blocks without rows, before anything is charged.
    """
    for place, block in enumerate(plan.blocks):
        engine.load(f"$b{place}", empty_table(block))
    try:
        columns = engine.run(f'SELECT * FROM ({plan.upper_sql}) AS "$q" LIMIT 0').columns
    except UpperFailed as failure:
        raise UnsafeQuery(
            f"the part of the question above the released numbers cannot be run: {failure} "
            "Nothing was run or charged."
        ) from None
    return columns


def run_upper(engine: UpperEngine, plan: StatementPlan, blocks: Sequence[Released]) -> Outcome:
    """The result of an outer query over what its blocks released, with simulated intervals."""
    shown = []
    for place, (block, released) in enumerate(zip(plan.blocks, blocks, strict=True)):
        columns, rows = shown_rows(released)
        engine.load(f"$b{place}", load_rows(block, columns, rows))
        shown.append((released, rows))
    result = engine.run(plan.upper_sql)
    spreads: list[Spread] = []
    with suppress(UpperFailed):  # the result is there; it has no simulated intervals then
        spreads = simulate(engine, plan, shown, result.columns, result.rows)
    return Outcome(result.columns, result.rows, tuple(spreads))
