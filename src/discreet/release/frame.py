"""What a release sees of a table: its axes with public labels, what one unit may contribute, and
how exact cells are counted. The exact half lives inside a measurement only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.measurement import Exact
from discreet.curator.session import Session
from discreet.errors import InvalidValue
from discreet.linear.marginals import count_cells
from discreet.plan.parts.keys import Label, label
from discreet.plan.pipeline import Plan
from discreet.plan.sql.expressions import bounded, scope
from discreet.release.tables.allocation import Unit
from discreet.release.texts import Texts
from discreet.schema.column import nearest

__all__ = ["Axis", "Cells", "Frame", "MISSING"]

MISSING = "missing"
"""The label of the rows in which a number is not known."""

_MOST_GROUPS = 1 << 62
_MOST_KEYS = 1 << 20


@dataclass(frozen=True, slots=True)
class Axis:
    """One column, or expression, by which rows are told apart.

    `codes` are the lattice integers of the engine, in order; with `missing`, the first of them
    stands for rows in which the value is not known.
    >>> Axis("age", "age", (0, 1), (0, 1), Fraction(1), missing=False).cells
    2
    """

    name: str
    sql: str
    codes: tuple[int, ...]
    labels: tuple[Label, ...]
    step: Fraction
    missing: bool

    @property
    def cells(self) -> int:
        """How many values it has."""
        return len(self.codes)

    @property
    def known(self) -> "Axis":
        """The axis without the place of rows whose value is not known.

        >>> Axis("age", "age", (-1, 0), ("missing", 0), Fraction(1), missing=True).known.labels
        (0,)
        """
        if not self.missing:
            return self
        return replace(self, codes=self.codes[1:], labels=self.labels[1:], missing=False)


@dataclass(frozen=True, slots=True)
class Cells:
    """The exact cells of a release, for its parts only.

    Privacy: NONE; nothing of it may leave a measurement.
    """

    frame: "Frame" = field(repr=False)
    _places: NDArray[np.int64] = field(repr=False)
    _measures: tuple[NDArray[Any], ...] = field(repr=False)

    @classmethod
    def of(cls, frame: "Frame", exact: Exact) -> "Cells":
        """Read what the engine found.

        Privacy: NONE; the result is exact.
        """
        places, measures = exact.cells()
        return cls(frame, places, measures)

    @property
    def counts(self) -> NDArray[Any]:
        """How many rows each cell has. The result is exact."""
        return self.measure(((1, "COUNT(*)"),))

    def measure(self, terms: tuple[tuple[int, str], ...]) -> NDArray[Any]:
        """The exact measure with these terms, by cell. The result is exact."""
        return self._measures[self.frame.measure_place(terms)]

    def places(self, name: str) -> NDArray[np.int64]:
        """For each cell its place along an axis. The result is exact."""
        return self._places[:, self.frame.place(name)]

    def table(self, axes: Sequence[Axis]) -> NDArray[np.int64]:
        """The exact counts over these axes. Of one without the frame's place for rows whose value
        is not known, such rows are left out.

        The result is exact.
        """
        exact_counts = self.counts
        places = [
            self.places(axis.name) - (self.frame.axis(axis.name).cells - axis.cells)
            for axis in axes
        ]
        inside = np.ones(len(exact_counts), dtype=bool)
        for place in places:
            inside &= place >= 0
        sizes = tuple(axis.cells for axis in axes)
        return count_cells([place[inside] for place in places], exact_counts[inside], sizes)


@dataclass(frozen=True, slots=True)
class Frame:
    """A table as a release reads it: one statement that groups by every axis.

    Privacy: holds the plan, no row.
    """

    session: Session = field(repr=False, compare=False)
    table: str
    where: str
    axes: tuple[Axis, ...]
    plan: Plan = field(repr=False)

    @classmethod
    def of(
        cls,
        session: Session,
        table: str,
        columns: Mapping[str, str],
        *,
        where: str = "",
        aggregates: Sequence[str] = (),
    ) -> "Frame":
        """Plan the statement for these columns, each a name and its SQL expression.

        Privacy: reads the schema and the accounts, no row.
        """
        texts = Texts(session, table)
        for name, sql in columns.items():
            _plan_statement(session, texts, {name: sql}, where, (), most=_MOST_KEYS)
        first = _plan_statement(session, texts, columns, where, aggregates, most=_MOST_GROUPS)
        rewritten, missing = _add_missing(first, columns)
        plan = first
        if rewritten != dict(columns):
            plan = _plan_statement(session, texts, rewritten, where, aggregates, most=_MOST_GROUPS)
        column_bounds = scope(plan.table, plan.dialect)
        axes = []
        for domain, key, name in zip(plan.domains, plan.query.keys, columns, strict=True):
            labels, step = domain.labels, bounded(key.expression, column_bounds).step
            if name in missing:  # codes count steps, from one below the least
                step = missing[name]
                known = (label("number", (), step, code) for code in domain.codes[1:])
                labels = (MISSING, *known)
            axes.append(Axis(name, columns[name], domain.codes, labels, step, name in missing))
        return cls(session, table, where, tuple(axes), plan)

    @property
    def unit(self) -> Unit:
        """What one unit may contribute to the statement."""
        contribution = self.plan.contribution
        return Unit(rows=contribution.rows_per_unit, relation=contribution.relation)

    def place(self, name: str) -> int:
        """The position of an axis."""
        for place, axis in enumerate(self.axes):
            if axis.name == name:
                return place
        known = [axis.name for axis in self.axes]
        raise InvalidValue(f"the release has no column {name!r}. {nearest(name, known)}")

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return self.axes[self.place(name)]

    def measure_place(self, terms: tuple[tuple[int, str], ...]) -> int:
        """The position of the measure with these terms."""
        for place, measure in enumerate(self.plan.measures):
            if measure.terms == terms:
                return place
        raise InvalidValue(
            "a statistic needs sums that another one of this release keeps around another centre. "
            "Ask for SUM and for AVG of one column in two releases. Nothing was charged."
        )


def _plan_statement(
    session: Session,
    texts: Texts,
    columns: Mapping[str, str],
    where: str,
    aggregates: Sequence[str],
    *,
    most: int,
) -> Plan:
    outputs = {"rows_counted": "COUNT(*)"}
    outputs |= {f"a{place}": sql for place, sql in enumerate(aggregates)}
    sql, expected = texts.question(where=where, keys=columns, outputs=outputs)
    plan = session.prepare(sql, most_groups=most)
    texts.check_agreement(plan.query, expected, "the release")
    return plan


def _add_missing(
    plan: Plan, columns: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Fraction]]:
    """Numbers that may not be known get a value of their own, one step below the least.

    They are counted in steps, so that the value has the lattice of the others whatever the step:
    a literal such as -10 beside steps of 10 would stand on the integers, and so would all. What a
    rule such as null = "error" refuses at registration has no value.
    """
    accepted = replace(plan.table, columns=tuple(column.accepted for column in plan.table.columns))
    column_bounds = scope(accepted, plan.dialect)
    rewritten: dict[str, str] = dict(columns)
    missing: dict[str, Fraction] = {}
    for key, name in zip(plan.query.keys, columns, strict=True):
        value = bounded(key.expression, column_bounds)
        if value.missing == "never" or value.kind != "number":
            continue
        sql, step = columns[name], value.step
        counted = f"FLOOR(({sql}) / ({step.numerator} / {step.denominator}))"
        rewritten[name] = f"CASE WHEN {sql} IS NULL THEN {value.lower - 1} ELSE {counted} END"
        missing[name] = step
    return rewritten, missing
