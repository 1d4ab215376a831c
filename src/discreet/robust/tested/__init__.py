"""Mechanisms that test before they release, and may refuse."""

__all__: list[str] = []
