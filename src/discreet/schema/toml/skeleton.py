"""Writes the commented schema file a custodian starts from, out of names and type names only.
Never sees a value; the marks it leaves keep the file invalid until somebody has decided.
"""

import re
from collections.abc import Sequence

from discreet.errors import SchemaError
from discreet.schema.column import nearest
from discreet.schema.format import PLAIN, Format
from discreet.schema.names import population_name, propose_names, sql_name, text_literal, toml_key
from discreet.schema.toml.read import FILL_IN
from discreet.schema.toml.write import format_lines, table_name

__all__ = ["skeleton"]

_INTEGERS = r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|INT[1248]?|INT(16|32|64)|LONG|SHORT"
_NUMBERS = r"DOUBLE|DOUBLE PRECISION|FLOAT[48]?|REAL|(DECIMAL|NUMERIC)(\(.*\))?"
_TEXTS = r"VARCHAR|TEXT|STRING|(CHAR|BPCHAR|VARCHAR|CHARACTER VARYING)(\(\d+\))?|ENUM\(.*\)|UUID"
_TEXTS = rf"({_TEXTS})( COLLATE .*)?"
_TIMES = r"DATE|TIMESTAMP.*"
_LARGEST_SCALE = 18

_HEAD = """\
# What Discreet may know about {name}.
# Write a value in place of every {mark}; the file is refused while one is left. Everything
# here is public: analysts see it, and answers follow it.
#
# DO NOT LOOK AT THE DATA to choose bounds, keys or rows_per_unit. Take them from the form, the
# law, a code book or common sense: a bound taken from the data gives away whoever set it.
# Values outside the bounds are clamped to them, so wide bounds mean more noise and narrow ones
# more bias.
"""
_UNIT = """\
unit = {unit}
# The most rows of one unit that are used, chosen by a hash; the rest are left out. A larger
# number means more noise, a smaller one more rows left out.
rows_per_unit = {mark}
"""
_NO_UNIT = """\
# Each row is one person. If somebody can have several rows, name the column that says whose
# they are, and how many rows of one person are used at most:
# unit = "..."
# rows_per_unit = 1
"""
_COLUMNS = """\
# Delete the line of a column that analysts need not see: what is not declared cannot be asked.
#   lower, upper  values outside are clamped to these
#   step          values are rounded to multiples of it; it must divide both bounds
#   keys          the groups a result shows; a value not listed falls into no group,
#                 or with other = true into the group "other"; "private" if nobody can list them
#   null          "drop" (the default) leaves NULL out of an aggregate, a constant replaces it,
#                 "error" refuses the source
"""
_FORMAT = """\
# How the file is written: a guess from its first rows; check it. Cells of another form count as
# missing and are reported at `discreet add`, which refuses a source with too many of them.
"""
_BUDGET = """\
# What all answers together may cost everybody in the population, for ever. Delete this section
# if the population already has a budget. Below 1 is strong protection, above 10 little.
epsilon = {mark}
# The probability, per person, that the guarantee fails; far below 1 / number of people. It buys
# less noise when many questions are asked. Without it the account is pure.
# delta = 1e-7
"""


def skeleton(
    name: str,
    source: str,
    columns: Sequence[tuple[str, str]],
    unit: str | None = None,
    given: Format = PLAIN,
) -> str:
    """The schema file to fill in, from column names and the engine's names of their types.

    Headings that are no words get a name of their own and stay as `source_name`.
    >>> text = skeleton("visits", "visits.csv", [("age", "BIGINT")])
    >>> print(*[line for line in text.splitlines() if line.startswith("age")])
    age = { type = "integer", lower = FILL-IN, upper = FILL-IN }  # BIGINT
    """
    names = [column for column, _ in columns]
    if unit is not None and unit not in names:
        raise SchemaError(f"{source} has no column {unit!r}. {nearest(unit, names)}")
    called = dict(zip(names, propose_names(names), strict=True))
    entries = [_entry(called[column], column, kind) for column, kind in columns if column != unit]
    title = table_name(name)
    who = _NO_UNIT if unit is None else _UNIT.format(unit=_unit(called, unit), mark=FILL_IN)
    parts = [
        _HEAD.format(name=text_literal(source), mark=FILL_IN),
        "[table]",
        f"name = {text_literal(title)}",
        f"source = {text_literal(source)}",
        "# Tables about the same people name one population and share its budget.",
        f"population = {text_literal(population_name(title))}",
        who.rstrip(),
        '# Neighbours: "add-remove" hides whether somebody is in the table; "replace" makes the',
        "# number of people public.",
        'neighbours = "add-remove"',
        "",
        *_format(given),
        "[columns]",
        _COLUMNS + "\n".join(entries),
        "",
        "[budget]",
        _BUDGET.format(mark=FILL_IN).rstrip(),
    ]
    return "\n".join(parts) + "\n"


def _unit(called: dict[str, str], unit: str) -> str:
    name = text_literal(called[unit])
    if called[unit] == unit:
        return name
    return f"{name}\nunit_source_name = {text_literal(unit)}"


def _format(given: Format) -> list[str]:
    lines = format_lines(given)
    return [lines[0], _FORMAT + lines[1], *lines[2:], ""] if lines else []


def _entry(name: str, column: str, type_name: str) -> str:
    declared = _declare(type_name.upper().strip())
    # An ENUM's type name lists its values, which may be the data's own.
    shown = text_literal(type_name.split("(")[0] if "ENUM" in type_name.upper() else type_name)[
        1:-1
    ]
    if declared is None:
        return f"# {name} cannot be declared: its type is {shown}."
    note = ""
    if type_name.upper().startswith("TIMESTAMP"):
        note = ', taken by the day; "datetime" keeps the time'
    elif declared.startswith('type = "datetime"'):
        note = '; "date" keeps the day alone, of times without an offset'
    if name != column:
        declared = declared.replace(",", f", source_name = {text_literal(column)},", 1)
        if "," not in declared:
            declared += f", source_name = {text_literal(column)}"
    spelt = sql_name(name)
    note += f"; SQL writes {spelt}" if spelt != name else ""
    return f"{toml_key(name)} = {{ {declared} }}  # {shown}{note}"


def _declare(type_name: str) -> str | None:
    bounds = f"lower = {FILL_IN}, upper = {FILL_IN}"
    if re.fullmatch(_INTEGERS, type_name):
        return f'type = "integer", {bounds}'
    if re.fullmatch(_NUMBERS, type_name):
        return f'type = "number", {bounds}, step = {_step(type_name)}'
    if re.fullmatch(_TEXTS, type_name, flags=re.DOTALL):
        return f'type = "category", keys = {FILL_IN}'
    if type_name in ("BOOLEAN", "BOOL"):
        return 'type = "boolean"'
    if type_name == "DATETIME":
        return f'type = "datetime", {bounds}'
    if re.fullmatch(_TIMES, type_name):
        return f'type = "date", {bounds}'
    return None


def _step(type_name: str) -> str:
    """What the type itself says about precision, or a mark."""
    scale = re.search(r"\(\s*\d+\s*,\s*(\d+)\s*\)", type_name)
    if scale is None or int(scale[1]) > _LARGEST_SCALE:
        return FILL_IN
    places = int(scale[1])
    return "1" if places == 0 else f"0.{'0' * (places - 1)}1"
