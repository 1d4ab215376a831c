"""Mechanisms that add exact integer noise, and what they share."""

__all__: list[str] = []
