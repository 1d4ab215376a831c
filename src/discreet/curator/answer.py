"""What an analyst gets: noisy values with intervals, as tables and charts, and a receipt.
Holds released numbers and public facts only; it never sees an exact value.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.curator.answer_rows import Shown, off_text, plain_table, show_columns
from discreet.drawing.chart import MOST_BARS, bars, printable, svg
from discreet.errors import DiscreetError, InvalidValue, counted
from discreet.plan.parts.keys import Label
from discreet.plan.parts.measures import Chosen
from discreet.plan.parts.remarks import Note
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import (
    Bucket,
    Estimate,
    buckets,
    estimates,
    find_picked,
    find_ranked,
    keep_rows,
    ranks_off,
    simple_measure,
    values_of,
)
from discreet.plan.results.released import Released
from discreet.query.algebra import IntervalEnd
from discreet.query.readers.naming import free_name
from discreet.rationals import Number
from discreet.schema.column import nearest

__all__ = ["Answer", "Receipt"]

_CONFIDENCE = Fraction(95, 100)
_WIDE = 1 << 31
_WIDEST = 1 << 63
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


class Answer:
    """The released answer to one question."""

    __slots__ = ("_released", "_rows", "_usual", "bought", "free", "plan", "receipt")

    def __init__(self, released: Released, receipt: Receipt, *, free: bool) -> None:
        self.plan: Plan = released.plan
        self.receipt = receipt
        self.free = free  # the stored release of the same question: nothing was charged
        self.bought: Answer | None = None  # the count that was bought first to reach an error
        self._released = released
        self._usual: dict[str, Estimate] | None = None
        ranked = self.plan.query.having is not None or self.plan.query.order
        columns = self._columns(self._estimates()) if ranked else {}
        self._rows = keep_rows(released, columns)

    def _estimates(self, confidence: Number = _CONFIDENCE) -> dict[str, Estimate]:
        """Every column with its intervals; those that are asked for most are made once."""
        if confidence != _CONFIDENCE:
            return estimates(self._released, confidence)
        if self._usual is None:
            self._usual = estimates(self._released, _CONFIDENCE)
        return self._usual

    def _columns(self, columns: dict[str, Estimate]) -> dict[str, NDArray[Any]]:
        """Every column before HAVING, ORDER BY and LIMIT, keys included."""
        out = {name: _column(labels) for name, labels in self._released.keys().items()}
        for output in self.plan.query.outputs:
            place = simple_measure(self.plan, output.expression)
            chosen = find_picked(self.plan, output.expression)
            if place is not None:
                step = self.plan.measures[place].step
                out[output.name] = _scale(self._released.noisy[place], step)
            elif chosen is not None:
                out[output.name] = _column(values_of(self._released, chosen))
            else:
                out[output.name] = columns[output.name].value
        return out

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.plan.query.columns

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        columns = self._columns(self._estimates())
        lists = {name: columns[name][self._rows].tolist() for name in self.columns}
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]

    def intervals(self, confidence: Number = _CONFIDENCE) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of every noisy column, covering with this probability.

        The interval of one column in one row; not of all of them at once. For the columns
        `in_ranks` names it is how many rows the rank of the value, or the count of a mode, is off:
        infinitely many where a quantile is chosen from buckets, for which see `buckets`.
        """
        columns = self._estimates(confidence)
        ranks = self._find_ranked()
        off = {name: ranks_off(self.plan, ranks[name], confidence) for name in ranks}
        return [
            {
                name: (-off[name], off[name])
                if name in off
                else (float(column.low[row]), float(column.high[row]))
                for name, column in columns.items()
            }
            for row in self._rows
        ]

    def counted(self, wanted: Plan) -> list[tuple[float, float]] | None:
        """The 95% intervals of a count that this answer was made from, if it is the wanted one."""
        mine, other = self.plan, wanted
        same = [
            (
                [table.version for table in plan.tables],
                (plan.query.source, plan.query.where, plan.query.keys, plan.query.options),
            )
            for plan in (mine, other)
        ]
        needed = other.measures[0]
        if same[0] != same[1] or mine.selection is not None or needed not in mine.measures:
            return None
        place = mine.measures.index(needed)
        width = mine.noises[place].error(_CONFIDENCE)
        return [(float(n) - width, float(n) + width) for n in self._released.noisy[place]]

    @property
    def in_ranks(self) -> dict[str, int]:
        """The columns whose intervals are numbers of rows: quantiles, extremes and modes.

        Each with the place of its mechanism among the plan's choices.
        """
        return {name: chosen.pick for name, chosen in self._find_ranked().items()}

    def _find_ranked(self) -> dict[str, Chosen]:
        choices = {
            output.name: find_ranked(self.plan, output.expression)
            for output in self.plan.query.outputs
        }
        return {name: chosen for name, chosen in choices.items() if chosen is not None}

    def buckets(self, confidence: Number = _CONFIDENCE) -> list[dict[str, Bucket]]:
        """For each row the buckets of the quantiles that are chosen from buckets of values.

        With this probability some value in the bucket has a rank off by at most `ranks` rows. The
        value of the answer is the bucket's middle, whose own rank can be off by more.
        """
        columns = buckets(self._released, confidence)
        return [{name: values[row] for name, values in columns.items()} for row in self._rows]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise InvalidValue(
                f"the answer has no column {name!r:.80}. {nearest(str(name), self.columns)}"
            )
        return [row[name] for row in self.to_dicts()]

    def __len__(self) -> int:
        return len(self._rows)

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
        return show_columns(self.plan, self.to_dicts(), self.intervals(), self.buckets())

    def errors(self, confidence: Number = _CONFIDENCE) -> dict[str, list[Any]]:
        """The errors as columns, beside those of the rows: the ends of intervals as `n_low` and
        `n_high`; of a quantile or a mode `n_off`, the ranks or rows by which it is off at most.

        A quantile from buckets has the ends of its bucket, some value of which is so far off.
        """
        intervals, buckets = self.intervals(confidence), self.buckets(confidence)
        ranks = self._find_ranked()
        columns: dict[str, list[Any]] = {}

        def add(name: str, values: list[Any]) -> None:
            columns[free_name(name, [*self.columns, *columns])] = values

        noisy = [
            o.name for o in self.plan.query.outputs if not isinstance(o.expression, IntervalEnd)
        ]
        for name in noisy:
            if name in ranks and self.plan.picks[ranks[name].pick].width > 1:
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
        frame = _library("polars").DataFrame(self._column_lists() | self._error_columns(intervals))
        frame.attrs = {"notes": self._note_texts()}  # of this frame only: polars keeps none
        return frame

    def to_arrow(self, *, intervals: Number | None = None) -> Any:
        """An Arrow table; its metadata has the notes, as JSON; `intervals` as in `to_pandas`."""
        table = _library("pyarrow").table(self._column_lists() | self._error_columns(intervals))
        return table.replace_schema_metadata({"notes": json.dumps(self._note_texts())})

    def _error_columns(self, intervals: Number | None) -> dict[str, list[Any]]:
        if intervals is None or intervals is False:
            return {}
        return self.errors(_CONFIDENCE if intervals is True else intervals)

    def _note_texts(self) -> list[str]:
        return [str(note) for note in self.notes]

    def _column_lists(self) -> dict[str, list[Any]]:
        """Columns for libraries without integers beyond 64 bits: wide ones become floats."""
        rows = self.to_dicts()
        lists = {name: [row[name] for row in rows] for name in self.columns}
        for output in self.plan.query.outputs:
            place = simple_measure(self.plan, output.expression)
            if place is None:
                continue
            measure = self.plan.measures[place]
            # By public bounds, so that a type says nothing about values.
            if measure.sensitivity.linf * measure.step.numerator >= _WIDE:
                lists[output.name] = [float(value) for value in lists[output.name]]
        return lists

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite chart: a bar for each row of the first noisy column, with its interval."""
        named = self._released.keys()
        keys = [name for name in self.columns if name in named]
        values = [name for name in self.columns if name not in keys]
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
            low, high = interval[value]
            if value in bucket:  # of a number, so its ends are numbers too
                low, high = cast(float, bucket[value].low), cast(float, bucket[value].high)
            elif value in ranks:
                low = high = row[value]
            rows.append({"group": label, "value": float(row[value]), "low": low, "high": high})
        return bars(
            rows,
            group=", ".join(keys),
            value=value,
            beside=self._error_words(value),
            notes=[note.text for note in self.notes],
        )

    def _error_words(self, name: str) -> str:
        """What a chart's title says of the error of a column."""
        chosen = self._find_ranked().get(name)
        if chosen is None:
            return "with 95% intervals"
        pick, choice = self.plan.picks[chosen.pick], self.plan.choices[chosen.pick]
        off = off_text(choice.error(_CONFIDENCE), chosen.statistic)
        within = "in buckets, some value of each " if pick.width > 1 else ""
        return f"{within}{off} with 95%"

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


def _scale(noisy: NDArray[Any], step: Fraction) -> NDArray[Any]:
    """noisy * step without overflow: exact integers, or the nearest floats."""
    if step == 1:
        return noisy
    multiples = noisy.astype(object) * step.numerator
    if step.denominator == 1:
        return multiples
    return (multiples / step.denominator).astype(np.float64)


def _column(labels: list[Label]) -> NDArray[Any]:
    """Numbers as an array of them where they fit; texts and dates as they are, to the last byte."""
    if not labels or not isinstance(labels[0], int | float):
        return np.array(labels, dtype=object)
    wide = any(isinstance(label, int) and abs(label) >= _WIDEST for label in labels)
    return np.array(labels, dtype=object if wide else None)


def _item(note: Note) -> str:
    asked = f" To ask how many: <code>{escape(note.ask)}</code>" if note.ask else ""
    return f"{escape(note.text)}{asked}"


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise DiscreetError(f"{name} is not installed; run: pip install {name}") from None
