"""The SQL that counts what preparation cannot read in a source, and says on which lines it is.
Never sees data; what the statements yield is exact, for the custodian alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from discreet.plan.sql.dialects import DUCKDB
from discreet.plan.sql.preparation.statement import LONGEST_TEXT, Raw
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["FILE_STEP", "Fault", "MOST_LINES", "counts_of_faults", "faults_of", "lines_of_faults"]

FILE_STEP = 1 << 40
"""More than the lines of any file."""

MOST_LINES = 3
"""How many lines of each fault are named."""


_TEXT = re.compile(r".*(CHAR|TEXT|STRING|CITEXT|NAME).*")
_NUMBER = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|SHORT|LONG|BYTE|FLOAT|REAL|DOUBLE( PRECISION)?"
    r"|(DECIMAL|NUMERIC).*"
)
_WHOLE = re.compile("U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|BOOLEAN")
# Types that a later version of an engine may add are looked at cell by cell.
_MOMENT = re.compile(
    r"DATE|DATETIME|TIMESTAMP(_(S|MS|NS|NTZ|LTZ)|TZ_NS|(\(\d\))?( WITH(OUT)? TIME ZONE)?)"
)
_FITS = {
    "integer": _NUMBER,
    "number": _NUMBER,
    "boolean": re.compile("BOOLEAN"),
    "date": _MOMENT,
    "datetime": _MOMENT,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which cells of a column are not read, as SQL conditions on a row.

    `kind` is unreadable, undeclared (a category's value that is no key), rounded (decimals in a
    column of integers), long (a text of more than LONGEST_TEXT characters, of a unit or of private
    keys) or no unit. `given` holds for cells that are there at all.
    """

    column: str
    kind: str
    given: str
    fault: str


def faults_of(table: Table, types: Mapping[str, str], dialect: str = "duckdb") -> list[Fault]:
    """What can go wrong with each column, by its kind and the type of the source.

    >>> from discreet.schema.column import Column
    >>> table = Table("t", columns=(Column("age", "integer", upper=9),))
    >>> [fault.kind for fault in faults_of(table, {"age": "VARCHAR"})]
    ['unreadable', 'rounded']
    >>> faults_of(table, {"age": "BIGINT"})
    []
    """
    source = Raw.of(table, types, dialect)
    faults: list[Fault] = []
    if table.unit is not None:
        faults.append(
            Fault(table.unit, "no unit", "TRUE", f"{source.value(table.unit)[0]} IS NULL")
        )
    if table.unit is not None and source.text_unit:
        there = f"{source.value(table.unit)[0]} IS NOT NULL"
        faults.append(Fault(table.unit, "long", there, f"length({source.unit}) > {LONGEST_TEXT}"))
    for column in table.columns:
        value, kind = source.value(column.name)
        there = f"{value} IS NOT NULL"
        if _TEXT.fullmatch(kind):
            there += f" AND trim({value}) <> ''"
        reading = source.reading(column)
        if column.private_keys:
            faults.append(
                Fault(column.name, "long", there, f"length({reading.code}) > {LONGEST_TEXT}")
            )
        elif column.kind == "category":
            if not column.other:
                fault = f"{there} AND ({reading.code}) IS NULL"
                faults.append(Fault(column.name, "undeclared", there, fault))
        else:
            faults += _misread(source, column, there)
    return faults


def _misread(source: Raw, column: Column, there: str) -> Iterator[Fault]:
    """Cells of a number, a date or a truth value that are not read, or not as they are."""
    kind = source.value(column.name)[1]
    if not _FITS[column.kind].fullmatch(kind):
        reading = source.reading(column)
        fault = f"{there} AND ({reading.code}) IS NULL"
        if reading.nan is not None:
            fault += f" AND ({reading.nan}) IS NOT TRUE"
        yield Fault(column.name, "unreadable", there, fault)
    if column.kind == "integer" and source.reader.dialect is DUCKDB and not _WHOLE.fullmatch(kind):
        number = f"TRY_CAST({source.apply_table_format(column)[0]} AS DOUBLE)"
        yield Fault(column.name, "rounded", there, f"{number} <> round({number})")


def counts_of_faults(faults: Sequence[Fault], names: Sequence[str], relation: str) -> str:
    """A SELECT of one row: all rows, the values of `names`, then for each fault the cells that are
    there and those that have it.

    Exact; for the custodian alone.
    >>> counts_of_faults([Fault("a", "long", "x", "y")], [], "source")
    'SELECT COUNT(*), COUNT(CASE WHEN x THEN 1 END), COUNT(CASE WHEN y THEN 1 END) FROM source'
    """
    counts = ["COUNT(*)", *(f"COUNT({name})" for name in names)]
    for fault in faults:
        counts += [f"COUNT(CASE WHEN {test} THEN 1 END)" for test in (fault.given, fault.fault)]
    return f"SELECT {', '.join(counts)} FROM {relation}"


def lines_of_faults(faults: Sequence[Fault], relation: str) -> str:
    """A SELECT of one row from a numbered relation of DuckDB: for each fault its first MOST_LINES
    places, each a file's number times FILE_STEP plus a line, or NULL.

    Exact; for the custodian alone.
    """
    key = f'CAST("$file" AS BIGINT) * {FILE_STEP} + CAST("$line" AS BIGINT)'
    lists = ", ".join(
        f"min({key}, {MOST_LINES}) FILTER (WHERE {fault.fault}) AS y{place}"
        for place, fault in enumerate(faults)
    )
    shown = ", ".join(
        f"y{place}[{number}]" for place in range(len(faults)) for number in range(1, MOST_LINES + 1)
    )
    return f"SELECT {shown} FROM (SELECT {lists} FROM {relation})"
