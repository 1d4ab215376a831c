"""What an analyst gets: noisy values with intervals, as tables and charts, and a receipt.
Holds released numbers and public facts only; it never sees an exact value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.chart import MOST_BARS, bars, printable, svg
from discreet.errors import DiscreetError, InvalidValue
from discreet.plan.draft import Plan
from discreet.plan.evaluate import (
    Bucket,
    Estimate,
    buckets,
    estimates,
    kept_rows,
    picked,
    ranked,
    ranks_off,
    simple_measure,
    values_of,
)
from discreet.plan.keys import Label
from discreet.plan.measures import Chosen
from discreet.plan.released import Released
from discreet.rationals import Number

__all__ = ["Answer", "Receipt"]

_CONFIDENCE = Fraction(95, 100)
_WIDE = 1 << 31
_WIDEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Receipt:
    """Enough to cite an answer: what was asked of whom, under which guarantee, at what cost.

    Privacy: none (touches no data); public facts only.
    >>> Receipt("7", "now", "ana", "SELECT", "t", "t", "row", "add-remove", "v", "1", {}, ()).id
    '7'
    """

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
    """The released answer to one question.

    Privacy: post-processing of one charged release.
    >>> Answer.__name__
    'Answer'
    """

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
        self._rows = kept_rows(released, columns)

    def _estimates(self, confidence: Number = _CONFIDENCE) -> dict[str, Estimate]:
        """Every column with its intervals; those that are asked for most are made once."""
        if confidence != _CONFIDENCE:
            return estimates(self._released, confidence)
        if self._usual is None:
            self._usual = estimates(self._released, _CONFIDENCE)
        return self._usual

    def _columns(self, columns: dict[str, Estimate]) -> dict[str, NDArray[Any]]:
        """Every column before HAVING, ORDER BY and LIMIT, keys included."""
        out: dict[str, NDArray[Any]] = {}
        for name, labels in self._released.keys().items():
            out[name] = _column(labels)
        for output in self.plan.query.outputs:
            place = simple_measure(self.plan, output.expression)
            chosen = picked(self.plan, output.expression)
            if place is not None:
                step = self.plan.measures[place].step
                out[output.name] = _scaled(self._released.noisy[place], step)
            elif chosen is not None:
                out[output.name] = _column(values_of(self._released, chosen))
            else:
                out[output.name] = columns[output.name].value
        return out

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order.

        Privacy: none (touches no data).
        >>> Answer.columns.fget is not None
        True
        """
        return self.plan.query.columns

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries.

        Privacy: post-processing.
        >>> Answer.to_dicts.__name__
        'to_dicts'
        """
        columns = self._columns(self._estimates())
        lists = {name: columns[name][self._rows].tolist() for name in self.columns}
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]

    def intervals(self, confidence: Number = _CONFIDENCE) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of every noisy column, covering with this probability.

        The interval of one column in one row; not of all of them at once. For the columns
        `in_ranks` names it is how many rows the rank of the value, or the count of a mode, is off:
        infinitely many where a quantile is chosen from buckets, for which see `buckets`.
        Privacy: post-processing.
        >>> Answer.intervals.__name__
        'intervals'
        """
        columns = self._estimates(confidence)
        ranks = self._ranked()
        off = {name: ranks_off(self.plan, ranks[name], confidence) for name in ranks}
        return [
            {
                name: (-off[name], off[name])
                if name in off
                else (float(each.low[row]), float(each.high[row]))
                for name, each in columns.items()
            }
            for row in self._rows
        ]

    def counted(self, wanted: Plan) -> list[tuple[float, float]] | None:
        """The 95% intervals of a count that this answer was made from, if it is the wanted one.

        Privacy: post-processing.
        >>> Answer.counted.__name__
        'counted'
        """
        mine, other = self.plan, wanted
        same = [
            (
                [table.version for table in each.tables],
                (each.query.source, each.query.where, each.query.keys, each.query.options),
            )
            for each in (mine, other)
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
        Privacy: none (touches no data).
        >>> Answer.in_ranks.fget is not None
        True
        """
        return {name: chosen.pick for name, chosen in self._ranked().items()}

    def _ranked(self) -> dict[str, Chosen]:
        found = {each.name: ranked(self.plan, each.expression) for each in self.plan.query.outputs}
        return {name: chosen for name, chosen in found.items() if chosen is not None}

    def buckets(self, confidence: Number = _CONFIDENCE) -> list[dict[str, Bucket]]:
        """For each row the buckets of the quantiles that are chosen from buckets of values.

        With this probability some value in the bucket has a rank off by at most `ranks` rows. The
        value of the answer is the bucket's middle, whose own rank can be off by more.
        Privacy: post-processing.
        >>> Answer.buckets.__name__
        'buckets'
        """
        found = buckets(self._released, confidence)
        return [{name: each[row] for name, each in found.items()} for row in self._rows]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"Answer({len(self)} rows: {names}; cost {self.receipt.cost})"

    def to_pandas(self) -> Any:
        """A pandas data frame.

        Privacy: post-processing.
        >>> Answer.to_pandas.__name__
        'to_pandas'
        """
        return _library("pandas").DataFrame(self.to_dicts(), columns=list(self.columns))

    def to_polars(self) -> Any:
        """A polars data frame.

        Privacy: post-processing.
        >>> Answer.to_polars.__name__
        'to_polars'
        """
        return _library("polars").DataFrame(self._lists())

    def to_arrow(self) -> Any:
        """An Arrow table.

        Privacy: post-processing.
        >>> Answer.to_arrow.__name__
        'to_arrow'
        """
        return _library("pyarrow").table(self._lists())

    def _lists(self) -> dict[str, list[Any]]:
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
        """A Vega-Lite chart: a bar for each row of the first noisy column, with its interval.

        Privacy: post-processing.
        >>> Answer.chart.__name__
        'chart'
        """
        named = self._released.keys()
        keys = [name for name in self.columns if name in named]
        values = [name for name in self.columns if name not in keys]
        value = next((name for name in values if name not in self.in_ranks), values[0])
        if len(self) > MOST_BARS:
            raise InvalidValue(
                f"the answer has {len(self):,} rows and a chart at most {MOST_BARS:,}. "
                "Ask with ORDER BY and LIMIT."
            )
        rows = []
        for row, interval in zip(self.to_dicts(), self.intervals(), strict=True):
            label = ", ".join(printable(str(row[name])) for name in keys) if keys else value
            if not isinstance(row[value], int | float):
                raise InvalidValue(f"{value} is not a number; a chart needs one. Add COUNT(*).")
            low, high = (row[value],) * 2 if value in self.in_ranks else interval[value]
            rows.append({"group": label, "value": float(row[value]), "low": low, "high": high})
        chart = bars(rows, group=", ".join(keys), value=value)
        return {**chart, "title": value} if value in self.in_ranks else chart

    def plot(self, path: str | None = None) -> str:
        """The chart as SVG text, or written to a .svg or .png file.

        Privacy: post-processing.
        >>> Answer.plot.__name__
        'plot'
        """
        return svg(self.chart(), path)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = []
        for row, interval in zip(self.to_dicts()[:MOST_BARS], self.intervals(), strict=False):
            known = {name: ends for name, ends in interval.items() if name not in self.in_ranks}
            cells = "".join(f"<td>{_cell(row[n], known.get(n))}</td>" for n in self.columns)
            body.append(f"<tr>{cells}</tr>")
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        if len(self) > MOST_BARS:
            return f"{table}<p>The first {MOST_BARS:,} of {len(self):,} rows.</p>"
        try:
            return table + self.plot()
        except DiscreetError:
            return table  # the plots extra is not installed, or nothing is a number


def _scaled(noisy: NDArray[Any], step: Fraction) -> NDArray[Any]:
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
    wide = any(isinstance(each, int) and abs(each) >= _WIDEST for each in labels)
    return np.array(labels, dtype=object if wide else None)


def _cell(value: Any, interval: tuple[float, float] | None) -> str:
    if interval is None or not isinstance(value, int | float):
        return escape(printable(str(value)))
    return f"{value:,.6g} <small>[{interval[0]:,.6g}, {interval[1]:,.6g}]</small>"


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise DiscreetError(f"{name} is not installed; run: pip install {name}") from None
