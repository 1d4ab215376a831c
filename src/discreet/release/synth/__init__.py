"""Synthetic data: its service, its algorithms, its report."""

__all__: list[str] = []
