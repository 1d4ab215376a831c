"""SQL text in, a frozen question out."""

from discreet.query.algebra import Query
from discreet.query.parse import parse

__all__ = ["Query", "parse"]
