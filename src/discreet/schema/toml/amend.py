"""Other bounds in the text of a schema file, with its comments and its layout left as they are.
Changes text that it can read back as meant, and nothing else; never opens a file.
"""

import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.schema.toml.write import decimal_literal

__all__ = ["with_bounds"]


def with_bounds(text: str, column: str, lower: Fraction, upper: Fraction) -> str | None:
    """The schema with these bounds of a column; None unless it is written inline on one line.

    >>> text = '[columns]\\nage = { type = "integer", lower = 0, upper = 999 } # years\\n'
    >>> print(with_bounds(text, "age", Fraction(17), Fraction(128)))
    [columns]
    age = { type = "integer", lower = 17, upper = 128 } # years
    <BLANKLINE>
    """
    ends = {
        end: decimal_literal(value, f"{column}: {end}")
        for end, value in (("lower", lower), ("upper", upper))
    }
    wanted = _amend_document(text, column, ends)
    if wanted is None:
        return None
    entry = re.compile(rf"\s*([\"']?){re.escape(column)}\1\s*=\s*\{{")
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if not entry.match(line):
            continue
        changed = line
        for end, value in ends.items():
            changed = _replace(changed, end, value)
        amended = "".join([*lines[:place], changed, *lines[place + 1 :]])
        if _document(amended) == wanted:
            return amended
    return None


def _replace(line: str, end: str, value: str) -> str:
    # Whatever this hits by mistake, in a text or a comment, is not read back as meant.
    return re.sub(rf"(?<![\w-])({end}\s*=\s*)[^\s,}}#]+", rf"\g<1>{value}", line, count=1)


def _document(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, ArithmeticError):
        return None


def _amend_document(text: str, column: str, ends: dict[str, str]) -> dict[str, Any] | None:
    """What the amended text should say."""
    document = _document(text) or {}
    columns = document.get("columns")
    entry = columns.get(column) if isinstance(columns, dict) else None
    if not isinstance(entry, dict) or not ends.keys() <= entry.keys():
        return None
    entry |= tomllib.loads("\n".join(f"{end} = {ends[end]}" for end in ends), parse_float=Decimal)
    return document
