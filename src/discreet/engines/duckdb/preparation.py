"""Preparation: one SELECT over a source becomes a DuckDB file in the vault, whole or not at all.
A custodian's step; nothing here is released. Messages never quote a row.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.engines.duckdb import encryption
from discreet.engines.duckdb.encryption import DataKey
from discreet.engines.duckdb.scratch import Scratch
from discreet.engines.files.sources import opening
from discreet.engines.files.tidying import written_cell
from discreet.engines.process.child import Child, Failed, Order, quote
from discreet.errors import InvalidValue, SchemaError, with_article
from discreet.schema.format import PLAIN, Format

__all__ = ["TABLE", "prepare", "write_frame"]

TABLE = "prepared"
"""The rows in a prepared file."""

_PROGRESS = ("SET enable_progress_bar = true", "SET enable_progress_bar_print = false")


def _settle(part: Path, target: Path) -> None:
    """Move a finished file to its place so that a crash shows the old one or the new one."""
    os.chmod(part, 0o600)
    for path in (part, None):
        if path is None:
            os.replace(part, target)
        descriptor = os.open(path or target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _build(order: Order, statement: str, on_progress: Callable[[float], None] | None) -> str | None:
    """Run it in a child of its own; the reason if that fails."""
    try:
        with Child(order) as child:
            child.ask("execute", statement, limit_seconds=None, on_progress=on_progress)
            child.ask("execute", "CHECKPOINT", limit_seconds=None)
    except (Failed, OSError) as failure:
        return str(failure)
    return None


def _encrypt_order(order: Order, key: DataKey) -> Order:
    """The same work into an encrypted file, without rows spilled beside it."""
    key.check_writable()
    opened = (*encryption.CRYPTO, key.attach(order.database, "sealed", "READ_WRITE"), "USE sealed")
    return replace(
        order,
        database=":memory:",
        statements=(*opened, *order.statements),
        settings={**order.settings, "temp_directory": ""},
        key=key.key,
    )


def prepare(
    *,
    source: str,
    given: Format = PLAIN,
    select_sql: str,
    target: Path,
    kept: Mapping[str, str] = MappingProxyType({}),
    on_progress: Callable[[float], None] | None = None,
    on_failure: Callable[[str], None] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    key: DataKey | None = None,
) -> None:
    """Write `CREATE TABLE prepared AS select_sql` to `target`, with the source read as `source`.

    `kept` names further tables, each with a SELECT from the prepared rows. `on_progress` gets the
    share done, up to 1; `on_failure` the engine's own reason, which may quote rows and is for the
    custodian alone. With a key the file is encrypted, and since rows must not touch the disk
    otherwise, the work has to fit in memory. The file is exact, of mode 0600. The child may read
    the source and nothing else.
    >>> prepare(source="absent.csv", select_sql="FROM source", target=Path("x.duckdb"))
    Traceback (most recent call last):
    discreet.errors.SchemaError: source 'absent.csv' does not exist; check the path.
    """
    statements = (*opening(source, given), *_PROGRESS)
    settings: dict[str, str] = {}
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    if threads is not None:
        settings["threads"] = str(threads)
    with Scratch(target.parent) as scratch:
        part = scratch.path / "made.duckdb"
        order = Order(
            database=str(part), commands=("execute",), statements=statements, settings=settings
        ).spilling(scratch.path / "spill")
        if key is not None:
            order = _encrypt_order(order, key)
        tables = {TABLE: select_sql, **kept}
        made_by = "; ".join(f"CREATE TABLE {quote(name)} AS {sql}" for name, sql in tables.items())
        reason = _build(order, made_by, on_progress)
        if reason is None and (log := Path(f"{part}.wal")).exists() and log.stat().st_size:
            reason = "the write-ahead log was not emptied"
        if reason is None:
            _settle(part, target)
    if reason is not None:
        if on_failure is not None:
            on_failure(reason)
        raise SchemaError(
            f"source {source!r} could not be prepared ({_kind(reason)}); nothing was changed."
        )
    if on_progress is not None:
        on_progress(1.0)


def _kind(reason: str) -> str:
    """The class of the engine's error, which quotes nothing."""
    name = reason.partition(":")[0]
    return name if name.isidentifier() else "the child process was lost"


def write_frame(frame: object, target: Path, given: Format = PLAIN) -> None:
    """Write a pandas, polars or Arrow table to a Parquet file of mode 0600.

    Where the schema has a format, columns of objects become texts as it writes them. The file is
    exact.
    >>> write_frame([1, 2], Path("x.parquet"))
    Traceback (most recent call last):
    discreet.errors.InvalidValue: data is a list; give a pandas or polars frame or an Arrow table.
    """
    library = type(frame).__module__.partition(".")[0]
    if library not in ("pandas", "polars", "pyarrow"):
        raise InvalidValue(
            f"data is {with_article(type(frame).__name__)}; give a pandas or polars frame "
            "or an Arrow table."
        )
    missing = kind = None
    with Scratch(target.parent) as scratch:
        part = scratch.path / "made.parquet"
        try:
            _copy(_as_written(frame, given), part)
        except ImportError as error:
            missing = error.name or "pyarrow"
        except _errors(library) as error:
            kind = type(error).__name__  # its text may quote rows
        else:
            _settle(part, target)
    if missing is not None:
        raise InvalidValue(f"data from {library} needs the package {missing}; install it.")
    if kind is not None:
        raise SchemaError(f"the {library} table could not be written ({kind}); check its columns.")


def _errors(library: str) -> tuple[type[Exception], ...]:
    """What the writer of a library's frames may raise."""
    common = (OSError, RuntimeError, TypeError, ValueError)
    if library == "polars":
        from polars.exceptions import PolarsError

        return (*common, PolarsError)
    import duckdb

    return (*common, duckdb.Error)


def _as_written(frame: Any, given: Format) -> Any:
    """A pandas frame whose object columns are texts, cell by cell, as the format writes values:
    what one cell holds does not decide how others are read. Without a format only moments with a
    time zone among texts need it: as texts they would have offsets, of which no day is read.
    """
    if type(frame).__module__.partition(".")[0] != "pandas":
        return frame
    written = frame.copy(deep=False)
    for name, kind in frame.dtypes.items():
        if str(kind) != "object":
            continue
        cells = frame[name]
        if not given.is_plain:
            written[name] = [written_cell(cell, given) for cell in cells]
        elif any(map(_is_zoned, cells)) and any(isinstance(cell, str) for cell in cells):
            written[name] = [
                written_cell(cell, given) if _is_zoned(cell) else cell for cell in cells
            ]
    return written


def _is_zoned(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _copy(frame: object, part: Path) -> None:
    if hasattr(frame, "lazy"):  # polars, which writes Parquet itself and so needs no pyarrow
        frame.lazy().collect().write_parquet(str(part))
        return
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute("SET autoload_known_extensions = false")
        rows = len(frame) if hasattr(frame, "__len__") else 0
        # Types of pandas' object columns are found by looking at values: at all of them.
        connection.execute(f"SET pandas_analyze_sample = {max(rows, 1)}")
        connection.register("frame", frame)
        connection.sql("FROM frame").write_parquet(str(part))
