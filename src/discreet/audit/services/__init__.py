"""What is audited end to end, with real curators on neighbouring tables."""

__all__: list[str] = []
