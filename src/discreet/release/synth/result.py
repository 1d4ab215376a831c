"""What a synthesis gives: rows with the schema's types, counts with errors, and what it cost.
Holds released numbers and public facts only.
"""

import csv
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, Unavailable
from discreet.noise.bits import BitSource, system
from discreet.plan.parts.remarks import Note
from discreet.rationals import whole
from discreet.release.synth.columns import CodedColumn
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.spread import Replicas, replicas

__all__ = ["Estimate", "Synthesis"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A count from the model, and the standard error that the mechanism's noise gives it.

    >>> Estimate(100.0, 5.0).interval()
    (90.0, 110.0)
    """

    value: float
    error: float

    def interval(self) -> tuple[float, float]:
        """Two standard errors to each side: about where noise alone lets the count be.

        An approximation, since the error is that of a few refitted models. It is not promised to
        hold with any probability.
        >>> Estimate(0.0, 0.0).interval()
        (0.0, 0.0)
        """
        half = 2 * self.error
        return self.value - half, self.value + half


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A private model of a table: it draws rows and answers counts.

    Privacy: post-processing of one charged release.
    """

    table: str
    fields: tuple[CodedColumn, ...] = field(repr=False)
    model: Synthetic = field(repr=False)
    cost: str
    unit: str
    neighbours: str
    receipt: str
    analyst: str
    question: str = field(repr=False)
    method: str
    notes: tuple[Note, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(coded.column.name for coded in self.fields)

    def rows(self, count: int, bits: BitSource = system) -> dict[str, list[Any]]:
        """Synthetic rows, column by column, with the schema's types.

        Privacy: post-processing.
        """
        codes = self.model.codes(whole(count, "rows"), bits)
        return {
            coded.column.name: coded.read(codes[:, place], bits)
            for place, coded in enumerate(self.fields)
        }

    def write(self, path: str | Path, count: int, bits: BitSource = system) -> Path:
        """Write synthetic rows as a file that ends in .csv or .parquet.

        Privacy: post-processing.
        """
        target = Path(path)
        if target.suffix not in (".csv", ".parquet"):
            raise InvalidValue(f"{target.name}: write a file that ends in .csv or .parquet.")
        drawn = self.rows(count, bits)
        if target.suffix == ".csv":
            with target.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(drawn)
                writer.writerows(zip(*drawn.values(), strict=True))
            return target
        try:
            arrow = import_module("pyarrow")
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise Unavailable("a Parquet file needs the package pyarrow; write .csv.") from None
        parquet.write_table(arrow.table(drawn), target)
        return target

    def spread(self, count: int = 12, bits: BitSource = system) -> Replicas:
        """The model fitted again to its own marginals with new noise, so many times.

        Privacy: post-processing.
        """
        return replicas(self.model, count, bits)

    def count(
        self, where: Mapping[str, Collection[Any]], spread: Replicas | None = None
    ) -> Estimate:
        """How many rows have, in every named column, one of the values given.

        Exact for the model whatever the columns, so better than counting synthetic rows. With
        replicas it has a standard error: that of the mechanism's noise, not of what the model
        leaves out, for which see `model.marks`.
        """
        chosen = {self._place(name): self._share(name, values) for name, values in where.items()}
        value = self.model.count(chosen)
        error = math.nan if spread is None else spread.deviation(chosen)
        return Estimate(value, error)

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise InvalidValue(f"there is no column {name!r}; there are {', '.join(self.columns)}.")
        return self.columns.index(name)

    def _share(self, name: str, values: Collection[Any]) -> NDArray[np.float64]:
        """Of each code, the share that the values make up."""
        one = self.fields[self._place(name)]
        wanted = set(values)
        return np.array(
            [sum(label in wanted for label in labels) / len(labels) for labels in one.labels()]
        )
