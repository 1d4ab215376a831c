"""How raw values become lattice integers in DuckDB. Every expression is total: TRY_CAST, and no
operation that can fail on a row. Never sees data.
"""

import re

from discreet.plan.sql.dialects import DUCKDB
from discreet.plan.sql.preparation.form import Reader, Reading, scale_exactly, unit_refusal
from discreet.plan.sql.preparation.times import day_of, moment_of
from discreet.schema.column import Column

__all__ = ["DUCKDB_READER"]

_WIDTHS = ((1 << 7, "TINYINT"), (1 << 15, "SMALLINT"), (1 << 31, "INTEGER"), (1 << 63, "BIGINT"))
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_DIGITS = 38
_INTEGERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
)  # fmt: skip
# Of these, two values are equal if and only if their texts are.
_ONE_TEXT = (
    "BLOB", "BOOLEAN", "DATE", "UHUGEINT", "VARCHAR",
    "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
)  # fmt: skip
_UNITS = "integer, decimal, float, varchar without a collation, enum, uuid, boolean, date, "
_UNITS += "timestamp without a time zone and blob"


def _text(value: str, kind: str, what: str) -> str:
    del what
    if kind.startswith("VARCHAR COLLATE"):  # else equal texts would show the spelling of one row
        return f'({value} COLLATE "binary")'
    return value if kind == "VARCHAR" else f"CAST({value} AS VARCHAR)"


def _unit(value: str, kind: str, what: str) -> str:
    """Equal values of different numeric types also have one text, for joins of their tables."""
    if kind in _INTEGERS or kind == "UUID":
        return value
    if kind in ("FLOAT", "DOUBLE"):
        return _float_unit(f"CAST({value} AS DOUBLE)")
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        text = f"CAST({value} AS VARCHAR)"
        return text if decimal[2] == "0" else f"rtrim(rtrim({text}, '0'), '.')"
    if kind in _ONE_TEXT or kind.startswith("ENUM("):
        return _text(value, kind, what)
    raise unit_refusal(what, kind, _UNITS, "lower(id) COLLATE binary or epoch_us(id)")


def _float_unit(number: str) -> str:
    """Zero and NaN have two signs each, of which the engine's equality knows nothing."""
    whole = f"abs({number}) < 9e18 AND {number} = trunc({number})"
    return (
        f"CASE WHEN isnan({number}) THEN 'nan' "
        f"WHEN {whole} THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) "
        f"ELSE CAST({number} AS VARCHAR) END"
    )


def _category(column: Column, value: str, kind: str) -> Reading:
    keys = ", ".join(map(DUCKDB.literal, column.keys))
    text = _text(value, kind, column.name)
    return Reading(f"CAST(enum_code(TRY_CAST({text} AS ENUM({keys}))) AS INTEGER)")


def _boolean(_: Column, value: str, kind: str) -> Reading:
    if kind == "BOOLEAN":
        return Reading(f"CAST({value} AS TINYINT)")
    return Reading(f"CAST(TRY_CAST({value} AS BOOLEAN) AS TINYINT)")


def _date(column: Column, value: str, kind: str) -> Reading:
    day = value if kind == "DATE" else f"TRY_CAST({value} AS DATE)"
    if _is_text(kind):
        day = day_of(_written(value, kind))
    low, high = (f"DATE '{column.decode(k)}'" for k in (column.lower, column.upper))
    number = f"date_diff('day', DATE '1970-01-01', {day})"
    code = (
        f"CASE WHEN {day} IS NULL THEN NULL "
        f"WHEN {day} <= {low} THEN {column.lower} "
        f"WHEN {day} >= {high} THEN {column.upper} ELSE {number} END"
    )
    return Reading(code, None, f"isinf({day})", f"{day} < {low}", f"{day} > {high}")


def _datetime(column: Column, value: str, kind: str) -> Reading:
    if kind == "TIMESTAMPTZ_NS":  # a cast straight to TIMESTAMP would give NULL
        value = f"TRY_CAST({value} AS TIMESTAMP_NS)"
    moment = value if kind == "TIMESTAMP" else f"TRY_CAST({value} AS TIMESTAMP)"
    if _is_text(kind):
        moment = moment_of(_written(value, kind))
    low, high = (f"TIMESTAMP '{column.decode(k)}'" for k in (column.lower, column.upper))
    step = int(column.step) * 10**6
    passed = f"(epoch_us({moment}) - {column.lower * step})"
    code = (
        f"CASE WHEN {moment} <= {low} THEN {column.lower} "
        f"WHEN {moment} >= {high} THEN {column.upper} ELSE {column.lower} + {passed} // {step} END"
    )
    return Reading(code, None, f"isinf({moment})", f"{moment} < {low}", f"{moment} > {high}")


def _is_text(kind: str) -> bool:
    return kind in ("VARCHAR", "JSON") or kind.startswith(("VARCHAR COLLATE", "ENUM("))


def _written(value: str, kind: str) -> str:
    if kind == "JSON":  # a text in quotes, of which a day or a moment needs no escapes
        return f"regexp_extract(CAST({value} AS VARCHAR), '^\\s*\"(.*)\"\\s*$', 1)"
    return _text(value, kind, "")


def _number(column: Column, value: str, kind: str) -> Reading:
    """Clamp; the cast to an integer type that follows rounds half to even and always fits.

    The usual case comes first because the engine then computes nothing else for it. NULL and
    NaN pass no test and become NULL; infinities are clamped.
    """
    if column.step == 1 and _is_integer(kind):
        return _inside(column, value, "TRUE")
    exact = _exact(column, value, kind)
    if exact is not None:
        return exact
    number = value if kind == "DOUBLE" else f"TRY_CAST({value} AS DOUBLE)"
    step = column.step
    steps = f"({number} * {step.denominator} / {step.numerator})" if step != 1 else number
    inside = _inside(column, steps, f"NOT isnan({steps})")
    return Reading(inside.code, f"isnan({number})", f"isinf({number})", inside.below, inside.above)


def _inside(column: Column, steps: str, known: str) -> Reading:
    code = (
        f"CASE WHEN {steps} BETWEEN {column.lower} AND {column.upper} THEN {steps} "
        f"WHEN {steps} < {column.lower} THEN {column.lower} "
        f"WHEN {steps} > {column.upper} AND {known} THEN {column.upper} END"
    )
    below, above = f"{steps} < {column.lower}", f"{steps} > {column.upper} AND {known}"
    return Reading(code, below=below, above=above)


def _exact(column: Column, value: str, kind: str) -> Reading | None:
    """Integers and decimals, without a float in between."""
    if _is_integer(kind):
        return scale_exactly(column, f"CAST({value} AS HUGEINT)", 0, DUCKDB)
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is None:
        return None
    width, digits = map(int, decimal.groups())
    if width + digits + 1 > _DIGITS:
        return None
    product = f"CAST({value} AS DECIMAL({_DIGITS},{digits})) * "
    product += f"CAST({10**digits} AS DECIMAL({digits + 1},0))"
    return scale_exactly(column, f"CAST({product} AS HUGEINT)", digits, DUCKDB)


def _is_integer(kind: str) -> bool:
    return kind in _INTEGERS  # no signed type holds every UHUGEINT: it is clamped as a double


def _first_rows(rows: str, columns: str, order: str, most: int) -> str:
    """Only units with too many rows need an order at all."""
    ranked = (
        f'SELECT "$unit", {columns}, row_number() OVER (PARTITION BY "$unit" ORDER BY {order}) '
        'AS "$place" FROM lattice SEMI JOIN crowded USING ("$unit")'
    )
    return (
        f"WITH lattice AS MATERIALIZED ({rows}), "
        f'crowded AS MATERIALIZED (SELECT "$unit" FROM lattice GROUP BY "$unit" '
        f"HAVING count(*) > {most}) "
        f'SELECT "$unit", {columns} FROM lattice ANTI JOIN crowded USING ("$unit") UNION ALL '
        f'SELECT "$unit", {columns} FROM ({ranked}) WHERE "$place" <= {most}'
    )


DUCKDB_READER = Reader(
    dialect=DUCKDB,
    widths=_WIDTHS,
    readings=(_number, _number, _category, _boolean, _date, _datetime),
    text=_text,
    unit=_unit,
    first_rows=_first_rows,
)
"""How DuckDB reads raw values."""
