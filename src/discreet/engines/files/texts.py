"""Reads text files of records as a person would, whatever is in them: encodings, compression, lines
that are no records. What a line holds is exact data; messages name files and lines, never cells.
"""

import csv
import gzip
import io
import re
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, cast

from discreet.errors import SchemaError
from discreet.schema.format import Format

__all__ = [
    "BROKEN",
    "Header",
    "Record",
    "head_bytes",
    "header",
    "headers",
    "is_clean",
    "is_damaged",
    "lines_of",
    "open_rows",
    "open_text",
    "records",
    "refuse_twins",
    "rows_of",
]

BROKEN = (OSError, EOFError, zlib.error)
"""What reading a damaged file raises."""

_DELIMITERS = ",;\t|"
_LONGEST_RECORD = 1 << 18  # characters of a line, or of a quote that is never closed
_CHUNK = 1 << 20
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """One record: the number of its first line, and its cells; None where it is no record.

    The cells are exact.
    """

    line: int
    cells: list[str] | None


@dataclass(frozen=True, slots=True)
class Header:
    """The delimiter of a file and the names of its columns; whether its first line holds them."""

    delimiter: str
    names: tuple[str, ...]
    first: bool


@contextmanager
def _bytes(path: str) -> Iterator[IO[bytes]]:
    if path.lower().endswith(".gz"):
        with gzip.open(path, "rb") as packed:
            yield cast(IO[bytes], packed)
    elif path.lower().endswith(".zst"):
        try:
            arrow = import_module("pyarrow")
        except ImportError:
            raise SchemaError(
                'reading a .zst file needs the package pyarrow: pip install "discreet[arrow]". '
                "Nothing was added."
            ) from None
        with arrow.input_stream(path, compression="zstd", buffer_size=_CHUNK) as stream:
            yield cast(IO[bytes], stream)
    else:
        with open(path, "rb") as plain:
            yield plain


def head_bytes(path: str, size: int) -> bytes:
    """The first bytes of a file's text, after decompression. The result is exact.

    >>> head_bytes(__file__, 3)
    b'\"\"\"'
    """
    with _bytes(path) as stream:
        return stream.read(size)


@contextmanager
def open_text(path: str, given: Format) -> Iterator[Iterator[str]]:
    """The lines of a file with their ends; what cannot be decoded is left as marks.

    Its first line, which holds names or a title, says how all lines end. Where there is none that
    line is somebody's row: see `open_rows`. The result is exact.
    >>> with open_text(__file__, Format()) as lines:
    ...     next(lines)[3:8]
    'Reads'
    """
    if not given.header:
        with open_rows(path, given.encoding) as lines:
            yield lines
        return
    name, start = given.encoding, head_bytes(path, _CHUNK)
    if name == "utf-16" and start[:2] not in _MARKS:
        name = "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    line_end = re.search(r"[^\r\n](\r\n|\r|\n)", start.decode(name, "replace"))
    with _decode(
        path, name, "\r" if line_end is not None and line_end[1] == "\r" else "\n"
    ) as lines:
        yield lines


@contextmanager
def open_rows(path: str, encoding: str) -> Iterator[Iterator[str]]:
    """The lines of a file that begins with a row: each ends with a line feed, whatever is in it.

    Exact; no row decides how others are read.
    >>> with open_rows(__file__, "utf-8") as lines:
    ...     next(lines)[3:8]
    'Reads'
    """
    if encoding == "utf-16" and head_bytes(path, 2) not in _MARKS:
        raise SchemaError(
            f"source {Path(path).name!r} is to be read as UTF-16 and has no byte order mark "
            "and no header: only a row could say which of two forms it has. Write it as UTF-8. "
            "Nothing was added."
        )
    with _decode(path, encoding, "\n") as lines:
        yield lines


@contextmanager
def _decode(path: str, encoding: str, end: str) -> Iterator[Iterator[str]]:
    name, errors = encoding, "replace"
    if encoding == "utf-8":
        name, errors = "utf-8-sig", "surrogateescape"
    with _bytes(path) as stream:
        # A view of the stream's own would be closed with it: read in pieces instead.
        pieces = io.BufferedReader(_Pieces(stream), _CHUNK)
        yield io.TextIOWrapper(pieces, encoding=name, errors=errors, newline=end)


class _Pieces(io.RawIOBase):
    """Any object with `read` as a raw stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def is_damaged(text: str, encoding: str) -> bool:
    """Whether bytes of a text could not be decoded.

    >>> is_damaged("caf\\udce9", "utf-8"), is_damaged("caf\\u00e9", "utf-8")
    (True, False)
    """
    if text.isascii():
        return False
    if encoding == "utf-8":
        return any("\ud800" <= sign <= "\udfff" for sign in text)
    return encoding != "latin-1" and "\ufffd" in text


class _Lines:
    """Lines that can be handed back, and those that the record being read has taken."""

    def __init__(self, lines: Iterator[str], number: int) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self.taken: list[str] = []
        self.number = number  # of the first line taken

    def __iter__(self) -> Iterator[str]:
        size = 0
        while True:
            size = size if self.taken else 0
            line = self._again.popleft() if self._again else next(self._lines, None)
            if line is None:
                return
            if self.taken and size + len(line) > _LONGEST_RECORD:
                self._again.appendleft(line)
                return
            size += len(line)
            self.taken.append(line)
            yield line

    def settle(self) -> None:
        self.number += len(self.taken)
        self.taken.clear()

    def give_back(self) -> None:
        """All but the first line are read again."""
        self._again.extendleft(reversed(self.taken[1:]))
        self.number += 1
        self.taken.clear()


def records(
    lines: Iterator[str], given: Format, delimiter: str, width: int | None
) -> Iterator[Record]:
    """Every record of a text: each line by itself, so that none changes how another is read.
    Blank lines are left out where a record has several cells.

    Lines above the format's first line are no part of it. `width` is the number of cells of a
    record; empty cells behind them are left out. Where the format is multiline, a quote goes on
    until it is closed, and a line that begins no record is one of its own: reading goes on behind
    it. The result is exact.
    >>> text = ["1,2\\n", "3\\n", '4,"x\\n', 'y"\\n', '5,"z\\n', "6,7\\n"]
    >>> [each.cells for each in records(iter(text), Format(), ",", 2)]
    [['1', '2'], None, None, None, None, ['6', '7']]
    >>> [each.cells for each in records(iter(text), Format(multiline=True), ",", 2)]
    [['1', '2'], None, ['4', 'x\\ny'], None, ['6', '7']]
    """
    csv.field_size_limit(max(csv.field_size_limit(), 2 * _LONGEST_RECORD))
    return (
        _read_spanning(lines, given, delimiter, width)
        if given.multiline
        else _read_lines(lines, given, delimiter, width)
    )


def _read_lines(
    lines: Iterator[str], given: Format, delimiter: str, width: int | None
) -> Iterator[Record]:
    """The records of a text whose records are lines."""
    for number, line in enumerate(lines, 1):
        if number < given.first_line:
            continue
        body = line.removesuffix("\n").removesuffix("\r")
        cells = _cells(body, given, delimiter)
        if cells is not None and _is_blank(cells, width):
            if width == 1:
                yield Record(number, [""])
            continue
        fitted = None if cells is None else _fit(cells, width)
        yield Record(number, None if fitted is None or is_damaged(body, given.encoding) else fitted)


def _cells(body: str, given: Format, delimiter: str) -> list[str] | None:
    """The cells of one line; None where it is no record."""
    if len(body) > _LONGEST_RECORD or "\r" in body or "\n" in body:
        return None
    if not given.quote or given.quote not in body:
        return body.split(delimiter) if body else []
    cell, cells, place = _cell(given.quote, delimiter), [], 0
    while True:
        part = cell.match(body, place)
        if part is None:  # a quote that is not around a whole cell
            return None
        quoted, plain, end = part.groups()
        cells.append(plain if quoted is None else quoted.replace(given.quote * 2, given.quote))
        if not end:
            return cells
        place = part.end()


@lru_cache(maxsize=32)
def _cell(quote: str, delimiter: str) -> "re.Pattern[str]":
    mark, sign = re.escape(quote), re.escape(delimiter)
    blanks = "" if delimiter == " " else " *"
    inside = rf"{blanks}{mark}((?:[^{mark}]|{mark}{mark})*+){mark}{blanks}"
    return re.compile(rf"(?:{inside}|([^{mark}{sign}]*+))({sign}|\Z)")


def is_clean(path: str, given: Format, head: Header) -> bool:
    """Whether every line of a file is written so that no two readers could differ on it: UTF-8,
    as many cells as there are names, quotes around whole cells or nowhere, one end of lines.

    What is clean is read by the engine; what is not is rewritten by `records`. Both read a clean
    line the same, so that one line never decides how others are read. The result is exact.
    >>> is_clean("absent.csv", Format(), Header(",", ("a",), True))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'absent.csv'
    """
    line = _clean_line(given.quote, head.delimiter, len(head.names))
    ends: set[bytes] = set()
    with _bytes(path) as stream:
        for number, text in enumerate(io.BufferedReader(_Pieces(stream), _CHUNK)):
            body = text.removeprefix(b"\xef\xbb\xbf") if number == 0 else text
            match = line.fullmatch(body) if len(body) <= _LONGEST_RECORD else None
            if match is None or not body.strip() or not _is_utf8(body):
                return False
            if match["end"]:
                ends.add(match["end"])
    return len(ends) < 2


def _is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _clean_line(quote: str, delimiter: str, width: int) -> "re.Pattern[bytes]":
    mark, sign = re.escape(quote.encode()), re.escape(delimiter.encode())
    cell = rb"[^%s%s\r\n\0]*+" % (mark, sign)
    if quote:
        cell = rb"(?:%s[^%s\r\n\0]*+(?:%s%s[^%s\r\n\0]*+)*+%s|%s)" % (
            (mark, mark, mark, mark, mark, mark, cell)
        )
    more = rb"(?:%s%s){%d}" % (sign, cell, width - 1)
    return re.compile(cell + more + rb"(?P<end>\r?\n|)")


def _read_spanning(
    lines: Iterator[str], given: Format, delimiter: str, width: int | None
) -> Iterator[Record]:
    """The records of a text whose quoted cells may hold ends of lines."""
    source = _Lines(islice(lines, given.first_line - 1, None), given.first_line)
    while True:
        reader = csv.reader(
            iter(source),
            delimiter=delimiter,
            quotechar=given.quote or None,
            quoting=csv.QUOTE_MINIMAL if given.quote else csv.QUOTE_NONE,
            strict=True,
        )
        broken = False
        try:
            for cells in reader:
                if _is_blank(cells, width):
                    if width == 1:
                        yield Record(source.number, [""])
                    source.settle()
                    continue
                fitted = _fit(cells, width)
                text = "".join(cells)
                if fitted is None or is_damaged(text, given.encoding):
                    broken = True
                    break
                yield Record(source.number, fitted)
                source.settle()
        except csv.Error:
            broken = True
        if not broken and not source.taken:
            return
        yield Record(source.number, None)
        source.give_back()


def _is_blank(cells: list[str], width: int | None) -> bool:
    return not cells or (width != 1 and len(cells) == 1 and not cells[0].strip())


def _fit(cells: list[str], width: int | None) -> list[str] | None:
    if width is None or len(cells) == width:
        return cells
    return cells[:width] if len(cells) > width and not any(cells[width:]) else None


def header(path: str, given: Format, source: str) -> Header:
    """The names of a file's columns, from the first line of the table that is not blank.

    A column without a name is called by its place: column_3. So are all where the format says
    that there is no header.
    >>> from discreet.schema.format import PLAIN
    >>> header("absent.csv", PLAIN, "absent.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv': the first line must hold the column names, \
in utf-8; it cannot be read. Nothing was added.
    """
    if not given.header:
        return _name_by_place(given, source)
    reason = "it cannot be read"
    try:
        with open_text(path, given) as lines:
            below = islice(lines, given.first_line - 1, None)
            first = next((line for line in below if line.strip()), "")
        mark = head_bytes(path, 2)
        if not first.strip():
            reason = "the file is empty" if given.first_line == 1 else "the file ends above it"
        elif (is_damaged(first, given.encoding) or "\0" in first) and mark in _MARKS:
            reason = 'it is UTF-16: write encoding = "utf-16" in [format]'
        elif is_damaged(first, given.encoding) or "\0" in first:
            reason = 'it is not: write another encoding in [format], such as "cp1252"'
        else:
            return _header(path, given, source, first)
    except BROKEN:
        pass
    raise SchemaError(
        f"source {source!r}: {_line_words(given)} must hold the column names, in {given.encoding}; "
        f"{reason}. Nothing was added."
    )


def _line_words(given: Format) -> str:
    return "the first line" if given.first_line == 1 else f"line {given.first_line}"


def _name_by_place(given: Format, source: str) -> Header:
    """Of a table without names nothing is read: no row decides how others are read."""
    if not given.delimiter:
        raise SchemaError(
            f"source {source!r} has no header, so that [format] must say the delimiter: write "
            'delimiter = "," or ";" say. Nothing was added.'
        )
    names = tuple(f"column_{place}" for place in range(1, given.columns + 1))
    return Header(given.delimiter, names, False)


def _header(path: str, given: Format, source: str, first: str) -> Header:
    delimiter = given.delimiter or max(_DELIMITERS, key=first.count)
    with open_text(path, given) as lines:
        record = next(records(lines, given, delimiter, None), Record(1, None))
        read = record.cells
    if read is None or not any(name.strip() for name in read):
        raise SchemaError(
            f"source {source!r}: {_line_words(given)} must hold the column names; its quotes are "
            "not closed there (write multiline = true in [format] if a name holds the end of a "
            "line), or no column has a name. Nothing was added."
        )
    names = tuple(name.strip() or f"column_{place}" for place, name in enumerate(read, 1))
    refuse_twins(names, source)
    return Header(delimiter, names, record.line == 1)


def rows_of(lines: Iterator[str], given: Format, head: Header) -> Iterator[Record]:
    """The records of a text without the names of its columns. The result is exact.

    >>> head = Header(",", ("a", "b"), True)
    >>> [each.line for each in rows_of(iter(["a,b\\n", "1,2\\n"]), Format(), head)]
    [2]
    """
    rows = records(lines, given, head.delimiter, len(head.names))
    return islice(rows, 1 if given.header else 0, None)


def headers(paths: Sequence[str], given: Format, source: str) -> list[Header]:
    """The headers of several files, which must name the same columns in the same order.

    >>> headers([], Format(), "*.csv")
    []
    """
    heads = [header(path, given, source) for path in paths]
    for path, head in zip(paths, heads, strict=True):
        if head.names != heads[0].names:
            raise SchemaError(
                f"source {source!r}: {Path(path).name!r} has other columns than "
                f"{Path(paths[0]).name!r}. Files of one pattern have the same columns in the same "
                "order. Nothing was added."
            )
    return heads


def refuse_twins(names: tuple[str, ...], source: str) -> None:
    """Refuse two columns of one name.

    >>> refuse_twins(("age", "Age"), "a.csv")
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'a.csv': two columns have the same name, 'Age'; rename \
one, or write header = false and columns = 2 in [format] if there are no names.
    """
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SchemaError(
                f"source {source!r}: two columns have the same name, {name!r}; rename one, or "
                f"write header = false and columns = {len(names)} in [format] if there are no "
                "names."
            )
        seen.add(name.lower())


def lines_of(
    paths: Sequence[str], given: Format, source: str, wanted: set[int]
) -> dict[int, tuple[int, int]]:
    """File and line on which records begin, by the records' numbers through all files, from 1.

    The result is exact.
    >>> lines_of([], Format(), "absent.csv", set())
    {}
    """
    lines_by_record: dict[int, tuple[int, int]] = {}
    number = 0
    for place, path in enumerate(paths):
        head = header(path, given, source)
        with open_text(path, given) as lines:
            for record in rows_of(lines, given, head):
                if len(lines_by_record) == len(wanted):
                    return lines_by_record
                number += 1
                if number in wanted:
                    lines_by_record[number] = (place, record.line)
    return lines_by_record
