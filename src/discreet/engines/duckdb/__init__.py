"""DuckDB as an engine, and the prepared files that it reads."""

__all__: list[str] = []
