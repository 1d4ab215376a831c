"""Counters: running counts and sums under continual release."""

__all__: list[str] = []
