"""How raw values become lattice integers in Spark in ANSI mode, where a cast that does not fit
fails: every one of them stands behind a test or a try_cast. Never sees data.
"""

import re

from discreet.plan.sql.dialects import SPARK
from discreet.plan.sql.preparation.form import (
    Reader,
    Reading,
    clamp,
    exclude_nan,
    kind_refusal,
    match_keys,
    match_truth,
    scale_exactly,
    text_refusal,
    unit_refusal,
)
from discreet.plan.sql.preparation.words import DAY, NUMBER, rank_rows
from discreet.schema.column import Column

__all__ = ["SPARK_READER"]

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_STAMPS = ("TIMESTAMP", "TIMESTAMP_NTZ")
_PLAIN = (*_INTEGERS, "BOOLEAN", "DATE")
_UNITS = (
    "tinyint, smallint, int, bigint, string, varchar and char (of the collation UTF8_BINARY), "
    "boolean and date"
)
_BINARY = " COLLATE UTF8_BINARY"
_WIDTHS = ((1 << 31, "INT"), (1 << 63, "BIGINT"))
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_DIGITS = 38
_WORDS = "('nan', '+nan', '-nan', 'inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity')"


def _is_text(kind: str) -> bool:
    return kind.startswith(("STRING", "VARCHAR", "CHAR"))


def _bytes(value: str, kind: str) -> str:
    if kind == "STRING":
        return value
    plain = f"CAST({value} AS STRING)"
    if kind.startswith("CHAR"):
        return f"rtrim({plain})"  # padded to its length
    return f"collate({value}, 'UTF8_BINARY')" if "COLLATE" in kind else plain


def _text(value: str, kind: str, what: str) -> str:
    if not _is_text(kind) and kind not in _PLAIN:
        raise text_refusal(what, kind, "a string")
    return _bytes(value, kind)


def _unit(value: str, kind: str, what: str) -> str:
    if kind in _INTEGERS:
        return value
    plain = kind.removesuffix(_BINARY)
    if " COLLATE " in plain or not (_is_text(plain) or plain in _PLAIN):
        raise unit_refusal(what, kind, _UNITS, "lower(collate(id, 'UTF8_BINARY')) or bigint(id)")
    return _bytes(value, kind)


def _category(column: Column, value: str, kind: str) -> Reading:
    return match_keys(column, _text(value, kind, column.name), SPARK)


def _boolean(column: Column, value: str, kind: str) -> Reading:
    if kind == "BOOLEAN":
        return Reading(f"CAST({value} AS INT)")
    if _is_text(kind):
        return match_truth(f"lower({_bytes(value, kind)})")
    if kind not in (*_INTEGERS, *_FLOATS) and not _DECIMAL.fullmatch(kind):
        raise kind_refusal(column, kind)
    return Reading(f"CASE WHEN {value} = 0 THEN 0 WHEN {value} IS NOT NULL THEN 1 END")


def _date(column: Column, value: str, kind: str) -> Reading:
    if kind == "DATE":
        day = value
    elif kind in _STAMPS:
        day = f"CAST({value} AS DATE)"
    elif _is_text(kind):
        words = f"trim({_bytes(value, kind)})"
        form = SPARK.literal(rf"\A({DAY})\z")  # a $ would match before the last end of a line
        day = f"CASE WHEN regexp_like({words}, {form}) THEN try_cast(left({words}, 10) AS DATE) END"
    else:
        raise kind_refusal(column, kind)
    low, high = (f"DATE '{column.decode(k)}'" for k in (column.lower, column.upper))
    return clamp(column, day, low, high, f"unix_date({day})")


def _datetime(column: Column, value: str, kind: str) -> Reading:
    if kind not in ("DATE", *_STAMPS):
        raise kind_refusal(column, kind)
    moment = value if kind == "TIMESTAMP" else f"CAST({value} AS TIMESTAMP)"
    step = int(column.step) * 10**6
    passed = f"unix_micros({moment})"
    low, high = column.lower * step, column.upper * step
    quotient = SPARK.quotient(f"({passed} - {low})", step, column.upper - column.lower)
    return clamp(column, passed, str(low), str(high), f"{column.lower} + {quotient}")


def _number(column: Column, value: str, kind: str) -> Reading:
    if kind in _INTEGERS and column.step == 1:
        return clamp(column, value, str(column.lower), str(column.upper), value)
    exact = _exact(column, value, kind)
    if exact is not None:
        return exact
    if kind in (*_INTEGERS, *_FLOATS) or _DECIMAL.fullmatch(kind):
        return _float(column, value if kind == "DOUBLE" else f"CAST({value} AS DOUBLE)")
    if _is_text(kind):
        return _float(column, _float_in(_bytes(value, kind)))
    raise kind_refusal(column, kind)


def _exact(column: Column, value: str, kind: str) -> Reading | None:
    """Integers and decimals, without a float in between."""
    if kind in _INTEGERS:
        return scale_exactly(column, f"CAST({value} AS DECIMAL(38,0))", 0, SPARK)
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is None:
        return None
    width, digits = map(int, decimal.groups())
    if width + digits + 2 > _DIGITS:
        return None
    ten = f"CAST({10**digits} AS DECIMAL({digits + 1},0))"
    return scale_exactly(column, f"CAST({value} * {ten} AS DECIMAL(38,0))", digits, SPARK)


def _float(column: Column, number: str) -> Reading:
    step = column.step
    steps = number
    if step != 1:
        top, bottom = (f"CAST({part} AS DOUBLE)" for part in (step.denominator, step.numerator))
        steps = f"({number} * {top} / {bottom})"
    nan = f"isnan({number})"
    reading = clamp(
        column, steps, str(column.lower), str(column.upper), f"CAST(rint({steps}) AS BIGINT)"
    )
    infinite = f"{number} IN (CAST('Infinity' AS DOUBLE), CAST('-Infinity' AS DOUBLE))"
    return exclude_nan(reading, nan, infinite)


def _float_in(text: str) -> str:
    """The double that a text stands for; NULL if it is none, such as Java's 1d."""
    form = SPARK.literal(NUMBER.replace("[[:space:]]", "[ \\t\\n\\x0B\\f\\r]"))
    words = f"lower(btrim({text}, ' \\t\\n\\r'))"
    unsigned = f"CASE WHEN {words} LIKE '_nan' THEN 'NaN' ELSE {words} END"
    return (
        f"CASE WHEN regexp_like({text}, {form}) THEN try_cast({text} AS DOUBLE) "
        f"WHEN {words} IN {_WORDS} THEN try_cast({unsigned} AS DOUBLE) END"
    )


SPARK_READER = Reader(
    dialect=SPARK,
    widths=_WIDTHS,
    readings=(_number, _number, _category, _boolean, _date, _datetime),
    text=_text,
    unit=_unit,
    first_rows=rank_rows,
)
"""How Spark reads raw values."""
