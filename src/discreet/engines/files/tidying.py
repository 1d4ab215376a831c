"""Rewrites sources that no engine reads as they are: other encodings, lines that are no records,
JSON lines, sheets, Arrow files. The copy is exact, lies in a scratch folder and is for one reading.
"""

import csv
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.engines.files.names import TIDY, SourceFiles
from discreet.engines.files.texts import (
    BROKEN,
    Record,
    headers,
    is_clean,
    is_damaged,
    open_rows,
    open_text,
    refuse_twins,
    rows_of,
)
from discreet.errors import SchemaError, with_article
from discreet.schema.format import PLAIN, Format
from discreet.schema.names import fold

__all__ = [
    "FILE",
    "LINE",
    "Tidied",
    "needs_tidying",
    "sheet_start",
    "sheets_of",
    "tidy",
    "written_cell",
]

FILE, LINE = "$file", "$line"
"""The columns of a tidy file that say where a row was: which file, and on which line."""

_MOST_LINES = 3


@dataclass(slots=True, repr=False)
class Tidied:
    """A rewritten source: the copy, how many of its lines were no records, and the first of them.

    Exact, for the custodian alone.
    """

    path: Path
    left_out: int = 0
    lines: list[tuple[int, int]] = field(default_factory=list)

    def leave_out(self, file: int, line: int) -> None:
        """Note a line that is no record."""
        self.left_out += 1
        if len(self.lines) < _MOST_LINES:
            self.lines.append((file, line))


def needs_tidying(files: SourceFiles, given: Format) -> bool:
    """Whether these files are rewritten before an engine reads them.

    Exact; whatever the outcome, a clean line is read the same.
    >>> from discreet.schema.format import PLAIN
    >>> needs_tidying(SourceFiles("a.xlsx", ("a.xlsx",), "Excel", None), PLAIN)
    True
    """
    if files.kind != "CSV":
        return files.kind in ("JSON lines", *_WRITERS)
    if given.encoding != "utf-8" or given.multiline or given.first_line > 1 or not given.header:
        return True
    heads = headers(files.paths, given, files.given)
    if len({head.delimiter for head in heads}) > 1 or not all(head.first for head in heads):
        return True
    try:
        pairs = zip(files.paths, heads, strict=True)
        return not all(is_clean(path, given, head) for path, head in pairs)
    except BROKEN:
        return True


def tidy(files: SourceFiles, given: Format, folder: Path, wanted: tuple[str, ...] = ()) -> Tidied:
    """Rewrite a source; what is no record is left out and counted.

    `wanted` names the columns of JSON lines, which have no header; without it they are all keys
    that there are, for a look before there is a schema. The copy is exact.
    """
    failed = None
    try:
        if files.kind == "JSON lines":
            return _tidy_json(files, given, folder, wanted or _keys(files, given))
        return _WRITERS[files.kind](files, given, folder)
    except BROKEN as error:
        failed = type(error).__name__  # its text may quote rows
    raise SchemaError(
        f"source {files.given!r} cannot be read as {with_article(files.kind)} file ({failed}); "
        "check it. "
        "Nothing was added."
    )


def _tidy_csv(files: SourceFiles, given: Format, folder: Path) -> Tidied:
    heads = headers(files.paths, given, files.given)
    names = heads[0].names

    def rows(place: int) -> Iterator[Record]:
        with open_text(files.paths[place], given) as lines:
            yield from rows_of(lines, given, heads[place])

    return _write_records(folder, names, len(files.paths), rows)


def _write_records(
    folder: Path, names: tuple[str, ...], count: int, rows: Callable[[int], Iterator[Record]]
) -> Tidied:
    tidied = Tidied(folder / f"source{TIDY}")
    with tidied.path.open("x", encoding="utf-8", newline="") as target:
        tidied.path.chmod(0o600)
        # All in quotes: a lone carriage return would not be, and would end the record.
        writer = csv.writer(target, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([FILE, LINE, *names])
        for place in range(count):
            for record in rows(place):
                if record.cells is None:
                    tidied.leave_out(place, record.line)
                else:
                    writer.writerow([place, record.line, *record.cells])
    return tidied


def _keys(files: SourceFiles, given: Format) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for path in files.paths:
        for _, values in _objects(path, given):
            names.update(dict.fromkeys(values or ()))
    if not names:
        raise SchemaError(
            f"source {files.given!r}: no line is a JSON object with a key. Nothing was added."
        )
    return tuple(names)


def _tidy_json(files: SourceFiles, given: Format, folder: Path, names: tuple[str, ...]) -> Tidied:
    """The values of these names in every object by itself: its own key, or the only one like it."""
    refuse_twins(names, files.given)

    def rows(place: int) -> Iterator[Record]:
        for line, values in _objects(files.paths[place], given):
            if values is None:
                yield Record(line, None)
            else:
                cells = [written_cell(_value(values, name), given) for name in names]
                whole = not any("\ud800" <= sign <= "\udfff" for sign in "".join(cells))
                yield Record(line, cells if whole else None)

    return _write_records(folder, names, len(files.paths), rows)


def _value(values: dict[str, Any], name: str) -> object:
    if name in values:
        return values[name]
    like = [key for key in values if fold(key.strip()) == fold(name.strip())]
    return values[like[0]] if len(like) == 1 else None


def _objects(path: str, given: Format) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The objects of lines; numbers stay the texts they are."""
    with open_rows(path, given.encoding) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = (
                    None if is_damaged(line, given.encoding) else json.loads(line, **_AS_WRITTEN)
                )
            except (ValueError, RecursionError):
                value = None
            yield number, value if isinstance(value, dict) else None


def _number(digits: str) -> Decimal | int | str:
    """A number as written, but for zeros behind its point: 1.0 and 1 are one number."""
    try:
        value = Decimal(digits)
        return int(value) if value == value.to_integral_value() and abs(value) < 2**63 else value
    except ArithmeticError:  # an exponent beyond all bounds
        return digits


_AS_WRITTEN: dict[str, Any] = {"parse_int": _number, "parse_float": _number, "parse_constant": str}


def written_cell(value: object, given: Format) -> str:
    """A value of a typed cell as this format writes it; nothing for one that is missing.

    The result is exact.
    >>> written_cell(1.5, Format(decimal=",")), written_cell(float("nan"), Format())
    ('1,5', '')
    """
    if value is None or (isinstance(value, float | datetime) and value != value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, int | float | Decimal):
        return str(value).replace(".", given.decimal)
    if isinstance(value, datetime):
        return _written_moment(value, given)
    if isinstance(value, date):
        return _written_moment(datetime.combine(value, time()), given)
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    return str(value)


def _written_moment(moment: datetime, given: Format) -> str:
    """In UTC, by the first pattern that keeps all of it; else as ISO writes it."""
    try:
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:  # before the first year or after the last
        return moment.isoformat(sep=" ")
    plain = in_utc.replace(tzinfo=None)
    whole_day = plain.time() == time()
    for pattern in (given.date + given.datetime) if whole_day else (given.datetime + given.date):
        text = in_utc.strftime(pattern)
        try:
            if datetime.strptime(text, pattern).replace(tzinfo=None) == plain:
                return text
        except ValueError:
            continue
    return plain.date().isoformat() if whole_day else plain.isoformat(sep=" ")


def _tidy_sheet(files: SourceFiles, given: Format, folder: Path) -> Tidied:
    with _workbook(files) as book:
        rows = _sheet(book, files).iter_rows(values_only=True)
        return _tidy_rows(files, given, folder, rows)


def sheets_of(files: SourceFiles) -> tuple[str, ...]:
    """The names of an Excel file's sheets.

    >>> sheets_of(SourceFiles("a.csv", ("a.csv",), "CSV", None))
    ()
    """
    if files.kind != "Excel":
        return ()
    with _workbook(files) as book:
        return tuple(map(str, book.sheetnames))


def sheet_start(files: SourceFiles, most: int) -> list[tuple[int, list[str]]]:
    """The first rows of a sheet that are not empty, with their numbers. The result is exact."""
    with _workbook(files) as book:
        rows = islice(_sheet(book, files).iter_rows(values_only=True), most)
        texts = [[written_cell(cell, PLAIN) for cell in row] for row in rows]
    return [(number, cells) for number, cells in enumerate(texts, 1) if any(cells)]


@contextmanager
def _workbook(files: SourceFiles) -> Iterator[Any]:
    """An Excel file; whatever fails while it is open is told in our words."""
    try:
        openpyxl = import_module("openpyxl")
        exceptions = import_module("openpyxl.utils.exceptions")
    except ImportError:
        raise SchemaError(
            'reading an .xlsx file needs the package openpyxl: pip install "discreet[excel]". '
            "Nothing was added."
        ) from None
    failed = None
    try:
        book = openpyxl.load_workbook(files.path, read_only=True, data_only=True)
        try:
            yield book
        finally:
            book.close()
        return
    except SchemaError:
        raise
    except (*_DAMAGED, exceptions.InvalidFileException) as error:
        failed = type(error).__name__  # its text may quote rows
    raise SchemaError(
        f"source {files.given!r} cannot be read as an Excel file ({failed}); check it. "
        "Nothing was added."
    )


_DAMAGED = (
    *BROKEN,
    AttributeError,
    KeyError,
    SyntaxError,  # of XML
    TypeError,
    ValueError,
    zipfile.BadZipFile,
)


def _sheet(book: Any, files: SourceFiles) -> Any:
    names = book.sheetnames
    wanted = files.table or (names[0] if len(names) == 1 else None)
    if wanted not in names:
        raise SchemaError(
            f"source {files.given!r}: the file has the sheets {names}; write '#' and one of "
            "them after the file's name. Nothing was added."
        )
    return book[wanted]


def _tidy_rows(
    files: SourceFiles, given: Format, folder: Path, rows: Iterator[tuple[Any, ...]]
) -> Tidied:
    numbered = islice(enumerate(rows, 1), given.first_line - 1, None)
    names = (
        _sheet_names(files, given, numbered)
        if given.header
        else tuple(f"column_{place}" for place in range(1, given.columns + 1))
    )

    def read_rows(_: int) -> Iterator[Record]:
        for number, row in numbered:
            cells = [written_cell(cell, given) for cell in row]
            if not any(cells):
                continue
            cells += [""] * (len(names) - len(cells))
            yield Record(number, None if any(cells[len(names) :]) else cells[: len(names)])

    return _write_records(folder, names, 1, read_rows)


def _sheet_names(
    files: SourceFiles, given: Format, numbered: Iterator[tuple[int, tuple[Any, ...]]]
) -> tuple[str, ...]:
    """The names of columns, from the first row that is not empty, which is taken."""
    first = next((row for _, row in numbered if any(cell is not None for cell in row)), ())
    heads = [written_cell(cell, given).strip() for cell in first]
    while heads and not heads[-1]:
        heads.pop()
    if not heads:
        where = "the first row" if given.first_line == 1 else f"row {given.first_line}"
        raise SchemaError(
            f"source {files.given!r}: {where} must hold the column names; the sheet is "
            "empty. Nothing was added."
        )
    names = tuple(name or f"column_{place}" for place, name in enumerate(heads, 1))
    refuse_twins(names, files.given)
    return names


def _tidy_arrow(files: SourceFiles, _: Format, folder: Path) -> Tidied:
    """Arrow keeps its types, so its copy is a Parquet file."""
    try:
        arrow, ipc = import_module("pyarrow"), import_module("pyarrow.ipc")
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise SchemaError(
            'reading an Arrow file needs the package pyarrow: pip install "discreet[arrow]". '
            "Nothing was added."
        ) from None
    tidied = Tidied(folder / "source.parquet")
    failed, writer = None, None
    try:
        for path in files.paths:
            for batch in _batches(path, arrow, ipc):
                if writer is None:
                    writer = parquet.ParquetWriter(str(tidied.path), batch.schema)
                writer.write_batch(batch)
    except (arrow.ArrowException, ValueError, TypeError, OSError) as error:
        failed = type(error).__name__  # its text may quote rows
    finally:
        if writer is not None:
            writer.close()
    if failed is not None or writer is None:
        raise SchemaError(
            f"source {files.given!r} cannot be read as an Arrow file ({failed or 'no rows'}); "
            "check it. Nothing was added."
        )
    tidied.path.chmod(0o600)
    return tidied


def _batches(path: str, arrow: Any, ipc: Any) -> Iterator[Any]:
    """An empty batch for the types, then those of a file or of a stream."""
    with arrow.memory_map(path) as mapped:
        try:
            opened = ipc.open_file(mapped)
            batches = (opened.get_batch(place) for place in range(opened.num_record_batches))
        except arrow.ArrowInvalid:
            mapped.seek(0)
            opened = batches = ipc.open_stream(mapped)
        yield arrow.RecordBatch.from_pylist([], schema=opened.schema)
        yield from batches


_WRITERS: dict[str, Callable[[SourceFiles, Format, Path], Tidied]] = {
    "Arrow": _tidy_arrow,
    "CSV": _tidy_csv,
    "Excel": _tidy_sheet,
}
