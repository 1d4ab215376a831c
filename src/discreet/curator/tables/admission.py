"""What a source has to be for its schema: readable as a whole, and without values that a rule of
the schema calls an error. Reads rows to count them; for the custodian, at registration only.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from fractions import Fraction
from math import ceil
from pathlib import Path

from discreet.curator.tables.intake import Intake
from discreet.engines.origins import Origin
from discreet.engines.protocol import Engine
from discreet.errors import SchemaError
from discreet.plan.sql.preparation.statement import lattice_rows, missing_count
from discreet.schema.table import Table

__all__ = ["advise_seconds", "check_in_place", "check_missing"]

_LIMIT_SECONDS = 3600
_ROOM = 2  # a question may take so many times what counting the units takes
_REFUSED = {"infinity": "infinities", "nan": "NaN", "null": "missing values"}


def check_in_place(table: Table, intake: Intake, scratch: Path) -> None:
    """Evaluate every row once, so that a source the engine cannot read is refused now.

    What is counted stays here.
    """
    origin, types = intake.origin, intake.types
    check_missing(table, origin, types, scratch)
    counts = ", ".join(["count(*)", *(f'count("{column.name}")' for column in table.columns)])
    rows = lattice_rows(table, origin.relation("source"), types, origin.dialect)
    with closing(origin.engine(time_limit_seconds=_LIMIT_SECONDS, scratch=scratch)) as engine:
        engine.rows(f"SELECT {counts} FROM ({rows}) AS prepared")


def check_missing(table: Table, origin: Origin, types: Mapping[str, str], scratch: Path) -> None:
    """Refuse values where a rule of the schema says "error"; also checks the columns.

    Whether there are such values is exact, for the custodian at registration only.
    """
    counted = missing_count(table, origin.relation("source"), types, origin.dialect)
    if counted is None:
        return
    refusals, statement = counted
    with closing(origin.engine(time_limit_seconds=_LIMIT_SECONDS, scratch=scratch)) as engine:
        numbers = engine.rows(statement)[0]
    for refusal, number in zip(refusals, numbers, strict=True):
        if number:
            what = _REFUSED[refusal.rule]
            raise SchemaError(
                f"{table.name}: column {refusal.column!r} has {what} and {refusal.rule} = "
                f'"error". Write {refusal.rule} = "drop" or another rule, or correct the source. '
                "Nothing was added."
            )


def advise_seconds(
    engine: Engine, usual: Fraction, *, clock: Callable[[], float] = time.perf_counter
) -> Fraction | None:
    """The answer_seconds to declare for a table whose units take longer to count than the usual
    time; None where the usual time will do.

    The time is measured, for the custodian alone, who declares a number or does not.
    """
    engine.rows('SELECT COUNT(*) FROM "prepared"')  # starts it
    start = clock()
    engine.rows('SELECT COUNT(DISTINCT "$unit") FROM "prepared"')
    seconds = Fraction(clock() - start)
    return None if seconds <= usual else Fraction(ceil(seconds * _ROOM * 10), 10)
