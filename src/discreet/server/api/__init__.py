"""The REST interface: routes and what requests may carry."""

__all__: list[str] = []
