"""How raw values become lattice integers in PostgreSQL, where most casts and even a product of
floats can fail: every operation stands behind a test that makes it total. Never sees data.
"""

from discreet.plan.sql.dialects import POSTGRESQL
from discreet.plan.sql.preparation.form import (
    Reader,
    Reading,
    clamp,
    exclude_nan,
    half_even,
    kind_refusal,
    match_keys,
    match_truth,
    text_refusal,
    unit_refusal,
)
from discreet.plan.sql.preparation.words import DAY, NUMBER, rank_rows
from discreet.schema.column import Column

__all__ = ["POSTGRESQL_READER"]

_INTEGERS = ("SMALLINT", "INTEGER", "BIGINT")
_FLOATS = ("REAL", "DOUBLE PRECISION")
_STAMP, _ZONED = "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP WITH TIME ZONE"
_PLAIN = (*_INTEGERS, "BOOLEAN", "DATE", "UUID")
_UNITS = (
    "smallint, integer, bigint, text, character, character varying and name (with a deterministic "
    "collation), enum, uuid, boolean and date"
)
_WIDTHS = ((1 << 31, "INTEGER"), (1 << 63, "BIGINT"))
_NAN = "CAST('NaN' AS DOUBLE PRECISION)"
_INFINITY = "CAST('Infinity' AS DOUBLE PRECISION)"
_MINUS = "CAST('-Infinity' AS DOUBLE PRECISION)"
# Beyond these a float is far outside of all bounds, or zero steps; within, no product overflows.
_FAR, _NEAR = "CAST('1e290' AS DOUBLE PRECISION)", "CAST('1e-280' AS DOUBLE PRECISION)"


def _plain(kind: str) -> str:
    """The type without its length and its collation."""
    return kind.partition(" COLLATE ")[0].partition("(")[0].strip()


def _is_text(kind: str) -> bool:
    return _plain(kind) in ("TEXT", "CHARACTER VARYING", "CHARACTER", "CITEXT", "NAME")


def _bytes(value: str) -> str:
    return f'CAST({value} AS TEXT) COLLATE "C"'


def _text(value: str, kind: str, what: str) -> str:
    if not _is_text(kind) and kind not in _PLAIN:
        raise text_refusal(what, kind, "text")
    return _bytes(value)


def _unit(value: str, kind: str, what: str) -> str:
    """Blanks at the end of a CHARACTER mean nothing, and its cast to TEXT drops them."""
    if kind in _INTEGERS:
        return value
    folded = _plain(kind) == "CITEXT" or " COLLATE " in kind
    if folded or not (_is_text(kind) or kind in _PLAIN):
        example = 'lower(id::text) COLLATE "C", id::bigint or trim_scale(id)::text'
        raise unit_refusal(what, kind, _UNITS, example)
    return _bytes(value)


def _category(column: Column, value: str, kind: str) -> Reading:
    return match_keys(column, _text(value, kind, column.name), POSTGRESQL)


def _boolean(column: Column, value: str, kind: str) -> Reading:
    if kind == "BOOLEAN":
        return Reading(f"CAST({value} AS INTEGER)")
    if _is_text(kind):
        return match_truth(f"lower({_bytes(value)})")
    if kind not in (*_INTEGERS, *_FLOATS) and _plain(kind) != "NUMERIC":
        raise kind_refusal(column, kind)
    return Reading(f"CASE WHEN {value} = 0 THEN 0 WHEN {value} IS NOT NULL THEN 1 END")


def _date(column: Column, value: str, kind: str) -> Reading:
    if kind == "DATE":
        day = value
    elif kind == _STAMP:
        day = f"CAST({value} AS DATE)"
    elif kind == _ZONED:
        day = f"CAST({value} AT TIME ZONE 'UTC' AS DATE)"
    elif _is_text(kind):
        words = f"btrim({_bytes(value)})"
        form = POSTGRESQL.literal(f"^({DAY})$")
        day = f"CASE WHEN {words} ~ {form} THEN CAST(left({words}, 10) AS DATE) END"
    else:
        raise kind_refusal(column, kind)
    low, high = (f"DATE '{column.decode(k)}'" for k in (column.lower, column.upper))
    reading = clamp(column, day, low, high, f"({day} - DATE '1970-01-01')")
    return Reading(reading.code, None, f"NOT isfinite({day})", reading.below, reading.above)


def _datetime(column: Column, value: str, kind: str) -> Reading:
    if kind not in ("DATE", _STAMP, _ZONED):
        raise kind_refusal(column, kind)
    moment = value if kind == _STAMP else f"CAST({value} AS TIMESTAMP)"
    if kind == _ZONED:
        moment = f"({value} AT TIME ZONE 'UTC')"
    low, high = (f"TIMESTAMP '{column.decode(k)}'" for k in (column.lower, column.upper))
    step = int(column.step) * 10**6
    passed = f"(EXTRACT(EPOCH FROM {moment}) * 1000000 - {column.lower * step})"
    quotient = POSTGRESQL.quotient(passed, step, column.upper - column.lower)
    reading = clamp(column, moment, low, high, f"{column.lower} + {quotient}")
    return Reading(reading.code, None, f"NOT isfinite({moment})", reading.below, reading.above)


def _number(column: Column, value: str, kind: str) -> Reading:
    if kind in _INTEGERS and column.step == 1:
        return clamp(column, value, str(column.lower), str(column.upper), value)
    if kind in _INTEGERS or _plain(kind) == "NUMERIC":
        return _numeric(column, value)
    if kind in _FLOATS:
        return _float(column, value if kind == "DOUBLE PRECISION" else _as_float(value))
    if _is_text(kind):
        return _float(column, _float_in(_bytes(value)))
    raise kind_refusal(column, kind)


def _numeric(column: Column, value: str) -> Reading:
    """Exact, whatever the number of digits. A NaN is above every number."""
    number = f"CAST({value} AS NUMERIC)"
    nan = f"{number} = CAST('NaN' AS NUMERIC)"
    step = column.step
    product = f"({number} * {step.denominator})"
    low, high = column.lower * step.numerator, column.upper * step.numerator
    inside = half_even(f"({product} - {low})", step.numerator, column, POSTGRESQL)
    reading = clamp(column, product, str(low), str(high), inside)
    infinite = f"{number} IN (CAST('Infinity' AS NUMERIC), CAST('-Infinity' AS NUMERIC))"
    return exclude_nan(reading, nan, infinite)


def _as_float(value: str) -> str:
    return f"CAST({value} AS DOUBLE PRECISION)"


def _float(column: Column, number: str) -> Reading:
    """The same double arithmetic as elsewhere, on numbers for which it cannot overflow."""
    step = column.step
    steps = number
    if step != 1:
        steps = f"({number} * {_as_float(str(step.denominator))}"
        steps += f" / {_as_float(str(step.numerator))})"
    zero = min(max(0, column.lower), column.upper)
    nan = f"{number} = {_NAN}"
    code = (
        f"CASE WHEN {nan} THEN NULL WHEN {number} >= {_FAR} THEN {column.upper} "
        f"WHEN {number} <= -{_FAR} THEN {column.lower} WHEN abs({number}) <= {_NEAR} THEN {zero} "
        f"WHEN {steps} <= {column.lower} THEN {column.lower} "
        f"WHEN {steps} >= {column.upper} THEN {column.upper} ELSE CAST({steps} AS BIGINT) END"
    )
    infinite = f"{number} IN ({_INFINITY}, {_MINUS})"
    low, high = (_as_float(str(float(k * step))) for k in (column.lower, column.upper))
    below, above = f"{number} < {low}", f"{number} > {high} AND NOT {nan}"
    return Reading(code, nan, infinite, below, above)


def _float_in(text: str) -> str:
    """The double that a text stands for; NULL if it is none. Numbers are read exactly first."""
    number = f"CAST({text} AS NUMERIC)"
    words = f"btrim(lower({text}), E' \\t\\n\\v\\f\\r')"
    far, near = "1.7976931348623157e308", "1e-320"
    return (
        f"CASE WHEN {text} ~ {POSTGRESQL.literal(NUMBER)} THEN "
        f"CASE WHEN {number} > {far} THEN {_INFINITY} "
        f"WHEN {number} < -{far} THEN {_MINUS} "
        f"WHEN abs({number}) < {near} THEN {_as_float('0')} ELSE {_as_float(number)} END "
        f"WHEN {words} IN ('nan', '+nan', '-nan') THEN {_NAN} "
        f"WHEN {words} IN ('inf', '+inf', 'infinity', '+infinity') THEN "
        f"{_INFINITY} "
        f"WHEN {words} IN ('-inf', '-infinity') THEN {_MINUS} END"
    )


POSTGRESQL_READER = Reader(
    dialect=POSTGRESQL,
    widths=_WIDTHS,
    readings=(_number, _number, _category, _boolean, _date, _datetime),
    text=_text,
    unit=_unit,
    first_rows=rank_rows,
)
"""How PostgreSQL reads raw values."""
