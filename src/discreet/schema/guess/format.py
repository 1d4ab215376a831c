"""Guesses how a text file is written, from its first bytes, and which types its columns seem to
have. For the custodian, who checks the guess; a schema holds it only once it is written there.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import dropwhile
from types import MappingProxyType
from typing import Any

from discreet.schema.format import Format
from discreet.schema.guess.cells import (
    DATES,
    MISSING,
    fit_patterns,
    is_eight_digits,
    is_iso_day,
    is_iso_moment,
    is_truth,
    is_typed,
    is_whole,
    moments,
    number_marks,
    read_cell,
)
from discreet.schema.table import UNREADABLE_SHARE

__all__ = ["Guess", "guess_columns", "guess_marks"]

_DELIMITERS = ",;\t|"
_ONE_NUMBER = re.compile(r"[+-]?[0-9]+,[0-9]*|[+-]?[0-9]*")
_THREE_DIGITS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_PLAIN = re.compile(r"[+-]?[0-9][0-9.,' ]*")
_NUMBERS = ("BIGINT", "DOUBLE")
_CODE = re.compile(r"0[0-9]+|\+[0-9]{7,}")
_ISO_PATTERNS = tuple(
    f"%Y-%m-%d{gap}{time}{zone}"
    for gap in (" ", "T")
    for time in ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f")
    for zone in ("", "%z")
)
_ENOUGH = 0.8  # of a column's cells that are not missing
_CURRENCIES = (
    "[$\u20ac\u00a3\u00a5\u20b9]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|Fr\\.?|kr"
)
_TRUTHS = (
    ("ja", "nein"), ("wahr", "falsch"), ("j", "n"), ("oui", "non"), ("vrai", "faux"), ("si", "no"),
    ("s\u00ed", "no"), ("s\u00ec", "no"), ("sim", "n\u00e3o"), ("ja", "nee"), ("ja", "nej"),
    ("tak", "nie"), ("on", "off"), ("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"),
)  # fmt: skip
_LOOKS = (
    (
        re.compile(r"[+-]?[0-9.,' ]*[0-9] ?%"),
        "percentages such as 24% are read as texts: keep a category with keys or, to ask for "
        "means, write the numbers without the sign in the source and declare a number",
    ),
    (
        re.compile(r"\([0-9.,' ]*[0-9]\)|[0-9.,' ]*[0-9]-"),
        "numbers such as (120) are read as texts: keep a category with keys or, to ask for sums, "
        "write them as -120 in the source and declare a number",
    ),
    (
        re.compile(
            rf"[+-]?({_CURRENCIES}) ?[+-]?[0-9.,' ]*[0-9]|[+-]?[0-9][0-9.,' ]*({_CURRENCIES})"
        ),
        "amounts with the sign of a currency are read as texts: keep a category with keys or, to "
        "ask for sums, write the numbers without the sign in the source and declare a number",
    ),
)


# A column, the patterns that read its cells, and those that were found in other columns.
_Fit = tuple[str, list[str], dict[str, None]]


@dataclass(frozen=True, slots=True)
class Guess:
    """A format, the columns with a guess of their types, and what may be wrong with it.

    Made from rows, so for the custodian to check.
    """

    format: Format
    columns: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...] = ()


def guess_marks(start: bytes) -> Format:
    """Encoding, delimiter and quote of a text, from its first bytes.

    >>> guess_marks("name;größe\\nx;1\\n".encode("latin-1"))
    Format(delimiter=';', quote='"', encoding='cp1252', decimal='.', thousands='', date=(), \
datetime=(), missing=(), multiline=False, header=True, first_line=1, columns=0)
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
    records = csv.reader(io.StringIO(whole), delimiter=delimiter, quotechar=quote)
    rows = [row for row in records if row][:-1]  # the sample may end inside of the last
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    below = list(dropwhile(lambda row: len(row) < width, rows))  # titles
    return any("\n" in cell for row in below for cell in row) and all(
        len(row) == width for row in below
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
    return "latin-1" if any(code in start for code in undefined) else "cp1252"


def _delimiter(lines: Sequence[str]) -> str:
    """The sign that cuts most lines into the same number of cells, more than one; of several the
    one that leaves the fewest signs inside of cells that are no decimal mark."""

    def fitness(sign: str) -> tuple[float, int, int]:
        rows = list(csv.reader(lines, delimiter=sign))
        widths = Counter(len(row) for row in rows if len(row) > 1)
        if not widths:
            return (0.0, 0, 0)
        width, count = widths.most_common(1)[0]
        signs = sum(any(other in cell for other in _DELIMITERS[1:]) for row in rows for cell in row)
        return (count / len(rows), -signs, width)

    if not lines:
        return ","
    rest = lines[1:]
    if "," not in lines[0] and "," in "".join(rest) and all(map(_ONE_NUMBER.fullmatch, rest)):
        return ";"  # one column of numbers with decimal commas
    best = max(_DELIMITERS, key=fitness)
    return best if fitness(best)[0] else max(_DELIMITERS, key=lines[0].count)


def _quote(lines: Sequence[str], delimiter: str) -> str:
    """Apostrophes count as quotes only where they stand around cells and double ones nowhere."""
    if any('"' in line for line in lines):
        return '"'
    cells = [cell for line in lines for cell in line.split(delimiter)]
    around = sum(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells)
    return "'" if around * 2 > len(cells) else '"'


def guess_columns(
    marks: Format,
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    declared: Mapping[str, Any] = MappingProxyType({}),
) -> Guess:
    """The types of columns, and the marks of numbers, dates and missing values in their cells.

    What the custodian has `declared` of the format is taken as it is.
    >>> guess_columns(Format(), ["day", "paid"], [["31.12.2024", "1.234,50"], ["n/a", "7,00"]])
    Guess(format=Format(delimiter='', quote='"', encoding='utf-8', decimal=',', thousands='.', \
date=('%d.%m.%Y',), datetime=(), missing=('n/a',), multiline=False, header=True, first_line=1, \
columns=0), columns=(('day', 'DATE'), ('paid', 'DOUBLE')), doubts=())
    """
    cells = {name: _cells(rows, place) for place, name in enumerate(names)}
    missing: dict[str, None] = {}
    present: dict[str, list[str]] = {}
    known = (*MISSING, *declared.get("missing", ()))
    for name, column in cells.items():
        present[name] = [cell for cell in column if cell.strip() not in known]
        if is_typed(_strip(present[name])):
            missing |= dict.fromkeys(cell.strip() for cell in column if cell.strip() in MISSING)
        else:
            present[name] = column
    texts = {name: _strip(column) for name, column in present.items()}
    days, times, doubts = _patterns(texts)
    dotted = any(pattern.startswith("%d.%m.") for pattern in days)
    usual = "," if dotted and marks.delimiter not in ("", ",") else "."
    decimal, thousands = number_marks(texts.values(), usual)
    guessed = replace(
        marks,
        decimal=decimal,
        thousands=thousands,
        date=days,
        datetime=times,
        missing=tuple(word for word in missing if not _is_code(word)),
    )
    guessed = replace(guessed, **declared)
    doubts += [f"{word} may be a code for missing" for word in missing if _is_code(word)]
    columns = tuple((name, _type(present[name], guessed)) for name in names)
    numbers = [text for name, kind in columns if kind in _NUMBERS for text in texts[name]]
    for name, kind in columns:
        said = _unread(present[name], kind, guessed) if kind != "VARCHAR" else _looks(texts[name])
        if kind in _NUMBERS:
            said += _both_ways(texts[name], numbers, guessed)
        doubts += [f"{name}: {doubt}" for doubt in said]
    return Guess(guessed, columns, tuple(doubts))


def _cells(rows: Iterable[Sequence[str]], place: int) -> list[str]:
    return [row[place] for row in rows if place < len(row) and row[place].strip()]


def _strip(cells: Iterable[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _is_code(word: str) -> bool:
    return word.startswith("-9")


def _share(cells: Sequence[str], kind: str, given: Format) -> Fraction:
    """The share of cells that are read as a type; 0 where there are none."""
    read = sum(read_cell(cell, kind, given) is not None for cell in cells)
    return Fraction(read, len(cells)) if cells else Fraction(0)


def _type(cells: Sequence[str], given: Format) -> str:
    texts = _strip(cells)
    if any(map(_CODE.fullmatch, texts)) and not is_eight_digits(texts):
        return "VARCHAR"  # a number would lose the zeros of a code
    if is_truth(cells):
        return "BOOLEAN"
    whole = bool(texts) and sum(map(is_whole, texts)) >= _ENOUGH * len(texts)
    for kind in ("DATE", "DATETIME"):
        digits_are_days = "%Y%m%d" in given.date and is_eight_digits(texts)
        if (digits_are_days or not whole) and _is_moment(texts, kind, given):
            return kind
    if whole:
        return "BIGINT"
    if _share(texts, "DOUBLE", given) < _ENOUGH:
        return "VARCHAR"
    fractions = [read_cell(cell, "DOUBLE", given) or "" for cell in texts]
    return "DOUBLE" if any("." in text or "e" in text.lower() for text in fractions) else "BIGINT"


def _is_moment(texts: Sequence[str], kind: str, given: Format) -> bool:
    """Whether cells are days, or times: a day that has no time, a time that has one."""
    timed = sum(":" in text for text in texts) * 2 > len(texts)
    return timed == (kind == "DATETIME") and _share(texts, kind, given) >= _ENOUGH


def _unread(cells: Sequence[str], kind: str, given: Format) -> list[str]:
    """What `discreet add` would refuse, as far as the first rows tell."""
    unread = [cell.strip() for cell in cells if read_cell(cell, kind, given) is None]
    if len(unread) <= UNREADABLE_SHARE * len(cells):
        return []
    return [
        f"some of the first cells are not read as {kind}, and `discreet add` refuses a column of "
        f"which more than {float(UNREADABLE_SHARE):.0%} is not: name words for missing in "
        "[format], correct the source, declare a category, or raise unreadable_share in [table]",
        *_looks(unread),
    ]


def _both_ways(cells: Sequence[str], numbers: Sequence[str], given: Format) -> list[str]:
    """Whether the only mark in the numbers of a column may part thousands or decimals, and what to
    write for the other reading; nothing where another number of the file has only one."""
    marked = [cell for cell in cells if "." in cell or "," in cell]
    if not marked or not all(map(_THREE_DIGITS.fullmatch, marked)):
        return []
    mark = "," if "," in marked[0] else "."
    point = "." if mark == "," else ","
    if mark == given.thousands:
        other = replace(given, decimal=mark, thousands="")
        said = (
            f'{mark} before three digits is taken as the mark of thousands (thousands = "{mark}" '
            f'in [format]); if it stands before decimals, write decimal = "{mark}" there and '
            "delete the line thousands"
        )
    else:
        other = replace(given, decimal=point, thousands=mark)
        said = (
            f"{mark} before three digits is taken as the decimal mark; if it is the mark of "
            f'thousands, write thousands = "{mark}" and decimal = "{point}" in [format]'
        )
    settled = any(
        read_cell(cell, "DOUBLE", other) is None and read_cell(cell, "DOUBLE", given) is not None
        for cell in numbers
    )
    return [] if settled else [said]


def _looks(texts: Sequence[str]) -> list[str]:
    """What texts look like that are no plain words, and what can be done."""
    if not texts:
        return []
    if any(map(_CODE.fullmatch, texts)) and all(map(is_whole, texts)):
        return [
            "numbers that begin with 0 or + are taken as codes, which keep it; if they are "
            'numbers, write type = "integer" with bounds'
        ]
    words = {text.lower() for text in texts}
    for pair in _TRUTHS:
        if words <= set(pair):
            spelt = sorted(set(texts), key=lambda text: pair.index(text.lower()))
            listed = ", ".join(f'"{word}"' for word in (spelt if len(words) > 1 else pair))
            return [
                f"words for yes and no; keep the category and write keys = [{listed}], the words "
                "as they are spelt in the source"
            ]
    for form, said in _LOOKS:
        signed = [text for text in texts if form.fullmatch(text)]
        plain = [text for text in texts if _PLAIN.fullmatch(text)]
        if signed and len(signed) + len(plain) >= _ENOUGH * len(texts):
            return [said]
    return []


def _is_open(fit: Sequence[str]) -> bool:
    """Whether days and months could stand in either order."""
    return any(_swap(pattern) != pattern and _swap(pattern) in fit for pattern in fit)


def _swap(pattern: str) -> str:
    other = {"%d": "%m", "%m": "%d"}
    return re.sub("%[dm]", lambda match: other[match[0]], pattern)


def _choose(fits: Sequence[_Fit]) -> list[str]:
    """Put one pattern of each column among those that were found; and what may be wrong with it."""
    doubts: list[str] = []
    # Where days and months can be distinguished comes first: other columns are most likely alike.
    for name, fit, chosen in sorted(fits, key=lambda found: _is_open(found[1])):
        pattern = next((known for known in fit if known in chosen), fit[0])
        settled = pattern in chosen
        swapped = _swap(pattern)
        if swapped != pattern and swapped in chosen:
            doubts.append(
                f"{name}: days and months stand in another order than in another column, and one "
                f"[format] holds for all: {swapped!r} reads this column wrongly. Write its days as "
                "2024-12-31 in the source, or leave the column out"
            )
            continue
        chosen.setdefault(pattern)
        if _is_open(fit) and not settled:
            doubts.append(
                f"{name}: days and months cannot be distinguished in the first rows; "
                f"{pattern!r} is a guess, and its line in [format] the one to change"
            )
        if "%y" in pattern:
            doubts.append(
                f"{name}: which number is the year is a guess, {pattern!r}, where years have two "
                "digits; 69 to 99 are read as 1969 to 1999, and 00 to 68 as 2000 to 2068"
            )
    return doubts


def _patterns(
    columns: Mapping[str, list[str]],
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    days: dict[str, None] = {}
    times: dict[str, None] = {}
    fits: list[_Fit] = []
    for name, cells in columns.items():
        if is_iso_day(cells) or is_iso_moment(cells):
            continue
        if sum(map(is_whole, cells)) >= _ENOUGH * len(cells) and not is_eight_digits(cells):
            continue
        for patterns, chosen in ((DATES, days), (moments(), times)):
            fit = fit_patterns(cells, patterns)
            if fit is not None:
                fits.append((name, fit, chosen))
    doubts = _choose(fits)
    # A column of times may be declared as days; and where some columns have a pattern and others
    # are as usual, the usual ones are listed too.
    days |= times
    if days and any(map(is_iso_day, columns.values())):
        days.setdefault("%Y-%m-%d")
    for cells in columns.values() if times else ():
        if is_iso_moment(cells):
            usual = dict.fromkeys(fit_patterns(cells, _ISO_PATTERNS) or ("%Y-%m-%d %H:%M:%S",))
            times |= usual
            days |= usual
    return tuple(days), tuple(times), doubts
