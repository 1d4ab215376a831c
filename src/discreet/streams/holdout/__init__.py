"""Reusable holdouts: means that do not overfit although they are asked adaptively."""

__all__: list[str] = []
