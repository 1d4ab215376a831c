"""Engines: run one emitted statement, return exact integers. They know SQL and no privacy."""

from discreet.engines.duckdb import DuckDB
from discreet.engines.origins import Origin
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.preparation import TABLE, prepare, write_frame
from discreet.engines.protocol import MESSAGE, Engine
from discreet.engines.scratch import sweep
from discreet.engines.sources import describe, opening, relation
from discreet.engines.spark import Spark

__all__ = [
    "DuckDB",
    "Engine",
    "MESSAGE",
    "Origin",
    "PostgreSQL",
    "Spark",
    "TABLE",
    "describe",
    "opening",
    "prepare",
    "relation",
    "sweep",
    "write_frame",
]
