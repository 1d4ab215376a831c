"""Released blocks as tables of the upper engine: a name, a type and values for every column.
Types follow from plans, never from released values. Post-processing only.
"""

import base64
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plan.model import Plan
from discreet.plan.parts.keys import KeyDomain, Label
from discreet.plan.results.columns import columns_of, is_narrow
from discreet.plan.results.evaluate import (
    estimates,
    find_picked,
    keep_rows,
    simple_measure,
)
from discreet.plan.results.released import Released
from discreet.query.algebra import Output
from discreet.upper.engine import Loaded
from discreet.upper.write import name

__all__ = ["empty_table", "kinds_of", "leaf_of", "load_floats", "load_rows", "shown_rows"]

_TYPES = (
    (bool, "BOOLEAN"),
    (int, "BIGINT"),
    (float, "DOUBLE"),
    (datetime, "TIMESTAMP"),
    (date, "DATE"),
    (str, "VARCHAR"),
)


def kinds_of(plan: Plan) -> dict[str, str]:
    """The type of every column of a block, in its order."""
    known = {domain.name: _key_kind(domain) for domain in plan.domains}
    for output in plan.query.outputs:
        known[output.name] = _output_kind(plan, output)
    return {column: known[column] for column in plan.query.columns}


def _key_kind(domain: KeyDomain) -> str:
    return "VARCHAR" if domain.private else _kind(domain.labels)


def _output_kind(plan: Plan, output: Output) -> str:
    chosen = find_picked(plan, output.expression)
    if chosen is not None:
        pick = plan.picks[chosen.pick]
        return _kind((pick.value(0),))
    return "BIGINT" if is_narrow(plan, output) and _is_whole(plan, output) else "DOUBLE"


def _is_whole(plan: Plan, output: Output) -> bool:
    place = simple_measure(plan, output.expression)
    return place is not None and plan.measures[place].step.denominator == 1


def _kind(labels: Iterable[Label]) -> str:
    """The type of labels; whole and other numbers together are floats."""
    found = {next(kind for known, kind in _TYPES if isinstance(label, known)) for label in labels}
    return "DOUBLE" if found == {"BIGINT", "DOUBLE"} else found.pop()


def shown_rows(released: Released) -> tuple[dict[str, NDArray[Any]], NDArray[np.intp]]:
    """Every column of a block, and which of its groups it shows, in order."""
    columns = columns_of(released, estimates(released))
    return columns, keep_rows(released, columns)


def load_rows(
    plan: Plan, columns: Mapping[str, NDArray[Any]], rows: NDArray[np.intp]
) -> list[Loaded]:
    """The rows of a block for the engine, after the place of each in the block."""
    kinds = kinds_of(plan)
    loaded = [Loaded("BIGINT", [str(place) for place in range(len(rows))])]
    for column, kind in kinds.items():
        values = columns[column][rows]
        loaded.append(load_floats(values) if kind == "DOUBLE" else _load(kind, values.tolist()))
    return loaded


def empty_table(plan: Plan) -> list[Loaded]:
    """The columns of a block without a row."""
    return [Loaded("BIGINT", []), *(Loaded(kind, []) for kind in kinds_of(plan).values())]


def _load(kind: str, values: list[Any]) -> Loaded:
    if kind == "BOOLEAN":
        return Loaded(kind, ["true" if value else "false" for value in values])
    return Loaded(kind, [str(value) for value in values])


def load_floats(values: NDArray[Any], kind: str = "DOUBLE") -> Loaded:
    """Numbers for the engine, of this type there."""
    floats = np.ascontiguousarray(values, dtype="<f8")
    return Loaded(kind, None, base64.b64encode(floats.tobytes()).decode())


def leaf_of(plan: Plan, place: int) -> str:
    """The SELECT that reads the rows of a block in the engine."""
    listed = [f'"c{at}" AS {name(column)}' for at, column in enumerate(plan.query.columns, 1)]
    return f'SELECT {", ".join(listed)} FROM "$b{place}" ORDER BY "c0"'
