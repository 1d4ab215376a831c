"""What a plan is made of: measures and their prices, keys, candidates, selections."""

__all__: list[str] = []
