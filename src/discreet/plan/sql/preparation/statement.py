"""The SQL that turns a source's rows into bounded lattice integers, in the dialect of its engine.
NULL, NaN and infinities are mapped by fixed rules before any clamp, so every value is bounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.errors import SchemaError
from discreet.plan.sql.dialects import quote_column
from discreet.plan.sql.preparation.duckdb import DUCKDB_READER
from discreet.plan.sql.preparation.form import Reader, Reading, apply_rules
from discreet.plan.sql.preparation.format import apply_format, check_format, present
from discreet.plan.sql.preparation.postgresql import POSTGRESQL_READER
from discreet.plan.sql.preparation.spark import SPARK_READER
from discreet.schema.column import AS_NULL, KINDS, Column, nearest
from discreet.schema.names import fold
from discreet.schema.table import Table

__all__ = [
    "LONGEST_TEXT",
    "Raw",
    "Refusal",
    "clamp_counts",
    "lattice_rows",
    "missing_count",
    "prepared_rows",
    "source_column",
]

LONGEST_TEXT = 1000
"""How many characters of a unit or of a private key count as one; longer ones are missing."""

_READERS = {
    reader.dialect.name: reader for reader in (DUCKDB_READER, POSTGRESQL_READER, SPARK_READER)
}


@dataclass(frozen=True, slots=True)
class Raw:
    """A table's columns in the spelling, the types and the format of its source, as SQL.

    >>> table = Table("t", columns=(Column("age", "integer", upper=9),))
    >>> Raw.of(table, {"Age": "BIGINT"}, "duckdb").value("age")
    ('"Age"', 'BIGINT')
    """

    table: Table
    types: Mapping[str, str]
    reader: Reader
    names: Mapping[str, str]

    @classmethod
    def of(cls, table: Table, types: Mapping[str, str], dialect: str) -> "Raw":
        """The columns of a source of these types; one that is not there is refused.

        >>> Raw.of(Table("t", columns=(Column("age", "boolean"),)), {"sex": "BOOLEAN"}, "duckdb")
        Traceback (most recent call last):
        discreet.errors.SchemaError: t: the source has no column 'age'. Known: sex.
        """
        check_format(table, dialect)
        wanted = {column.name: column.source_name or column.name for column in table.columns}
        if table.unit is not None:
            wanted[table.unit] = table.unit_source_name or table.unit
        names = {name: source_column(called, types, table.name) for name, called in wanted.items()}
        return cls(table, types, _READERS[dialect], names)

    def value(self, name: str) -> tuple[str, str]:
        """A column of the source as SQL, NULL where it is a word for missing; and its type."""
        spelt = self.names[name]
        kind = self.types[spelt].upper()
        return present(self.table.format, '"' + spelt.replace('"', '""') + '"', kind), kind

    def reading(self, column: Column) -> Reading:
        """The raw value as SQL, before any rule.

        >>> table = Table("t", columns=(Column("age", "boolean"),))
        >>> Raw.of(table, {"age": "BOOLEAN"}, "duckdb").reading(table.columns[0]).code
        'CAST("age" AS TINYINT)'
        """
        value, kind = self.value(column.name)
        if column.private_keys:
            return Reading(self.reader.text(value, kind, f"{self.table.name}.{column.name}"))
        read = self.reader.readings[KINDS.index(column.kind)]
        return read(column, *self.apply_table_format(column))

    def apply_table_format(self, column: Column) -> tuple[str, str]:
        """A column of the source as SQL, texts by the table's format; and its type then."""
        return apply_format(self.table.format, column.kind, *self.value(column.name))

    def code(self, column: Column) -> str:
        """One column as a narrow integer or NULL, or a text; never fails, whatever the value.

        >>> table = Table("t", columns=(Column("age", "boolean"),))
        >>> Raw.of(table, {"age": "BOOLEAN"}, "duckdb").code(table.columns[0])
        'CAST(CAST("age" AS TINYINT) AS TINYINT)'
        """
        reading = self.reading(column)
        if column.private_keys:
            return f"CASE WHEN length({reading.code}) <= {LONGEST_TEXT} THEN {reading.code} END"
        if column.other:
            reading = replace(reading, code=f"coalesce({reading.code}, {len(column.keys)})")
        largest = max(abs(column.lower), abs(column.upper))
        width = next(name for limit, name in self.reader.widths if largest < limit)
        return f"CAST({apply_rules(column, reading)} AS {width})"

    @property
    def unit(self) -> str:
        """The privacy unit, distinguished as every engine does.

        >>> Raw.of(Table("t", unit="id"), {"id": "BIGINT"}, "duckdb").unit
        '"id"'
        """
        assert self.table.unit is not None
        value, kind = self.value(self.table.unit)
        return self.reader.unit(value, kind, f"{self.table.name}.{self.table.unit}")

    @property
    def text_unit(self) -> bool:
        """Whether units are texts, which may be too long.

        >>> Raw.of(Table("t", unit="id"), {"id": "VARCHAR"}, "duckdb").text_unit
        True
        """
        assert self.table.unit is not None
        kind = self.value(self.table.unit)[1]
        return any(word in kind for word in ("BLOB", "CHAR", "STRING", "TEXT"))


def source_column(called: str, types: Mapping[str, str], table: str) -> str:
    """A column's name as the source spells it: the very name, or the only one that is like it.

    >>> source_column("Age", {" age": "BIGINT"}, "visits")
    ' age'
    """
    if called in types:
        return called
    matches = [name for name in types if fold(name.strip()) == fold(called.strip())]
    if len(matches) != 1:
        problem = f"has several columns like {called!r}" if matches else f"has no column {called!r}"
        advice = "Write source_name as the source does." if matches else nearest(called, types)
        raise SchemaError(f"{table}: the source {problem}. {advice}")
    return matches[0]


def lattice_rows(
    table: Table, relation: str, types: Mapping[str, str], dialect: str = "duckdb"
) -> str:
    """A SELECT of every declared column as lattice integers, `rows_per_unit` rows of each unit.

    `types` maps the source's column names to the engine's type names. Rows without a unit are
    dropped: together they would be one unit without a bound. A column with private keys is its
    text. A text that is longer than LONGEST_TEXT is missing: nobody's decides how long a question
    takes. After it, one unit has at most rows_per_unit rows.
    """
    if not table.columns:
        raise SchemaError(
            f"{table.name}: [columns] is empty, so nothing could be asked. Declare a column of "
            "the source."
        )
    source = Raw.of(table, types, dialect)
    columns = [f'{source.code(column)} AS "{column.name}"' for column in table.columns]
    if table.unit is None:
        return f"SELECT {', '.join(columns)} FROM {relation}"
    # On the raw column, which an index or a file's statistics may know.
    known = f"{source.value(table.unit)[0]} IS NOT NULL"
    if source.text_unit:
        known += f" AND length({source.unit}) <= {LONGEST_TEXT}"
    columns = [f'{source.unit} AS "$unit"', *columns]
    rows = f"SELECT {', '.join(columns)} FROM {relation} WHERE {known}"
    return _first_rows(source, rows)


def prepared_rows(table: Table, relation: str, types: Mapping[str, str]) -> str:
    """The lattice rows in the order DuckDB stores them: clustered by category, for quick grouping.

    As `lattice_rows`; the order of rows never shows in a sum.
    >>> from discreet.loss import Relation
    >>> table = Table("t", None, "t", None, 1, Relation.ADD_REMOVE, (Column("a", "boolean"),), None)
    >>> prepared_rows(table, "source", {"a": "BOOLEAN"}).endswith(' ORDER BY "a"')
    True
    """
    rows = lattice_rows(table, relation, types)
    keys = [c for c in table.columns if c.kind in ("category", "boolean")]
    order = ", ".join(map(quote_column, keys))
    return f"{rows} ORDER BY {order}" if keys else rows


def _first_rows(source: Raw, rows: str) -> str:
    """The first rows of each unit in the order of a hash of the unit and the lattice values."""
    dialect, columns = source.reader.dialect, source.table.columns
    texts = [dialect.column_text(column) for column in columns]
    listed = ", ".join(map(quote_column, columns))
    unit = '"$unit"'
    order = f"{dialect.hash_texts(unit, texts, 'chr(31)')}, {listed}"
    return source.reader.first_rows(rows, listed, order, source.table.rows_per_unit)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What makes a source unfit: a column, and the rule that says error."""

    column: str
    rule: str


def missing_count(
    table: Table, relation: str, types: Mapping[str, str], dialect: str = "duckdb"
) -> tuple[list[Refusal], str] | None:
    """A SELECT that counts, for every rule that says error, the values against it; None if no rule.

    Exact; for the custodian at registration only.
    """
    source = Raw.of(table, types, dialect)
    refusals: list[Refusal] = []
    counts: list[str] = []
    for column in table.columns:
        reading = source.reading(column)
        known = "" if reading.nan is None or column.nan == AS_NULL else f" AND NOT ({reading.nan})"
        missing = f"({reading.code}) IS NULL{known}" if not column.other else None
        for rule, action, test in (
            ("null", column.null, missing),
            ("nan", column.nan, reading.nan),
            ("infinity", column.infinity, reading.infinite),
        ):
            if action == "error" and test is not None:
                refusals.append(Refusal(column.name, rule))
                counts.append(_count_of(test))
    return (refusals, f"SELECT {', '.join(counts)} FROM {relation}") if refusals else None


def _count_of(condition: str) -> str:
    return f"COUNT(CASE WHEN {condition} THEN 1 END)"


def clamp_counts(
    table: Table, relation: str, types: Mapping[str, str], dialect: str = "duckdb"
) -> tuple[list[str], str]:
    """Labels and a SELECT that counts what preparation drops or clamps, column by column.

    Exact, for the custodian only.
    >>> from discreet.loss import Relation
    >>> table = Table("t", None, "t", None, 1, Relation.ADD_REMOVE, (Column("a", "boolean"),), None)
    >>> clamp_counts(table, "source", {"a": "BOOLEAN"})[0]
    ['rows in the source', 'a: missing or undeclared']
    """
    source = Raw.of(table, types, dialect)
    labels, counts = ["rows in the source"], ["COUNT(*)"]
    if table.unit is not None:
        labels.append("rows without a unit")
        counts.append(f"COUNT(*) - COUNT({source.value(table.unit)[0]})")
    for column in table.columns:
        reading = source.reading(column)
        labels.append(f"{column.name}: missing or undeclared")
        counts.append(f"COUNT(*) - COUNT({reading.code})")
        if reading.below is not None and reading.above is not None:
            labels += [f"{column.name}: raised to lower", f"{column.name}: cut to upper"]
            counts += [_count_of(reading.below), _count_of(reading.above)]
    return labels, f"SELECT {', '.join(counts)} FROM {relation}"
