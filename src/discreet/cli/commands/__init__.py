"""The commands, one group in each file."""

__all__: list[str] = []
