"""How tables hold their units: as integers, which joins compare as they are, or as texts that are
equal exactly where the source's values are. A public fact about a source's types; never looks at
a value.
"""

from collections.abc import Mapping

from discreet.engines.origins import Origin
from discreet.errors import Unavailable
from discreet.ledger.catalogue import Registration
from discreet.plan.sql.preparation.statement import source_column
from discreet.schema.table import Table

__all__ = ["check_units", "has_integer_units", "unit_mark"]

_MARK = "-integers"  # of a file's name, whose first part has no hyphen
_TEXTS = "-texts"
_INTEGERS = (
    "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
)  # fmt: skip


def unit_mark(table: Table, types: Mapping[str, str]) -> str:
    """What the name of a prepared file says of the unit's type in the source.

    >>> unit_mark(Table("t", unit="id"), {"ID": "BIGINT"})
    '-integers'
    """
    if table.unit is None:
        return ""
    return _MARK if _kind(table, types) in _INTEGERS else _TEXTS


def _kind(table: Table, types: Mapping[str, str]) -> str:
    return types[source_column(str(table.unit_column), types, table.name)].upper()


def check_units(known: Registration, table: Table) -> None:
    """Refuse rows that an earlier version prepared with texts as units that it may have split.

    Of a text or a UUID in the source it split none.
    """
    if known.prepared is None or table.unit is None:
        return
    if f"{_MARK}." in known.prepared or f"{_TEXTS}." in known.prepared:
        return
    way = f"adds {table.name} again with its data"
    if known.source is not None and table.source is not None:
        if _kind(table, Origin.of(table.source).types()) in ("UUID", "VARCHAR"):
            return
        way = f"runs `discreet refresh {table.name}`"
    raise Unavailable(
        f"{table.name}: an earlier version prepared its rows, and may have made several units of "
        f"one; the custodian {way}. Nothing was run or charged."
    )


def has_integer_units(known: Registration, table: Table) -> bool:
    """Whether a table's engine holds its unit as an integer."""
    if known.prepared is not None:
        return f"{_MARK}." in known.prepared
    return table.source is not None and unit_mark(table, Origin.of(table.source).types()) == _MARK
