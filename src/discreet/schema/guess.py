"""Guesses how a text file is written, from its first bytes, and which types its columns seem to
have. For the custodian, who checks the guess; a schema holds it only once it is written there.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from discreet.schema.format import Format

__all__ = ["Guess", "guess_columns", "guess_marks"]

_DELIMITERS = ",;\t|"
_MISSING = (
    "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", "--", ".", "?",
    "#N/A", "#NV", "missing", "unknown", "k.A.", "s/d", "-99", "-999", "-9999",
)  # fmt: skip
_WHOLE = re.compile(r"[+-]?\d+")
_EIGHT_DIGITS = re.compile(r"\d{8}")
_THREE_DIGITS = re.compile(r"[+-]?[0-9]{1,3}[.,][0-9]{3}")
_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)")
_GROUPED = {
    (",", "."): re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?"),
    (".", ","): re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?"),
    (",", " "): re.compile("[+-]?\\d{1,3}([ \u00a0\u2009\u202f]\\d{3})+(,\\d*)?"),
    (".", " "): re.compile("[+-]?\\d{1,3}([ \u00a0\u2009\u202f]\\d{3})+(\\.\\d*)?"),
    (".", "'"): re.compile("[+-]?\\d{1,3}(['\u2019]\\d{3})+(\\.\\d*)?"),
    (",", "'"): re.compile("[+-]?\\d{1,3}(['\u2019]\\d{3})+(,\\d*)?"),
}
_TRUTH = {"true", "false", "t", "f", "yes", "no", "y", "n"}
_DATES = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%d-%b-%Y", "%Y-%m-%d",
)  # fmt: skip
_TIMES = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
# As files without a format are read: with all of their zeros.
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ISO_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?"
)
_AHEAD = re.compile(r".*:.*[+-](?!00(:?00)?$)\d{2}(:?\d{2})?")
_ISO_PATTERNS = [
    f"%Y-%m-%d{gap}{time}{offset}" for gap in " T" for time in _TIMES[:3] for offset in ("", "%z")
]
_ENOUGH = 0.8  # of a column's cells that are not missing


@dataclass(frozen=True, slots=True)
class Guess:
    """A format, the columns with a guess of their types, and what may be wrong with it.

    Privacy: none; made from rows, so for the custodian to check.
    >>> Guess(Format(), (("age", "BIGINT"),)).doubts
    ()
    """

    format: Format
    columns: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...] = ()


def guess_marks(start: bytes) -> Format:
    """Encoding, delimiter and quote of a text, from its first bytes.

    Privacy: none; looks at the bytes for the custodian.
    >>> guess_marks("name;größe\\nx;1\\n".encode("latin-1"))
    Format(delimiter=';', quote='"', encoding='cp1252', decimal='.', thousands='', date=(), \
datetime=(), missing=(), multiline=False)
    """
    encoding = _encoding(start)
    text = start.decode(_DECODERS.get(encoding, encoding), errors="replace")
    lines = [line for line in text.splitlines() if line.strip()][:200]
    delimiter = _delimiter(lines)
    quote = _quote(lines, delimiter)
    return Format(
        delimiter="" if delimiter == "," else delimiter,
        quote=quote,
        encoding=encoding,
        multiline=_multiline(text, delimiter, quote),
    )


def _multiline(text: str, delimiter: str, quote: str) -> bool:
    """Whether cells in quotes hold ends of lines, and all records are of one width with them."""
    if quote not in text:
        return False
    whole = text[: text.rfind("\n") + 1] if "\n" in text else text
    found = csv.reader(io.StringIO(whole), delimiter=delimiter, quotechar=quote)
    rows = [row for row in found if row][:-1]  # the sample may end inside of the last
    return bool(rows) and (
        any("\n" in cell for row in rows for cell in row)
        and all(len(row) == len(rows[0]) for row in rows)
    )


_DECODERS = {"utf-8": "utf-8-sig"}


def _encoding(start: bytes) -> str:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if start.count(b"\0") > len(start) // 4:
        return "utf-16"
    text = start.decode("utf-8", errors="replace")
    damaged = text.rstrip("\ufffd").count("\ufffd")  # the sample may end inside of a character
    whole = sum(sign > "\x7f" for sign in text) - text.count("\ufffd")
    if damaged == 0 or damaged < whole:
        return "utf-8"
    undefined = (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")
    return "latin-1" if any(each in start for each in undefined) else "cp1252"


def _delimiter(lines: Sequence[str]) -> str:
    """The sign that cuts most lines into the same number of cells, more than one."""

    def fitness(sign: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=sign)]
        if not widths or widths[0] < 2:
            return (0.0, 0)
        return (sum(width == widths[0] for width in widths) / len(widths), widths[0])

    if not lines:
        return ","
    best = max(_DELIMITERS, key=fitness)
    return best if fitness(best)[0] else max(_DELIMITERS, key=lines[0].count)


def _quote(lines: Sequence[str], delimiter: str) -> str:
    """Apostrophes count as quotes only where they stand around cells and double ones nowhere."""
    if any('"' in line for line in lines):
        return '"'
    cells = [cell for line in lines for cell in line.split(delimiter)]
    around = sum(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells)
    return "'" if around * 2 > len(cells) else '"'


def guess_columns(marks: Format, names: Sequence[str], rows: Iterable[Sequence[str]]) -> Guess:
    """The types of columns, and the marks of numbers, dates and missing values in their cells.

    Privacy: none; looks at the cells for the custodian.
    >>> guess_columns(Format(), ["day", "paid"], [["31.12.2024", "1.234,50"], ["n/a", "7,00"]])
    Guess(format=Format(delimiter='', quote='"', encoding='utf-8', decimal=',', thousands='.', \
date=('%d.%m.%Y',), datetime=(), missing=('n/a',), multiline=False), columns=(('day', 'DATE'), \
('paid', 'DOUBLE')), doubts=())
    """
    listed = [[cell.strip() for cell in row] for row in rows]
    cells = {
        name: [row[place] for row in listed if place < len(row) and row[place]]
        for place, name in enumerate(names)
    }
    missing: dict[str, None] = {}
    left: dict[str, list[str]] = {}
    for name, given in cells.items():
        left[name] = [cell for cell in given if cell not in _MISSING]
        if _is_typed(left[name]):
            missing |= dict.fromkeys(cell for cell in given if cell in _MISSING)
        else:
            left[name] = given
    decimal, thousands = _number_marks(left.values())
    days, moments, doubts = _patterns(left)
    made = Format(
        delimiter=marks.delimiter,
        quote=marks.quote,
        encoding=marks.encoding,
        decimal=decimal,
        thousands=thousands,
        date=days,
        datetime=moments,
        missing=tuple(word for word in missing if not _is_code(word)),
        multiline=marks.multiline,
    )
    doubts += _marks_in_doubt(left, made)
    doubts += [f"{word} may be a code for missing" for word in missing if _is_code(word)]
    columns = tuple((name, _type(left[name], made)) for name in names)
    return Guess(made, columns, tuple(doubts))


def _is_code(word: str) -> bool:
    return word.startswith("-9")


def _most(cells: Sequence[str], form: "re.Pattern[str]") -> bool:
    found = sum(form.fullmatch(cell) is not None for cell in cells)
    return bool(cells) and found >= _ENOUGH * len(cells)


def _is_typed(cells: Sequence[str]) -> bool:
    """Whether cells are numbers, days or truth values rather than words."""
    return (
        any(_most(cells, form) for form in (_POINT, _COMMA, *_GROUPED.values()))
        or _mixed_numbers(cells)
        or _fitting(cells, _DATES) is not None
        or _fitting(cells, _all_moments()) is not None
        or _most(cells, _ISO_DAY)
        or _most(cells, _ISO_MOMENT)
        or bool(cells and {cell.lower() for cell in cells} <= _TRUTH)
    )


_ANY_NUMBER = re.compile("[+-]?\\d[\\d.,' \u00a0\u2009\u202f\u2019]*")


def _mixed_numbers(cells: Sequence[str]) -> bool:
    return _most(cells, _ANY_NUMBER) and not _fitting(cells, _DATES)


def _number_marks(columns: Iterable[Sequence[str]]) -> tuple[str, str]:
    """Decimal and thousands marks that fit most numbers of all columns; a point unless not."""
    numbers = [
        cell
        for cells in columns
        if _mixed_numbers(cells)
        for cell in cells
        if _ANY_NUMBER.fullmatch(cell) and not _WHOLE.fullmatch(cell)
    ]
    if not numbers:
        return ".", ""
    plain = sum(_POINT.fullmatch(cell) is not None for cell in numbers)
    comma = sum(_COMMA.fullmatch(cell) is not None for cell in numbers)
    scores = {(".", ""): plain, (",", ""): comma}
    for (decimal, thousands), form in _GROUPED.items():
        alone = _POINT if decimal == "." else _COMMA
        scores[(decimal, thousands)] = sum(
            bool(form.fullmatch(cell) or alone.fullmatch(cell)) for cell in numbers
        )
    best = max(scores.values())
    return next(marks for marks, score in scores.items() if score == best)


def _marks_in_doubt(columns: dict[str, list[str]], made: Format) -> list[str]:
    """Numbers whose only mark stands before three digits, and those that begin with a zero."""
    said = []
    for name, cells in columns.items():
        marked = [cell for cell in cells if "." in cell or "," in cell]
        if marked and _most(marked, _THREE_DIGITS):
            said.append(
                f"{name}: the mark before three digits may be of thousands or of decimals; "
                f"decimal = {made.decimal!r} and thousands = {made.thousands!r} are a guess"
            )
        if _most(cells, _WHOLE) and any(len(cell) > 1 and cell[0] == "0" for cell in cells):
            said.append(f"{name}: numbers that begin with 0 may be codes; a category keeps the 0")
    return said


def _all_moments() -> list[str]:
    return [f"{day}{gap}{time}" for day in _DATES for gap in (" ", "T") for time in _TIMES]


def _reads(cell: str, pattern: str) -> bool:
    try:
        datetime.strptime(cell, pattern)
    except ValueError:
        return False
    return True


def _fitting(cells: Sequence[str], patterns: Iterable[str]) -> list[str] | None:
    """The patterns that read most of the cells; None if none does."""
    sample = cells[:50]
    found = [
        pattern
        for pattern in patterns
        if sample
        and sum(_reads(cell, pattern) for cell in sample) >= _ENOUGH * len(sample)
        and not (pattern == "%Y%m%d" and not all(len(cell) == 8 for cell in sample))
    ]
    return found or None


def _patterns(
    columns: dict[str, list[str]],
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    days: dict[str, None] = {}
    moments: dict[str, None] = {}
    doubts: list[str] = []
    for name, cells in columns.items():
        if _most(cells, _ISO_DAY) or _most(cells, _ISO_MOMENT):
            continue
        if _most(cells, _WHOLE) and not _most(cells, _EIGHT_DIGITS):
            continue
        for patterns, found in ((_DATES, days), (_all_moments(), moments)):
            fitting = _fitting(cells, patterns)
            if fitting is None:
                continue
            found.setdefault(fitting[0])
            if len({pattern.replace("%d", "%m") for pattern in fitting}) < len(fitting):
                doubts.append(
                    f"{name}: days and months cannot be told apart in the first rows; "
                    f"{fitting[0]!r} is a guess"
                )
    # Where some columns have a pattern and others are as usual, the usual one is listed too.
    if days and any(_most(cells, _ISO_DAY) for cells in columns.values()):
        days.setdefault("%Y-%m-%d")
    for cells in columns.values() if moments else ():
        if _most(cells, _ISO_MOMENT):
            moments.setdefault((_fitting(cells, _ISO_PATTERNS) or _ISO_PATTERNS)[0])
    return tuple(days), tuple(moments), doubts


def _type(cells: Sequence[str], given: Format) -> str:
    if not cells:
        return "VARCHAR"
    if {cell.lower() for cell in cells} <= _TRUTH:
        return "BOOLEAN"
    if _most(cells, _ISO_DAY) or (given.date and _fitting(cells, given.date)):
        return "DATE"
    if _most(cells, _ISO_MOMENT) or (given.datetime and _fitting(cells, given.datetime)):
        ahead = any(_AHEAD.fullmatch(cell) for cell in cells)
        return "TIMESTAMP WITH OFFSET" if ahead else "TIMESTAMP"
    if _most(cells, _WHOLE):
        return "BIGINT"
    forms = [_POINT if given.decimal == "." else _COMMA, _WHOLE]
    if given.thousands:
        forms.append(_GROUPED[(given.decimal, given.thousands)])
    known = sum(any(form.fullmatch(cell) for form in forms) for cell in cells)
    return "DOUBLE" if known >= _ENOUGH * len(cells) else "VARCHAR"
