"""Guesses about how a text file is written, for a custodian to check."""

__all__: list[str] = []
