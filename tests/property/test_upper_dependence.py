"""How columns above released rows hang on noise: what is called fixed does not change with it, and
what is called a sum changes by exactly its factors.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.combination import combination
from discreet.plan.results.released import Released
from discreet.schema.column import Column
from discreet.schema.table import Table
from discreet.upper.engine import UpperEngine
from discreet.upper.outcome import run_upper
from discreet.upper.plan import StatementPlan
from discreet.upper.reading.split import read_statement

TABLE = Table(
    "t",
    unit="who",
    rows_per_unit=2,
    columns=(
        Column("k", "category", keys=("a", "b", "c"), upper=2),
        Column("i", "integer", upper=2),
        Column("x", "integer", upper=100),
    ),
)
A = "(SELECT k, i, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k, i) AS a"
B = "(SELECT k, COUNT(*) AS m FROM t WHERE x > 3 GROUP BY k) AS b"

NUMBERS = st.recursive(
    st.sampled_from(["n", "s", "m", "i", "2", "0.5", "LENGTH(a.k)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.sampled_from(["2", "4", "-0.5"])).map(lambda p: f"({p[0]} / {p[1]})"),
        inner.map(lambda part: f"(- {part})"),
        inner.map(lambda part: f"CAST({part} AS DOUBLE)"),
        inner.map(lambda part: f"ABS({part})"),
        inner.map(lambda part: f"COALESCE({part}, 0)"),
        inner.map(lambda part: f"(CASE WHEN {part} > 3 THEN 1 ELSE 2 END)"),
        inner.map(lambda part: f"(SELECT {part})"),
    ),
    max_leaves=5,
)
COLUMNS = st.one_of(NUMBERS, NUMBERS.map(lambda part: f"SUM({part}) OVER ()"))
WHERE = st.sampled_from(["", " WHERE a.i > 0", " WHERE a.k <> 'b'", " WHERE n > 20"])


@pytest.fixture(scope="module")
def engine():
    with UpperEngine() as made:
        yield made


def planned(text):
    statement = read_statement(text, {"t": TABLE})
    blocks = tuple(
        plan(Draft(query=block.query, table=TABLE, price=Pure(epsilon=1), question=block.text))
        for block in statement.blocks
    )
    return StatementPlan.of(text, blocks, statement.upper)


def released(made, shift):
    """Blocks with made-up numbers, all of them moved by a shift of their own."""
    blocks = []
    for at, block in enumerate(made.blocks):
        size = len(block.groups)
        noisy = tuple(
            np.arange(size, dtype=np.int64) * 7 + 10 * place + 15 + shift(at, place)
            for place in range(len(block.measures))
        )
        blocks.append(Released(block, block.groups, noisy))
    return tuple(blocks)


def keyed(outcome, fixed):
    rows = {tuple(row[at] for at in fixed): row for row in outcome.rows}
    return rows if len(rows) == len(outcome.rows) else None


@settings(max_examples=50)
@given(st.lists(COLUMNS, min_size=1, max_size=4), WHERE)
def test_noise_moves_columns_as_their_dependence_says(engine, parts, where):
    listed = ", ".join(f"{part} AS c{at}" for at, part in enumerate(parts))
    made = planned(f"SELECT a.k, i, {listed} FROM {A} JOIN {B} USING (k){where}")
    before = run_upper(engine, made, released(made, lambda *_: 0))
    after = run_upper(engine, made, released(made, lambda at, place: 3 + 5 * at + place))
    shape = made.shape
    fixed = [at for at, (_, found) in enumerate(shape.columns) if not found.noisy]
    rows, moved = keyed(before, fixed), keyed(after, fixed)
    assert rows is not None
    assert moved is not None
    if not shape.noisy_rows:
        assert rows.keys() == moved.keys()
    for key in rows.keys() & moved.keys():
        for at, (name, found) in enumerate(shape.columns):
            old, new = rows[key][at], moved[key][at]
            if not found.noisy:
                assert old == new, name
            elif found.terms is not None:
                step = sum(
                    factor * moved_by(made, place, column)
                    for (place, column), factor in found.terms
                )
                assert float(new) - float(old) == pytest.approx(float(step), abs=1e-6), name


def moved_by(made, place, column):
    """What `released` moved a column of a block by."""
    block = made.blocks[place]
    output = next(one for one in block.query.outputs if one.name == column)
    sums = combination(block, output.expression)
    return sum(
        (factor * (3 + 5 * place + measure) for measure, factor in sums.measures.items()),
        Fraction(0),
    )
