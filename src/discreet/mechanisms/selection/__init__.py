"""Mechanisms that choose one of finitely many candidates, and what they share."""

__all__: list[str] = []
