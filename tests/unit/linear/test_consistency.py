"""The stage after least squares: projections against brute force, agreement, totals, and the error
bound on tables that are known.
"""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.components import Components
from discreet.linear.consistency import make_consistent
from discreet.linear.hierarchy import Hierarchy
from discreet.loss import ZCDP
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.measure import tabulate_cells

SIZES = (4, 3, 5)


def sparse_rows(count=60):
    generator = np.random.default_rng(13)
    codes = [np.minimum(generator.geometric(0.6, count) - 1, size - 1) for size in SIZES]
    return codes, np.ones(count, dtype=np.int64)


def test_tables_settle_without_negative_cells_and_agree():
    codes, counts = sparse_rows()
    family = Marginals.calibrate(SIZES, every(SIZES, [1, 2]), price=ZCDP(rho=0.05))
    parts = family.release(tabulate_cells(codes, counts, family.hierarchies))
    found = make_consistent(parts, family.wanted, tolerance=0.01)
    assert found.gap <= 0.01
    for cut in family.wanted:
        table = found.table(cut)
        assert (table >= 0).all()
        assert table.sum() == pytest.approx(found.total, abs=0.2)
    rows = found.table(((0, 1), (1, 1))).sum(axis=1)
    assert np.abs(rows - found.table(((0, 1),))).max() < 0.2


def test_settling_brings_sparse_tables_nearer_within_the_bound():
    codes, counts = sparse_rows()
    family = Marginals.calibrate(SIZES, every(SIZES, [2]), price=ZCDP(rho=0.05))
    exact = tabulate_cells(codes, counts, family.hierarchies)
    before, after, bounds = [], [], []
    for _ in range(20):
        parts = family.release(exact)
        found = make_consistent(parts, family.wanted, tolerance=0.1)
        cells = sum(exact(cut).size for cut in family.wanted)
        before.append(sum(((parts.table(cut) - exact(cut)) ** 2).sum() for cut in family.wanted))
        after.append(sum(((found.table(cut) - exact(cut)) ** 2).sum() for cut in family.wanted))
        bounds.append(cells * found.error**2)
    assert sum(after) < 0.9 * sum(before)  # about half: most cells are empty
    assert sum(after) < sum(bounds)


def test_rounds_can_be_limited_and_the_gap_is_said():
    generator = np.random.default_rng(23)
    parts = Components(tuple(Hierarchy.flat(size) for size in SIZES))
    cuts = [((0, 1), (1, 1)), ((1, 1), (2, 1)), ((0, 1), (2, 1))]
    for cut in cuts:
        shape = [SIZES[axis] for axis, _ in cut]
        parts.add_table(cut, generator.normal(loc=2, scale=9, size=shape), variance=1.0)
    found = make_consistent(parts, cuts, tolerance=1e-9, rounds=2)
    assert found.rounds == 2
    assert found.gap > 1e-9
    assert make_consistent(parts, cuts, tolerance=1e-3).gap <= 1e-3


def test_a_single_table_settles_at_once():
    parts = Components((Hierarchy.flat(3),))
    parts.add_table(((0, 1),), np.array([3.0, -1.0, 2.0]), variance=1.0)
    found = make_consistent(parts, [((0, 1),), ()])
    assert (found.rounds, found.gap) == (1, 0.0)
    assert float(found.table(())) == pytest.approx(4.0)
    with pytest.raises(InvalidValue, match="tolerance"):
        make_consistent(parts, [()], tolerance=0)
