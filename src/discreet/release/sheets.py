"""One released table: named columns, which of them are noisy and how far off they may be. Holds
released numbers and public labels only.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.drawing.chart import DARK, bars, chart, quantity
from discreet.errors import InvalidValue
from discreet.loss import Loss, Price
from discreet.noise.bits import BitSource
from discreet.release.frame import Cells
from discreet.schema.column import identifier

__all__ = ["Column", "Part", "Preview", "Sheet"]

_MOST_BARS, _MOST_POINTS = 60, 5000
_CHUNK = 100_000

Column = Sequence[Any] | NDArray[Any]
"""The values of one column, row by row."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a table of a release will be, before anything is paid for."""

    table: str
    cells: int
    measure: str
    error: float | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A released table: key columns first, then noisy values and their errors.

    `value` is the column that is drawn, `low` and `high` those of its interval.
    >>> Sheet("t", "Words.", {"region": ["n"], "count": [3.2]}, ("region",), "count").rows
    1
    """

    name: str
    words: str
    columns: Mapping[str, Column]
    keys: tuple[str, ...]
    value: str
    low: str = ""
    high: str = ""
    drawing: str = "bars"  # or a line for an ordered key, a grid for two
    promise: str = "95% intervals"  # what the intervals are; they hold with at least as much

    def __post_init__(self) -> None:
        identifier(self.name, "a table's name")
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) != 1:
            raise InvalidValue(f"{self.name}: columns of different lengths {sorted(lengths)}.")

    @property
    def rows(self) -> int:
        """How many rows it has.

        >>> Sheet("t", "", {"n": [1, 2]}, (), "n").rows
        2
        """
        return len(next(iter(self.columns.values())))

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite chart of the value with its interval; of the first rows if there are many.

        >>> Sheet("t", "", {"n": [1.0]}, (), "n").chart()["title"]
        {'text': 't: n', 'anchor': 'start'}
        """
        rows = min(self.rows, _MOST_BARS if self.drawing == "bars" else _MOST_POINTS)
        drawn = []
        for row in range(rows):
            value = float(self.columns[self.value][row])
            low = float(self.columns[self.low][row]) if self.low else value
            high = float(self.columns[self.high][row]) if self.high else value
            label = ", ".join(str(_to_plain(self.columns[key][row])) for key in self.keys)
            drawn.append({"group": label or "all", "value": value, "low": low, "high": high})
        promise = f", {self.promise}" if self.low and self.drawing != "grid" else ""
        title = f"{self.name}: {self.value}{promise}"
        if rows < self.rows:
            title += f" (the first {rows} of {self.rows:,} rows)"
        if self.drawing == "grid":
            return _grid(self, rows, title)
        if self.drawing == "line":
            return _line(drawn, title, ", ".join(self.keys), self.value)
        bar_chart = bars(drawn, group=", ".join(self.keys), value=self.value)
        return {**bar_chart, "title": {"text": title, "anchor": "start"}, "autosize": "pad"}

    def write_csv(self, path: Path) -> None:
        """Write it as comma-separated values with a header."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            for start in range(0, self.rows, _CHUNK):
                lists = [
                    [_to_plain(value) for value in _to_list(values[start : start + _CHUNK])]
                    for values in self.columns.values()
                ]
                writer.writerows(zip(*lists, strict=True))

    def write_parquet(self, path: Path) -> None:
        """Write it as Parquet; pyarrow has to be there."""
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        columns = {name: _unify_types(values) for name, values in self.columns.items()}
        parquet.write_table(arrow.table(columns), path)


def _grid(sheet: Sheet, rows: int, title: str) -> dict[str, Any]:
    """Coloured cells over two keys."""
    first, second = sheet.keys[:2]
    cells = [
        {
            "x": _to_plain(sheet.columns[first][row]),
            "y": _to_plain(sheet.columns[second][row]),
            "value": float(sheet.columns[sheet.value][row]),
        }
        for row in range(rows)
    ]
    labels = {"labelOverlap": True}
    return chart(
        title={"text": title, "anchor": "start"},
        width=640,
        height=360,
        data={"values": cells},
        mark="rect",
        encoding={
            "x": {"field": "x", "type": "ordinal", "title": first, "axis": labels},
            "y": {"field": "y", "type": "ordinal", "title": second, "axis": labels},
            "color": quantity("value", title=sheet.value),
        },
    )


def _line(points: list[dict[str, Any]], title: str, group: str, value: str) -> dict[str, Any]:
    """A line with a band for its interval; points stand at their places along the axis."""
    placed = [{**point, "place": place} for place, point in enumerate(points)]
    x = quantity("place", title=f"place along {group}")
    try:
        placed = [{**point, "place": float(point["group"])} for point in points]
        x["title"] = group
    except ValueError:
        pass  # names or dates: their order is what counts
    band = {"x": x, "y": quantity("low", title=value), "y2": {"field": "high"}}
    line = {"x": x, "y": quantity("value")}
    return chart(
        title={"text": title, "anchor": "start"},
        width=720,
        height=260,
        data={"values": placed},
        layer=[
            {"mark": {"type": "area", "color": "#c5d8e8"}, "encoding": band},
            {"mark": {"type": "line", "color": DARK}, "encoding": line},
        ],
    )


def _to_list(values: Column) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _to_plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value.isoformat() if isinstance(value, date | datetime) else value


def _unify_types(values: Column) -> Column:
    """Labels of one type: a number beside the word "missing" becomes a text."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and str in kinds:
        return [str(_to_plain(value)) for value in values]
    return _to_list(values)


class Part(Protocol):
    """A priced part of a release.

    Privacy: its `loss`, under the unit and relation of its frame.
    """

    @property
    def name(self) -> str:
        """The name its tables begin with."""

    @property
    def loss(self) -> Price:
        """What it costs.

        Privacy: under the unit and relation of its frame.
        """

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its mechanisms one by one, for composition by their distributions.

        Privacy: under the unit and relation of its frame.
        """

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest."""

    def preview(self) -> list[Preview]:
        """Its tables and their errors, before it is run."""

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """Its tables.

        Privacy: as `loss` says.
        """
