"""The first rows of a source as they would be read, and a guess of how it is written. For the
custodian, before a schema is written; nothing here is released.
"""

import os
import tempfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from discreet.engines.files import TIDY, SourceFiles, source_files
from discreet.engines.sources import describe
from discreet.engines.texts import BROKEN, head_bytes, header, open_text, records
from discreet.engines.tidying import FILE, LINE, tidy
from discreet.schema.format import PLAIN, Format
from discreet.schema.guess import Guess, guess_columns, guess_marks

__all__ = ["Preview", "name_of", "preview", "shape"]

_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 1000
_SHOWN = 3
_LONGEST_SHAPE = 20


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """A guess of a source's format and types, and its first rows; none where types are its own.

    Privacy: none: the rows are exact, for the custodian; its repr tells nothing.
    >>> Preview(Guess(PLAIN, ()), ())
    <Preview>
    """

    guess: Guess
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return "<Preview>"


def name_of(source: str) -> str:
    """A name for the table of a source: its file's without endings, or its folder's.

    Privacy: none (touches no data).
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

    Privacy: none, for the custodian; tells how a cell is written rather than what it says.
    >>> shape("1.234,50"), shape("31 Dec 2024")
    ('9.999,99', '99 aaa 9999')
    """
    shown = "".join("9" if sign.isdigit() else "a" if sign.isalpha() else sign for sign in cell)
    return shown[:_LONGEST_SHAPE]


def preview(source: str) -> Preview:
    """What `discreet init` would write of a source.

    Privacy: none: exact, for the custodian.
    >>> preview("absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    files = source_files(source)
    if files.kind == "CSV":
        return _texts(files, _marks(files))
    if files.kind in ("DuckDB", "Parquet"):
        return Preview(Guess(PLAIN, tuple(describe(source))), ())
    with tempfile.TemporaryDirectory() as folder:
        copy = str(tidy(files, _marks(files), Path(folder)).path)
        if not copy.endswith(TIDY):
            return Preview(Guess(PLAIN, tuple(describe(copy))), ())
        tidied = SourceFiles(source, (copy,), "tidy", None)
        shown = _texts(tidied, Format(delimiter=",", multiline=True))
        made = replace(
            shown.guess.format, delimiter="", encoding=_marks(files).encoding, multiline=False
        )
        return replace(shown, guess=replace(shown.guess, format=made))


def _marks(files: SourceFiles) -> Format:
    if files.kind not in ("CSV", "JSON lines"):
        return PLAIN
    try:
        marks = guess_marks(head_bytes(files.path, _SAMPLE_BYTES))
    except BROKEN:
        raise files.unreadable() from None
    return marks if files.kind == "CSV" else Format(encoding=marks.encoding)


def _texts(files: SourceFiles, marks: Format) -> Preview:
    head = header(files.path, marks, files.given)
    with open_text(files.path, marks.encoding) as lines:
        found = records(lines, marks, head.delimiter, len(head.names))
        next(found, None)  # the names
        rows = [record.cells for record in islice(found, _SAMPLE_ROWS) if record.cells is not None]
    places = [place for place, name in enumerate(head.names) if not _added(files, name)]
    rows = [[row[place] for place in places] for row in rows]
    guess = guess_columns(marks, [head.names[place] for place in places], rows)
    return Preview(guess, tuple(tuple(row) for row in rows[:_SHOWN]))


def _added(files: SourceFiles, name: str) -> bool:
    return files.kind == "tidy" and name in (FILE, LINE)
