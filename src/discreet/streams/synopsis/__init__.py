"""The synopsis as a service: many counts for the price of few."""

__all__: list[str] = []
