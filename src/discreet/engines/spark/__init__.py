"""Spark as an engine and as a source."""

__all__: list[str] = []
