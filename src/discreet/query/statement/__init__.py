"""How the clauses of a statement are read: SELECT, FROM, ORDER BY, subqueries."""

__all__: list[str] = []
