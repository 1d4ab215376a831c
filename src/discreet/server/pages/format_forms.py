"""The part of the registration form that says how a file is written: fields of the page to and from
a format. Knows shapes only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from discreet.errors import InvalidValue
from discreet.schema.format import ENCODINGS, PLAIN, Format
from discreet.schema.toml.format_section import read_format
from discreet.server.pages.shared import Form

__all__ = ["CHOICES", "fields_of", "read_declared", "typed_fields"]

_QUOTES = {"double": '"', "single": "'", "none": ""}
_DECIMALS = {"point": ".", "comma": ","}
_THOUSANDS = {
    "none": "", "comma": ",", "point": ".", "space": " ", "apostrophe": "'", "underscore": "_",
}  # fmt: skip
_DELIMITERS = {"": "", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}
_SELECTS: Mapping[str, Mapping[str, str]] = {
    "quote": _QUOTES,
    "encoding": {name: name for name in ENCODINGS},
    "decimal": _DECIMALS,
    "thousands": _THOUSANDS,
}
_LISTS = ("date", "datetime", "missing")
_FLAGS = ("multiline", "header")
_GIVEN = "format-given"

CHOICES = MappingProxyType({name: tuple(words) for name, words in _SELECTS.items()})
"""What can be chosen in the fields that are lists."""


def fields_of(given: Format) -> dict[str, Any]:
    """The fields of the page for a format; a list has a line for each of its texts.

    >>> fields_of(Format(delimiter="\\t", thousands=" "))["delimiter"]
    'tab'
    """
    fields: dict[str, Any] = {
        name: next(word for word, sign in words.items() if sign == getattr(given, name))
        for name, words in _SELECTS.items()
    }
    words = {sign: word for word, sign in _DELIMITERS.items() if word in ("tab", "space")}
    fields["delimiter"] = words.get(given.delimiter, given.delimiter)
    fields |= {name: "\n".join(getattr(given, name)) for name in _LISTS}
    fields |= {name: getattr(given, name) for name in _FLAGS}
    columns = str(given.columns) if given.columns else ""
    return fields | {"first_line": str(given.first_line), "columns": columns}


def typed_fields(form: Form, given: Format) -> dict[str, Any]:
    """The fields as somebody typed them, right or wrong; those of a format if nobody did.

    >>> typed_fields(Form({"format-given": "1", "format-first_line": "x"}), PLAIN)["first_line"]
    'x'
    """
    fields = fields_of(given)
    if _GIVEN not in form.fields:
        return fields
    typed: dict[str, Any] = {name: form.text(f"format-{name}") for name in fields}
    return typed | {name: f"format-{name}" in form.fields for name in _FLAGS}


def read_declared(form: Form) -> dict[str, Any]:
    """What a form says of a format, checked; nothing if the page had no such fields yet.

    >>> read_declared(Form({}))
    {}
    >>> read_declared(Form({"format-given": "1", "format-delimiter": "tab"}))["delimiter"]
    '\\t'
    """
    if _GIVEN not in form.fields:
        return {}
    declared: dict[str, Any] = {}
    for name, words in _SELECTS.items():
        word = form.text(f"format-{name}")
        if word and word not in words:
            raise InvalidValue(f"{name} is {word!r:.80}; choose one of {', '.join(words)}.")
        declared[name] = words[word] if word else getattr(PLAIN, name)
    delimiter = form.text("format-delimiter")
    declared["delimiter"] = _DELIMITERS.get(delimiter, delimiter)
    for name in _LISTS:
        lines = form.text(f"format-{name}").splitlines()
        declared[name] = tuple(line.strip() for line in lines if line.strip())
    declared |= {name: f"format-{name}" in form.fields for name in _FLAGS}
    declared["first_line"] = _whole(form.text("format-first_line") or "1")
    if not declared["header"] and form.text("format-columns"):
        declared["columns"] = _whole(form.text("format-columns"))
    # How many columns there are is a guess until somebody writes it.
    read_format("the file", {"columns": 0 if declared["header"] else 1, **declared})
    return declared


def _whole(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) < 9 else text
