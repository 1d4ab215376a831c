"""The SQL that turns raw rows of a source into bounded integers, for each dialect."""

__all__: list[str] = []
