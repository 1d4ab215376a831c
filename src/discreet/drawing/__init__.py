"""Charts as values and as SVG; the one place that draws."""

__all__: list[str] = []
