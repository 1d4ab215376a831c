"""How DuckDB reads texts that are written in a declared format: words for missing values, marks in
numbers, patterns of dates. Every expression is total; texts of another form become NULL.
"""

from discreet.errors import SchemaError
from discreet.plan.sql.dialects import DUCKDB
from discreet.plan.sql.preparation.times import match_day, match_moment
from discreet.schema.format import Format
from discreet.schema.table import Table

__all__ = ["apply_format", "check_format", "present"]

_SPACES = " \u00a0\u2009\u202f"  # which a thousands mark that is a space may be
_APOSTROPHES = "'\u2019"
_TEXT = "VARCHAR"


def check_format(table: Table, dialect: str) -> None:
    """Refuse a format where an engine other than DuckDB reads the source, and patterns that name
    a part twice.

    >>> check_format(Table("t", format=Format(decimal=",")), "spark")
    Traceback (most recent call last):
    discreet.errors.SchemaError: t: [format] is for files that DuckDB reads; this source is read \
by spark. Leave [format] out and make a view that reads the texts. Nothing was added.
    """
    if dialect != "duckdb" and table.format != Format():
        raise SchemaError(
            f"{table.name}: [format] is for files that DuckDB reads; this source is read by "
            f"{dialect}. Leave [format] out and make a view that reads the texts. Nothing was "
            "added."
        )


def present(given: Format, value: str, kind: str) -> str:
    """A text, or NULL where it is a word for missing.

    >>> present(Format(missing=("n/a",)), '"age"', "VARCHAR")
    'CASE WHEN trim("age") NOT IN (\\'n/a\\') THEN "age" END'
    """
    if kind != _TEXT or not given.missing:
        return value
    words = ", ".join(DUCKDB.literal(word.strip()) for word in given.missing)
    return f"CASE WHEN trim({value}) NOT IN ({words}) THEN {value} END"


def apply_format(given: Format, column_kind: str, value: str, kind: str) -> tuple[str, str]:
    """A text as a number or a moment that its column's kind can be read from, and its type.

    >>> apply_format(Format(date=("%d.%m.%Y",)), "date", '"day"', "VARCHAR")[1]
    'DATE'
    """
    if kind != _TEXT:
        return value, kind
    if column_kind in ("integer", "number") and (given.decimal != "." or given.thousands):
        return _number(given, f"trim({value})"), kind
    patterns: tuple[str, ...] = ()
    if column_kind == "date" and given.date:
        patterns = (*given.date, *given.datetime)
    elif column_kind == "datetime" and given.datetime:
        patterns = (*given.datetime, *given.date)
    if not patterns:
        return value, kind
    if column_kind == "date":
        return match_day(value, patterns), "DATE"
    return match_moment(value, patterns), "TIMESTAMP"


def _number(given: Format, value: str) -> str:
    """A number's text as SQL writes it; NULL where its marks stand elsewhere."""
    digits = r"\d+"
    marks = {" ": _SPACES, "'": _APOSTROPHES}.get(given.thousands, given.thousands)
    if marks:
        digits = rf"(\d{{1,3}}([{marks}]\d{{3}})+|\d+)"
    decimal = rf"\{given.decimal}"
    form = rf"[+-]?({digits}({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?"
    form = rf"{form}|(?i:[+-]?(inf|infinity)|nan)"
    plain = value
    for mark in marks:
        plain = f"replace({plain}, {DUCKDB.literal(mark)}, '')"
    if given.decimal != ".":
        plain = f"replace({plain}, {DUCKDB.literal(given.decimal)}, '.')"
    return f"CASE WHEN regexp_full_match({value}, {DUCKDB.literal(form)}) THEN {plain} END"
