"""The first rows of a source as they would be read, and a guess of how it is written. For the
custodian, before a schema is written; nothing here is released.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.engines.files.names import TIDY, SourceFiles, source_files
from discreet.engines.files.sources import describe
from discreet.engines.files.texts import BROKEN, head_bytes, header, open_text, records, rows_of
from discreet.engines.files.tidying import FILE, LINE, sheet_start, tidy
from discreet.schema.format import PLAIN, Format
from discreet.schema.guess.cells import read_cell
from discreet.schema.guess.format import Guess, guess_columns, guess_marks
from discreet.schema.guess.heading import Heading, guess_header, guess_heading

__all__ = ["Preview", "name_of", "preview", "shape", "shown_cells"]

_SAMPLE_BYTES = 1 << 16
_SAMPLE_LINES, _SAMPLE_ROWS = 200, 1000
_SHOWN = 3
_MOSTLY = 0.9
_NO_RECORDS = (
    "{} of the first lines are no records: quotes stand around parts of cells, or cells are too "
    'few or too many. Declare delimiter and quote in [format] (quote = "" where quotes are part of '
    "the text), or correct the source"
)
_MULTILINE = (
    "some cells hold ends of lines, so multiline = true is proposed: then one quote that is never "
    "closed changes how the lines after it are read, which no guarantee covers. Write such texts "
    "on one line in the source, if you can"
)
_LONGEST_SHAPE, _WIDEST = 20, 40
_OF_CELLS = ("decimal", "thousands", "date", "datetime", "missing")
_BEGINNING = ("header", "first_line", "columns")
_OF_FILES = ("encoding", *_BEGINNING)


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """A guess of a source's format and types, and its first rows; none where types are its own,
    because the source is no text.

    The rows are exact, for the custodian; its repr tells nothing.
    >>> Preview(Guess(PLAIN, ()), ())
    <Preview>
    """

    guess: Guess
    rows: tuple[tuple[str, ...], ...]
    is_text: bool = False

    def __repr__(self) -> str:
        return "<Preview>"


def name_of(source: str) -> str:
    """A name for the table of a source: its file's without endings, or its folder's.

    >>> name_of("data/visits.csv.gz"), name_of("data/visits-*.csv"), name_of("data/*.csv")
    ('visits', 'visits', 'data')
    """
    path = Path(source)
    while path.suffix:
        path = path.with_suffix("")
    plain = path.name.strip("*?[]-_. ")
    return plain or os.path.basename(os.path.abspath(path.parent)) or "table"


def shape(cell: str) -> str:
    """What a cell looks like: a 9 for every digit, an a for every letter, and at most 20 signs.

    For the custodian; tells how a cell is written rather than what it says.
    >>> shape("1.234,50"), shape("31 Dec 2024")
    ('9.999,99', '99 aaa 9999')
    """
    shown = "".join("9" if sign.isdigit() else "a" if sign.isalpha() else sign for sign in cell)
    return shown[:_LONGEST_SHAPE]


def shown_cells(previewed: Preview, place: int, shown: Callable[[str], str]) -> list[str]:
    """The first cells of a column, and how each would be read where that is not the same.

    As exact as `shown`, for the custodian.
    >>> guess = Guess(Format(thousands=","), (("paid", "BIGINT"),))
    >>> shown_cells(Preview(guess, (("39,576",), ("n/a",))), 0, shape)
    ["'99,999' -> 99999", "'a/a' -> missing"]
    """
    kind, cells = previewed.guess.columns[place][1], []
    for row in previewed.rows:
        read = read_cell(row[place], kind, previewed.guess.format)
        cell = repr(shown(row[place]))[:_WIDEST]
        if not read:
            cell += " -> missing" if row[place].strip() else ""
        elif read != row[place] and (kind != "BOOLEAN" or shown is str):
            cell += f" -> {shown(read)[:_WIDEST]}"
        cells.append(cell)
    return cells


def preview(source: str, declared: Mapping[str, Any] = MappingProxyType({})) -> Preview:
    """What `discreet init` would write of a source; `declared` is the part of the format that the
    custodian has decided.

    Exact, for the custodian.
    >>> preview("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    files = source_files(source)
    if files.kind in ("DuckDB", "Parquet"):
        return Preview(Guess(PLAIN, tuple(describe(source))), ())
    try:
        return _guess(files, declared)
    except BROKEN:
        raise files.unreadable() from None


def _guess(files: SourceFiles, declared: Mapping[str, Any]) -> Preview:
    of_cells = {name: value for name, value in declared.items() if name not in _BEGINNING}
    marks = replace(_marks(files), **of_cells)
    heading = _heading(files, marks, declared)
    declared = {"header": heading.header, "first_line": heading.first_line, **declared}
    if not declared["header"]:
        declared = {"columns": heading.width, **declared}
    marks = replace(marks, **declared)
    if files.kind == "CSV" and not marks.delimiter and _needs_delimiter(files, marks):
        marks = replace(marks, delimiter=",")
        declared = {**declared, "delimiter": ","}
    preview_cells = _texts if files.kind == "CSV" else _preview_copy
    shown = preview_cells(files, marks, declared)
    doubts = (*heading.doubts, *shown.guess.doubts)
    if shown.guess.format.multiline:
        doubts += (_MULTILINE,)
    return replace(shown, guess=replace(shown.guess, doubts=doubts))


def _needs_delimiter(files: SourceFiles, marks: Format) -> bool:
    """Whether the line of names does not tell that cells stand between commas."""
    return not marks.header or header(files.path, marks, files.given).delimiter != ","


def _preview_copy(files: SourceFiles, marks: Format, declared: Mapping[str, Any]) -> Preview:
    """The same of a source that is rewritten before it is read."""
    with tempfile.TemporaryDirectory() as folder:
        copy = str(tidy(files, marks, Path(folder)).path)
        if not copy.endswith(TIDY):
            return Preview(Guess(PLAIN, tuple(describe(copy))), ())
        tidied = SourceFiles(files.given, (copy,), "tidy", None)
        cells = {name: declared[name] for name in _OF_CELLS if name in declared}
        shown = _texts(tidied, Format(delimiter=",", multiline=True), cells)
        of_file = {name: getattr(marks, name) for name in _OF_FILES}
        written = replace(shown.guess.format, delimiter="", multiline=False, **of_file)
        return replace(shown, guess=replace(shown.guess, format=written))


def _heading(files: SourceFiles, marks: Format, declared: Mapping[str, Any]) -> Heading:
    """Where the table begins, as far as the custodian has not said it."""
    if files.kind not in ("CSV", "Excel"):
        return Heading()
    first = int(declared.get("first_line", 1))
    if files.kind == "Excel":
        rows = sheet_start(files, _SAMPLE_LINES)
    else:
        delimiter = marks.delimiter or ","
        with open_text(files.path, marks) as lines:
            start = islice(lines, _SAMPLE_LINES)
            read = records(start, replace(marks, first_line=1), delimiter, None)
            rows = [(record.line, record.cells) for record in read if record.cells is not None]
    rows = [row for row in rows if row[0] >= first]
    if not rows:
        return Heading()  # reading says what is wrong
    guessed = guess_header(rows) if "first_line" in declared else guess_heading(rows)
    return guessed.only_titles() if "header" in declared else guessed


def _marks(files: SourceFiles) -> Format:
    if files.kind not in ("CSV", "JSON lines"):
        return PLAIN
    marks = guess_marks(head_bytes(files.path, _SAMPLE_BYTES))
    return marks if files.kind == "CSV" else Format(encoding=marks.encoding)


def _texts(files: SourceFiles, marks: Format, declared: Mapping[str, Any]) -> Preview:
    head = header(files.path, marks, files.given)
    with open_text(files.path, marks) as lines:
        read = islice(rows_of(lines, marks, head), _SAMPLE_ROWS)
        tried = [record.cells for record in read]
    rows = [cells for cells in tried if cells is not None]
    added = (FILE, LINE) if files.kind == "tidy" else ()
    places = [place for place, name in enumerate(head.names) if name not in added]
    rows = [[row[place] for place in places] for row in rows]
    guess = guess_columns(marks, [head.names[place] for place in places], rows, declared)
    if len(rows) < _MOSTLY * len(tried):
        guess = replace(guess, doubts=(_NO_RECORDS.format(len(tried) - len(rows)), *guess.doubts))
    return Preview(guess, tuple(tuple(row) for row in rows[:_SHOWN]), is_text=True)
