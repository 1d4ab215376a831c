"""Keys that are texts of dates: the question groups by the dates themselves, which are public, and
what stands above writes them.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["date_key", "label_key"]

_FINEST = (
    ("second", "%S", "%T"), ("minute", "%M", "%R"), ("hour", "%H", "%I"),
    ("day", "%d", "%j", "%x", "%F", "%D", "%e"), ("month", "%m", "%b", "%B", "%h"),
)  # fmt: skip
_YEARS = ("%Y", "%F", "%x", "%D")
_KNOWN = re.compile(r"(?:[^%]|%[YmbBdjHIMSTRFe%])*")
_POSTGRESQL = (
    ("YYYY", "%Y"), ("HH24", "%H"), ("MONTH", "%B"), ("Month", "%B"), ("MON", "%b"),
    ("Mon", "%b"), ("MM", "%m"), ("DD", "%d"), ("MI", "%M"), ("SS", "%S"),
)  # fmt: skip
_LEFT = re.compile(r"[A-Za-z](?<!%[A-Za-z])")


def date_key(node: "Expr") -> "Expr | None":
    """The date that stands for a text of it, one for one; None for any other expression.

    >>> from discreet.upper.reading.text import read_tree
    >>> date_key(read_tree("SELECT STRFTIME(day, '%Y-%m') FROM t")[1].expressions[0]).sql()
    "DATE_TRUNC('month', day)"
    >>> date_key(read_tree("SELECT STRFTIME(day, '%m') FROM t")[1].expressions[0])
    """
    from sqlglot import expressions as trees

    found = _format_of(node)
    if found is None:
        return None
    operand, pattern = found
    if not any(part in pattern for part in _YEARS):
        return None  # several dates would have one text
    unit = next((unit for unit, *parts in _FINEST if any(p in pattern for p in parts)), "year")
    return trees.Anonymous(
        this="DATE_TRUNC", expressions=[trees.Literal.string(unit), operand.copy()]
    )


def label_key(node: "Expr", column: "Expr") -> "Expr":
    """The text of a released date, as the key writes it."""
    from sqlglot import expressions as trees

    found = _format_of(node)
    assert found is not None
    return trees.Anonymous(this="STRFTIME", expressions=[column, trees.Literal.string(found[1])])


def _format_of(node: "Expr") -> "tuple[Expr, str] | None":
    """What is written, and the pattern, in the spelling of STRFTIME; None if it is no such call."""
    name = str(node.this).upper() if type(node).__name__ == "Anonymous" else ""
    if name not in ("STRFTIME", "TO_CHAR") or len(node.expressions) != 2:
        return None
    texts = [type(part).__name__ == "Literal" and part.is_string for part in node.expressions]
    if texts not in ([False, True], [True, False]):
        return None
    operand, written = node.expressions if texts[1] else reversed(node.expressions)
    pattern = str(written.this)
    if name == "TO_CHAR":
        for theirs, ours in _POSTGRESQL:
            pattern = pattern.replace(theirs, ours)
        if _LEFT.search(pattern):
            return None
    return (operand, pattern) if _KNOWN.fullmatch(pattern) else None
