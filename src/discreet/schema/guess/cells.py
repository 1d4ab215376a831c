"""The forms that cells of texts have: numbers and their marks, days and times, words for true,
false and missing. Tells what a cell looks like and how a format reads it; for the custodian alone.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from discreet.schema.format import Format

__all__ = [
    "DATES",
    "MISSING",
    "are_mixed_numbers",
    "fit_patterns",
    "is_eight_digits",
    "is_iso_day",
    "is_iso_moment",
    "is_truth",
    "is_typed",
    "is_whole",
    "moments",
    "most",
    "number_marks",
    "read_cell",
]

MISSING = (
    "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", "--", ".", "?",
    "#N/A", "#NV", "missing", "unknown", "k.A.", "s/d", "-99", "-999", "-9999",
)  # fmt: skip
"""Words that stand for a missing value in columns of numbers and days."""

DATES = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%d-%b-%Y", "%Y-%m-%d",
)  # fmt: skip
"""Patterns of days that are tried, in this order."""

_TIMES = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_EIGHT_DIGITS = re.compile(r"[0-9]{8}")
_POINT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?([0-9]+,[0-9]*|,[0-9]+)")
_SIGNS = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}
_ANY_NUMBER = re.compile("[+-]?[0-9][0-9.,' \u00a0\u2009\u202f\u2019]*")
_TRUE, _FALSE = ("true", "t", "yes", "y"), ("false", "f", "no", "n")
# As files without a format are read: with all of their zeros.
_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ISO_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
    r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
)
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE)
_ENOUGH = 0.8  # of a column's cells that are not missing
_TRIED = 50  # cells of a column that patterns are tried on


def _group_pattern(decimal: str, thousands: str) -> "re.Pattern[str]":
    """Groups of three digits with marks between them; a zero begins no such number."""
    mark = _SIGNS.get(thousands, thousands)
    return re.compile(rf"[+-]?[1-9][0-9]{{0,2}}([{mark}][0-9]{{3}})+(\{decimal}[0-9]*)?")


_GROUPED = {
    marks: _group_pattern(*marks)
    for marks in ((".", ","), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
}


def most(cells: Sequence[str], form: "re.Pattern[str]") -> bool:
    """Whether most cells have a form.

    >>> most(["1", "2", "x"], re.compile("[0-9]")), most([], re.compile(""))
    (False, False)
    """
    count = sum(form.fullmatch(cell) is not None for cell in cells)
    return bool(cells) and count >= _ENOUGH * len(cells)


def is_whole(cell: str) -> bool:
    """Whether a cell is a whole number without marks.

    >>> is_whole("-12"), is_whole("1.2")
    (True, False)
    """
    return _WHOLE.fullmatch(cell) is not None


def is_eight_digits(cells: Sequence[str]) -> bool:
    """Whether most cells are eight digits, as days may be.

    >>> is_eight_digits(["20241231"]), is_eight_digits(["2024"])
    (True, False)
    """
    return most(cells, _EIGHT_DIGITS)


def is_iso_day(cells: Sequence[str]) -> bool:
    """Whether most cells are days such as 2024-12-31.

    >>> is_iso_day(["2024-12-31"]), is_iso_day(["2024-12-31 10:00"])
    (True, False)
    """
    return most(cells, _ISO_DAY)


def is_iso_moment(cells: Sequence[str]) -> bool:
    """Whether most cells are times such as 2024-12-31 10:30:00, with an offset or without.

    >>> is_iso_moment(["2024-12-31T10:00:00Z"]), is_iso_moment(["2024-12-31"])
    (True, False)
    """
    return most(cells, _ISO_MOMENT)


def is_truth(cells: Sequence[str]) -> bool:
    """Whether all cells are words that are read as true or false.

    >>> is_truth(["yes", "N"]), is_truth(["ja", "nein"]), is_truth([])
    (True, False, False)
    """
    return bool(cells) and {cell.lower() for cell in cells} <= {*_TRUE, *_FALSE}


def is_typed(cells: Sequence[str]) -> bool:
    """Whether cells are numbers, days, times or truth values rather than words.

    >>> is_typed(["1.234,50"]), is_typed(["31 Dec 2024"]), is_typed(["north"])
    (True, True, False)
    """
    return (
        any(most(cells, form) for form in (_POINT, _COMMA, *_GROUPED.values()))
        or are_mixed_numbers(cells)
        or is_iso_day(cells)
        or is_iso_moment(cells)
        or fit_patterns(cells, DATES) is not None
        or fit_patterns(cells, moments()) is not None
        or is_truth(cells)
    )


def are_mixed_numbers(cells: Sequence[str]) -> bool:
    """Whether most cells are numbers with any marks, and no days.

    >>> are_mixed_numbers(["1,5", "2.000"]), are_mixed_numbers(["31.12.2024"])
    (True, False)
    """
    return most(cells, _ANY_NUMBER) and not fit_patterns(cells, DATES)


def moments() -> list[str]:
    """Patterns of times that are tried, in this order."""
    return [f"{day}{gap}{time}" for day in DATES for gap in (" ", "T") for time in _TIMES]


def _moment(cell: str, patterns: Iterable[str]) -> datetime | None:
    for pattern in patterns:
        try:
            return datetime.strptime(cell, pattern)
        except ValueError:
            continue
    return None


def fit_patterns(cells: Sequence[str], patterns: Iterable[str]) -> list[str] | None:
    """The patterns that read most of the cells, those that read as many as any; None if none does.

    >>> fit_patterns(["31.12.2024"], DATES), fit_patterns(["north"], DATES)
    (['%d.%m.%Y'], None)
    """
    sample = cells[:_TRIED]
    if not any(sign.isdigit() for cell in sample for sign in cell):
        return None
    timed = any(":" in cell for cell in sample)
    read = {
        pattern: sum(_moment(cell, (pattern,)) is not None for cell in sample)
        for pattern in patterns
        if (timed or ":" not in pattern)
        and not (pattern == "%Y%m%d" and not all(len(cell) == 8 for cell in sample))
    }
    best = max(read.values(), default=0)
    if best < _ENOUGH * len(sample):
        return None
    return [pattern for pattern, count in read.items() if count == best]


def number_marks(columns: Iterable[Sequence[str]], decimal: str) -> tuple[str, str]:
    """Decimal and thousands marks that fit most numbers of all columns.

    Where several fit as many, those with `decimal` win, and groups of three digits behind the
    other mark are thousands.
    >>> number_marks([["39,576"]], "."), number_marks([["39,576"]], ",")
    (('.', ','), (',', ''))
    >>> number_marks([["12.345"], ["0,5"]], ".")
    (',', '.')
    """
    numbers = [
        cell
        for cells in columns
        if are_mixed_numbers(cells)
        for cell in cells
        if _ANY_NUMBER.fullmatch(cell) and not _WHOLE.fullmatch(cell)
    ]
    if not numbers:
        return ".", ""
    scores = {}
    for mark in (decimal, "," if decimal == "." else "."):
        alone = _POINT if mark == "." else _COMMA
        for thousands in ("", "," if mark == "." else ".", " ", "'"):
            forms = [alone, *([_GROUPED[(mark, thousands)]] if thousands else [])]
            scores[(mark, thousands)] = sum(
                any(form.fullmatch(cell) for form in forms) for cell in numbers
            )
    best = max(scores.values())
    return next(marks for marks, score in scores.items() if score == best)


def read_cell(cell: str, kind: str, given: Format) -> str | None:
    """How a format reads a cell as a column of a type: a plain number, an ISO day or time, true or
    false, nothing where it is missing; None where it cannot be read.

    >>> read_cell("39,576", "BIGINT", Format(thousands=",")), read_cell("x", "BIGINT", Format())
    ('39576', None)
    >>> read_cell("03.02.2024 14:30", "DATETIME", Format(datetime=("%d.%m.%Y %H:%M",)))
    '2024-02-03 14:30:00'
    """
    text = cell.strip()
    if not text or text in given.missing:
        return ""
    if kind in ("BIGINT", "DOUBLE"):
        return _number(text, given)
    if kind in ("DATE", "DATETIME"):
        return _day_or_time(text, kind, given)
    if kind == "BOOLEAN":
        return ("true" if cell.lower() in _TRUE else "false") if is_truth([cell]) else None
    return cell


def _number(text: str, given: Format) -> str | None:
    if _NOT_FINITE.fullmatch(text):
        return text.lower()
    marks = _SIGNS.get(given.thousands, given.thousands)
    digits = rf"([0-9]{{1,3}}([{marks}][0-9]{{3}})+|[0-9]+)" if marks else "[0-9]+"
    decimal = rf"\{given.decimal}"
    form = rf"[+-]?({digits}({decimal}[0-9]*)?|{decimal}[0-9]+)([eE][+-]?[0-9]+)?"
    if not re.fullmatch(form, text):
        return None
    return text.translate({ord(mark): None for mark in marks}).replace(given.decimal, ".")


def _day_or_time(text: str, kind: str, given: Format) -> str | None:
    own, other = (given.date, given.datetime) if kind == "DATE" else (given.datetime, given.date)
    if own:
        moment = _moment(text, (*own, *other))
    elif _ISO_DAY.fullmatch(text):
        moment = _moment(text, ("%Y-%m-%d",))
    else:
        moment = _iso_moment(text)
    if moment is None:
        return None
    ahead = moment.utcoffset()
    if kind == "DATE":  # whose day in UTC may not be the one that is written
        return None if ahead else moment.date().isoformat()
    in_utc = moment if ahead is None else moment.astimezone(UTC)
    return in_utc.replace(tzinfo=None).isoformat(sep=" ")


def _iso_moment(text: str) -> datetime | None:
    """A time as the engine reads it without a pattern."""
    if not _ISO_MOMENT.fullmatch(text):
        return None
    whole, point, rest = text.partition(".")
    fraction = re.match("[0-9]{1,6}", rest)  # of nine digits
    digits = f".{fraction[0]:0<6}{rest.lstrip('0123456789')}" if point and fraction else ""
    try:
        return datetime.fromisoformat(whole + digits)
    except ValueError:
        return None
