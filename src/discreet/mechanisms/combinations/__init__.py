"""How far sums and other linear combinations of independent noises reach."""

__all__: list[str] = []
