"""Reads the section [format] of a schema file. Never opens a source."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.format import Format
from discreet.schema.toml.column_entry import known_keys

__all__ = ["read_format"]

_LISTS = ("date", "datetime", "missing")


def read_format(table: str, section: Mapping[str, Any]) -> Format:
    """The format that a section [format] declares; one text stands for a list of one.

    >>> read_format("visits", {"date": "%d.%m.%Y", "encoding": "Latin-1"}).encoding
    'latin-1'
    >>> read_format("visits", {"decimel": ","})
    Traceback (most recent call last):
    discreet.errors.SchemaError: visits: [format]: unknown key 'decimel'. Did you mean 'decimal'?
    """
    known_keys(section, [field.name for field in fields(Format)], f"{table}: [format]", "key")
    marks = dict(section)
    for name in _LISTS:
        if isinstance(marks.get(name), str):
            marks[name] = (marks[name],)
        elif isinstance(marks.get(name), list):
            marks[name] = tuple(marks[name])
    encoding = marks.get("encoding")
    if isinstance(encoding, str):
        marks["encoding"] = _OTHER_NAMES.get(encoding.casefold(), encoding.casefold())
    try:
        return Format(**marks)
    except SchemaError as error:
        raise SchemaError(f"{table}: {error}") from None


_OTHER_NAMES = {
    **dict.fromkeys(("utf8", "utf-8-sig", "utf_8", "ascii"), "utf-8"),
    **dict.fromkeys(("utf16", "utf-16-le", "utf-16le", "utf-16-be", "utf-16be"), "utf-16"),
    **dict.fromkeys(("latin1", "iso-8859-1", "iso8859-1", "iso_8859_1"), "latin-1"),
    **dict.fromkeys(("windows-1252", "cp-1252", "ansi"), "cp1252"),
}
