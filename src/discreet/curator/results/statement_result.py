"""The rows of a statement above several private blocks, with the errors of its columns.
Holds released numbers and public facts only; it never sees an exact value.
"""

import math
from fractions import Fraction
from typing import Any

from discreet.curator.answer_rows import Shown, decimals, interval_text, number_text
from discreet.errors import InvalidValue
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import Bucket
from discreet.plan.results.released import Released
from discreet.rationals import Number, probability
from discreet.upper.outcome import Outcome
from discreet.upper.plan import StatementPlan, half_width
from discreet.upper.simulate import LEVELS

__all__ = ["StatementResult"]

_CONFIDENCE = Fraction(95, 100)
_EVERYTHING = (-math.inf, math.inf)


class StatementResult:
    """The rows that stand above what the blocks of a statement released."""

    __slots__ = ("_columns", "_spreads", "blocks", "outcome", "plan")

    def __init__(self, plan: StatementPlan, blocks: tuple[Released, ...], outcome: Outcome) -> None:
        self.plan: StatementPlan = plan
        self.blocks = blocks
        self.outcome = outcome
        self._columns = dict(zip(self.columns, outcome.values(), strict=True))
        self._spreads = {spread.column: spread.ends for spread in outcome.spreads}

    def __len__(self) -> int:
        return len(self.outcome.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order; one that stands twice gets a number."""
        names: list[str] = []
        for name, _ in self.outcome.columns:
            count = names.count(name)
            names.append(f"{name}_{count + 1}" if count else name)
        return tuple(names)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that hold no noise, and those that are no numbers."""
        noisy = set(self._noisy())
        return tuple(name for name in self.columns if name not in noisy or not self._numeric(name))

    def _noisy(self) -> list[str]:
        shape = self.plan.shape.columns
        if len(shape) != len(self.columns):
            return list(self.columns)
        return [name for name, (_, found) in zip(self.columns, shape, strict=True) if found.noisy]

    def _numeric(self, name: str) -> bool:
        values = [value for value in self._columns[name] if value is not None]
        return all(isinstance(value, int | float) for value in values)

    @property
    def noisy(self) -> list[str]:
        """The columns that have intervals."""
        return list(self._widths(_CONFIDENCE)) + list(self._spreads)

    def _widths(self, confidence: Number) -> dict[str, float]:
        """The half-widths of the columns that are sums of noise with known factors."""
        shape = self.plan.shape.columns
        if len(shape) != len(self.columns):
            return {}
        widths = {
            name: half_width(self.plan, found, confidence)
            for name, (_, found) in zip(self.columns, shape, strict=True)
            if found.noisy and self._numeric(name)
        }
        return {name: width for name, width in widths.items() if width is not None}

    @property
    def in_ranks(self) -> dict[str, int]:
        """None: above several blocks no error is in ranks."""
        return {}

    def lists(self) -> dict[str, list[Any]]:
        """The values of every column, a row each."""
        return dict(self._columns)

    def narrow_lists(self) -> dict[str, list[Any]]:
        """The same, with floats where the type of a column is wider than 64 bits."""
        lists = self.lists()
        for name, (_, kind) in zip(self.columns, self.outcome.columns, strict=True):
            if kind == "HUGEINT":
                lists[name] = [None if value is None else float(value) for value in lists[name]]
        return lists

    def intervals(self, confidence: Number) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of every noisy column that has one.

        A sum of noisy counts and sums with known factors has its exact interval; of other columns
        simulated ones are kept for 50, 80, 90, 95 and 99%.
        """
        level = probability(confidence, "confidence")
        if self._spreads and level not in LEVELS:
            raise InvalidValue(
                f"confidence is {float(level):g}; simulated intervals are kept for "
                f"{', '.join(f'{float(known):g}' for known in LEVELS)}. Choose one of these."
            )
        widths = self._widths(level)
        rows = []
        for at in range(len(self)):
            row: dict[str, tuple[float, float]] = {}
            for name in self.columns:
                if name in widths:
                    row[name] = _around(self._columns[name][at], widths[name])
                elif name in self._spreads:
                    ends = self._spreads[name][at]
                    row[name] = _EVERYTHING if ends is None else ends[LEVELS.index(level)]
            rows.append(row)
        return rows

    def buckets(self, _: Number, /) -> list[dict[str, Bucket]]:
        """None: above several blocks nothing is chosen from buckets."""
        return [{} for _ in range(len(self))]

    @property
    def simulated(self) -> tuple[str, ...]:
        """The columns whose intervals are simulated."""
        return tuple(self._spreads)

    def is_bucketed(self, _: str, /) -> bool:
        """Whether a column is chosen from buckets: none is, above several blocks."""
        return False

    def shown(self) -> tuple[Shown, ...]:
        """Every column as texts, and beside each its interval."""
        intervals = self.intervals(_CONFIDENCE)
        shown = []
        for name in self.columns:
            values = self._columns[name]
            ends = [row[name] for row in intervals if name in row]
            if not ends:
                shown.append(Shown(name, tuple(_text(value) for value in values)))
                continue
            places = decimals(ends)
            texts = tuple(_text(value, places) for value in values)
            beside = tuple(
                "" if value is None else interval_text(end, places)
                for value, end in zip(values, ends, strict=True)
            )
            simulated = ", simulated" if name in self._spreads else ""
            shown.append(Shown(name, texts, beside, f"95% interval{simulated}"))
        return tuple(shown)

    def error_words(self, name: str) -> str:
        """What a chart's title says of the error of a column."""
        if name in self._spreads:
            return "with simulated 95% intervals"
        return "with 95% intervals" if name in self._widths(_CONFIDENCE) else "without intervals"

    def counted(self, _: Plan, /) -> list[tuple[float, float]] | None:
        """None: its blocks are answers of their own."""
        return None


def _around(value: Any, width: float) -> tuple[float, float]:
    return _EVERYTHING if value is None else (float(value) - width, float(value) + width)


def _text(value: Any, places: int | None = None) -> str:
    return "" if value is None else number_text(value, places)
