"""DuckDB as an engine: a prepared file or a source in place, read by a child that can be killed.
The caller sees exact integers or one fixed message; the reason is kept for the custodian.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from discreet.engines.duckdb.encryption import DataKey, is_encrypted, require_data_key
from discreet.engines.duckdb.scratch import Scratch
from discreet.engines.files.sources import opening, openings
from discreet.engines.process.child import Child, Failed, Order, text
from discreet.engines.protocol import MESSAGE, Cell
from discreet.errors import InvalidValue, Unavailable
from discreet.rationals import Number, positive
from discreet.schema.format import PLAIN, Format

__all__ = ["DuckDB"]

_COMMANDS = ("rows",)


class _Holding:
    """What one process holds of an engine: its lock, its child and the child's scratch folder."""

    __slots__ = ("child", "lock", "scratch")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: Child | None = None
        self.scratch: Scratch | None = None

    def drop(self) -> None:
        if self.child is not None:
            self.child.kill()
        if self.scratch is not None:
            self.scratch.close()
        self.child = self.scratch = None


class DuckDB:
    """Runs one emitted statement at a time in a child process, which starts with the first.

    `scratch` is a folder for rows that outgrow the memory limit; without it such a statement fails.
    Rows are exact. The child reads one file and nothing else; a statement over the time limit dies
    with its child.
    >>> engine = DuckDB(Path("absent.duckdb"), time_limit_seconds=30)
    >>> engine.dialect, engine.last_failure
    ('duckdb', None)
    """

    __slots__ = ("__weakref__", "_holdings", "_order", "_scratch", "_seconds", "last_failure")

    dialect = "duckdb"

    def __init__(
        self,
        path: Path,
        *,
        time_limit_seconds: Number,
        memory_limit: str | None = None,
        threads: int | None = None,
        scratch: Path | None = None,
        key: DataKey | None = None,
    ) -> None:
        order = Order(
            database=os.path.realpath(path),
            commands=_COMMANDS,
            read_only=True,
            settings=_settings(memory_limit, threads),
        )
        if is_encrypted(path):
            statements = (_attach(path, "sealed", key), "USE sealed")
            order = replace(order, database=":memory:", read_only=False, statements=statements)
            order, scratch = _add_key(order, key), None  # what spills is not encrypted
        self._start(order, time_limit_seconds, scratch)

    @classmethod
    def in_place(
        cls,
        source: str,
        *,
        given: Format = PLAIN,
        time_limit_seconds: Number,
        memory_limit: str | None = None,
        threads: int | None = None,
        scratch: Path | None = None,
    ) -> "DuckDB":
        """An engine over a source file where it lies: statements read `FROM source`.

        Rows are exact. The child may read that one file only.
        >>> DuckDB.in_place("absent.parquet", time_limit_seconds=30)
        Traceback (most recent call last):
        discreet.errors.SchemaError: source 'absent.parquet' does not exist; check the path.
        """
        engine = cls.__new__(cls)
        order = Order(
            database=":memory:",
            commands=("names", *_COMMANDS),
            statements=opening(source, given),
            settings=_settings(memory_limit, threads),
        )
        engine._start(order, time_limit_seconds, scratch)
        return engine

    @classmethod
    def together(
        cls,
        *,
        prepared: Mapping[str, Path],
        sources: Mapping[str, str],
        formats: Mapping[str, Format] = MappingProxyType({}),
        time_limit_seconds: Number,
        scratch: Path | None = None,
        key: DataKey | None = None,
    ) -> "DuckDB":
        """An engine over several tables: prepared files as databases, sources as views, by name.

        Rows are exact. The child may read these files only.
        >>> DuckDB.together(prepared={}, sources={"t0": "x.csv"}, time_limit_seconds=30)
        Traceback (most recent call last):
        discreet.errors.SchemaError: source 'x.csv' does not exist; check the path.
        """
        engine = cls.__new__(cls)
        attached = tuple(_attach(path, name, key) for name, path in prepared.items())
        order = Order(
            database=":memory:",
            commands=_COMMANDS,
            statements=attached + (openings(sources, formats) if sources else ()),
            settings=_settings(None, None),
        )
        if any(map(is_encrypted, prepared.values())):
            order, scratch = _add_key(order, key), None
        engine._start(order, time_limit_seconds, scratch)
        return engine

    def check(self) -> None:
        """Refuse an encrypted file that this key does not open, before anything is charged."""
        if not self._order.key:
            return
        holding = self._own_holding()
        with holding.lock:
            opened = self._attempt(holding, "rows", "SELECT 1", self._seconds) is not None
        if not opened:
            raise Unavailable(
                "the prepared rows could not be opened; their data key may be another one. "
                "Nothing was run or charged."
            )

    def _start(self, order: Order, time_limit_seconds: Number, scratch: Path | None) -> None:
        self._order = order
        self._seconds = float(positive(time_limit_seconds, "time_limit_seconds"))
        self._scratch = scratch
        self._holdings: dict[int, _Holding] = {}
        self.last_failure: str | None = None

    def __enter__(self) -> "DuckDB":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise InvalidValue("an engine cannot be pickled or copied; make a new one.")

    def warm(self) -> None:
        """Start the child without waiting for it, so that the first statement finds it ready."""
        holding = self._own_holding()
        with holding.lock:
            try:
                self._child(holding)
            except (Failed, OSError):
                holding.drop()

    def ready(self) -> bool:
        """Start the child unless it runs, and wait until it takes statements.

        Reads no row of a prepared table, and of a source names and types.
        >>> DuckDB(Path("absent.duckdb"), time_limit_seconds=30).ready()
        True
        """
        holding = self._own_holding()
        with holding.lock:
            known = holding.child
            try:
                self._child(holding).ready()
            except (Failed, OSError) as failure:
                self.last_failure = str(failure)
                holding.drop()
            return holding.child is not known or known is None

    def stop(self) -> None:
        """End the child, and with it the statement that another thread waits for."""
        child = self._own_holding().child  # without the lock, which that thread holds
        if child is not None:
            child.stop()

    def rows(self, sql: str) -> list[tuple[Cell, ...]]:
        """All rows of one SELECT; from several threads, one after the other. Rows are exact.

        >>> try:
        ...     DuckDB(Path("absent.duckdb"), time_limit_seconds=30).rows("SELECT 1")
        ... except Unavailable as error:
        ...     str(error) == MESSAGE
        True
        """
        holding = self._own_holding()
        with holding.lock:
            rows = self._attempt(holding, "rows", sql, self._seconds)
        if rows is None:
            # Raised here, outside any handler, so that no reason hangs on it as a context.
            raise Unavailable(MESSAGE)
        return cast(list[tuple[Cell, ...]], rows)

    def rows_together(self, statements: Sequence[str]) -> list[list[tuple[Cell, ...]]]:
        """All rows of several SELECTs, with no other statement in between. Rows are exact."""
        holding = self._own_holding()
        results: list[Any] = []
        with holding.lock:
            for sql in statements:
                results.append(self._attempt(holding, "rows", sql, self._seconds))
                if results[-1] is None:
                    break
        if results[-1] is None:
            # Raised here, outside any handler, so that no reason hangs on it as a context.
            raise Unavailable(MESSAGE)
        return cast(list[list[tuple[Cell, ...]]], results)

    def columns(self) -> list[tuple[str, str]] | None:
        """Names and types of the columns of a source in place; None where it cannot be read."""
        holding = self._own_holding()
        with holding.lock:
            columns = self._attempt(holding, "names", "FROM source", self._seconds)
        return cast(list[tuple[str, str]] | None, columns)

    def rows_without_limit(self, sql: str) -> list[tuple[Cell, ...]] | None:
        """All rows of one SELECT, however long it takes; None where they cannot be read.

        Rows are exact.
        """
        holding = self._own_holding()
        with holding.lock:
            rows = self._attempt(holding, "rows", sql, None)
        return cast(list[tuple[Cell, ...]] | None, rows)

    def close(self) -> None:
        """End the child; the next statement starts a new one."""
        holding = self._own_holding()
        with holding.lock:
            holding.drop()

    def _own_holding(self) -> _Holding:
        """This process's own; a fork must not talk to its parent's child nor wait for its lock."""
        number = os.getpid()
        if number not in self._holdings:
            inherited = list(self._holdings.items())
            self._holdings.setdefault(number, _Holding())
            for other, holding in inherited:
                if self._holdings.pop(other, None) is not None:
                    holding.drop()
        return self._holdings[number]

    def _child(self, holding: _Holding) -> Child:
        if holding.child is None or not holding.child.alive():
            holding.drop()
            order = self._order
            if self._scratch is not None:
                holding.scratch = Scratch(self._scratch)
                order = order.spilling(holding.scratch.path)
            holding.child = Child(order)
        return holding.child

    def _attempt(
        self, holding: _Holding, command: str, sql: str, seconds: float | None
    ) -> Any | None:
        try:
            return self._child(holding).ask(command, sql, limit_seconds=seconds)
        except (Failed, OSError) as failure:
            self.last_failure = str(failure)
            if holding.child is None or not holding.child.alive():
                holding.drop()
            return None


def _attach(path: Path, name: str, key: DataKey | None) -> str:
    real = os.path.realpath(path)
    if is_encrypted(path):
        return require_data_key(key).attach(real, name, "READ_ONLY")
    return f"ATTACH {text(real)} AS {name} (TYPE duckdb, READ_ONLY)"


def _add_key(order: Order, key: DataKey | None) -> Order:
    return order if key is None else replace(order, key=key.key)


# Joins run in the order in which they are written, which is the one whose rows the plan bounds, and
# build their tables from the right side, where public tables stand; neither what one side holds nor
# the least and greatest value of a column decides what else is run.
_DISABLED = "build_side_probe_side,join_filter_pushdown,join_order,statistics_propagation"


def _settings(memory_limit: str | None, threads: int | None) -> dict[str, str]:
    settings = {"temp_directory": "", "disabled_optimizers": _DISABLED}
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    if threads is not None:
        settings["threads"] = str(threads)
    return settings
