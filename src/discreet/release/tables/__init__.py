"""How tables of counts are measured with the least error: marginals, ranges, running sums."""

__all__: list[str] = []
