"""Turns SmartNoise metadata (YAML) into schema files: what it says is kept, what it lacks is a
mark to fill in, what has no counterpart is listed. Reads metadata only, never data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.names import propose_names, text_literal, toml_key
from discreet.schema.toml.read import FILL_IN
from discreet.schema.toml.write import decimal_literal, table_name
from discreet.schema.values import exact_number

__all__ = ["Imported", "import_metadata", "read_metadata"]

_OPTIONS = (
    "censor_dims", "clamp_columns", "clamp_counts", "max_ids", "row_privacy", "rows", "rows_exact",
    "sample_max_ids", "use_dpsu",
)  # fmt: skip
_FACTS = (
    "cardinality", "lower", "missing_value", "nullable", "private_id", "sensitivity", "type",
    "upper",
)  # fmt: skip
_OWN_BUDGET = ("[budget]", f"epsilon = {FILL_IN}", "# delta = 1e-7")
_SHARED_BUDGET = ("# The budget of this population is in the schema of its first table.",)
_TYPES = {
    "int": "integer",
    "float": "number",
    "string": "category",
    "boolean": "boolean",
    "datetime": "datetime",
}


@dataclass(frozen=True, slots=True)
class Imported:
    """One table of the metadata: its name, its schema file to complete, what was left behind."""

    name: str
    text: str
    notes: tuple[str, ...]


def read_metadata(path: Path) -> tuple[Imported, ...]:
    """Read a SmartNoise metadata file; needs PyYAML, the extra `smartnoise`.

    >>> read_metadata(Path("absent.yaml"))
    Traceback (most recent call last):
    discreet.errors.SchemaError: absent.yaml: the metadata cannot be read (No such file or \
directory).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not UTF-8 text. Metadata is a YAML file.") from None
    except OSError as error:
        raise SchemaError(f"{path}: the metadata cannot be read ({error.strerror}).") from None
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise SchemaError(
            "SmartNoise metadata is YAML, which PyYAML reads; it is not installed. "
            "Run: pip install 'discreet[smartnoise]'"
        ) from None
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" near line {mark.line + 1}" if mark is not None else ""
        raise SchemaError(f"{path.name}: not valid YAML{place}.") from None
    return import_metadata(document)


def import_metadata(document: Mapping[str, Any]) -> tuple[Imported, ...]:
    """The schema files that SmartNoise metadata, read as a mapping, stands for.

    Tables of one collection are put into one population, so that they share one budget.
    >>> age = {"type": "int", "lower": 0, "upper": 110}
    >>> people = {"row_privacy": True, "age": age}
    >>> (table,) = import_metadata({"": {"census": {"people": people}}})
    >>> print(*[line for line in table.text.splitlines() if line.startswith("age")])
    age = { type = "integer", lower = 0, upper = 110 }
    """
    metadata = _mapping(document, "the metadata")
    collections = [name for name in metadata if name != "engine"]
    if len(collections) != 1:
        raise SchemaError(
            f"the metadata has {len(collections)} collections; one file holds one. "
            "Write collection, schema, table and columns inside each other."
        )
    tables = list(_tables(str(collections[0] or ""), metadata[collections[0]]))
    if not tables:
        raise SchemaError("the metadata has no table. Write collection, schema, table, columns.")
    names = _names([(schema, table) for schema, table, _ in tables])
    population = table_name(str(collections[0])) if collections[0] else names[0]
    return tuple(
        _import_table(name, population, facts, _SHARED_BUDGET if number else _OWN_BUDGET)
        for number, (name, (_, _, facts)) in enumerate(zip(names, tables, strict=True))
    )


def _mapping(value: object, what: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise SchemaError(
            f"{what} is not a mapping. Write collection, schema, table and columns inside "
            "each other."
        )
    return value


def _tables(collection: str, schemas: object) -> Iterator[tuple[str, str, Mapping[Any, Any]]]:
    for schema, tables in _mapping(schemas, f"the collection {collection!r}").items():
        for table, facts in _mapping(tables, f"the schema {str(schema or '')!r}").items():
            yield str(schema or ""), str(table), _mapping(facts, f"the table {str(table)!r}")


def _names(tables: list[tuple[str, str]]) -> list[str]:
    """Each table's own name, with its schema's before it where two would be the same."""
    plain = [table_name(table) for _, table in tables]
    folded = [name.casefold() for name in plain]
    names = [
        name if folded.count(name.casefold()) == 1 else table_name(f"{schema}_{table}")
        for name, (schema, table) in zip(plain, tables, strict=True)
    ]
    for number, name in enumerate(names):
        if name.casefold() in [other.casefold() for other in names[:number]]:
            raise SchemaError(f"two tables would be called {name!r}. Rename one of them.")
    return names


def _import_table(
    name: str, population: str, facts: Mapping[Any, Any], budget: tuple[str, ...]
) -> Imported:
    columns = {
        str(key): _mapping(value, f"{name}: the column {str(key)!r}")
        for key, value in facts.items()
        if key not in _OPTIONS
    }
    units = [key for key, entry in columns.items() if _flag(name, entry, "private_id", False)]
    if len(units) > 1:
        raise SchemaError(
            f"{name}: {' and '.join(units)} are private_id; one column is the privacy unit. "
            "Keep one."
        )
    notes = [f"{name}: {note}" for note in _note_options(name, facts)]
    by_row = _flag(name, facts, "row_privacy", False)
    if by_row and units:
        notes.append(
            f"{name}: row_privacy protects one row, though {_one_line(units[0])} identifies "
            "people. To protect people, name it as unit, with rows_per_unit."
        )
    lines = []
    for called, (key, entry) in zip(propose_names(list(columns)), columns.items(), strict=True):
        if key not in units:
            line, more = _entry(name, called, key, entry, keys=_keys(name, facts))
            lines.append(line)
            notes += [f"{name}.{_one_line(key)}: {note}" for note in more]
    head = ["# Imported from SmartNoise metadata."]
    head += [f"# Write a value in place of every {FILL_IN}, chosen without looking at the data."]
    if notes:
        head += ["# Without a counterpart here:", *(f"#   {note}" for note in notes)]
    who = [] if by_row else _unit(name, units, facts)
    parts = [
        *head,
        "[table]",
        f"name = {text_literal(name)}",
        f"source = {FILL_IN}",
        f"population = {text_literal(population)}  # tables about the same people share a budget",
        *who,
        'neighbours = "add-remove"',
        "",
        "[columns]",
        *lines,
        "",
        *budget,
    ]
    return Imported(name, "\n".join(parts) + "\n", tuple(notes))


def _unit(name: str, units: list[str], facts: Mapping[Any, Any]) -> list[str]:
    rows = _count(name, facts, "max_ids", 1)
    if not units:
        return [
            "# No private_id is named: name the column that says whose row it is, or delete both",
            "# lines if each row is one person.",
            f"unit = {FILL_IN}",
            f"rows_per_unit = {rows}",
        ]
    called = propose_names(units)[0]
    source_name = [f"unit_source_name = {text_literal(units[0])}"] * (called != units[0])
    return [f"unit = {text_literal(called)}", *source_name, f"rows_per_unit = {rows}"]


def _note_options(name: str, facts: Mapping[Any, Any]) -> Iterator[str]:
    """The table's options that have no counterpart, each with what happens instead."""
    if "rows" in facts:
        yield "rows is not used: no answer needs the number of rows in advance."
    if "rows_exact" in facts:
        yield 'rows_exact is not used; if the number of people is public, neighbours = "replace".'
    if not _flag(name, facts, "sample_max_ids", True):
        yield "sample_max_ids = false is not followed: further rows of a unit are always left out."
    if _flag(name, facts, "clamp_counts", False):
        yield "clamp_counts is not followed: a noisy count may be negative."
    if not _flag(name, facts, "clamp_columns", True):
        yield "clamp_columns = false is not followed: values are always clamped to their bounds."
    if _flag(name, facts, "use_dpsu", False):
        yield "use_dpsu is not followed: the plan chooses how private keys are selected."


def _keys(name: str, facts: Mapping[Any, Any]) -> str:
    """Private where rare values are censored; to be listed where all of them are shown."""
    return '"private"' if _flag(name, facts, "censor_dims", True) else FILL_IN


def _entry(
    table: str, called: str, name: str, entry: Mapping[Any, Any], *, keys: str
) -> tuple[str, list[str]]:
    where = f"{table}.{called}"
    kind = _TYPES.get(str(entry.get("type")))
    if kind is None:
        kind = _one_line(str(entry.get("type", "none")))
        return f"# {called} cannot be declared: its type is {kind}.", [f"left out: type {kind}."]
    notes = [f"{_one_line(str(key))} is not used." for key in entry if key not in _FACTS]
    notes += ["sensitivity is not used: it follows from the bounds."] * ("sensitivity" in entry)
    notes += ["cardinality is not used."] * ("cardinality" in entry)
    parts = [f'type = "{kind}"']
    parts += [f"source_name = {text_literal(name)}"] * (called != name)
    if kind == "category":
        parts.append(f"keys = {keys}")
    elif kind != "boolean":
        parts += [f"{end} = {_bound(where, kind, entry, end)}" for end in ("lower", "upper")]
    if kind == "number":
        parts.append(f"step = {FILL_IN}")
    rule, note = _null(where, kind, entry)
    return f"{toml_key(called)} = {{ {', '.join(parts + rule)} }}", notes + note


def _bound(where: str, kind: str, entry: Mapping[Any, Any], end: str) -> str:
    if entry.get(end) is None:
        return FILL_IN
    return _literal(f"{where}: {end}", kind, entry[end])


def _literal(what: str, kind: str, value: object) -> str:
    if kind == "boolean":
        if not isinstance(value, bool):
            raise SchemaError(f"{what} is {value!r}; write true or false.")
        return str(value).lower()
    if kind == "datetime":
        if not isinstance(value, date):
            raise SchemaError(f"{what} is {value!r}; write a time such as 2024-01-01 00:00:00.")
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        return moment.isoformat()
    try:  # YAML reads 1e5, without a point, as text
        number = exact_number(Decimal(value) if isinstance(value, str) else value, what)
    except InvalidOperation:
        raise SchemaError(f"{what} is the text {value!r}; write a number.") from None
    return decimal_literal(number, what)


def _null(where: str, kind: str, entry: Mapping[Any, Any]) -> tuple[list[str], list[str]]:
    value = entry.get("missing_value")
    if kind == "category":
        note = "missing_value is not used: NULL is in no group."
        return [], [note] * (value is not None)
    if value is not None:
        return [f"null = {_literal(f'{where}: missing_value', kind, value)}"], []
    return ['null = "error"'] * (not _flag(where, entry, "nullable", True)), []


def _flag(where: str, facts: Mapping[Any, Any], name: str, otherwise: bool) -> bool:
    value = facts.get(name, otherwise)
    if not isinstance(value, bool):
        raise SchemaError(f"{where}: {name} is {value!r}; write true or false.")
    return value


def _count(where: str, facts: Mapping[Any, Any], name: str, otherwise: int) -> int:
    value = facts.get(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SchemaError(f"{where}: {name} is {value!r}; it must be an integer of at least 1.")
    return value


def _one_line(text: str) -> str:
    """Somebody's word as a comment can hold it: no line breaks, no control characters."""
    return text_literal(text)[1:-1]
