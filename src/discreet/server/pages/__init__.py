"""The pages: what people see in a browser."""

__all__: list[str] = []
