"""Monitors: a standing question on changing data, for the price of its alarms."""

__all__: list[str] = []
