"""Engines: run one emitted statement, return exact integers. They know SQL and no privacy."""

from discreet.engines.duckdb import DuckDB
from discreet.engines.preparation import TABLE, prepare, write_frame
from discreet.engines.protocol import MESSAGE, Engine
from discreet.engines.scratch import sweep
from discreet.engines.sources import changed, describe, fingerprint, opening, relation

__all__ = [
    "DuckDB",
    "Engine",
    "MESSAGE",
    "TABLE",
    "changed",
    "describe",
    "fingerprint",
    "opening",
    "prepare",
    "relation",
    "sweep",
    "write_frame",
]
