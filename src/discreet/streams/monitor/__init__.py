"""Monitors: questions asked again as data change, for the price of their alarms."""

__all__: list[str] = []
