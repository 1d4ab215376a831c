"""Privacy-loss distributions: what a batch of mechanisms costs together, in brackets."""

__all__: list[str] = []
