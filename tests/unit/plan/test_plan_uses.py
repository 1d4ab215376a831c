"""Which columns a statement computes with, so that what is bounded in them is told."""

import pytest

from discreet.plan.parts.uses import columns_read
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

TABLE = Table(
    "t",
    columns=(
        Column("a", "integer", upper=9),
        Column("d", "date", lower=0, upper=99),
        Column("region", "category", keys=("n", "s"), upper=1),
        Column("city", "category", private_keys=True, upper=0),
    ),
)


@pytest.mark.parametrize(
    ("rest", "read"),
    [
        ("t WHERE a > 3", []),
        ("t WHERE 3 < a AND a IN (1, 2)", []),
        ("t WHERE a IN (1, 9)", ["a"]),  # the bound stands for all that lies beyond
        ("t WHERE a >= 9", ["a"]),
        ("t WHERE a > 0", ["a"]),
        ("t WHERE d > DATE '1970-01-05'", []),
        ("t WHERE d > DATE '1970-01-01'", ["d"]),
        ("t WHERE region = 'n'", ["region"]),
        ("t WHERE city = 'x'", ["city"]),
        ("(SELECT a + 1 AS b FROM t) WHERE b > 3", ["a"]),
        ("(SELECT a AS b FROM t) WHERE b > 3", []),
        ("t WHERE a IS NULL", []),
        ("t WHERE a > 3 OR a + 1 > 3", ["a"]),
    ],
)
def test_a_comparison_between_the_bounds_does_not_depend_on_them(rest, read):
    known = {"t": TABLE}
    found = columns_read(parse(f"SELECT COUNT(*) FROM {rest}", known), known)
    assert [name for _, name in found] == read
