"""Source files: what they are called in SQL, which columns they have.
Parquet, CSV and DuckDB files, and copies of others. Messages name files, tables and columns,
never a row.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from discreet.engines.files.names import SourceFiles, source_files
from discreet.engines.files.texts import header, headers
from discreet.engines.files.tidying import FILE, LINE
from discreet.engines.process.child import Child, Failed, Order, quote, text
from discreet.errors import SchemaError
from discreet.schema.format import PLAIN, Format

__all__ = ["describe", "number_rows", "opening", "openings", "relation", "table_of"]

_ORIGIN = "origin"
_LIMIT_SECONDS = 60.0
_IN_PLACE = ("CSV", "DuckDB", "Parquet", "tidy")
_TIDY = Format(delimiter=",", multiline=True)


def _ask(order: Order, command: str, argument: str) -> Any | None:
    """A child's answer, or None: its reasons may quote rows."""
    try:
        with Child(order) as child:
            return child.ask(command, argument, limit_seconds=_LIMIT_SECONDS)
    except (Failed, OSError):
        return None


def _attach(file: SourceFiles, name: str = _ORIGIN) -> str:
    return f"ATTACH {text(file.path)} AS {name} (TYPE duckdb, READ_ONLY)"


def _allow(*files: SourceFiles) -> str:
    paths = (path for file in files for path in file.paths)
    return f"SET allowed_paths = [{', '.join(map(text, paths))}]"


def _table(file: SourceFiles) -> tuple[str, str]:
    """Schema and name of the one table of a DuckDB file, or of the one that was named."""
    order = Order(database=":memory:", commands=("tables",), statements=(_attach(file),))
    tables = _ask(order, "tables", _ORIGIN)
    if tables is None:
        raise file.unreadable()
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


def _list_paths(file: SourceFiles) -> str:
    if len(file.paths) == 1:
        return text(file.path)
    return f"[{', '.join(map(text, file.paths))}]"


def _csv(file: SourceFiles, given: Format) -> tuple[str, tuple[str, ...]]:
    """The reader of CSV files, strict, with all columns as text; and their names."""
    head = headers(file.paths, given, file.given)[0]
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in head.names)
    mark = text(given.quote)
    options = f"header = true, quote = {mark}, escape = {mark}, delim = {text(head.delimiter)}"
    read = f"read_csv({_list_paths(file)}, {options}, auto_detect = false, columns = {{{columns}}})"
    return read, head.names


def _texts(read: str, names: tuple[str, ...]) -> str:
    """Joined to nothing: else the engine gives a cast to the reader, which fails on a bad cell."""
    shown = ", ".join(f"{quote(name)} || '' AS {quote(name)}" for name in names)
    return f"(SELECT {shown} FROM {read})"


def relation(source: str, given: Format = PLAIN) -> str:
    """The FROM item of a source; a CSV file's columns are all VARCHAR.

    Nothing about a CSV file is guessed from its rows, so that one row cannot change how others are
    read: casts belong to the statement and should be TRY_CAST. Reads the header line of a CSV file,
    the table names of a DuckDB file.
    >>> relation("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    return _relation(source_files(source), given, _ORIGIN)


def _relation(file: SourceFiles, given: Format, origin: str) -> str:
    if file.kind == "Parquet":
        # Statistics in a file leave NaN out; without the option the engine relies on them.
        options = "hive_partitioning = false, can_have_nan = true"
        return f"read_parquet({_list_paths(file)}, {options})"
    if file.kind == "DuckDB":
        schema, name = _table(file)
        return f"{origin}.{quote(schema)}.{quote(name)}"
    if file.kind not in _IN_PLACE:
        raise SchemaError(
            f"source {file.given!r}: a file of the kind {file.kind} cannot be read in place. Add "
            "it without in-place, so that its rows are prepared. Nothing was added."
        )
    begins = given.header and given.first_line == 1
    if file.kind == "CSV" and (given.encoding != "utf-8" or not begins):
        what = f"in {given.encoding}" if begins else "without names on its first line"
        raise SchemaError(
            f"source {file.given!r}: a file {what} cannot be read in place. Add it "
            "without in-place, so that its rows are prepared. Nothing was added."
        )
    read, names = _csv(file, given if file.kind == "CSV" else _TIDY)
    return _texts(read, tuple(name for name in names if name not in (FILE, LINE)))


def number_rows(source: str, given: Format = PLAIN) -> str:
    """The same with the columns $file and $line, which say where a row is.

    Of a CSV file and of others that were not rewritten, $line is the number of the record.
    >>> number_rows("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    file = source_files(source)
    if file.kind == "tidy":
        read, names = _csv(file, _TIDY)
        places = ", ".join(f"CAST({quote(name)} AS BIGINT) AS {quote(name)}" for name in names[:2])
        shown = ", ".join(quote(name) for name in names[2:])
        return f"(SELECT {places}, {shown} FROM {_texts(read, names)})"
    rows = _relation(file, given, _ORIGIN)
    return f"(SELECT 0 AS {quote(FILE)}, row_number() OVER () AS {quote(LINE)}, * FROM {rows})"


def opening(source: str, given: Format = PLAIN) -> tuple[str, ...]:
    """The statements after which a child may read this source, and it alone, as `source`.

    >>> opening("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    return openings({"source": source}, {"source": given})


def openings(
    sources: Mapping[str, str], formats: Mapping[str, Format] = MappingProxyType({})
) -> tuple[str, ...]:
    """The statements after which a child may read several sources, by the names of views.

    >>> openings({"t0": "absent.csv"})
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    files = {view: source_files(source) for view, source in sources.items()}
    plain = [file for file in files.values() if file.kind != "DuckDB"]
    statements = [_allow(*plain)] if plain else []
    for place, (view, file) in enumerate(files.items()):
        origin = f"{_ORIGIN}{place or ''}"
        if file.kind == "DuckDB":
            statements.append(_attach(file, origin))
        shown = _relation(file, formats.get(view, PLAIN), origin)
        statements.append(f"CREATE TEMP VIEW {view} AS SELECT * FROM {shown}")
    return tuple(statements)


def describe(
    source: str,
    given: Format = PLAIN,
    columns_of: Callable[[], list[tuple[str, str]] | None] | None = None,
) -> list[tuple[str, str]]:
    """Names and DuckDB types of a source's columns; a CSV file's are all text.

    A collation is named if it calls texts of different bytes equal. `columns_of` asks a child that
    has the source open; without it one is started.
    >>> describe("absent.parquet")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.parquet' does not exist; check the path.
    """
    file = source_files(source)
    if file.kind in ("CSV", "tidy"):
        names = header(file.path, given if file.kind == "CSV" else _TIDY, file.given).names
        return [
            (name, "VARCHAR") for name in names if file.kind == "CSV" or name not in (FILE, LINE)
        ]
    if columns_of is None:
        order = Order(database=":memory:", commands=("names",), statements=opening(source, given))
        columns = _ask(order, "names", "FROM source")
    else:
        columns = columns_of()
    if columns is None:
        raise file.unreadable()
    return [(str(name), str(kind)) for name, kind in columns]


def table_of(source: str) -> tuple[str, str] | None:
    """Schema and name of the table that is read in a DuckDB file; None for another file.

    Reads the table names of a DuckDB file.
    >>> table_of("absent.duckdb")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.duckdb' does not exist; check the path.
    """
    file = source_files(source)
    return _table(file) if file.kind == "DuckDB" else None
