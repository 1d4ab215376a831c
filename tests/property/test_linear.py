"""The linear tools against exact arithmetic and brute force."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.linear.simplex import project_to_simplex

CELLS = st.lists(st.integers(-(10**6), 10**6).map(lambda k: k / 64), min_size=1, max_size=12)


def nearest_by_brute_force(cells, total):
    """The projection for every possible number of cells that stay; the nearest feasible one."""
    exact = sorted(map(Fraction, cells), reverse=True)
    candidates = []
    for kept in range(1, len(exact) + 1):
        level = (sum(exact[:kept]) - total) / kept
        if exact[kept - 1] >= level:
            point = [max(Fraction(cell) - level, Fraction(0)) for cell in cells]
            if sum(point) == total:
                candidates.append(point)
    return min(
        candidates,
        key=lambda point: sum((a - Fraction(b)) ** 2 for a, b in zip(point, cells, strict=True)),
    )


@given(CELLS, st.integers(1, 10**7).map(lambda k: k / 64))
def test_projection_is_the_nearest_point_of_the_simplex(cells, total):
    found = project_to_simplex(np.array(cells), total)
    exact = nearest_by_brute_force(cells, Fraction(total))
    assert np.allclose(found, [float(each) for each in exact], rtol=1e-9, atol=1e-8)


@given(CELLS, st.integers(-10, 0))
def test_no_total_leaves_no_cells(cells, total):
    assert not project_to_simplex(np.array(cells), total).any()


@given(CELLS.filter(lambda cells: len(cells) > 3), st.integers(1, 10**5))
def test_many_cells_are_projected_as_few_are(cells, total):
    """Above some size cells are dropped before they are sorted; the result is the same."""
    repeated = np.tile(np.array(cells), 2000)
    few = project_to_simplex(np.array(cells), total)
    many = project_to_simplex(repeated.reshape(-1, len(cells)), 2000 * total)
    assert np.allclose(many, few, rtol=1e-9, atol=1e-6)
