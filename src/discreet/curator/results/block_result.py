"""The rows of one private block as an answer shows them: keys, noisy values and their errors.
Holds released numbers and public facts only; it never sees an exact value.
"""

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.curator.answer_rows import Shown, off_text, show_columns
from discreet.plan.parts.measures import Chosen
from discreet.plan.pipeline import Plan
from discreet.plan.results.columns import columns_of, is_narrow
from discreet.plan.results.evaluate import (
    Bucket,
    Estimate,
    buckets,
    estimates,
    find_ranked,
    keep_rows,
    ranks_off,
)
from discreet.plan.results.released import Released
from discreet.query.algebra import IntervalEnd
from discreet.rationals import Number

__all__ = ["BlockResult"]

_CONFIDENCE = Fraction(95, 100)


class BlockResult:
    """The rows that a released block shows."""

    __slots__ = ("_rows", "_usual", "plan", "released")

    def __init__(self, released: Released) -> None:
        self.plan: Plan = released.plan
        self.released = released
        self._usual: dict[str, Estimate] | None = None
        ranked = self.plan.query.having is not None or self.plan.query.order
        self._rows = keep_rows(released, self._columns() if ranked else {})

    def _estimates(self, confidence: Number = _CONFIDENCE) -> dict[str, Estimate]:
        """Every column with its intervals; those that are asked for most are made once."""
        if confidence != _CONFIDENCE:
            return estimates(self.released, confidence)
        if self._usual is None:
            self._usual = estimates(self.released, _CONFIDENCE)
        return self._usual

    def _columns(self) -> dict[str, NDArray[Any]]:
        return columns_of(self.released, self._estimates())

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.plan.query.columns

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that hold no noise."""
        named = self.released.keys().keys()
        return tuple(name for name in self.columns if name in named)

    def lists(self) -> dict[str, list[Any]]:
        """The values of every column, a row each."""
        columns = self._columns()
        return {name: columns[name][self._rows].tolist() for name in self.columns}

    def narrow_lists(self) -> dict[str, list[Any]]:
        """Columns for libraries without integers beyond 64 bits: wide ones become floats."""
        lists = self.lists()
        for output in self.plan.query.outputs:
            # By public bounds, so that a type says nothing about values.
            if is_narrow(self.plan, output) is False:
                lists[output.name] = [float(value) for value in lists[output.name]]
        return lists

    def intervals(self, confidence: Number) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of every noisy column; of those `in_ranks`, the ranks."""
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

    @property
    def in_ranks(self) -> dict[str, int]:
        """The columns whose intervals are numbers of rows, each with its place among choices."""
        return {name: chosen.pick for name, chosen in self._find_ranked().items()}

    def _find_ranked(self) -> dict[str, Chosen]:
        choices = {
            output.name: find_ranked(self.plan, output.expression)
            for output in self.plan.query.outputs
        }
        return {name: chosen for name, chosen in choices.items() if chosen is not None}

    def buckets(self, confidence: Number) -> list[dict[str, Bucket]]:
        """For each row the buckets of the quantiles that are chosen from buckets of values."""
        columns = buckets(self.released, confidence)
        return [{name: values[row] for name, values in columns.items()} for row in self._rows]

    def shown(self) -> tuple[Shown, ...]:
        """Every column as texts, and beside each its interval, rank error or bucket."""
        lists = self.lists()
        rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        return show_columns(self.plan, rows, self.intervals(_CONFIDENCE), self.buckets(_CONFIDENCE))

    @property
    def noisy(self) -> list[str]:
        """The columns that have errors: all but keys and the ends of intervals."""
        return [
            output.name
            for output in self.plan.query.outputs
            if not isinstance(output.expression, IntervalEnd)
        ]

    @property
    def simulated(self) -> tuple[str, ...]:
        """None: the errors of a block are known."""
        return ()

    def is_bucketed(self, name: str) -> bool:
        """Whether a column is a quantile that is chosen from buckets."""
        chosen = self._find_ranked().get(name)
        return chosen is not None and self.plan.picks[chosen.pick].width > 1

    def error_words(self, name: str) -> str:
        """What a chart's title says of the error of a column."""
        chosen = self._find_ranked().get(name)
        if chosen is None:
            return "with 95% intervals"
        pick, choice = self.plan.picks[chosen.pick], self.plan.choices[chosen.pick]
        off = off_text(choice.error(_CONFIDENCE), chosen.statistic)
        within = "in buckets, some value of each " if pick.width > 1 else ""
        return f"{within}{off} with 95%"

    def counted(self, wanted: Plan) -> list[tuple[float, float]] | None:
        """The 95% intervals of a count that this was made from, if it is the wanted one."""
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
        return [(float(n) - width, float(n) + width) for n in self.released.noisy[place]]
