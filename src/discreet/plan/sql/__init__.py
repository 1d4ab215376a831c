"""Plans as SQL: bounded integer expressions and the statements that engines run."""

__all__: list[str] = []
