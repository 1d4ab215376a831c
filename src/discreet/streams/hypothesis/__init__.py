"""What a synopsis believes: weights over a public universe, fitted to released numbers."""

__all__: list[str] = []
