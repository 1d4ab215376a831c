"""Which files a source names and of which kind they are: one file, several by a pattern, a table or
a sheet in one. Looks at names and permissions only, never into a file.
"""

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import SchemaError, with_article

__all__ = ["SourceFiles", "TIDY", "path_of", "source_files"]

TIDY = ".tidy"
"""The ending of a file that a source was rewritten to: clean CSV, with the numbers of lines."""

_KINDS = {
    ".arrow": "Arrow",
    ".csv": "CSV",
    ".db": "DuckDB",
    ".ddb": "DuckDB",
    ".duckdb": "DuckDB",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".xlsx": "Excel",
}
_COMPRESSED = (".gz", ".zst")
_HOLDS_SEVERAL = ("DuckDB", "Excel")
_SIGNS = "*?[]"


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """A source that exists: the text it was given as, real paths, the kind, the table in it.

    >>> SourceFiles("a.csv", ("/data/a.csv",), "CSV", None).path
    '/data/a.csv'
    """

    given: str
    paths: tuple[str, ...]
    kind: str
    table: str | None

    @property
    def path(self) -> str:
        """The only file, or the first of several.

        >>> SourceFiles("*.csv", ("/a.csv", "/b.csv"), "CSV", None).path
        '/a.csv'
        """
        return self.paths[0]

    def unreadable(self) -> SchemaError:
        """The error for files that are not what their names say.

        >>> print(SourceFiles("a.csv", ("/data/a.csv",), "CSV", None).unreadable())
        source 'a.csv' cannot be read as a CSV file; check it.
        """
        return SchemaError(
            f"source {self.given!r} cannot be read as {with_article(self.kind)} file; check it."
        )


def _kind(name: str) -> str | None:
    path = Path(name)
    if path.suffix.lower() == TIDY:
        return "tidy"
    if path.suffix.lower() not in _COMPRESSED:
        return _KINDS.get(path.suffix.lower())
    kind = _KINDS.get(Path(path.stem).suffix.lower())
    return kind if kind in ("CSV", "JSON lines") else None


def _split(source: str) -> tuple[str, str | None]:
    """Path and table: a '#' counts as a mark only after a file that can hold several tables."""
    parts = source.split("#")
    for count in range(1, len(parts)):
        name = "#".join(parts[:count])
        if _kind(name) in _HOLDS_SEVERAL:
            return name, "#".join(parts[count:])
    return source, None


def path_of(source: str) -> str:
    """A source without the table or the sheet that it names.

    >>> path_of("clinic.duckdb#visits"), path_of("a#b.csv")
    ('clinic.duckdb', 'a#b.csv')
    """
    return _split(source)[0]


def source_files(source: str) -> SourceFiles:
    """The files of a source, those of a pattern in the order of their names.

    >>> source_files("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    >>> source_files("absent-*.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent-*.csv': no file has a name of this pattern; \
check the path.
    """
    name, table = _split(source)
    kind = _kind(name)
    if kind is None:
        known = ", ".join(sorted(_KINDS))
        raise SchemaError(
            f"source {source!r} is of no known kind; a file must end in {known}, and those of "
            f"text may end in {' or '.join(_COMPRESSED)} besides."
        )
    names = [name]
    if any(sign in name for sign in _SIGNS) and not os.path.isfile(name):
        names = _matching(source, name, kind)
    if not os.path.isfile(names[0]):
        raise SchemaError(f"source {source!r} does not exist; check the path.")
    if not all(os.access(name, os.R_OK) for name in names):
        raise SchemaError(f"source {source!r} may not be read; check its permissions.")
    paths = tuple(os.path.realpath(name) for name in names)
    if kind != "DuckDB" and any(sign in path for path in paths for sign in _SIGNS):
        raise SchemaError(f"source {source!r} has one of * ? [ ] in its path; rename it.")
    return SourceFiles(given=source, paths=paths, kind=kind, table=table)


def _matching(source: str, pattern: str, kind: str) -> list[str]:
    if kind in _HOLDS_SEVERAL:
        raise SchemaError(
            f"source {source!r}: {with_article(kind)} file is named by itself, not by a pattern; "
            "name one."
        )
    names = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
    if not names:
        raise SchemaError(f"source {source!r}: no file has a name of this pattern; check the path.")
    return names
