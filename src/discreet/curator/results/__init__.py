"""The rows of an answer with their errors, and how the numbers of a block are stored."""

__all__: list[str] = []
