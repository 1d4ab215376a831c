"""What every engine offers: one method and a dialect. Knows SQL, knows no privacy."""

from typing import Protocol

__all__ = ["Engine", "MESSAGE"]

MESSAGE = "The engine could not answer. The charge stays; the custodian can see why."
"""The only text a failing engine shows; the reason may quote rows."""


class Engine(Protocol):
    """Runs one emitted SELECT statement and returns exact integers and NULL.

    Privacy: none: results are exact and live only until noise is added.
    >>> sorted(name for name in vars(Engine) if not name.startswith("_"))
    ['rows']
    """

    dialect: str

    def rows(self, sql: str) -> list[tuple[int | None, ...]]:
        """All rows of the statement; `Unavailable` with a fixed message if there are none to give.

        Privacy: none: rows are exact.
        >>> callable(Engine.rows)
        True
        """
