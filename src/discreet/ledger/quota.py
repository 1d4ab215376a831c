"""How much of the ledger one analyst may fill. Counts bytes of what analysts asked and were given,
each row once; whoever is over the limit reads on and pays for nothing new. Knows no data.
"""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

from discreet.errors import QuotaExceeded
from discreet.ledger.store.connection import Connection
from discreet.schema.column import whole

__all__ = ["LARGEST_QUOTA", "MARK", "NO_QUOTA", "Quota"]

LARGEST_QUOTA = 1 << 50
"""The most bytes that a limit may be."""

MARK = b" " * 8
"""The end of a state whose length tells nothing of the secrets in it."""

_STATE = 4096  # what a state counts that an earlier version wrote: its length may tell of secrets
_REQUEST = 512  # a key, what it stands for, and their seal
# Rows after a number: whose, how many bytes, and the numbers go up, so each is looked at once.
_ROWS = {
    "entries": "SELECT analyst, length(memo), sequence FROM entries "
    "WHERE sequence > ? AND act = 'charge' ORDER BY sequence",
    "releases": "SELECT analyst, length(body), number FROM releases "
    "WHERE number > ? ORDER BY number",
    "states": "SELECT analyst, CASE WHEN kind IN ('monitor', 'counter', 'holdout', 'synopsis') "
    f"AND substr(body, length(body) - {len(MARK) - 1}) <> ? THEN {_STATE} ELSE length(body) END, "
    "number FROM states WHERE number > ? ORDER BY number",
    "seals": f"SELECT reference, {_REQUEST}, number FROM seals "
    "WHERE number > ? AND kind = 'request' ORDER BY number",
}


class Quota:
    """A limit on the bytes that are stored for one analyst.

    It is looked at before a charge: what is under way at that moment may still go over it. Depends
    on the analyst's own requests and on what was released to that analyst, and on nothing that is
    kept secret.
    >>> Quota(most=1 << 20).most
    1048576
    """

    __slots__ = ("_lock", "_seen", "_used", "most")

    def __init__(self, *, most: int | None) -> None:
        self.most = None if most is None else whole(most, "account_bytes", 1, LARGEST_QUOTA)
        self._lock = threading.Lock()
        self._seen = dict.fromkeys(_ROWS, 0)
        self._used: Counter[str] = Counter()

    def count_bytes(
        self, analyst: str, reading: Callable[[], AbstractContextManager[Connection]]
    ) -> int:
        """The bytes that are stored for an analyst now."""
        with self._lock, reading() as connection:
            for table, query in _ROWS.items():
                known = (MARK,) * (table == "states") + (self._seen[table],)
                for name, size, number in connection.execute(query, known):
                    self._used[name.partition(":")[0]] += size  # of a request: whose, and its key
                    self._seen[table] = number
            return self._used[analyst]

    def check(
        self, analyst: str, reading: Callable[[], AbstractContextManager[Connection]]
    ) -> None:
        """Refuse an analyst for whom too much is stored."""
        if self.most is None:
            return
        used = self.count_bytes(analyst, reading)
        if used >= self.most:
            raise QuotaExceeded(
                f"The ledger holds {used:,} bytes for {analyst!r}; the limit of an account is "
                f"{self.most:,}. What was answered can be read and asked again for free; for new "
                "questions the operator raises the limit (discreet serve --account-megabytes). "
                "Nothing was run or charged."
            )


NO_QUOTA = Quota(most=None)
"""No limit, for a custodian's own sessions."""
