"""Spellings of other dialects in a parsed statement, changed to the one that is read: names of
functions, types of whole numbers, the date of today as the constant that it is.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["spell_tree", "today"]

_WHOLE = ("BIGINT", "HUGEINT", "INT128", "MEDIUMINT", "SMALLINT", "TINYINT", "UBIGINT", "UINT")
_RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "APPROX_MEDIAN": "MEDIAN", "COUNT_BIG": "COUNT", "DAY_OF_WEEK": "DAYOFWEEK",
        "DAY_OF_YEAR": "DAYOFYEAR", "EVERY": "BOOL_AND", "MEAN": "AVG", "STDEV": "STDDEV",
        "STDEVP": "STDDEV_POP", "STD": "STDDEV", "VARP": "VAR_POP", "WEEK_OF_YEAR": "WEEKOFYEAR",
    }
)  # fmt: skip
_TODAY = ("CURDATE", "TODAY")


def today() -> date:
    """The date of today in UTC."""
    return datetime.now(UTC).date()


def spell_tree(tree: "Expr") -> "Expr":
    """The tree with the spellings that are read.

    >>> from discreet.upper.reading.text import read_tree
    >>> read_tree("SELECT MEAN(a), COUNT(), CAST(a AS TINYINT) FROM t")[1].sql()
    'SELECT AVG(a), COUNT(*), CAST(a AS INT) FROM t'
    """
    changed: Expr = tree.transform(_spell)
    return changed


def _spell(node: "Expr") -> "Expr":
    from sqlglot import expressions as trees

    kind = type(node).__name__
    if kind == "Anonymous":
        name = str(node.this).upper()
        if name in _TODAY and not node.expressions:
            return _date(today())
        if name in _RENAMED:
            node.set("this", _RENAMED[name])
        if str(node.this).upper() == "COUNT" and not node.expressions:
            node.set("expressions", [trees.Star()])
    elif kind == "CurrentDate" and node.args.get("this") is None:
        return _date(today())
    elif kind == "DataType" and str(getattr(node.this, "name", "")) in _WHOLE:
        return trees.DataType.build("INT")
    return node


def _date(day: date) -> "Expr":
    from sqlglot import expressions as trees

    text = trees.Literal.string(day.isoformat())
    return trees.Cast(this=text, to=trees.DataType.build("DATE"))
