"""How runs take turns and when their outcomes can be seen."""

__all__: list[str] = []
