"""Releases for any shape: prices are kept, tables agree, more price is never worse, estimates of
tables without noise are the tables.
"""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.linear.components import Components
from discreet.linear.hierarchy import Hierarchy, coarsen, shape_of
from discreet.loss import ZCDP, Pure, Relation
from discreet.release.tables.allocation import Unit
from discreet.release.tables.blocks import Blocks, deviations
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.ordered import ordered
from discreet.release.tables.ranges import Trees
from discreet.release.tables.workload import Workload

HIERARCHIES = st.lists(
    st.lists(st.integers(2, 4), min_size=0, max_size=2).map(tuple), min_size=1, max_size=3
).map(lambda all_: tuple(Hierarchy(cells=int(np.prod((1, *each))), branches=each) for each in all_))
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)
UNITS = st.builds(Unit, rows=st.integers(1, 3), relation=st.sampled_from(list(Relation)))
PRICES = st.fractions(Fraction(1, 1000), Fraction(1000), max_denominator=1000)


@given(hierarchies=HIERARCHIES, data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_table_is_the_sum_of_its_components(hierarchies, data):
    cut = tuple((axis, each.depth) for axis, each in enumerate(hierarchies) if each.depth)
    shape = shape_of(cut, hierarchies)
    cells = int(np.prod((1, *shape)))
    values = data.draw(st.lists(st.integers(-9, 9), min_size=cells, max_size=cells))
    table = np.array(values, dtype=float).reshape(shape)
    parts = Components(hierarchies)
    parts.add_table(cut, table, variance=2.0)
    assert np.allclose(parts.table(cut), table)
    assert np.isclose(parts.variance(cut), 2.0)
    for coarser in coarsen(cut):
        assert np.isclose(np.sum(parts.table(coarser)), table.sum())


@given(sizes=SIZES, price=PRICES, unit=UNITS)
@settings(max_examples=25, deadline=None)
def test_marginals_use_up_their_price_and_no_more(sizes, price, unit):
    weights = every(sizes, range(len(sizes) + 1))
    for paid in (Pure(epsilon=price), ZCDP(rho=price)):
        family = Marginals.calibrate(sizes, weights, price=paid, unit=unit)
        assert family.loss == paid
        double = Marginals.calibrate(
            sizes,
            weights,
            price=Pure(epsilon=2 * price) if isinstance(paid, Pure) else ZCDP(rho=2 * price),
            unit=unit,
        )
        total = sum(family.variance(cut) for cut in weights)
        assert sum(double.variance(cut) for cut in weights) <= total * (1 + 1e-6)


@given(cells=st.integers(1, 40), price=PRICES, unit=UNITS, workload=st.sampled_from(list(Workload)))
@settings(max_examples=20, deadline=None)
def test_ordered_plans_keep_their_price_and_are_no_worse_than_plain_cells(
    cells, price, unit, workload
):
    for paid in (Pure(epsilon=price), ZCDP(rho=price)):
        plan = ordered(cells, price=paid, unit=unit, workload=workload)
        assert plan.loss == paid
        assert plan.rmse(workload) >= 0
        if isinstance(paid, ZCDP):
            trees = Trees.calibrate((cells,), price=paid, unit=unit, workload=workload)
            assert plan.rmse(workload) <= trees.rmse(workload)


@given(
    counts=st.lists(st.integers(0, 6), min_size=8, max_size=8),
    place=st.integers(0, 7),
    rows=st.integers(1, 3),
)
@settings(max_examples=80, deadline=None)
def test_rows_move_every_deviation_by_no_more_than_their_number(counts, place, rows):
    before = np.array(counts)
    after = before.copy()
    after[place] += rows
    for level, (one, other) in enumerate(zip(deviations(before), deviations(after), strict=True)):
        for block, (first, second) in enumerate(zip(one, other, strict=True)):
            moved = abs(first - second)
            assert moved <= (rows if place >> level == block else 0)


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=30), epsilon=PRICES)
@settings(max_examples=30, deadline=None)
def test_blocks_cover_the_axis_in_order(counts, epsilon):
    plan = Blocks(cells=len(counts), epsilon=epsilon, least=2)
    ends = plan.release(np.array(counts))
    assert ends[0] == 0
    assert ends[-1] == len(counts)
    assert list(ends) == sorted(set(ends))
