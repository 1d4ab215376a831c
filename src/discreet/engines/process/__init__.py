"""The killable child process in which DuckDB runs."""

__all__: list[str] = []
