"""What every engine offers: one method and a dialect. Knows SQL, knows no privacy."""

import re
from collections.abc import Sequence
from typing import Protocol

__all__ = ["Cell", "Engine", "FREE_MESSAGE", "MESSAGE", "cause_of", "is_key", "is_query"]

Cell = int | str | None
"""One exact value: an integer, NULL, or in a key column a text."""

MESSAGE = "The engine could not answer. The charge stays; the custodian can see why."
"""The only text a failing engine shows; the reason may quote rows."""

FREE_MESSAGE = (
    "The engine could not answer. Nothing was charged for this run, and what paid for it ahead "
    "stays; the custodian can see why."
)
"""The same where an earlier charge pays for the run."""

_KIND = re.compile(r"([A-Za-z]{1,40})(?:Error|Exception)\b")
_CAUSES = {  # words in an engine's own reason, and what they mean
    "out of memory": "the engine ran out of memory; raise memory_limit",
    "outofmemory": "the engine ran out of memory; raise memory_limit",
    "no space": "the disk is full; make room",
    "time limit": "the statement took longer than the time limit; raise it",
    "timeout": "the statement took longer than the time limit; raise it",
    "statement timeout": "the statement took longer than the time limit; raise it",
    "no such file": "the data are not where they were; put them back",
    "not exist": "the data are not where they were; put them back",
    "permission": "the data may not be read; change their permissions",
    "connection": "the connection to the source was lost or refused; check the server",
    "died": "the engine's process ended; look at the machine's memory",
    "ended": "the engine's process ended; look at the machine's memory",
}


class Engine(Protocol):
    """Runs one emitted SELECT statement and returns exact integers and NULL, and keys as text.

    Results are exact and live only until noise is added.
    """

    dialect: str

    def rows(self, sql: str) -> list[tuple[Cell, ...]]:
        """All rows of the statement; `Unavailable` with a fixed message if there are none to give.

        Rows are exact.
        """

    def rows_together(self, statements: Sequence[str]) -> list[list[tuple[Cell, ...]]]:
        """All rows of several statements, one after the other over the same state of the data.

        `Unavailable` with a fixed message if one of them has none to give. Rows are exact.
        """

    def ready(self) -> bool:
        """Start what a statement needs, and wait for it; whether anything had to be started.

        What fails here fails again in `rows`, which says so. Reads no row of a prepared table, and
        of a source names and types.
        """

    def stop(self) -> None:
        """End the statement that another thread waits for; that thread is told that it failed."""

    def close(self) -> None:
        """Let go of processes and connections; the next statement makes new ones."""


def cause_of(reason: str) -> str:
    """What kind of failure an engine's own reason tells of, without a word of it that may be data.

    May depend on data; for the custodian alone. The reason itself may quote rows and is kept
    nowhere.
    >>> cause_of("OutOfMemoryException: failed to allocate 5 blocks")
    'the engine ran out of memory; raise memory_limit'
    >>> cause_of("ConversionException: Could not convert string 'Ana Lima' to INT32")
    'the engine refused the statement (Conversion); check the types of the source'
    """
    lowered = reason.lower()
    for words, cause in _CAUSES.items():
        if words in lowered.partition("'")[0]:  # what is quoted is not looked at
            return cause
    match = _KIND.match(reason)
    kind = f" ({match.group(1)})" if match else ""
    return f"the engine refused the statement{kind}; check the types of the source"


def is_key(column: str) -> bool:
    """Whether a result column holds keys, which may be texts; all others are integers.

    >>> is_key("$k0"), is_key("$s0")
    (True, False)
    """
    return column.startswith("$k")


def is_query(sql: str) -> bool:
    """Whether a statement begins as emitted ones do.

    >>> is_query("DROP TABLE t")
    False
    """
    return sql.startswith(("SELECT ", "WITH "))
