"""How the parts of expressions are read: aggregates, conditions, dates, constants."""

__all__: list[str] = []
