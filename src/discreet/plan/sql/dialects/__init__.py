"""The dialects that plans are written in, one file for each. They know SQL, never data."""

__all__: list[str] = []
