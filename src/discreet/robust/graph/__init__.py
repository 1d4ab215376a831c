"""Graphs under edge and node privacy."""

__all__: list[str] = []
