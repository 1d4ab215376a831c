"""The SQL that turns a source's rows into bounded lattice integers, for the DuckDB dialect.
NULL, NaN and infinities are mapped by fixed rules before any clamp, so every value is bounded.
"""

from collections.abc import Mapping
from dataclasses import replace

from discreet.errors import SchemaError
from discreet.schema.column import Column, nearest
from discreet.schema.table import Table

__all__ = ["clamp_counts", "lattice_rows", "missing_count", "prepared_rows"]

_WIDTHS = ((1 << 7, "TINYINT"), (1 << 15, "SMALLINT"), (1 << 31, "INTEGER"), (1 << 63, "BIGINT"))


def lattice_rows(table: Table, relation: str, types: Mapping[str, str]) -> str:
    """A SELECT of every declared column as lattice integers, `rows_per_unit` rows of each unit.

    `types` maps the source's column names to the engine's type names. Rows without a unit are
    dropped: together they would be one unit without a bound.
    Privacy: none (touches no data); after it, one unit has at most rows_per_unit rows.
    >>> from discreet.loss import Relation
    >>> age = Column("age", "integer", lower=0, upper=110)
    >>> table = Table("t", None, "t", None, 1, Relation.ADD_REMOVE, (age,), None)
    >>> lattice_rows(table, "source", {"age": "BIGINT"}).startswith("SELECT CAST(CASE")
    True
    """
    names = _source_names(table, types)
    columns = [
        f'{_code(column, names[column.name], types[names[column.name]])} AS "{column.name}"'
        for column in table.columns
    ]
    if table.unit is None:
        return f"SELECT {', '.join(columns)} FROM {relation}"
    unit = _quoted(names[table.unit])
    rows = (
        f'SELECT {unit} AS "$unit", {", ".join(columns)} FROM {relation} WHERE {unit} IS NOT NULL'
    )
    return _first_rows(table, rows)


def prepared_rows(table: Table, relation: str, types: Mapping[str, str]) -> str:
    """The lattice rows in the order they are stored: clustered by category, for quick grouping.

    Privacy: as `lattice_rows`; the order of rows never shows in a sum.
    >>> from discreet.loss import Relation
    >>> table = Table("t", None, "t", None, 1, Relation.ADD_REMOVE, (Column("a", "boolean"),), None)
    >>> prepared_rows(table, "source", {"a": "BOOLEAN"}).endswith(' ORDER BY "a"')
    True
    """
    rows = lattice_rows(table, relation, types)
    keys = [c for c in table.columns if c.kind in ("category", "boolean")]
    order = ", ".join(f'"{column.name}"' for column in keys)
    return f"{rows} ORDER BY {order}" if keys else rows


def _first_rows(table: Table, rows: str) -> str:
    """The first rows of each unit in the order of a hash of the unit and the lattice values."""
    text = ['CAST("$unit" AS VARCHAR)']
    text += [f"coalesce(CAST(\"{column.name}\" AS VARCHAR), '')" for column in table.columns]
    listed = ", ".join(f'"{column.name}"' for column in table.columns)
    order = f"md5({' || chr(31) || '.join(text)}), {listed}"
    ranked = (
        f'SELECT "$unit", {listed}, row_number() OVER (PARTITION BY "$unit" ORDER BY {order}) '
        'AS "$place" FROM lattice SEMI JOIN crowded USING ("$unit")'
    )
    # Only units with too many rows need an order at all.
    return (
        f"WITH lattice AS MATERIALIZED ({rows}), "
        f'crowded AS MATERIALIZED (SELECT "$unit" FROM lattice GROUP BY "$unit" '
        f"HAVING count(*) > {table.rows_per_unit}) "
        f'SELECT "$unit", {listed} FROM lattice ANTI JOIN crowded USING ("$unit") UNION ALL '
        f'SELECT "$unit", {listed} FROM ({ranked}) WHERE "$place" <= {table.rows_per_unit}'
    )


def missing_count(table: Table, relation: str, types: Mapping[str, str]) -> str | None:
    """A SELECT that counts NULLs in the columns whose rule is `error`; None if there are none.

    Privacy: exact; for the custodian at registration only.
    >>> from discreet.loss import Relation
    >>> table = Table("t", None, "t", None, 1, Relation.ADD_REMOVE, (Column("a", "boolean"),), None)
    >>> missing_count(table, "source", {"a": "BOOLEAN"}) is None
    True
    """
    names = _source_names(table, types)
    strict = [column for column in table.columns if column.null == "error"]
    if not strict:
        return None
    counts = ", ".join(
        f"count(*) - count({_code(column, names[column.name], types[names[column.name]])})"
        for column in strict
    )
    return f"SELECT {counts} FROM {relation}"


def _source_names(table: Table, types: Mapping[str, str]) -> dict[str, str]:
    """The source's own spelling of every name the schema uses."""
    known = {name.casefold(): name for name in types}
    wanted = [column.name for column in table.columns]
    if table.unit is not None:
        wanted.append(table.unit)
    for name in wanted:
        if name.casefold() not in known:
            raise SchemaError(
                f"{table.name}: the source has no column {name!r}. {nearest(name, types)}"
            )
    return {name: known[name.casefold()] for name in wanted}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _code(column: Column, name: str, kind: str) -> str:
    """One column as a narrow integer or NULL; never fails, whatever the value."""
    value = _quoted(name)
    code = {
        "category": _category,
        "boolean": _boolean,
        "date": _date,
        "integer": _number,
        "number": _number,
    }[column.kind](column, value, kind.upper())
    if isinstance(column.null, int):
        code = f"coalesce({code}, {column.null})"
    largest = max(abs(column.lower), abs(column.upper))
    width = next(name for limit, name in _WIDTHS if largest < limit)
    return f"CAST({code} AS {width})"


def _category(column: Column, value: str, kind: str) -> str:
    text = value if kind == "VARCHAR" else f"CAST({value} AS VARCHAR)"
    keys = ", ".join(map(_text, column.keys))
    code = f"CAST(enum_code(TRY_CAST({text} AS ENUM({keys}))) AS INTEGER)"
    return f"coalesce({code}, {len(column.keys)})" if column.other else code


def _boolean(_: Column, value: str, kind: str) -> str:
    if kind == "BOOLEAN":
        return f"CAST({value} AS TINYINT)"
    return f"CAST(TRY_CAST({value} AS BOOLEAN) AS TINYINT)"


def _date(column: Column, value: str, kind: str) -> str:
    day = value if kind == "DATE" else f"TRY_CAST({value} AS DATE)"
    number = f"date_diff('day', DATE '1970-01-01', {day})"
    return (
        f"CASE WHEN {day} IS NULL THEN NULL "
        f"WHEN {day} <= {_day(column, column.lower)} THEN {column.lower} "
        f"WHEN {day} >= {_day(column, column.upper)} THEN {column.upper} ELSE {number} END"
    )


def _day(column: Column, code: int) -> str:
    return f"DATE '{column.decode(code)}'"


def _number(column: Column, value: str, kind: str) -> str:
    """Clamp; the cast to an integer type that follows rounds half to even and always fits.

    The usual case comes first because the engine then computes nothing else for it. NULL and
    NaN pass no test and become NULL; infinities are clamped.
    """
    if column.step == 1 and _is_integer(kind):
        steps, known = value, "TRUE"
    else:
        number = value if kind == "DOUBLE" else f"TRY_CAST({value} AS DOUBLE)"
        step = column.step
        steps = f"({number} * {step.denominator} / {step.numerator})" if step != 1 else number
        known = f"NOT isnan({steps})"
    return (
        f"CASE WHEN {steps} BETWEEN {column.lower} AND {column.upper} THEN {steps} "
        f"WHEN {steps} < {column.lower} THEN {column.lower} "
        f"WHEN {steps} > {column.upper} AND {known} THEN {column.upper} END"
    )


def _is_integer(kind: str) -> bool:
    # No signed type holds every UHUGEINT, so that one is clamped as a double.
    return kind != "UHUGEINT" and (kind.endswith("INT") or kind in ("INTEGER", "UINTEGER"))


def clamp_counts(table: Table, relation: str, types: Mapping[str, str]) -> tuple[list[str], str]:
    """Labels and a SELECT that counts what preparation drops or clamps, column by column.

    Privacy: NONE: exact, for the custodian only.
    >>> from discreet.loss import Relation
    >>> table = Table("t", None, "t", None, 1, Relation.ADD_REMOVE, (Column("a", "boolean"),), None)
    >>> clamp_counts(table, "source", {"a": "BOOLEAN"})[0]
    ['rows in the source', 'a: missing or undeclared']
    """
    names = _source_names(table, types)
    labels, counts = ["rows in the source"], ["count(*)"]
    if table.unit is not None:
        labels.append("rows without a unit")
        counts.append(f"count(*) - count({_quoted(names[table.unit])})")
    for column in table.columns:
        name, kind = names[column.name], types[names[column.name]].upper()
        plain = replace(column, null="drop", other=False, upper=column.upper - column.other)
        labels.append(f"{column.name}: missing or undeclared")
        counts.append(f"count(*) - count({_code(plain, name, kind)})")
        if column.kind in ("integer", "number", "date"):
            value = f"TRY_CAST({_quoted(name)} AS {'DATE' if column.kind == 'date' else 'DOUBLE'})"
            low, high = (_bound(column, code) for code in (column.lower, column.upper))
            labels += [f"{column.name}: raised to lower", f"{column.name}: cut to upper"]
            counts += [f"count_if({value} < {low})", f"count_if({value} > {high})"]
    return labels, f"SELECT {', '.join(counts)} FROM {relation}"


def _bound(column: Column, code: int) -> str:
    return _day(column, code) if column.kind == "date" else str(float(code * column.step))
