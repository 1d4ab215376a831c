"""How the cells of a source's text are written: marks, patterns of dates, words for missing values.
Declared by the custodian in [format]; public, and never read from data.
"""

import re
from dataclasses import dataclass
from typing import Any

from discreet.encoding import Form, list_facts
from discreet.errors import SchemaError

__all__ = ["ENCODINGS", "Format", "PLAIN"]

ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252")
"""The encodings of text files; a byte order mark is known and left out in each of them."""

_DELIMITERS = re.compile(r"[^\w\s\"'\\.]|[\t ]|")
_QUOTES = ('"', "'", "")
_DECIMALS = (".", ",")
_THOUSANDS = ("", ",", ".", " ", "'", "_")
_MOST_WORDS, _LONGEST_WORD = 100, 100
_SPECIFIERS = frozenset("YymdbBjHIMSfpaAz%")
_PARTS = {
    "year": "Yy",
    "month": "mbBj",
    "day": "dj",
    "day of the week": "aA",
    "hour": "HI",
    "minute": "M",
    "second": "S",
    "fraction": "f",
    "half of the day": "p",
    "offset": "z",
}
_SPECIFIER = re.compile(r"%(.?)", re.DOTALL)
_LISTS = ("date", "datetime", "missing")
_FLAGS = ("multiline", "header")
_FORM = Form.of(  # versions of schemas hang on the order
    "Format",
    *("delimiter", "quote", "encoding", "decimal", "thousands", "date", "datetime", "missing"),
    *("multiline", "header", "first_line", "columns"),
)
_LAST_FIRST_LINE, _MOST_COLUMNS = 10_000, 100_000


@dataclass(frozen=True, slots=True)
class Format:
    """How text is read: a file's delimiter, quote and encoding, and what its cells look like.

    An empty delimiter is the one of , ; | and the tab that the first line has most of. Patterns
    of dates and times are those of strptime, tried in order; without one a date is written
    2024-12-31. A cell that is one of the words in `missing`, or empty, is missing. A record of
    a text file is one line, unless `multiline` says that quoted cells may hold ends of lines:
    then a quote that is never closed takes the lines after it with it. The table begins on
    `first_line`, below titles and comments, with the names of its columns; without a `header`
    it begins with its first row, and the `columns`, as many as declared, are called column_1,
    column_2 and so on: no row decides how others are read.
    >>> Format(decimal=",", thousands=".").decimal
    ','
    >>> Format(decimal=",", thousands=",")
    Traceback (most recent call last):
    discreet.errors.SchemaError: format: decimal and thousands are both ','; they must differ.
    """

    delimiter: str = ""
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    date: tuple[str, ...] = ()
    datetime: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    multiline: bool = False
    header: bool = True
    first_line: int = 1
    columns: int = 0

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote", "encoding", "decimal", "thousands"):
            if not isinstance(getattr(self, name), str):
                raise SchemaError(
                    f"format: {name} is {getattr(self, name)!r}; it must be text, in quotes."
                )
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise SchemaError(
                    f"format: {name} is {getattr(self, name)!r}; write true or false."
                )
        self._check_beginning()
        self._one_of("quote", _QUOTES)
        self._one_of("encoding", ENCODINGS)
        self._one_of("decimal", _DECIMALS)
        self._one_of("thousands", _THOUSANDS)
        if not _DELIMITERS.fullmatch(self.delimiter):
            raise SchemaError(
                f"format: delimiter is {self.delimiter!r}; write one sign that stands between "
                'cells, such as ",", ";", "|" or "\\t".'
            )
        if self.decimal == self.thousands:
            raise SchemaError(
                f"format: decimal and thousands are both {self.decimal!r}; they must differ."
            )
        for name in _LISTS:
            self._check_words(name, getattr(self, name))
        for name in ("date", "datetime"):
            for pattern in getattr(self, name):
                _check_pattern(name, pattern)

    def _check_beginning(self) -> None:
        columns: object = self.columns
        if not isinstance(columns, int) or isinstance(columns, bool) or columns < 0:
            raise SchemaError(f"format: columns is {columns!r:.80}; write a whole number.")
        if self.header == (self.columns > 0) or columns > _MOST_COLUMNS:
            raise SchemaError(
                f"format: header is {str(self.header).lower()} and columns is {columns}; a table "
                f"without a header has columns = 1 to {_MOST_COLUMNS}, the number of its cells on "
                "a line, and one with a header has no columns there."
            )
        first: object = self.first_line
        if (
            not isinstance(first, int)
            or isinstance(first, bool)
            or not 1 <= first <= _LAST_FIRST_LINE
        ):
            raise SchemaError(
                f"format: first_line is {first!r:.80}; write the number of the line on which the "
                f"table begins, 1 to {_LAST_FIRST_LINE}."
            )

    def _one_of(self, name: str, known: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in known:
            listed = ", ".join(map(repr, known))
            raise SchemaError(f"format: {name} is {value!r}; write one of {listed}.")

    def _check_words(self, name: str, words: object) -> None:
        if not isinstance(words, tuple) or not all(isinstance(word, str) for word in words):
            raise SchemaError(f"format: {name} is {words!r}; write a list of texts.")
        if len(words) > _MOST_WORDS or any(
            not word.strip() or "\0" in word or len(word) > _LONGEST_WORD for word in words
        ):
            raise SchemaError(
                f"format: {name} has at most {_MOST_WORDS} texts of 1 to {_LONGEST_WORD} "
                "characters each, without zero bytes; an empty cell is missing anyway."
            )

    @property
    def is_plain(self) -> bool:
        """Whether cells need no other reading than they had before there were formats.

        >>> Format(delimiter=";").is_plain, Format(missing=("n/a",)).is_plain
        (True, False)
        """
        plain = ("decimal", "thousands", *_LISTS)
        return all(getattr(self, name) == getattr(PLAIN, name) for name in plain)

    def facts(self) -> dict[str, Any]:
        """What differs from the usual, as JSON holds it.

        >>> Format(decimal=",", date=("%d.%m.%Y",)).facts()
        {'decimal': ',', 'date': ['%d.%m.%Y']}
        """
        usual, facts = (list_facts(value, {Format: _FORM}) for value in (PLAIN, self))
        return {name: value for name, value in facts.items() if value != usual[name]}


def _check_pattern(name: str, pattern: str) -> None:
    specifiers = _SPECIFIER.findall(pattern)
    unknown = [sign for sign in specifiers if sign not in _SPECIFIERS]
    if unknown:
        listed = " ".join(f"%{sign}" for sign in sorted(_SPECIFIERS))
        raise SchemaError(
            f"format: {name} is {pattern!r}; '%{unknown[0]}' is not known. Known: {listed}."
        )
    if not {"Y", "y"} & set(specifiers):
        raise SchemaError(
            f"format: {name} is {pattern!r}, a pattern without a year; write one such as "
            "'%d.%m.%Y' or '%m/%d/%Y %H:%M'."
        )
    for part, signs in _PARTS.items():
        if sum(sign in signs for sign in specifiers) > 1:  # only the last one would count
            raise SchemaError(
                f"format: {name} is {pattern!r}, which names the {part} twice. Name it once."
            )


PLAIN = Format()
"""The format of a schema that has no [format]."""
