"""The custodian's side of a vault: sources become prepared tables with engines."""

__all__: list[str] = []
