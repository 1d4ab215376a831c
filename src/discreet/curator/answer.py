"""What an analyst gets: noisy values with intervals, as tables and charts, and a receipt.
Holds released numbers and public facts only; it never sees an exact value.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any, Protocol, cast

from discreet.curator.answer_rows import Shown, plain_table
from discreet.drawing.chart import MOST_BARS, bars, printable, svg
from discreet.errors import DiscreetError, InvalidValue, counted
from discreet.loss import Price
from discreet.plan.parts.remarks import Note
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import Bucket
from discreet.query.readers.naming import free_name
from discreet.rationals import Number
from discreet.schema.column import nearest
from discreet.upper.plan import StatementPlan

__all__ = ["Answer", "Receipt", "Result"]

_CONFIDENCE = Fraction(95, 100)
_MOST_PRINTED = 60  # rows


@dataclass(frozen=True, slots=True)
class Receipt:
    """Enough to cite an answer: what was asked of whom, under which guarantee, at what cost."""

    id: str
    time: str
    analyst: str
    question: str
    table: str
    population: str
    unit: str
    neighbours: str
    schema_version: str
    data_version: str
    cost: dict[str, str]
    mechanisms: tuple[str, ...]


class Result(Protocol):
    """The rows of an answer, with their errors: of one block, or of a statement above several."""

    @property
    def plan(self) -> Plan | StatementPlan:
        """The plan that it is the result of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that hold no noise."""

    @property
    def noisy(self) -> list[str]:
        """The columns that have errors."""

    @property
    def in_ranks(self) -> dict[str, int]:
        """The columns whose intervals are numbers of rows."""

    @property
    def simulated(self) -> tuple[str, ...]:
        """The columns whose intervals are simulated."""

    def __len__(self) -> int: ...

    def lists(self) -> dict[str, list[Any]]:
        """The values of every column."""

    def narrow_lists(self) -> dict[str, list[Any]]:
        """The values of every column, for libraries without wide integers."""

    def intervals(self, confidence: Number, /) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of every noisy column."""

    def buckets(self, confidence: Number, /) -> list[dict[str, Bucket]]:
        """For each row the buckets of quantiles that are chosen from buckets."""

    def is_bucketed(self, name: str, /) -> bool:
        """Whether a column is chosen from buckets."""

    def shown(self) -> tuple[Shown, ...]:
        """Every column as texts."""

    def error_words(self, name: str, /) -> str:
        """What a chart's title says of the error of a column."""

    def counted(self, wanted: Plan, /) -> list[tuple[float, float]] | None:
        """The intervals of a count that it was made from, if it is the wanted one."""


class Answer:
    """The released answer to one question."""

    __slots__ = ("bought", "cost", "free", "plan", "receipt", "result")

    def __init__(
        self, result: Result, receipt: Receipt, *, free: bool, cost: Price | None = None
    ) -> None:
        self.plan = result.plan
        # What its charge took: of a statement, only for blocks that were not released before.
        self.cost: Price = result.plan.cost if cost is None else cost
        self.receipt = receipt
        self.free = free  # the stored release of the same question: nothing was charged
        self.bought: Answer | None = None  # the count that was bought first to reach an error
        self.result = result

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.result.columns

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        lists = self.result.lists()
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]

    def intervals(self, confidence: Number = _CONFIDENCE) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of every noisy column, covering with this probability.

        The interval of one column in one row; not of all of them at once. For the columns
        `in_ranks` names it is how many rows the rank of the value, or the count of a mode, is off:
        infinitely many where a quantile is chosen from buckets, for which see `buckets`. A column
        above several blocks that has none is left out.
        """
        return self.result.intervals(confidence)

    @property
    def simulated(self) -> tuple[str, ...]:
        """The columns whose intervals are simulated: by drawing the noise of the blocks again."""
        return self.result.simulated

    def counted(self, wanted: Plan) -> list[tuple[float, float]] | None:
        """The 95% intervals of a count that this answer was made from, if it is the wanted one."""
        return self.result.counted(wanted)

    @property
    def in_ranks(self) -> dict[str, int]:
        """The columns whose intervals are numbers of rows: quantiles, extremes and modes.

        Each with the place of its mechanism among the plan's choices.
        """
        return self.result.in_ranks

    def buckets(self, confidence: Number = _CONFIDENCE) -> list[dict[str, Bucket]]:
        """For each row the buckets of the quantiles that are chosen from buckets of values.

        With this probability some value in the bucket has a rank off by at most `ranks` rows. The
        value of the answer is the bucket's middle, whose own rank can be off by more.
        """
        return self.result.buckets(confidence)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise InvalidValue(
                f"the answer has no column {name!r:.80}. {nearest(str(name), self.columns)}"
            )
        return [row[name] for row in self.to_dicts()]

    def __len__(self) -> int:
        return len(self.result)

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"Answer({counted(len(self), 'row')}: {names}; cost {self.receipt.cost})"

    def __str__(self) -> str:
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([plain_table(self.shown(), most=_MOST_PRINTED), *notes])

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is left out of this answer and bounded, and what its intervals are about.

        The same for the same question and schema, whatever the data.
        """
        return self.plan.notes

    def shown(self) -> tuple[Shown, ...]:
        """Every column as texts: values, and beside each its interval, rank error or bucket."""
        return self.result.shown()

    def errors(self, confidence: Number = _CONFIDENCE) -> dict[str, list[Any]]:
        """The errors as columns, beside those of the rows: the ends of intervals as `n_low` and
        `n_high`; of a quantile or a mode `n_off`, the ranks or rows by which it is off at most.

        A quantile from buckets has the ends of its bucket, some value of which is so far off.
        """
        intervals, buckets = self.intervals(confidence), self.buckets(confidence)
        ranks = self.in_ranks
        columns: dict[str, list[Any]] = {}

        def add(name: str, values: list[Any]) -> None:
            columns[free_name(name, [*self.columns, *columns])] = values

        for name in self.result.noisy:
            if self.result.is_bucketed(name):
                add(f"{name}_low", [row[name].low for row in buckets])
                add(f"{name}_high", [row[name].high for row in buckets])
                add(f"{name}_off", [row[name].ranks for row in buckets])
            elif name in ranks:
                add(f"{name}_off", [row[name][1] for row in intervals])
            else:
                add(f"{name}_low", [row[name][0] for row in intervals])
                add(f"{name}_high", [row[name][1] for row in intervals])
        return columns

    def to_pandas(self, *, intervals: Number | None = None) -> Any:
        """A pandas data frame; its `attrs` have the notes. `intervals` adds the columns of
        `errors`: at 95% for True, or at the confidence that is given.
        """
        frame = _library("pandas").DataFrame(self.to_dicts(), columns=list(self.columns))
        frame = frame.assign(**self._error_columns(intervals))
        frame.attrs["notes"] = self._note_texts()
        return frame

    def to_polars(self, *, intervals: Number | None = None) -> Any:
        """A polars data frame; its attribute `attrs` has the notes, `intervals` as in
        `to_pandas`.
        """
        frame = _library("polars").DataFrame(
            self.result.narrow_lists() | self._error_columns(intervals)
        )
        frame.attrs = {"notes": self._note_texts()}  # of this frame only: polars keeps none
        return frame

    def to_arrow(self, *, intervals: Number | None = None) -> Any:
        """An Arrow table; its metadata has the notes, as JSON; `intervals` as in `to_pandas`."""
        table = _library("pyarrow").table(
            self.result.narrow_lists() | self._error_columns(intervals)
        )
        return table.replace_schema_metadata({"notes": json.dumps(self._note_texts())})

    def _error_columns(self, intervals: Number | None) -> dict[str, list[Any]]:
        if intervals is None or intervals is False:
            return {}
        return self.errors(_CONFIDENCE if intervals is True else intervals)

    def _note_texts(self) -> list[str]:
        return [str(note) for note in self.notes]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite chart: a bar for each row of the first noisy column, with its interval."""
        keys = list(self.result.keys)
        values = [name for name in self.columns if name not in keys]
        if not values:
            raise InvalidValue("no column has noise; a chart shows one. Add COUNT(*).")
        value = next((name for name in values if name not in self.in_ranks), values[0])
        if len(self) > MOST_BARS:
            raise InvalidValue(
                f"the answer has {len(self):,} rows and a chart at most {MOST_BARS:,}. "
                "Ask with ORDER BY and LIMIT."
            )
        rows, ranks = [], self.in_ranks
        parts = zip(self.to_dicts(), self.intervals(), self.buckets(), strict=True)
        for row, interval, bucket in parts:
            label = ", ".join(printable(str(row[name])) for name in keys) if keys else value
            if not isinstance(row[value], int | float):
                raise InvalidValue(f"{value} is not a number; a chart needs one. Add COUNT(*).")
            low, high = interval.get(value, (row[value], row[value]))
            if value in bucket:  # of a number, so its ends are numbers too
                low, high = cast(float, bucket[value].low), cast(float, bucket[value].high)
            elif value in ranks:
                low = high = row[value]
            rows.append({"group": label, "value": float(row[value]), "low": low, "high": high})
        return bars(
            rows,
            group=", ".join(keys),
            value=value,
            beside=self.result.error_words(value),
            notes=[note.text for note in self.notes],
        )

    def plot(self, path: str | None = None) -> str:
        """The chart as SVG text, or written to a .svg or .png file."""
        return svg(self.chart(), path)

    def _repr_html_(self) -> str:
        columns = self.shown()
        head = "".join(f"<th>{escape(column.name)}</th>" for column in columns)
        cells = [
            [
                f"{escape(value)} <small>{escape(beside)}</small>"
                for value, beside in zip(column.values, column.beside, strict=True)
            ]
            if column.beside
            else [escape(value) for value in column.values]
            for column in columns
        ]
        body = "".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
            for row in list(zip(*cells, strict=True))[:MOST_BARS]
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        if len(self) > MOST_BARS:
            table += f"<p>The first {MOST_BARS:,} of {len(self):,} rows.</p>"
        notes = "".join(f"<li>{_item(note)}</li>" for note in self.notes)
        told = f"<ul>{notes}</ul>" if notes else ""
        try:
            return table + told + self.plot()
        except DiscreetError:
            return table + told  # the plots extra is not installed, or nothing is a number


def _item(note: Note) -> str:
    asked = f" To ask how many: <code>{escape(note.ask)}</code>" if note.ask else ""
    return f"{escape(note.text)}{asked}"


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise DiscreetError(f"{name} is not installed; run: pip install {name}") from None
