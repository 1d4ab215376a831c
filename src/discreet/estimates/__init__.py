"""Robust estimates and black boxes over the tables of a session, each a charged measurement."""

__all__: list[str] = []
