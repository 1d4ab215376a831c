"""Ranges: computed errors against dense linear algebra, the errors that are promised, the choice
between trees and the factorisation, blocks that adapt.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.components import contrast
from discreet.linear.hierarchy import Hierarchy, shape_of
from discreet.loss import ZCDP, Pure, Relation
from discreet.release.tables.adaptive import Adaptive
from discreet.release.tables.allocation import Counts, Unit
from discreet.release.tables.blocks import Blocks, deviations
from discreet.release.tables.ordered import ordered
from discreet.release.tables.ranges import Trees, chains
from discreet.release.tables.running import Running, square_root
from discreet.release.tables.workload import Workload, level_parts, query_parts

LAPLACE, GAUSSIAN = Pure(epsilon=1), ZCDP(rho=0.5)


def queries(workload, cells):
    first = [0] if workload is Workload.PREFIXES else range(cells)
    return [(start, stop) for start in first for stop in range(start + 1, cells + 1)]


def indicator(cells, start, stop):
    return np.array([1.0 if start <= place < stop else 0.0 for place in range(cells)])


def test_the_promised_errors_on_4096_bins():
    for workload, limit in ((Workload.RANGES, 16.2), (Workload.PREFIXES, 14.2)):
        assert ordered(4096, price=LAPLACE, workload=workload).rmse(workload) <= limit
    sigma_one = ordered(4096, price=GAUSSIAN, workload=Workload.PREFIXES)
    assert 3.35 <= sigma_one.rmse(Workload.PREFIXES) <= 3.6


def test_errors_scale_with_epsilon():
    small = Trees.calibrate((512,), price=Pure(epsilon=0.01)).rmse()
    assert small == pytest.approx(
        10 * Trees.calibrate((512,), price=Pure(epsilon=0.1)).rmse(), 0.01
    )


def dense_variances(plan, boxes):
    """The variances of boxes by dense least squares on all measured tables."""
    shape = tuple(each.padded for each in plan.hierarchies)
    rows, weights = [], []
    for each in plan.measurements:
        columns = []
        for cell in np.eye(int(np.prod(shape))):
            table = cell.reshape(shape)
            for axis, hierarchy in enumerate(plan.hierarchies):
                blocks = hierarchy.blocks(dict(each.cut).get(axis, 0))
                split = (*table.shape[:axis], blocks, -1, *table.shape[axis + 1 :])
                table = table.reshape(split).sum(axis=axis + 1)
            table = table.reshape(shape_of(each.cut, plan.hierarchies))
            if not isinstance(each, Counts):
                table = contrast(table, each.cut, plan.hierarchies)
            columns.append(table.ravel())
        rows.append(np.array(columns).T)
        weights += [each.variance] * rows[-1].shape[0]
    scaled = np.vstack(rows) / np.sqrt(weights)[:, None]
    inverse = np.linalg.pinv(scaled.T @ scaled)
    found = []
    for box in boxes:
        query = np.ones(())
        for hierarchy, (start, stop) in zip(plan.hierarchies, box, strict=True):
            query = np.multiply.outer(query, indicator(hierarchy.padded, start, stop))
        found.append(float(query.ravel() @ inverse @ query.ravel()))
    return found


@pytest.mark.parametrize("price", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("workload", list(Workload))
def test_the_error_of_trees_is_that_of_dense_algebra(price, workload):
    plan = Trees.calibrate((13,), price=price, workload=workload)
    found = [plan.box_variance([each]) for each in queries(workload, 13)]
    dense = dense_variances(plan, [[each] for each in queries(workload, 13)])
    assert np.allclose(found, dense)
    starts, stops = np.array(queries(workload, 13)).T
    assert np.allclose(plan.variances(starts, stops), dense)
    assert plan.rmse() == pytest.approx(np.sqrt(np.mean(dense)))


@pytest.mark.parametrize("price", [LAPLACE, GAUSSIAN])
def test_two_dimensions_too(price):
    plan = Trees.calibrate((5, 3), price=price)
    boxes = [(a, b) for a in queries(Workload.RANGES, 5) for b in queries(Workload.RANGES, 3)]
    dense = dense_variances(plan, boxes)
    assert np.allclose([plan.box_variance(box) for box in boxes], dense)
    assert plan.rmse() == pytest.approx(np.sqrt(np.mean(dense)))
    assert plan.loss == price


@pytest.mark.parametrize("workload", list(Workload))
def test_parts_of_levels_are_the_means_over_queries(workload):
    for hierarchy in (
        Hierarchy(cells=27, branches=(2, 4, 4)),
        Hierarchy.flat(5),
        Hierarchy.flat(1),
    ):
        every = [query_parts(hierarchy, *each) for each in queries(workload, hierarchy.cells)]
        assert np.allclose(np.mean(every, axis=0), level_parts(workload, hierarchy))


def test_the_factorisation_is_the_one_of_dense_algebra():
    cells = 12
    plan = Running.calibrate(cells, rho=Fraction(1, 2), unit=Unit())
    column = np.array(square_root(cells)) / square_root(1)[0]
    matrix = np.array(
        [[column[i - j] if i >= j else 0.0 for j in range(cells)] for i in range(cells)]
    )
    decode = np.tril(np.ones((cells, cells))) @ np.linalg.inv(matrix)
    noise = float(plan.noise.sigma_squared) / square_root(1)[0] ** 2
    assert noise == pytest.approx(float((matrix[:, 0] ** 2).sum()))
    ends = np.vstack([np.zeros(cells), decode])
    for workload in Workload:
        dense = [
            float(((ends[j] - ends[i]) ** 2).sum()) * noise for i, j in queries(workload, cells)
        ]
        found = [plan.variance(i, j) for i, j in queries(workload, cells)]
        assert np.allclose(found, dense)
        assert plan.rmse(workload) == pytest.approx(np.sqrt(np.mean(dense)))


@pytest.mark.parametrize("relation", list(Relation))
def test_the_sensitivity_of_the_factorisation_covers_all_neighbours(relation):
    cells, rows = 6, 2
    plan = Running.calibrate(cells, rho=Fraction(1, 2), unit=Unit(rows=rows, relation=relation))
    columns = [np.zeros(cells, dtype=object)]
    for place in range(cells):
        columns.append(np.array([0] * place + list(square_root(cells))[: cells - place]))
    moves = [rows * column for column in columns]
    if relation is Relation.REPLACE:
        moves = [one - other for one in moves for other in moves]
    worst = max(int((move**2).sum()) for move in moves)
    assert Fraction(worst) / (2 * plan.noise.sigma_squared) <= plan.loss.rho == Fraction(1, 2)


def test_the_square_root_squares_to_prefix_sums():
    column = np.array(square_root(64)) / square_root(1)[0]
    assert np.allclose(np.convolve(column, column)[:64], 1.0, atol=1e-4)


def test_every_release_is_near_the_truth_when_the_price_is_high():
    exact = np.arange(37) % 5
    for price in (Pure(epsilon=10**4), ZCDP(rho=10**6)):
        for plan in (ordered(37, price=price), Adaptive(cells=37, price=price)):
            found = plan.release(exact)
            assert np.abs(found.histogram() - exact).max() < 0.1
            assert found.range(3, 9) == pytest.approx(exact[3:9].sum(), abs=0.5)
            assert found.variance(3, 9) >= 0


def test_ladders_cover_the_axis():
    for cells in (1, 2, 7, 100):
        for hierarchy in chains(cells):
            assert hierarchy.padded >= cells
            assert hierarchy.cells == cells


def best_distance(values):
    return min(sum(abs(value - centre) for value in values) for centre in range(max(values) + 1))


def test_deviations_are_distances_to_the_best_centre():
    exact = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    found = deviations(exact)
    for level, row in enumerate(found):
        parts = exact.reshape(-1, 1 << level).tolist()
        assert row == [best_distance(part) for part in parts]


def test_a_block_is_kept_where_cells_are_alike_and_cut_where_not():
    exact = np.array([50] * 32 + [0] * 31 + [90])
    ends = Blocks(cells=64, epsilon=1000, least=1).release(exact)
    assert 32 in ends
    assert {63, 64} <= set(ends)


def test_at_least_so_many_blocks():
    ends = Blocks(cells=64, epsilon=1000, least=16).release(np.zeros(64, dtype=np.int64))
    assert set(range(0, 65, 4)) <= set(ends)


@pytest.mark.parametrize("price", [Pure(epsilon=0.3), ZCDP(rho=0.07)])
def test_choosing_and_measuring_add_up_to_the_price(price):
    plan = Adaptive(cells=100, price=price)
    if isinstance(price, Pure):
        assert plan.choice.loss.epsilon + plan.rest.epsilon == price.epsilon
    else:
        assert plan.choice.loss.zcdp().rho + plan.rest.rho == price.rho
        assert plan.choice.loss.zcdp().rho <= price.rho / 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trees.calibrate((), price=LAPLACE), "at least one axis"),
        (lambda: Trees.calibrate((10**5, 10**5), price=LAPLACE), "coarser"),
        (lambda: Trees.calibrate((4,), price=LAPLACE).release(np.zeros(5, dtype=int)), "shape"),
        (lambda: Trees.calibrate((4,), price=LAPLACE).parts([(0, 1), (0, 1)]), "2 ranges for 1"),
        (lambda: query_parts(Hierarchy.flat(4), 2, 5), "not within"),
        (lambda: Running.calibrate(10**6, rho=Fraction(1), unit=Unit()), "Use hierarchies"),
        (lambda: Running.calibrate(4, rho=Fraction(1), unit=Unit()).variance(3, 2), "not within"),
        (lambda: Blocks(cells=0, epsilon=1), "0 cells"),
        (lambda: Blocks(cells=4, epsilon=10**7), "idle"),
        (lambda: Blocks(cells=4, epsilon=1).release(np.zeros(3, dtype=int)), "shape"),
    ],
)
def test_refusals_say_what_and_why(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()
