"""Means, variances and spectra without bounds that somebody knows."""

__all__: list[str] = []
