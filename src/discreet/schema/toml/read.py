"""Reads the custodian's schema file (TOML) into a Table, or says what to write instead.
Opens the schema file only, never the source it names.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from discreet.errors import SchemaError
from discreet.loss import Relation
from discreet.schema.column import nearest
from discreet.schema.format import PLAIN
from discreet.schema.names import any_name
from discreet.schema.table import JOINED_ROWS, TABLE_KINDS, UNREADABLE_SHARE, Budget, Table
from discreet.schema.toml.column_entry import known_keys, read_column
from discreet.schema.toml.format_section import read_format

__all__ = ["FILL_IN", "marks_in", "read_schema", "read_schema_text"]

FILL_IN = "FILL-IN"
"""The mark a skeleton has where the custodian must write; TOML with a mark left is refused."""

_SECTIONS = ("table", "format", "columns", "budget")
_ABOUT_PEOPLE = (
    "population",
    "unit",
    "unit_source_name",
    "rows_per_unit",
    "joined_rows_per_unit",
    "neighbours",
)
_LOOKUP = ("key", "rows_per_key")
_OF_SOURCE = ("source", "unreadable_share", "answer_seconds")
_TABLE = ("name", "description", "kind", *_OF_SOURCE, *_ABOUT_PEOPLE, *_LOOKUP)
_BUDGET = ("epsilon", "delta", "delta_for_conversion", "sharing")


def marks_in(line: str) -> int:
    """How many places of a line of a schema file are to be filled in.

    >>> marks_in('a = { source_name = "a#b", lower = FILL-IN }  # FILL-IN')
    1
    """
    return re.sub(r'"(?:[^"\\]|\\.)*"', "", line).partition("#")[0].count(FILL_IN)


def read_schema(source: Path | str | Mapping[str, Any]) -> Table:
    """Read a schema from a TOML file, by its path, or from a mapping of the same shape.

    A relative `source` inside a file is taken from the file's folder.
    >>> region = {"type": "category", "keys": ["north", "south"]}
    >>> read_schema({"table": {"name": "visits"}, "columns": {"region": region}}).columns[0].upper
    1
    """
    if isinstance(source, Mapping):
        return _table(source)
    path = Path(source)
    if "\n" in str(source):
        raise SchemaError("A path has several lines. For TOML text use read_schema_text.")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SchemaError(
            f"{path}: not UTF-8 text. A schema is a TOML file; if this is the data, `discreet init "
            f"{path}` writes a schema for it."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise SchemaError(
            f"{path}: the schema cannot be read ({reason}). `discreet init FILE` writes one for a "
            "file of data."
        ) from None
    try:
        document = _toml(text, path.name)
    except SchemaError as error:
        if path.suffix.lower() == ".toml" or FILL_IN in str(error):
            raise
        raise SchemaError(
            f"{error} A schema is a TOML file; if this is the data, `discreet init {path}` writes "
            "a schema for it."
        ) from None
    section = document.get("table")
    if isinstance(section, dict) and isinstance(section.get("source"), str):
        section["source"] = _from_folder(section["source"], path.parent)
    return _table(document)


def read_schema_text(text: str) -> Table:
    """Read a schema from TOML text.

    >>> read_schema_text('table = { name = "visits" }\\ncolumns.child = { type = "boolean" }').name
    'visits'
    """
    return _table(_toml(text, "schema"))


def _from_folder(source: str, folder: Path) -> str:
    if not source or "://" in source:
        return source
    before, mark, name = source.partition("spark:")
    if mark and not before:  # a path has a slash or an ending; anything else is a table's name
        is_path = "/" in name or name.endswith(".parquet")
        return f"spark:{os.path.abspath(folder / name)}" if is_path else source
    return os.path.abspath(folder / source)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the number {text} is too large or too small") from None


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise SchemaError(f"{where}: brackets are nested too deeply.") from None
    except ValueError as error:  # malformed TOML, or an integer of thousands of digits
        unfilled = [
            str(number) for number, line in enumerate(text.splitlines(), start=1) if marks_in(line)
        ]
        if unfilled:
            raise SchemaError(
                f"{where}: {FILL_IN} is left on line {', '.join(unfilled)}. "
                "Write a value in its place, or delete the line."
            ) from None
        raise SchemaError(f"{where}: not valid TOML: {error}.") from None


def _section(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = document[name]
    if not isinstance(section, Mapping):
        raise SchemaError(f"{name} is {section!r}; it must be a section, [{name}].")
    return section


def _table(document: Mapping[str, Any]) -> Table:
    known_keys(document, _SECTIONS, "schema", "section")
    for name in ("table", "columns"):
        if name not in document:
            raise SchemaError(f"schema: the section [{name}] is missing. Add it.")
    facts = _section(document, "table")
    if "name" not in facts:
        raise SchemaError('schema: [table] has no name. Write name = "...".')
    name = any_name(facts["name"], "schema: name")
    known_keys(facts, _TABLE, f"{name}: [table]", "key")
    kind = _kind(name, document, facts)
    for key in ("source", "population", "unit", "unit_source_name"):
        if key in facts and (not isinstance(facts[key], str) or not facts[key]):
            raise SchemaError(f"{name}: {key} is {facts[key]!r}; it must be text, in quotes.")
    columns = _section(document, "columns")
    return Table(
        name=name,
        source=facts.get("source"),
        population=facts.get("population", ""),
        unit=facts.get("unit"),
        rows_per_unit=_rows_per_unit(name, facts),
        neighbours=_relation(name, facts),
        columns=tuple(read_column(name, key, entry) for key, entry in columns.items()),
        budget=_budget(name, _section(document, "budget")) if "budget" in document else None,
        kind=kind,
        key=_key(name, facts),
        rows_per_key=facts.get("rows_per_key", 1),
        joined_rows_per_unit=facts.get("joined_rows_per_unit", JOINED_ROWS),
        answer_seconds=facts.get("answer_seconds"),
        unit_source_name=facts.get("unit_source_name", ""),
        description=facts.get("description", ""),
        format=read_format(name, _section(document, "format")) if "format" in document else PLAIN,
        unreadable_share=facts.get("unreadable_share", UNREADABLE_SHARE),
    )


def _kind(name: str, document: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    kind = facts.get("kind", "private")
    if kind not in TABLE_KINDS:
        raise SchemaError(f"{name}: kind is {kind!r}. {nearest(str(kind), TABLE_KINDS)}")
    if kind == "private":
        misplaced = [key for key in _LOOKUP if key in facts]
        if misplaced:
            raise SchemaError(
                f"{name}: only a public table has {misplaced[0]}. Leave it out, or write "
                'kind = "public" if the table is about nobody.'
            )
        return "private"
    misplaced = [key for key in _ABOUT_PEOPLE if key in facts]
    misplaced += ["budget"] if "budget" in document else []
    if misplaced:
        raise SchemaError(
            f"{name}: a public table protects nobody and has no {misplaced[0]}. "
            f"Leave {misplaced[0]} out, or kind if the table is about people."
        )
    return "public"


def _key(name: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    key = facts.get("key", ())
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise SchemaError(
            f'{name}: key is {key!r}; write the name of a column, key = "code", or a list of them.'
        )
    if not names and "rows_per_key" in facts:
        raise SchemaError(
            f"{name}: rows_per_key is {facts['rows_per_key']!r} but no key is named. "
            "Name the columns that identify a row, or leave rows_per_key out."
        )
    return tuple(names)


def _rows_per_unit(name: str, facts: Mapping[str, Any]) -> Any:
    unit, rows = facts.get("unit"), facts.get("rows_per_unit")
    if unit is not None and rows is None:
        raise SchemaError(
            f"{name}: no bound on how many rows one {unit!r} contributes. "
            "Set rows_per_unit in the schema."
        )
    if unit is None and rows is not None:
        raise SchemaError(
            f"{name}: rows_per_unit is {rows!r} but no unit is named. Name the unit's column, "
            "or leave rows_per_unit out: each row is then one person."
        )
    return 1 if rows is None else rows


def _relation(name: str, facts: Mapping[str, Any]) -> Relation:
    relation = facts.get("neighbours", Relation.ADD_REMOVE)
    known = [relation.value for relation in Relation]
    if relation not in known:
        raise SchemaError(f"{name}: neighbours is {relation!r}. {nearest(str(relation), known)}")
    return Relation(relation)


def _budget(name: str, limits: Mapping[str, Any]) -> Budget:
    known_keys(limits, _BUDGET, f"{name}: [budget]", "key")
    if "epsilon" not in limits:
        raise SchemaError(
            f"{name}: [budget] has no epsilon. Write epsilon = 1.0, say, or leave the section "
            "out where the population already has a budget."
        )
    try:
        return Budget(**limits)
    except SchemaError as error:
        raise SchemaError(f"{name}: {error}") from None
