"""Joint sensitivity: adaptive counts and sums with one size of noise."""

__all__: list[str] = []
