"""What several mechanisms share: reading integers, keys, ranks and scores, and exact weights."""

__all__: list[str] = []
