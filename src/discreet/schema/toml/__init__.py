"""The schema file: reading, writing and changing its text."""

__all__: list[str] = []
