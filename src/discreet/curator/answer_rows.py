"""The rows of an answer as people read them: keys, noisy values, and beside each value its
interval, its error in ranks or its bucket. Terminals, notebooks and pages all show these texts.
Post-processing: released values and public facts only.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.drawing.chart import printable
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import Bucket, find_ranked
from discreet.query.algebra import Expression, IntervalEnd, Statistic

__all__ = [
    "Shown",
    "bucket_text",
    "decimals",
    "interval_text",
    "number_text",
    "off_text",
    "places_of",
    "plain_table",
    "show_columns",
]

_LARGEST_PLACES = 6


@dataclass(frozen=True, slots=True)
class Shown:
    """One column of an answer as texts, a row each; a key has nothing beside its values."""

    name: str
    values: tuple[str, ...]
    beside: tuple[str, ...] | None = None
    heading: str = "95% interval"

    @property
    def noisy(self) -> bool:
        """Whether something stands beside the values."""
        return self.beside is not None


def show_columns(
    plan: Plan,
    rows: Sequence[Mapping[str, Any]],
    intervals: Sequence[Mapping[str, tuple[float, float]]],
    buckets: Sequence[Mapping[str, Bucket]],
) -> tuple[Shown, ...]:
    """The columns of an answer, in order; nothing stands beside an end of an interval."""
    noisy = {output.name: output.expression for output in plan.query.outputs}
    columns = []
    for name in plan.query.columns:
        if name not in noisy:
            columns.append(Shown(name, tuple(number_text(row[name]) for row in rows)))
            continue
        ends = [row[name] for row in intervals]
        places, beside = _format_beside(plan, noisy[name], ends, [row.get(name) for row in buckets])
        values = tuple(number_text(row[name], places) for row in rows)
        shown_beside = () if isinstance(noisy[name], IntervalEnd) else tuple(beside)
        columns.append(Shown(name, values, shown_beside))
    return tuple(columns)


def _format_beside(
    plan: Plan,
    expression: Expression,
    intervals: list[tuple[float, float]],
    buckets: list[Bucket | None],
) -> tuple[int, list[str]]:
    """The decimals of a noisy column, and what stands beside its values."""
    chosen = find_ranked(plan, expression)
    if chosen is None:
        places = decimals(intervals)
        return places, [interval_text(interval, places) for interval in intervals]
    pick = plan.picks[chosen.pick]
    places = places_of(pick.step)
    if pick.width > 1:
        return places, [bucket_text(bucket, places) for bucket in buckets if bucket is not None]
    return places, [off_text(most, chosen.statistic) for _, most in intervals]


def plain_table(columns: Sequence[Shown], *, most: int) -> str:
    """The first rows as text in columns: keys to the left, numbers with their intervals.

    >>> region = Shown("region", ("north", "south"))
    >>> print(plain_table([region, Shown("n", ("5", "12"), ("[1, 9]", "[8, 16]"))], most=9))
    region   n  95% interval
    north    5  [1, 9]
    south   12  [8, 16]
    """
    lines: list[str] = []
    texts: list[list[str]] = []
    for column in columns:
        cells = [column.name, *column.values[:most]]
        wide = max(map(len, cells))
        align = str.rjust if column.noisy else str.ljust
        texts.append([align(cell, wide) for cell in cells])
        if column.beside:
            cells = [column.heading, *column.beside[:most]]
            texts.append([cell.ljust(max(map(len, cells))) for cell in cells])
    lines = ["  ".join(row).rstrip() for row in zip(*texts, strict=True)]
    count = len(columns[0].values) if columns else 0
    if count > most:
        lines.append(f"... the first {most:,} of {count:,} rows")
    return "\n".join(lines)


def decimals(intervals: Iterable[tuple[float, float]]) -> int:
    """How many decimals a noisy column can bear: two digits of its smallest half-width.

    >>> decimals([(1230.0, 1239.0), (3.0, 4.0)]), decimals([(0.0, 900.0)])
    (2, 0)
    """
    widths = [(high - low) / 2 for low, high in intervals]
    useful = [width for width in widths if 0 < width < math.inf]
    if not useful:
        return 2
    return min(max(1 - math.floor(math.log10(min(useful))), 0), _LARGEST_PLACES)


def number_text(value: object, places: int | None = None) -> str:
    """A value of an answer; `places` are the decimals of a noisy one, None marks a key.

    >>> number_text(1234.5678, 1), number_text(1234, 1), number_text("north"), number_text(2024)
    ('1,234.6', '1,234', 'north', '2024')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return printable(str(value))
    if places is None:
        return str(value) if isinstance(value, int) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{places}f}"


def places_of(step: Fraction) -> int:
    """How many decimals show every multiple of a step, up to six.

    >>> places_of(Fraction(1, 2)), places_of(Fraction(10)), places_of(Fraction(1, 3))
    (1, 0, 6)
    """
    exact = (n for n in range(_LARGEST_PLACES) if (step * 10**n).denominator == 1)
    return next(exact, _LARGEST_PLACES)


def off_text(rows: float, statistic: Statistic) -> str:
    """The error of a selected value: of a quantile in ranks, of a mode in rows.

    >>> off_text(138.2, Statistic.QUANTILE), off_text(3.5, Statistic.MODE)
    ('± 139 ranks', 'at most 4 rows behind')
    """
    most = f"{math.ceil(rows):,}"
    if statistic is Statistic.MODE:
        return f"at most {most} rows behind"
    return f"± {most} ranks"


def bucket_text(bucket: Bucket, places: int) -> str:
    """The bucket that a quantile was chosen with, and the error of the rank of a value in it.

    >>> bucket_text(Bucket(1000, 1063, 24.2), 0)
    'in [1,000, 1,063]: ± 25 ranks'
    """
    ends = ", ".join(number_text(end, places) for end in (bucket.low, bucket.high))
    return f"in [{ends}]: {off_text(bucket.ranks, Statistic.QUANTILE)}"


def interval_text(interval: tuple[float, float], places: int) -> str:
    """An interval with as many decimals as its value, rounded outwards; whole ends have none.

    >>> interval_text((1230.25, 1239.01), 1), interval_text((3.0, 11.0), 1)
    ('[1,230.2, 1,239.1]', '[3, 11]')
    """
    if all(end.is_integer() for end in interval):
        return f"[{interval[0]:,.0f}, {interval[1]:,.0f}]"
    ends = [
        end if math.isinf(end) else rounded(Fraction(end) * 10**places) / 10**places
        for end, rounded in zip(interval, (math.floor, math.ceil), strict=True)
    ]
    return f"[{ends[0]:,.{places}f}, {ends[1]:,.{places}f}]"
