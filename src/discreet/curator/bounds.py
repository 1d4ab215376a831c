"""Bounds of a number column, read off a noisy histogram whose buckets are powers of two.
Writes one ordinary question and reads its answer; it never sees an exact value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.curator.answer import Answer
from discreet.errors import InvalidValue, UnsafeQuery
from discreet.mechanisms.priced import Noise
from discreet.plan.parts.remarks import Note
from discreet.plan.results.notes import table_notes
from discreet.query.readers.naming import free_name
from discreet.rationals import Number, positive
from discreet.schema.column import Column
from discreet.schema.table import Table, table_named
from discreet.schema.toml.write import decimal_literal

__all__ = ["Bounds", "Buckets", "FAILURE", "failure_probability"]

FAILURE = Fraction(1, 10**9)
"""How probable it may be, over all buckets, that an empty one is taken for one with rows."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """The powers of two between a column's declared bounds, and the question that counts them.

    With lattice integers k, the buckets are 0, the ranges 2^(i-1) < k <= 2^i, and their mirror
    images, all cut at the declared bounds [WZLDSG20]. A missing value is in none.
    >>> visits = Table("visits", columns=(Column("age", "integer", lower=-3, upper=10),))
    >>> Buckets(visits, visits.columns[0]).ranges
    ((-3, -3), (-2, -2), (-1, -1), (0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 10))
    """

    table: Table
    column: Column

    def __post_init__(self) -> None:
        if self.column.kind not in ("integer", "number"):
            raise UnsafeQuery(
                f"bounds are estimated for an integer or a number; {self.column.name} is a "
                f"{self.column.kind}. Of dates ask MIN and MAX. Nothing was charged."
            )

    @classmethod
    def of(cls, tables: Mapping[str, Table], table: str, column: str) -> "Buckets":
        """The buckets of a registered table's column, by name; capitals do not count."""
        known = table_named(tables, table)
        return cls(known, known.column(column))

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first and last lattice integer of every bucket, in order."""
        lower, upper = self.column.lower, self.column.upper
        powers = [1 << i for i in range(max(abs(lower), abs(upper)).bit_length() + 1)]
        mirrored = [-1, *(-power - 1 for power in powers)]
        ends = [end for end in sorted([*mirrored, 0, *powers]) if lower <= end < upper]
        starts = [lower, *(end + 1 for end in ends)]
        return tuple(zip(starts, [*ends, upper], strict=True))

    @property
    def question(self) -> str:
        """The question that counts the rows of every bucket, in one pass.

        >>> visits = Table("visits", columns=(Column("age", "integer", lower=18, upper=40),))
        >>> print(Buckets(visits, visits.columns[0]).question)
        /* bounds of age */ SELECT CASE WHEN "age" <= 32 THEN 0 WHEN "age" <= 40 THEN 1 END \
AS "bucket", COUNT(*) AS "rows" FROM "visits" GROUP BY "bucket"
        """
        used = [*(column.name for column in self.table.columns), self.table.unit or ""]
        key, count = (free_name(name, used) for name in ("bucket", "rows"))
        name, step = self.column.name, self.column.step
        # In steps, both sides of a comparison are integers of the lattice.
        steps = f'"{name}"' if step == 1 else f'"{name}" / ({step})'
        arms = " ".join(
            f"WHEN {steps} <= {last} THEN {place}" for place, (_, last) in enumerate(self.ranges)
        )
        return (
            f"/* bounds of {name.replace('*', ' ')} */ "
            f'SELECT CASE {arms} END AS "{key}", COUNT(*) AS "{count}" '
            f'FROM "{self.table.name}" GROUP BY "{key}"'
        )

    def bounds(self, answer: Answer) -> "Bounds":
        """What the answer to the question says about the bounds."""
        _, count = answer.columns
        (block,) = answer.plan.blocks
        return Bounds(
            buckets=self,
            noisy=tuple(row[count] for row in answer.to_dicts()),
            noise=block.noises[0],
            cost=answer.receipt.cost,
            free=answer.free,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bounds:
    """Estimated bounds: the outermost buckets whose noisy number of rows cannot be noise alone.

    With probability at least `confidence` both bounds come from buckets that hold rows. Rows
    beyond them are few, not none; rows beyond the declared bounds count as the bounds themselves.
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> visits = Table("visits", columns=(Column("age", "integer", lower=0, upper=1000),))
    >>> noisy = (3, 0, -2, 1, 1, 40, 208, 391, 250, -1, 2, 0)
    >>> Bounds(
    ...     buckets=Buckets(visits, visits.columns[0]),
    ...     noisy=noisy,
    ...     noise=DiscreteLaplace(scale=1),
    ...     cost={"epsilon": "1"},
    ...     free=False,
    ... )
    Bounds(visits.age: 9 to 128, 99.55% of the noisy rows; confidence 0.999999999, cost epsilon 1)
    """

    buckets: Buckets
    noisy: tuple[int, ...]
    noise: Noise
    cost: dict[str, str]
    free: bool
    failure: Fraction = FAILURE

    def at(self, *, failure: Number) -> "Bounds":
        """What the same noisy histogram says at another failure probability, at most 1/2; free."""
        return replace(self, failure=failure_probability(failure))

    @property
    def threshold(self) -> int:
        """What a noisy count must exceed for its bucket to count as one with rows.

        An empty bucket exceeds it with probability at most failure / buckets; one with more than
        twice as many rows falls short as seldom, because the noise is symmetric.
        """
        # Each side has half of what lies outside the half-width.
        return int(self.noise.error(1 - 2 * self.failure / len(self.noisy)))

    @property
    def confidence(self) -> float:
        """The probability that no empty bucket was taken for one with rows, or more."""
        return float(1 - self.failure)

    @property
    def _cleared(self) -> tuple[int, int] | None:
        """The first and the last bucket above the threshold."""
        threshold = self.threshold
        places = [place for place, count in enumerate(self.noisy) if count > threshold]
        return (places[0], places[-1]) if places else None

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """Both bounds exactly; None if no bucket cleared the threshold."""
        if self._cleared is None:
            return None
        ranges, step = self.buckets.ranges, self.buckets.column.step
        first, last = self._cleared
        return ranges[first][0] * step, ranges[last][1] * step

    @property
    def lower(self) -> int | float | None:
        """The estimated lower bound; None if no bucket cleared the threshold."""
        return None if self.ends is None else _plain_number(self.ends[0])

    @property
    def upper(self) -> int | float | None:
        """The estimated upper bound; None if no bucket cleared the threshold."""
        return None if self.ends is None else _plain_number(self.ends[1])

    @property
    def share(self) -> float | None:
        """Which share of the noisy rows lies inside; None if no bucket cleared the threshold."""
        if self._cleared is None:
            return None
        first, last = self._cleared
        inside, rows = sum(self.noisy[first : last + 1]), sum(self.noisy)
        return max(0.0, min(1.0, inside / rows)) if rows > 0 else 1.0

    @property
    def declared(self) -> tuple[str, ...]:
        """Which of the ends, "lower" and "upper", are the declared bounds, so may hide more."""
        if self._cleared is None:
            return ()
        at = zip(("lower", "upper"), self._cleared, (0, len(self.noisy) - 1), strict=True)
        return tuple(end for end, place, outermost in at if place == outermost)

    @property
    def declaration(self) -> str | None:
        """The bounds as a schema file writes them, exactly."""
        if self.ends is None:
            return None
        where = f"{self.buckets.table.name}.{self.buckets.column.name}"
        lower, upper = (decimal_literal(end, f"{where}: a bound") for end in self.ends)
        return f"lower = {lower}, upper = {upper}"

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is left out of the histogram, and bounded."""
        return table_notes(self.buckets.table, (self.buckets.column.name,))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "table": self.buckets.table.name,
            "column": self.buckets.column.name,
            "lower": self.lower,
            "upper": self.upper,
            "share": self.share,
            "confidence": self.confidence,
            "cost": dict(self.cost),
            "free": self.free,
            "notes": [{"text": note.text, "ask": note.ask or None} for note in self.notes],
        }

    def __repr__(self) -> str:
        name = f"{self.buckets.table.name}.{self.buckets.column.name}"
        bounds = f"none found; no bucket has more than {self.threshold} noisy rows"
        if self.share is not None:
            bounds = f"{self.lower} to {self.upper}, {100 * self.share:.4g}% of the noisy rows"
        cost = ", ".join(f"{part} {paid}" for part, paid in self.cost.items())
        return f"Bounds({name}: {bounds}; confidence {self.confidence:.12g}, cost {cost})"


def failure_probability(value: Number) -> Fraction:
    """Read a failure probability: above 0 and at most 1/2."""
    failure = positive(value, "failure")
    if failure > Fraction(1, 2):
        raise InvalidValue(f"failure is {value!s:.40}; it must be at most 1/2.")
    return failure


def _plain_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
