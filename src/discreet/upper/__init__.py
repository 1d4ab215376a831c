"""What stands above released rows: outer queries, their engine and their errors. This module only
re-exports.
"""

__all__: list[str] = []
