"""Which tables hold their unit as an integer, so that joins compare units as they are and not as
texts. A public fact about a source's types; never looks at a value.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.engines.origins import Origin
from discreet.ledger.catalogue import Registration
from discreet.schema.table import Table

if TYPE_CHECKING:
    from discreet.curator.warehouse import Warehouse

__all__ = ["integer_units", "unit_mark"]

_MARK = "-integers"  # no table's name has a hyphen
_INTEGERS = (
    "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
)  # fmt: skip


def unit_mark(table: Table, types: Mapping[str, str]) -> str:
    """What the name of a prepared file says of the unit's type in the source.

    Privacy: none (touches no data).
    >>> unit_mark(Table("t", unit="id"), {"ID": "BIGINT"})
    '-integers'
    """
    if table.unit is None:
        return ""
    known = {name.casefold(): kind.upper() for name, kind in types.items()}
    return _MARK if known.get(table.unit.casefold()) in _INTEGERS else ""


def integer_units(warehouse: "Warehouse", names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of several tables whose unit their engine holds as an integer; none for one alone.

    Privacy: none (touches no data).
    >>> integer_units.__name__
    'integer_units'
    """
    if len(names) == 1:
        return ()
    tables = warehouse.tables()
    return tuple(name for name in names if _mark(warehouse.current(name), tables[name]))


def _mark(known: Registration, table: Table) -> str:
    if known.prepared is not None:
        return _MARK if f"{_MARK}." in known.prepared else ""
    if table.source is None:
        return ""
    return unit_mark(table, Origin.of(table.source).types())
