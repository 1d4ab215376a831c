"""Sample and aggregate over a table: the custodian's own Python function as a black box, charged to
an analyst's and the population's budget. Takes a curator, which analysts do not hold.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.curator import Curator
from discreet.curator.interrupts import handing_over
from discreet.curator.measurement import Exact, Measurement
from discreet.errors import InvalidValue
from discreet.estimates.estimate import Estimated
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import BitSource
from discreet.plan.results.notes import table_notes
from discreet.robust.blocks.blocks import SampleAndAggregate
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, BlockMode, Summary
from discreet.robust.tested.outcome import Outcome
from discreet.schema.table import Table, table_named

__all__ = ["sample_and_aggregate"]

# What the record calls our own summaries, whatever their classes are called.
_SUMMARIES: Mapping[type, str] = MappingProxyType(
    {BlockMean: "BlockMean", BlockMedian: "BlockMedian", BlockMode: "BlockMode"}
)


@handing_over
def sample_and_aggregate(
    curator: Curator,
    analyst: str,
    table: str,
    columns: Sequence[str],
    estimator: Callable[[NDArray[np.float64]], float],
    *,
    blocks: int,
    lattice: Lattice,
    summary: Summary,
    processor_seconds: int = 10,
    memory_bytes: int = 4 << 30,
    workers: int = 2,
) -> Estimated[Fraction | Outcome[Fraction]]:
    """Run a function on blocks of a table's units and release a private summary of its values.

    The function gets the rows of one block, one column for each of `columns`: clamped values as
    declared in the schema, NaN for NULL, in a random order that depends on the block's own rows
    alone. It must be importable by another process. `blocks`, `lattice` and the limits are public
    facts and must not be chosen by looking at the data. For the custodian only: a function can be
    as slow, large or talkative as its author likes, and how long a release takes depends on the
    data. The summary's loss for the table's unit and relation, if the function leaves nothing
    behind that other blocks could see [NRS07, Sec. 4], [MTSSC12].
    """
    known = _table(curator, table, columns)
    table = known.name
    mechanism = SampleAndAggregate(
        blocks=blocks,
        lattice=lattice,
        summary=summary,
        relation=known.neighbours,
        processor_seconds=processor_seconds,
        memory_bytes=memory_bytes,
    )
    mechanism.check(estimator)
    session = curator.session(analyst)
    name = getattr(estimator, "__qualname__", type(estimator).__name__)
    summarised = _SUMMARIES.get(type(summary)) or type(summary).__name__
    question = f"{name} of {', '.join(columns)} in {blocks} blocks"

    def release(exact: Exact, bits: BitSource) -> Fraction | Outcome[Fraction]:
        values, units = _columns(known, columns, exact.rows())
        return mechanism.release(estimator, values, units, bits, workers=workers)

    measurement = Measurement(
        plan=curator.prepare_rows(table, columns, question=question),
        cost=mechanism.loss(),
        label=f"Sample and aggregate on {table}",
        release=release,
        details={"mechanism": summarised},
    )
    receipt, estimate = session.measure(measurement)
    words = f"sample and aggregate, {summarised}"
    notes = table_notes(known, tuple(columns))
    return Estimated(estimate, words, mechanism.loss(), receipt, notes)


def _table(curator: Curator, table: str, columns: Sequence[str]) -> Table:
    known = table_named(curator.tables, table)
    if known.kind == "public":
        raise InvalidValue(f"{table} is public; read it as it is. Nothing was run or charged.")
    numbers = {column.name for column in known.columns if column.kind in ("integer", "number")}
    strangers = [name for name in columns if name not in numbers]
    if strangers or not columns:
        raise InvalidValue(
            f"columns is {list(columns)!r:.200}; name number columns of {table}: "
            f"{', '.join(sorted(numbers))}. Nothing was run or charged."
        )
    return known


def _columns(
    table: Table, columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> tuple[NDArray[np.float64], Sequence[Any] | None]:
    """The values of the rows, and their units; None where each row is one."""
    steps = {column.name: float(column.step) for column in table.columns}
    first = 0 if table.unit is None else 1
    exact = np.array(
        [[np.nan if value is None else value for value in row[first:]] for row in rows],
        dtype=np.float64,
    ).reshape(len(rows), len(columns))
    units = None if table.unit is None else [row[0] for row in rows]
    return exact * np.array([steps[column] for column in columns]), units
