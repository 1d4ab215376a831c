"""Questions that were read lately: a text is read once and then priced as often as it is asked.
Keeps texts and what they mean, each for the analyst who wrote it; never an answer.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping

from discreet.query.algebra import Query
from discreet.schema.table import Table
from discreet.upper.reading.spelling import today
from discreet.upper.reading.split import Statement, read_statement

__all__ = ["Questions"]

_MOST = 1024
_LONGEST = 2048  # characters; what is longer is rare, and large in memory


class Questions:
    """What analysts' texts mean, as long as no table changes.

    One analyst's texts do not make another's faster, so that time does not tell who asked what.
    >>> Questions().read("SELECT COUNT(*) AS n FROM t", {"t": Table("t")}, analyst="ana").columns
    ('n',)
    """

    __slots__ = ("_known", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[tuple[Table, ...], Query | Statement]] = (
            OrderedDict()
        )

    def read(self, text: str, tables: Mapping[str, Table], *, analyst: str) -> Query | Statement:
        """What a text means, read anew unless it was read lately about these very tables."""
        key, asked = (analyst, f"{today()} {text}"), tuple(tables.values())
        with self._lock:
            known = self._known.get(key)
            if known is not None and _same(known[0], asked):
                self._known.move_to_end(key)
                return known[1]
        query = read_statement(text, tables)  # a refusal is not kept
        if len(text) <= _LONGEST:
            with self._lock:
                self._known[key] = (asked, query)
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return query


def _same(before: tuple[Table, ...], now: tuple[Table, ...]) -> bool:
    """Whether these are the same values, not equal ones: a changed schema is another value."""
    return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))
