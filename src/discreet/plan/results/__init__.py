"""What a plan says of its answer: cost, error, notes; and noisy columns from released measures."""

__all__: list[str] = []
