"""What services hand to the door: one prepared statement, its price, and what is released of it.
A measurement is a value; what it releases is its own proof's business.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.curator.noising import exact_cells, exact_measures
from discreet.loss import Loss
from discreet.noise.bits import BitSource
from discreet.plan.pipeline import Plan
from discreet.plan.sql.dialects import dialect_of
from discreet.schema.table import Table
from discreet.upper.plan import StatementPlan

__all__ = ["Exact", "Measurement", "Prepared", "UnitRows"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class UnitRows:
    """The bounded rows of one table, a row each, with a text for each unit in front: a statement
    that is no aggregate, for functions that read rows.
    """

    sql: str
    tables: tuple[Table, ...]
    columns: tuple[str, ...]
    question: str
    working_seconds: Fraction

    @property
    def statements(self) -> tuple[str, ...]:
        """What the engine runs."""
        return (self.sql,)

    @classmethod
    def of(
        cls,
        table: Table,
        columns: tuple[str, ...],
        *,
        relation: str,
        dialect: str,
        question: str,
        seconds: Fraction,
    ) -> "UnitRows":
        """The rows of a table, as a FROM item.

        Rows whose units the engine takes for equal get the same text, and it depends on that unit's
        rows alone: a number that counts units would change with others.
        """
        listed = [f'"{name}"' for name in columns]
        if table.unit is not None:
            form = dialect_of(dialect)
            text = form.hash_of(f'CAST("$unit" AS {form.string})')
            listed.insert(0, f'min({text}) OVER (PARTITION BY "$unit") AS "$k"')
        sql = f"SELECT {', '.join(listed)} FROM {relation}"
        return cls(sql, (table,), columns, question, seconds)


Prepared = Plan | UnitRows | StatementPlan
"""Statements of ours over known tables; their rows are exact."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact result of a statement. It is seen by a measurement's `release` and nothing else.

    Privacy: NONE; neither it nor what it returns may leave a measurement.
    """

    _plan: Prepared = field(repr=False)
    _results: list[list[tuple[Any, ...]]] = field(repr=False)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as the engine gave them. They must not leave a measurement."""
        return self._results[0]

    def results(self) -> list[list[tuple[Any, ...]]]:
        """The rows of each of several statements. They must not leave a measurement."""
        return self._results

    def measures(self) -> tuple[NDArray[Any], ...]:
        """Each of `plan.measures`, with one value for each of `plan.groups`, empty ones included.

        It must not leave a measurement.
        """
        assert isinstance(self._plan, Plan)
        return exact_measures(self._plan, self._results[0])

    def cells(self) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
        """Only the groups that have rows: the place of each key in its domain, and the measures.

        For domains too large to list. How many there are depends on data. It must not leave a
        measurement.
        """
        assert isinstance(self._plan, Plan)
        return exact_cells(self._plan, self._results[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Generic[_Result]):
    """One prepared statement, its price, and what is released of its exact result.

    `plan` is from `Session.prepare`: its statement, groups, measures and their sensitivities hold;
    its own price and noise are not used. `cost` is charged before the engine runs; None says that
    an earlier charge has paid for this run. `label` begins refusals and stands in the ledger, as do
    `details`: public words only. `seconds` is what `release` may take besides the statement: a
    public fact, which says with the plan's own when a remote outcome can be seen.
    Privacy: `release` must cost at most `cost`, or what was paid earlier, for the plan's
    sensitivities; its proof is its author's.
    """

    plan: Prepared
    cost: Loss | None
    label: str
    release: Callable[[Exact, BitSource], _Result]
    details: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    seconds: Fraction = Fraction(0)

    @property
    def working_seconds(self) -> Fraction:
        """What statement and release may take together."""
        return self.plan.working_seconds + self.seconds
