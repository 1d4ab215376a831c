"""Smooth sensitivity: its noise, and the queries whose growth is known."""

__all__: list[str] = []
