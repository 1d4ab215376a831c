"""Engines: run one emitted statement, return exact integers. They know SQL and no privacy."""

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.preparation import TABLE, prepare, write_frame
from discreet.engines.duckdb.scratch import sweep
from discreet.engines.files.sources import describe, opening, relation
from discreet.engines.origins import Origin
from discreet.engines.postgresql.engine import PostgreSQL
from discreet.engines.protocol import MESSAGE, Engine
from discreet.engines.spark.engine import Spark

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
