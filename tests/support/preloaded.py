"""What the server of `support.forked` loads before it forks; no thread of DuckDB outlives it."""

import duckdb

import support.forked  # noqa: F401
from discreet.engines.process import worker

duckdb.connect(":memory:").close()

__all__ = ["worker"]
