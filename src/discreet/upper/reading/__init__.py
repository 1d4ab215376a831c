"""From the text of a statement to its private blocks and a checked outer query."""

__all__: list[str] = []
