"""A table's public facts as plain values that JSON can carry."""

from typing import Any

from discreet.display.words import protected_text
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["column_values", "table_values"]


def table_values(table: Table) -> dict[str, Any]:
    """Name, unit, neighbours and columns with their bounds and keys; never where the data lies.

    Privacy: none (touches no data); public facts.
    >>> table_values(Table("visits"))["name"]
    'visits'
    """
    return {
        "name": table.name,
        "kind": table.kind,
        "population": table.population,
        "unit": table.unit,
        "rows_per_unit": table.rows_per_unit,
        "neighbours": table.neighbours.value,
        "protected": protected_text(table),
        "columns": [column_values(each) for each in table.columns],
    }


def column_values(column: Column) -> dict[str, Any]:
    """A column as analysts may know it.

    Privacy: none (touches no data); public facts.
    >>> column_values(Column("age", "integer", lower=0, upper=110))["upper"]
    110
    """
    made: dict[str, Any] = {"name": column.name, "type": column.kind, "null": str(column.null)}
    if column.kind == "category":
        made["keys"] = "private" if column.private_keys else list(column.keys)
        made["other"] = column.other
        return made
    if column.kind == "boolean":
        return made
    low, high = (_shown(column.decode(end)) for end in (column.lower, column.upper))
    return {**made, "lower": low, "upper": high, "step": float(column.step)}


def _shown(value: object) -> object:
    return value if isinstance(value, int | float) else str(value)
