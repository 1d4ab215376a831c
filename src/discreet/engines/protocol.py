"""What every engine offers: one method and a dialect. Knows SQL, knows no privacy."""

from typing import Protocol

__all__ = ["Cell", "Engine", "MESSAGE", "is_key", "is_query"]

Cell = int | str | None
"""One exact value: an integer, NULL, or in a key column a text."""

MESSAGE = "The engine could not answer. The charge stays; the custodian can see why."
"""The only text a failing engine shows; the reason may quote rows."""


class Engine(Protocol):
    """Runs one emitted SELECT statement and returns exact integers and NULL, and keys as text.

    Privacy: none: results are exact and live only until noise is added.
    >>> sorted(name for name in vars(Engine) if not name.startswith("_"))
    ['close', 'ready', 'rows', 'stop']
    """

    dialect: str

    def rows(self, sql: str) -> list[tuple[Cell, ...]]:
        """All rows of the statement; `Unavailable` with a fixed message if there are none to give.

        Privacy: none: rows are exact.
        >>> callable(Engine.rows)
        True
        """

    def ready(self) -> bool:
        """Start what a statement needs, and wait for it; whether anything had to be started.

        What fails here fails again in `rows`, which says so.
        Privacy: none: reads no row of a prepared table, and of a source names and types.
        >>> callable(Engine.ready)
        True
        """

    def stop(self) -> None:
        """End the statement that another thread waits for; that thread is told that it failed.

        Privacy: none (touches no data).
        >>> callable(Engine.stop)
        True
        """

    def close(self) -> None:
        """Let go of processes and connections; the next statement makes new ones.

        Privacy: none (touches no data).
        >>> callable(Engine.close)
        True
        """


def is_key(column: str) -> bool:
    """Whether a result column holds keys, which may be texts; all others are integers.

    Privacy: none (touches no data).
    >>> is_key("$k0"), is_key("$s0")
    (True, False)
    """
    return column.startswith("$k")


def is_query(sql: str) -> bool:
    """Whether a statement begins as emitted ones do.

    Privacy: none (touches no data).
    >>> is_query("DROP TABLE t")
    False
    """
    return sql.startswith(("SELECT ", "WITH "))
