"""The engine of outer queries: an in-memory DuckDB in a child process of its own, which holds
released rows and nothing else. It can reach no file, no network and no other process.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from discreet.engines.process.child import Child, Failed, Order

__all__ = ["Loaded", "Table", "UpperEngine", "UpperFailed"]

_COMMANDS = ("load", "table")
_SETTINGS = {
    "max_expression_depth": "400",
    "memory_limit": "512MB",
    "temp_directory": "",
    "threads": "1",
}
_CLOSED = ("SET disabled_filesystems = 'LocalFileSystem'",)
_ADDRESS_SPACE = 3 << 30  # what the operating system gives the process, beside DuckDB's own limit
_SECONDS = 20.0


class UpperFailed(Exception):
    """An outer query that cannot be run, with a reason that quotes released values at most."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A column for the engine: its type, and its values as texts or as the bytes of floats."""

    kind: str
    texts: Sequence[str | None] | None = None
    floats: str = ""

    def message(self) -> dict[str, Any]:
        """The column as the child reads it.

        >>> Loaded("BIGINT", ["1", None]).message()
        {'type': 'BIGINT', 'texts': ['1', None]}
        """
        if self.texts is None:
            return {"type": self.kind, "floats": self.floats}
        return {"type": self.kind, "texts": list(self.texts)}


@dataclass(frozen=True, slots=True)
class Table:
    """What an outer query gave: the names and types of its columns, and its rows."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]


class UpperEngine:
    """Runs checked outer queries over released rows; ends with its context.

    Post-processing: what it holds has been released [DR14, Prop. 2.1].
    >>> with UpperEngine() as engine:
    ...     engine.load("b0", [Loaded("BIGINT", ["1", "2"])])
    ...     engine.run('SELECT SUM("c0") AS n FROM "b0"').rows
    ((3,),)
    """

    __slots__ = ("_child", "_seconds")

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._child = Child(
            Order(
                database=":memory:",
                commands=_COMMANDS,
                statements=_CLOSED,
                settings=_SETTINGS,
                address_space=_ADDRESS_SPACE,
            )
        )

    def __enter__(self) -> "UpperEngine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._child.kill()

    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._child.alive()

    def load(self, name: str, columns: Sequence[Loaded]) -> None:
        """Make a table, whose columns are c0, c1 and so on."""
        told = {"name": name, "columns": [column.message() for column in columns]}
        self._ask("load", json.dumps(told))

    def run(self, sql: str) -> Table:
        """The result of one emitted SELECT.

        The reason of a failure is shown: it can quote released values only.
        """
        columns, rows = self._ask("table", sql)
        return Table(tuple(columns), tuple(rows))

    def _ask(self, command: str, argument: str) -> Any:
        try:
            return self._child.ask(command, argument, limit_seconds=self._seconds)
        except Failed as failure:
            reason = _explain(str(failure))
        raise UpperFailed(reason)


def _explain(reason: str) -> str:
    """A failure in one line; of the engine's own text the first sentence."""
    words = reason.partition("'")[0]  # what is quoted is not looked at
    if any(word in words for word in ("time limit", "emory Error", "OutOfMemory", "died")):
        return "it took too much time or memory. Ask for less."
    said = reason.partition("Error: ")[2] or reason.partition(": ")[2]
    said = said.partition("\n")[0].strip()
    return said if said.endswith((".", "!")) else f"{said}."
