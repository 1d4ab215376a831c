"""The database behind a vault: transactions, the chain of seals, SQLite and PostgreSQL."""

__all__: list[str] = []
