"""Robust estimates and black boxes over the tables of a session, each a charged program."""

__all__: list[str] = []
