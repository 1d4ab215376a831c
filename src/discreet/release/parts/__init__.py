"""The parts that a release can declare, each one kind of table."""

__all__: list[str] = []
