"""The sparse vector technique as a library."""

__all__: list[str] = []
