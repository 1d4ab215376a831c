"""Linear tools that several packages share, each once: pure functions of arrays and fractions."""

__all__: list[str] = []
