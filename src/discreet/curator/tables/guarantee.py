"""One budget is one guarantee: what tables of the same people or rows must have in common."""

from collections.abc import Iterable

from discreet.errors import SchemaError
from discreet.schema.table import Table

__all__ = ["check_same_guarantee"]


def check_same_guarantee(table: Table, others: Iterable[Table]) -> None:
    """Refuse a table that would give the people of another one a different guarantee.

    The same neighbours for one population, one unit for a table of one name, nobody half public.
    That the same rows have one unit under all names, the catalogue sees by what they are.
    >>> check_same_guarantee(Table("visits"), [Table("visits", unit="patient")])
    Traceback (most recent call last):
    discreet.errors.SchemaError: visits: the unit is the row, but what was charged so far for \
visits protects patient. Keep the unit; another one needs another vault. Nothing was added.
    """
    for known in others:
        same_rows = known.name == table.name or (
            known.source is not None and known.source == table.source
        )
        if same_rows and known.unit_column != table.unit_column:
            now, before = (one.unit_column or "the row" for one in (table, known))
            raise SchemaError(
                f"{table.name}: the unit is {now}, but what was charged so far for {known.name} "
                f"protects {before}. Keep the unit; another one needs another vault. "
                "Nothing was added."
            )
        same_people = known.name != table.name and known.population == table.population
        if same_people and known.kind != table.kind:
            raise SchemaError(
                f"{table.name}: {known.name} of the population {known.population!r} is "
                f"{known.kind}, and nobody is protected by half. Name another population. "
                "Nothing was added."
            )
        if known.population == table.population and known.neighbours is not table.neighbours:
            raise SchemaError(
                f"{table.name}: neighbours is {table.neighbours}, but {known.name} of the same "
                f"population has {known.neighbours}; one budget needs one relation. "
                "Nothing was added."
            )
