"""What a release sees of a table: axes have the lattice of their columns, and one place more where
a number may be missing, whatever the step.
"""

from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.curator import Curator
from discreet.release.frame import Frame
from discreet.release.specification import read_release

SCHEMA = """
[table]
name = "doses"
source = "doses.parquet"
unit = "patient"
rows_per_unit = 1
[columns]
tens     = { type = "number", lower = 0, upper = 100, step = 10, null = "drop" }
quarters = { type = "number", lower = -1.5, upper = 3, step = 0.75, null = "drop" }
plain    = { type = "integer", lower = 5, upper = 9, null = "drop" }
sure     = { type = "number", lower = 0, upper = 100, step = 10, null = 0 }
[budget]
epsilon = 1000000
"""
TENS = (0, 10, None, 30, 100, None, 30, None)
QUARTERS = (-1.5, 0.75, None, 3, None, None, 0, -0.75)


@pytest.fixture
def session(tmp_path):
    rows = {
        "patient": pa.array(range(8), type=pa.int64()),
        "tens": pa.array(TENS, type=pa.float64()),
        "quarters": pa.array(QUARTERS, type=pa.float64()),
        "plain": pa.array([None, 5, 6, 7, 8, 9, 9, 9], type=pa.int64()),
        "sure": pa.array(TENS, type=pa.float64()),
    }
    pq.write_table(pa.table(rows), tmp_path / "doses.parquet")
    (tmp_path / "doses.toml").write_text(SCHEMA)
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(tmp_path / "doses.toml")
        curator.grant("ana", epsilon=10**6)
        yield curator.session("ana")


@pytest.mark.parametrize(
    ("sql", "cells", "step", "labels"),
    [
        ("tens", 12, 10, ("missing", 0, 10)),
        ("quarters", 8, Fraction(3, 4), ("missing", -1.5, -0.75)),
        ("plain", 6, 1, ("missing", 5, 6)),
        ("sure", 11, 10, (0, 10, 20)),
        ("tens / 3", 12, Fraction(10, 3), ("missing", 0, 10 / 3)),
        ("FLOOR(tens / 20)", 7, 1, ("missing", 0, 1)),
    ],
)
def test_an_axis_has_a_place_for_each_step_and_one_for_what_is_missing(
    session, sql, cells, step, labels
):
    (axis,) = Frame.of(session, "doses", {"x": sql}).axes
    assert (axis.cells, axis.step, axis.labels[:3]) == (cells, step, labels)
    assert axis.missing == (sql != "sure")


def counted(values, *, missing="missing"):
    found = {}
    for value in values:
        key = missing if value is None else value
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize(
    ("name", "values"), [("tens", TENS), ("quarters", QUARTERS)], ids=["tens", "quarters"]
)
def test_rows_are_counted_where_they_belong(session, name, values):
    declared = read_release(
        {
            "release": {"table": "doses", "epsilon": 10**5},
            "tables": [
                {"kind": "marginals", "name": "n", "columns": [name]},
                {"kind": "quantiles", "name": "q", "column": name, "fractions": [0.5]},
            ],
        }
    )
    tables = declared.plan(session).run().tables
    found = dict(zip(tables["n"].columns[name], tables["n"].columns["count"], strict=True))
    # At epsilon 100,000 a count is off by one with probability below e**-10000.
    assert {key: round(count) for key, count in found.items() if round(count)} == counted(values)
