"""Sample and aggregate: any function as a black box."""

__all__: list[str] = []
