"""Files as sources: which they are, how they are read, what they hold."""

__all__: list[str] = []
