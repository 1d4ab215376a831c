"""What a source has to be for its schema: readable as a whole, and without values that a rule of
the schema calls an error. Reads rows to count them; for the custodian, at registration only.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from discreet.engines.origins import Origin
from discreet.errors import SchemaError
from discreet.plan.prepare import lattice_rows, missing_count
from discreet.schema.table import Table

__all__ = ["check_in_place", "check_missing"]

_LIMIT_SECONDS = 3600
_REFUSED = {"infinity": "infinities", "nan": "NaN", "null": "missing values"}


def check_in_place(table: Table, origin: Origin, scratch: Path) -> None:
    """Evaluate every row once, so that a source the engine cannot read is refused now.

    Privacy: none; what is counted stays here.
    >>> check_in_place.__name__
    'check_in_place'
    """
    types = origin.types()
    check_missing(table, origin, types, scratch)
    counts = ", ".join(["count(*)", *(f'count("{column.name}")' for column in table.columns)])
    rows = lattice_rows(table, origin.relation("source"), types, origin.dialect)
    with closing(origin.engine(time_limit_seconds=_LIMIT_SECONDS, scratch=scratch)) as engine:
        engine.rows(f"SELECT {counts} FROM ({rows}) AS prepared")


def check_missing(table: Table, origin: Origin, types: Mapping[str, str], scratch: Path) -> None:
    """Refuse values where a rule of the schema says "error"; also checks the columns.

    Privacy: whether there are such values is exact, for the custodian at registration only.
    >>> check_missing.__name__
    'check_missing'
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
                f'"error". Write {refusal.rule} = "drop" or another rule, or mend the source. '
                "Nothing was added."
            )
