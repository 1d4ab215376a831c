"""What a synopsis believes: weights over a public domain, fitted to released numbers."""

__all__: list[str] = []
