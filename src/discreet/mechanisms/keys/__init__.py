"""Mechanisms that decide which keys nobody declared may be shown."""

__all__: list[str] = []
