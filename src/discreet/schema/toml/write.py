"""Writes a Table as the schema file that reads back as it, and the pieces such text is made of.
Writes public facts only; never opens a source.
"""

import re
import unicodedata
from datetime import date
from fractions import Fraction

from discreet.errors import SchemaError
from discreet.schema.column import AS_NULL, Column
from discreet.schema.format import Format
from discreet.schema.names import text_literal, toml_key
from discreet.schema.table import JOINED_ROWS, UNREADABLE_SHARE, Budget, Table

__all__ = ["decimal_literal", "format_lines", "schema_text", "table_name"]

_MOST_PLACES = 100


def decimal_literal(value: Fraction, what: str) -> str:
    """A rational as the exact decimal TOML reads back as it, or a refusal where none is.

    >>> decimal_literal(Fraction(-7, 4), "lower")
    '-1.75'
    """
    places = 0
    while 10**places % value.denominator:
        places += 1
        if places > _MOST_PLACES:
            raise SchemaError(f"{what} is {value}, which no decimal writes exactly.")
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    point = len(digits) - places
    return f"{sign}{digits[:point]}" + (f".{digits[point:]}" if places else "")


def table_name(name: str) -> str:
    """A table's name out of a file's or another system's: other characters become underscores.

    >>> table_name("my-visits.2024")
    'my_visits_2024'
    """
    words = re.sub(r"\W", "_", unicodedata.normalize("NFC", name)) or "table"
    plain = f"t_{words}" if words[0].isdigit() else words
    return unicodedata.normalize("NFC", plain.encode()[:60].decode("utf-8", "ignore"))


def schema_text(table: Table) -> str:
    """The schema file that declares a table.

    >>> from discreet.schema.toml.read import read_schema_text
    >>> visits = Table("visits", columns=(Column("age", "integer", upper=110),))
    >>> print(schema_text(visits).splitlines()[-1])
    age = { type = "integer", lower = 0, upper = 110 }
    >>> read_schema_text(schema_text(visits)) == visits
    True
    """
    lines = ["[table]", f"name = {text_literal(table.name)}"]
    if table.description:
        lines.append(f"description = {text_literal(table.description)}")
    if table.source:
        lines.append(f"source = {text_literal(table.source)}")
    if table.answer_seconds is not None:
        where = f"{table.name}: answer_seconds"
        lines.append(f"answer_seconds = {decimal_literal(table.answer_seconds, where)}")
    if table.unreadable_share != UNREADABLE_SHARE:
        where = f"{table.name}: unreadable_share"
        lines.append(f"unreadable_share = {decimal_literal(table.unreadable_share, where)}")
    lines += _lookup(table) if table.kind == "public" else _protection(table)
    lines += ["", *written] if (written := format_lines(table.format)) else []
    lines += ["", "[columns]"]
    lines += [
        f"{toml_key(column.name)} = {{ {_entry(table, column)} }}" for column in table.columns
    ]
    if table.budget is not None:
        lines += ["", "[budget]", *_limits(table.name, table.budget)]
    return "\n".join(lines) + "\n"


def _protection(table: Table) -> list[str]:
    lines = [f"population = {text_literal(table.population)}"]
    if table.unit is not None:
        lines.append(f"unit = {text_literal(table.unit)}")
        if table.unit_source_name:
            lines.append(f"unit_source_name = {text_literal(table.unit_source_name)}")
        lines.append(f"rows_per_unit = {table.rows_per_unit}")
    if table.joined_rows_per_unit != JOINED_ROWS:
        lines.append(f"joined_rows_per_unit = {table.joined_rows_per_unit}")
    return [*lines, f"neighbours = {text_literal(table.neighbours.value)}"]


def _lookup(table: Table) -> list[str]:
    if not table.key:
        return ['kind = "public"']
    names = ", ".join(map(text_literal, table.key))
    return ['kind = "public"', f"key = [{names}]", f"rows_per_key = {table.rows_per_key}"]


def _limits(name: str, budget: Budget) -> list[str]:
    parts = ("epsilon", "delta", "delta_for_conversion")
    lines = [
        f"{part} = {decimal_literal(getattr(budget, part), f'{name}: {part}')}" for part in parts
    ]
    return [*lines, f"sharing = {'true' if budget.sharing else 'false'}"]


def _entry(table: Table, column: Column) -> str:
    where = f"{table.name}.{column.name}"
    parts = [f"type = {text_literal(column.kind)}"]
    if column.source_name:
        parts.append(f"source_name = {text_literal(column.source_name)}")
    if column.private_keys:
        parts.append('keys = "private"')
    elif column.kind == "category":
        parts.append(f"keys = [{', '.join(map(text_literal, column.keys))}]")
        parts += ["other = true"] if column.other else []
    elif column.kind != "boolean":
        parts.append(f"lower = {_value(where, column, column.lower)}")
        parts.append(f"upper = {_value(where, column, column.upper)}")
        if column.kind == "number" or column.step != 1:
            parts.append(f"step = {decimal_literal(column.step, f'{where}: step')}")
    if column.null != "drop":
        parts.append(f"null = {_rule(where, column, column.null)}")
    if column.nan != AS_NULL:
        parts.append(f"nan = {_rule(where, column, column.nan)}")
    if column.infinity != "clamp":
        parts.append(f"infinity = {text_literal(column.infinity)}")
    if column.description:
        parts.append(f"description = {text_literal(column.description)}")
    return ", ".join(parts)


def _rule(where: str, column: Column, rule: str | int) -> str:
    if isinstance(rule, str):
        return text_literal(rule)
    if column.kind == "category" and column.decode(rule) in ("drop", "error"):
        raise SchemaError(
            f"{where}: NULL becomes the key {column.decode(rule)!r}, which a file cannot say: "
            "the rule of that name wins. Rename the key."
        )
    return _value(where, column, rule)


def _value(where: str, column: Column, k: int) -> str:
    if column.kind in ("integer", "number"):
        return decimal_literal(k * column.step, f"{where}: a value")
    value = column.decode(k)
    if isinstance(value, date):
        return value.isoformat()
    return text_literal(value) if isinstance(value, str) else str(value).lower()


def format_lines(given: Format) -> list[str]:
    """The lines of the section [format]; none for the usual format.

    >>> format_lines(Format(decimal=",", missing=("n/a", "-")))
    ['[format]', 'decimal = ","', 'missing = ["n/a", "-"]']
    """
    lines = [
        f"{name} = [{', '.join(map(text_literal, value))}]"
        if isinstance(value, list)
        else f"{name} = {text_literal(value) if isinstance(value, str) else str(value).lower()}"
        for name, value in given.facts().items()
    ]
    return ["[format]", *lines] if lines else []
