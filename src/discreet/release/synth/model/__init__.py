"""The graphical model behind synthetic data, and rows drawn from it."""

__all__: list[str] = []
