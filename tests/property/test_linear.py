"""The linear tools against exact arithmetic and brute force."""

from fractions import Fraction
from math import comb, prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.linear.allocation import split_price
from discreet.linear.components import Components
from discreet.linear.contrasts import contrast_rows, from_contrasts, norms, to_contrasts
from discreet.linear.factorisation import decoder_column, encoder_column
from discreet.linear.hierarchy import Hierarchy, coarsen, shape_of
from discreet.linear.marginals import count_cells, sum_to
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


@given(st.integers(1, 60), st.sampled_from([(1 << 20, 40), (1 << 30, 128)]))
def test_decoder_times_encoder_sums_prefixes(length, rounding):
    """Both columns against the exact binomials and against the matrix product."""
    one, digits = rounding
    encoder = encoder_column(length, one=one, digits=digits)
    exact = [Fraction(comb(2 * k, k), 4**k) * one for k in range(length)]
    assert all(abs(a - b) <= Fraction(51, 100) for a, b in zip(encoder, exact, strict=True))
    assert list(encoder) == sorted(encoder, reverse=True)
    decoder = decoder_column(length, one=one, digits=digits)
    product = [float(np.dot(decoder[: k + 1], encoder[k::-1])) / one for k in range(length)]
    assert np.allclose(product, 1)


@given(
    st.fractions(Fraction(1, 10**6), 100),
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30),
)
def test_a_split_price_is_used_up_and_follows_its_weights(price, weights):
    shares = split_price(price, {((0, k + 1),): weight for k, weight in enumerate(weights)})
    assert sum(shares.values()) == price
    for share, weight in zip(shares.values(), weights, strict=True):
        assert abs(float(share / price) - weight / sum(weights)) < 1e-8


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_contrasts_are_products_with_orthogonal_rows(shape, data):
    cells = data.draw(st.lists(st.integers(-99, 99), min_size=prod(shape), max_size=prod(shape)))
    table = np.array(cells).reshape(shape)
    rows, squares = np.ones((1, 1), dtype=np.int64), np.ones(1, dtype=np.int64)
    for size in shape:
        rows, squares = np.kron(rows, contrast_rows(size)), np.kron(squares, norms(size))
    assert (rows @ rows.T == np.diag(squares)).all()
    assert (to_contrasts(table).ravel() == rows @ table.ravel()).all()
    assert np.allclose(from_contrasts(to_contrasts(table)), table)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_marginals_of_counted_rows_are_counted_rows(shape, data):
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in shape)), min_size=1))
    axes = tuple(axis for axis in range(len(shape)) if data.draw(st.booleans()))
    counts = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows)))
    )
    codes = np.array(rows)
    inner = tuple(shape[axis] for axis in axes)
    expected = np.zeros(inner, dtype=np.int64)
    for row, count in zip(rows, counts, strict=True):
        expected[tuple(row[axis] for axis in axes)] += count
    assert (count_cells([codes[:, axis] for axis in axes], counts, inner) == expected).all()
    whole = count_cells(list(codes.T), counts, tuple(shape)).astype(np.float64)
    assert (sum_to(whole, tuple(range(len(shape))), axes) == expected).all()


@given(st.lists(st.sampled_from([(), (2,), (3,), (2, 2)]), min_size=1, max_size=2), st.data())
def test_components_are_least_squares(branches, data):
    """Tables of different cuts and variances, against numpy's solver."""
    hierarchies = tuple(Hierarchy(cells=prod(each), branches=each) for each in branches)
    finest = tuple((axis, each.depth) for axis, each in enumerate(hierarchies) if each.depth)
    cuts = [*data.draw(st.lists(st.sampled_from(coarsen(finest)), max_size=3)), finest]
    parts, rows, noisy = Components(hierarchies), [], []
    for cut in cuts:
        shape = shape_of(cut, hierarchies)
        values = [data.draw(st.integers(-50, 50)) for _ in range(prod(shape))]
        variance = data.draw(st.sampled_from([0.25, 1.0, 3.0]))
        parts.add_table(cut, np.array(values, dtype=float).reshape(shape), variance=variance)
        rows.append(block_sums(cut, hierarchies) / np.sqrt(variance))
        noisy.append(np.array(values) / np.sqrt(variance))
    cells = np.linalg.lstsq(np.concatenate(rows), np.concatenate(noisy), rcond=None)[0]
    for cut in coarsen(finest):
        expected = block_sums(cut, hierarchies) @ cells
        assert np.allclose(parts.table(cut).ravel(), expected, atol=1e-8)


def block_sums(cut, hierarchies):
    """The matrix that sums the finest cells to the blocks of a cut."""
    levels, matrix = dict(cut), np.ones((1, 1))
    for axis, each in enumerate(hierarchies):
        blocks = each.blocks(levels.get(axis, 0))
        matrix = np.kron(matrix, np.kron(np.eye(blocks), np.ones((1, each.padded // blocks))))
    return matrix
