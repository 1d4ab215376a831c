"""Several tables in one statement: which of them one engine can read together, and what stands
after FROM for each. Opens nothing that the tables do not name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.engines.duckdb.encryption import DataKey
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.origins import Origin
from discreet.engines.postgresql.engine import PostgreSQL
from discreet.engines.postgresql.source import PostgreSQLSource
from discreet.engines.protocol import Engine
from discreet.engines.spark.engine import Spark
from discreet.errors import InvalidValue
from discreet.ledger.catalogue import Registration
from discreet.rationals import Number
from discreet.schema.format import PLAIN, Format

__all__ = ["Holding", "open_together", "relations_together"]


@dataclass(frozen=True, slots=True)
class Holding:
    """A registered table and where its rows come from."""

    known: Registration
    source: str | None
    format: Format = PLAIN

    @property
    def reader(self) -> str:
        """What has to read it: one engine, or one database of a server."""
        if self.known.prepared is not None or self.source is None:
            return "DuckDB"
        if Origin.of(self.source).dialect == "postgresql":
            return f"PostgreSQL at {PostgreSQLSource.read(self.source).server}"
        return {"duckdb": "DuckDB", "spark": "Spark"}[Origin.of(self.source).dialect]


def _views(holdings: list[Holding]) -> dict[str, Holding]:
    """Short names by position: no table's name can clash with anything."""
    readers = {holding.reader: holding.known.name for holding in holdings}
    if len(readers) > 1:
        listed = ", ".join(f"{name} is read by {reader}" for reader, name in readers.items())
        raise InvalidValue(
            f"one statement is run by one engine, but {listed}. Bring the tables to one of them. "
            "Nothing was run or charged."
        )
    return {f"t{place}": holding for place, holding in enumerate(holdings)}


def relations_together(
    holdings: list[Holding], in_place: Callable[[Registration, str], str]
) -> dict[str, str]:
    """The FROM item of each table; `in_place` gives it for rows read from a view."""
    return {
        holding.known.name: f'"{view}"."prepared"'
        if holding.known.prepared is not None
        else in_place(holding.known, view)
        for view, holding in _views(holdings).items()
    }


def open_together(
    holdings: list[Holding], *, folder: Path, time_limit_seconds: Number, key: DataKey | None = None
) -> Engine:
    """One engine for all of the tables; `folder` holds the prepared files. Its rows are exact."""
    views = _views(holdings)
    sources = {
        view: holding.source
        for view, holding in views.items()
        if holding.known.prepared is None and holding.source is not None
    }
    reader = holdings[0].reader
    if reader == "Spark":
        return Spark(sources, time_limit_seconds=time_limit_seconds)
    if reader != "DuckDB":
        return PostgreSQL(sources["t0"], time_limit_seconds=time_limit_seconds)
    files = {view: folder / str(e.known.prepared) for view, e in views.items() if e.known.prepared}
    engine = DuckDB.together(
        prepared=files,
        sources=sources,
        formats={view: views[view].format for view in sources},
        time_limit_seconds=time_limit_seconds,
        scratch=folder,
        key=key,
    )
    engine.check()
    return engine
