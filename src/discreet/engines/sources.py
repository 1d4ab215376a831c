"""Source files: what they are called in SQL, which columns they have.
Parquet, CSV and DuckDB files. Messages name files, tables and columns, never a row.
"""

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines.child import Child, Failed, Order, quoted, text
from discreet.errors import SchemaError, with_article

__all__ = ["ask_rows", "describe", "opening", "openings", "relation", "table_of"]

_KINDS = {
    ".csv": "CSV",
    ".db": "DuckDB",
    ".ddb": "DuckDB",
    ".duckdb": "DuckDB",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".tsv": "CSV",
}
_ORIGIN = "origin"
_LIMIT_SECONDS = 60.0
_CHUNK_BYTES = 1 << 20
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class _File:
    """A source that exists: the text it was given as, its real path, its kind, the table in it."""

    given: str
    path: str
    kind: str
    table: str | None


def _split(source: str) -> tuple[str, str | None]:
    """Path and table: a '#' counts as a mark only after the name of a DuckDB file."""
    parts = source.split("#")
    for count in range(1, len(parts)):
        name = "#".join(parts[:count])
        if _KINDS.get(Path(name).suffix.lower()) == "DuckDB":
            return name, "#".join(parts[count:])
    return source, None


def _file(source: str) -> _File:
    name, table = _split(source)
    kind = _KINDS.get(Path(name).suffix.lower())
    if kind is None:
        known = ", ".join(sorted(_KINDS))
        raise SchemaError(f"source {source!r} is of no known kind; a file must end in {known}.")
    if not os.path.isfile(name):
        raise SchemaError(f"source {source!r} does not exist; check the path.")
    if not os.access(name, os.R_OK):
        raise SchemaError(f"source {source!r} may not be read; check its permissions.")
    path = os.path.realpath(name)
    if any(sign in path for sign in "*?[]") and kind != "DuckDB":
        raise SchemaError(f"source {source!r} has one of * ? [ ] in its path; rename it.")
    return _File(given=source, path=path, kind=kind, table=table)


def _unreadable(file: _File) -> SchemaError:
    return SchemaError(
        f"source {file.given!r} cannot be read as {with_article(file.kind)} file; check it."
    )


def _ask(order: Order, command: str, argument: str) -> Any | None:
    """A child's answer, or None: its reasons may quote rows."""
    try:
        with Child(order) as child:
            return child.ask(command, argument, limit_seconds=_LIMIT_SECONDS)
    except (Failed, OSError):
        return None


def _attach(file: _File, name: str = _ORIGIN) -> str:
    return f"ATTACH {text(file.path)} AS {name} (TYPE duckdb, READ_ONLY)"


def _allow(*files: _File) -> str:
    return f"SET allowed_paths = [{', '.join(text(file.path) for file in files)}]"


def _table(file: _File) -> tuple[str, str]:
    """Schema and name of the one table of a DuckDB file, or of the one that was named."""
    order = Order(database=":memory:", commands=("tables",), statements=(_attach(file),))
    tables = _ask(order, "tables", _ORIGIN)
    if tables is None:
        raise _unreadable(file)
    names = [name if schema == "main" else f"{schema}.{name}" for schema, name in tables]
    if file.table is None and len(names) == 1:
        place = 0
    elif file.table in names:
        place = names.index(file.table)
    else:
        raise SchemaError(
            f"source {file.given!r}: the file has the tables {names}; write '#' and one of them "
            "after the file's name."
        )
    schema, name = tables[place]
    return str(schema), str(name)


def _header(file: _File) -> tuple[str, list[str]]:
    """Delimiter and column names of a CSV file, from its first line alone."""
    try:
        with open(file.path, encoding="utf-8-sig", newline="") as lines:
            first = lines.readline(_CHUNK_BYTES)
            counts = {sign: first.count(sign) for sign in _DELIMITERS}
            delimiter = max(_DELIMITERS, key=lambda sign: counts[sign])
            lines.seek(0)
            names = next(csv.reader(lines, delimiter=delimiter), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        names = []
    if not names or not all(names):
        raise SchemaError(
            f"source {file.given!r}: the first line must hold the column names, in UTF-8."
        )
    if len({name.lower() for name in names}) < len(names):
        raise SchemaError(f"source {file.given!r}: two columns have the same name; rename one.")
    return delimiter, names


def _csv(file: _File, columns: str) -> str:
    return f"read_csv({text(file.path)}, header = true, quote = '\"', escape = '\"', {columns})"


def relation(source: str) -> str:
    """The text that stands after FROM for a source; a CSV file's columns are all VARCHAR.

    Nothing about a CSV file is guessed from its rows, so that one row cannot change how others
    are read: casts belong to the statement and should be TRY_CAST.
    Privacy: none: reads the header line of a CSV file, the table names of a DuckDB file.
    >>> relation("visits.xlsx")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'visits.xlsx' is of no known kind; a file must end in \
.csv, .db, .ddb, .duckdb, .parquet, .pq, .tsv.
    """
    return _relation(_file(source), _ORIGIN)


def _relation(file: _File, origin: str) -> str:
    if file.kind == "Parquet":
        # Statistics in a file leave NaN out; without the option the engine relies on them.
        options = "hive_partitioning = false, can_have_nan = true"
        return f"read_parquet({text(file.path)}, {options})"
    if file.kind == "DuckDB":
        schema, name = _table(file)
        return f"{origin}.{quoted(schema)}.{quoted(name)}"
    delimiter, names = _header(file)
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    options = f"delim = {text(delimiter)}, auto_detect = false, columns = {{{columns}}}"
    return _csv(file, options)


def opening(source: str) -> tuple[str, ...]:
    """The statements after which a child may read this source, and it alone, as `source`.

    Privacy: none (touches no data).
    >>> opening("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    return openings({"source": source})


def openings(sources: Mapping[str, str]) -> tuple[str, ...]:
    """The statements after which a child may read several sources, by the names of views.

    Privacy: none (touches no data).
    >>> openings({"t0": "absent.csv"})
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    files = {view: _file(source) for view, source in sources.items()}
    plain = [file for file in files.values() if file.kind != "DuckDB"]
    statements = [_allow(*plain)] if plain else []
    for place, (view, file) in enumerate(files.items()):
        origin = f"{_ORIGIN}{place or ''}"
        if file.kind == "DuckDB":
            statements.append(_attach(file, origin))
        shown = _relation(file, origin)
        statements.append(f"CREATE TEMP VIEW {view} AS SELECT * FROM {shown}")
    return tuple(statements)


def describe(source: str) -> list[tuple[str, str]]:
    """Names and DuckDB types of a source's columns, for a schema skeleton.

    A collation is named if it calls texts of different bytes equal.
    A CSV file has no types: those given are a guess from its first rows (`relation` reads text).
    Privacy: none: column names and types only.
    >>> describe("absent.parquet")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.parquet' does not exist; check the path.
    """
    file = _file(source)
    if file.kind == "CSV":
        delimiter, _ = _header(file)
        order = Order(database=":memory:", commands=("names",), statements=(_allow(file),))
        found = _ask(order, "names", f"FROM {_csv(file, f'delim = {text(delimiter)}')}")
    else:
        order = Order(database=":memory:", commands=("names",), statements=opening(source))
        found = _ask(order, "names", "FROM source")
    if found is None:
        raise _unreadable(file)
    return [(str(name), str(kind)) for name, kind in found]


def table_of(source: str) -> tuple[str, str] | None:
    """Schema and name of the table that is read in a DuckDB file; None for another file.

    Privacy: none: reads the table names of a DuckDB file.
    >>> table_of("absent.duckdb")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.duckdb' does not exist; check the path.
    """
    file = _file(source)
    return _table(file) if file.kind == "DuckDB" else None


def ask_rows(
    source: str, statement: Callable[[Mapping[str, str]], str]
) -> list[tuple[int | None, ...]] | None:
    """The rows of a SELECT from `source`, written for the names and types of its columns.

    None where they cannot be read; the reason may quote rows.
    Privacy: none: rows are exact.
    >>> ask_rows("absent.csv", lambda types: "SELECT 1")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    order = Order(database=":memory:", commands=("names", "rows"), statements=opening(source))
    try:
        with Child(order) as child:
            types = dict(child.ask("names", "FROM source", limit_seconds=_LIMIT_SECONDS))
            rows: list[tuple[int | None, ...]] = child.ask(
                "rows", statement(types), limit_seconds=None
            )
            return rows
    except (Failed, OSError):
        return None
