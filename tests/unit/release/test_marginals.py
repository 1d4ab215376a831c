"""Marginals: least squares in closed form against dense linear algebra, the closed-form allocation
against others, sensitivities against all neighbours.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.allocation import least_shares, needs_of
from discreet.linear.components import Components, contrast, scale_of
from discreet.linear.hierarchy import Hierarchy, cells_of, coarsen, shape_of
from discreet.loss import ZCDP, Pure, Relation
from discreet.release.tables.allocation import Unit, contrasts_for, counts_for
from discreet.release.tables.marginals import Marginals, every, marginal_cut
from discreet.release.tables.measure import measure_tables, sum_losses, tabulate_cells

HIERARCHIES = (Hierarchy(cells=4, branches=(2, 2)), Hierarchy.flat(3))
FINEST = ((0, 2), (1, 1))
CUTS = coarsen(FINEST)


def sums(cut, hierarchies=HIERARCHIES):
    """The matrix that turns the finest table into the table of a cut."""
    shape = [hierarchy.padded for hierarchy in hierarchies]
    rows = np.zeros((cells_of(cut, hierarchies), int(np.prod(shape))))
    levels = dict(cut)
    for column, place in enumerate(product(*(range(size) for size in shape))):
        row = 0
        for axis, hierarchy in enumerate(hierarchies):
            blocks = hierarchy.blocks(levels.get(axis, 0))
            row = row * blocks + place[axis] // (hierarchy.padded // blocks)
        rows[row, column] = 1
    return rows


def contrasts(cut, hierarchies=HIERARCHIES):
    """The matrix of a contrast, from that of the counts."""
    plain = sums(cut, hierarchies)
    shape = shape_of(cut, hierarchies)
    columns = [contrast(column.reshape(shape), cut, hierarchies).ravel() for column in plain.T]
    return np.array(columns).T


@pytest.mark.parametrize("wanted", CUTS, ids=str)
def test_least_squares_is_that_of_dense_algebra(wanted):
    generator = np.random.default_rng(3)
    measured_cuts = [FINEST, ((0, 1), (1, 1)), ((1, 1),), ((0, 2),), ()]
    variances = [4.0, 1.0, 0.25, 2.0, 9.0]
    parts = Components(HIERARCHIES)
    system, right, weights = [], [], []
    for cut, variance in zip(measured_cuts, variances, strict=True):
        noisy = generator.normal(size=shape_of(cut, HIERARCHIES))
        parts.add_table(cut, noisy, variance=variance)
        system.append(sums(cut))
        right.append(noisy.ravel())
        weights += [1 / variance] * noisy.size
    matrix, values = np.vstack(system), np.concatenate(right)
    normal = matrix.T @ (matrix * np.array(weights)[:, None])
    cells = np.linalg.solve(normal, matrix.T @ (values * weights))
    plain = sums(wanted)
    assert np.allclose(parts.table(wanted).ravel(), plain @ cells)
    dense = np.diag(plain @ np.linalg.inv(normal) @ plain.T)
    assert np.allclose(dense, parts.variance(wanted))


@pytest.mark.parametrize("wanted", CUTS, ids=str)
def test_contrasts_give_the_same_estimate_as_dense_algebra(wanted):
    """The contrasts are redundant along an axis: their pseudo-inverse is the estimate."""
    generator = np.random.default_rng(5)
    parts = Components(HIERARCHIES)
    system, right = [], []
    for variance, cut in enumerate(CUTS, 1):
        noisy = generator.normal(size=shape_of(cut, HIERARCHIES))
        parts.add_contrast(cut, noisy, variance=float(variance))
        system.append(contrasts(cut) / np.sqrt(variance))
        right.append(noisy.ravel() / np.sqrt(variance))
    inverse = np.linalg.pinv(np.vstack(system))
    plain = sums(wanted)
    assert np.allclose(parts.table(wanted).ravel(), plain @ inverse @ np.concatenate(right))
    assert np.allclose(np.diag(plain @ inverse @ inverse.T @ plain.T), parts.variance(wanted))


def test_a_contrast_is_the_scaled_component():
    exact = np.arange(12).reshape(4, 3) ** 2
    parts = Components(HIERARCHIES)
    parts.add_table(FINEST, exact.astype(float), variance=1.0)
    scaled = contrast(exact, FINEST, HIERARCHIES)
    assert scaled.dtype == exact.dtype
    again = Components(HIERARCHIES)
    for cut in CUTS:
        table = np.asarray(parts.table(cut)).round().astype(np.int64)
        again.add_contrast(cut, contrast(table, cut, HIERARCHIES), variance=1.0)
    assert np.allclose(again.table(FINEST), exact)
    assert scale_of(FINEST, HIERARCHIES) == 6


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_the_sensitivity_of_a_contrast_is_the_worst_of_all_neighbours(cut, rows, relation):
    matrix = contrasts(cut)
    branches = [HIERARCHIES[axis].branches[level - 1] for axis, level in cut]
    claimed = Unit(rows=rows, relation=relation).contrast_squared(branches)
    kept = {tuple(column) for column in matrix.T}
    placements = [np.zeros(len(matrix)), *(np.array(column) for column in kept)]
    moves = [sum(chosen, np.zeros(len(matrix))) for chosen in product(placements, repeat=rows)]
    if relation is Relation.REPLACE:
        moves = [one - other for one, other in product(moves, moves)]
    assert max(float(move @ move) for move in moves) == claimed


def test_no_other_allocation_of_rho_is_better():
    sizes = (2, 3, 5)
    hierarchies = tuple(Hierarchy.flat(size) for size in sizes)
    needs = needs_of(every(sizes, [1, 2]), hierarchies)
    family = Marginals.calibrate(sizes, every(sizes, [1, 2]), price=ZCDP(rho=0.5))
    generator = np.random.default_rng(7)

    def total(shares):
        found = 0.0
        for (cut, need), share in zip(needs.items(), shares, strict=True):
            branches = [hierarchies[axis].branches[0] for axis, _ in cut]
            moved = Unit().contrast_squared(branches)
            found += need * moved / (2 * share) / scale_of(cut, hierarchies) ** 2
        return found

    ours = np.array([float(each.loss.rho) for each in family.measurements])
    assert sum(family.variance(cut) for cut in family.wanted) == pytest.approx(total(ours))
    for _ in range(200):
        other = ours * np.exp(generator.normal(scale=0.1, size=len(ours)))
        assert total(0.5 * other / other.sum()) > total(ours)


def test_shares_of_a_pure_price_are_a_local_minimum():
    needs, gains = np.array([1.0, 2.0, 0.5]), np.array([[4.0, 1, 0], [0, 3, 1], [2, 2, 2]])
    shares, error = least_shares(needs, gains)
    generator = np.random.default_rng(9)
    for _ in range(200):
        other = np.maximum(shares * np.exp(generator.normal(scale=0.05, size=3)), 0)
        other /= other.sum()
        assert (needs / (gains.T @ other**2)).sum() >= error * (1 - 1e-9)


@pytest.mark.parametrize("price", [Pure(epsilon=0.3), ZCDP(rho=0.07)])
@pytest.mark.parametrize("relation", list(Relation))
def test_the_price_is_used_up_exactly(price, relation):
    sizes = (2, 3, 5, 4)
    unit = Unit(rows=3, relation=relation)
    family = Marginals.calibrate(sizes, every(sizes, [1, 2, 3]), price=price, unit=unit)
    assert family.loss == price
    for each in family.measurements:
        if isinstance(price, Pure):
            moved = unit.cells(cells_of(each.cut, family.hierarchies))
        else:
            branches = [family.hierarchies[axis].branches[0] for axis, _ in each.cut]
            assert each.noise.sigma_squared * 2 * each.loss.rho == unit.contrast_squared(branches)
            continue
        assert each.noise.loss(moved) == each.loss


def test_tables_agree_with_each_other_and_with_rows():
    generator = np.random.default_rng(11)
    sizes = (3, 2, 4)
    codes = [generator.integers(0, size, 50) for size in sizes]
    counts = generator.integers(1, 5, 50)
    family = Marginals.calibrate(sizes, every(sizes, [1, 2, 3]), price=ZCDP(rho=10**6))
    exact = tabulate_cells(codes, counts, family.hierarchies)
    dense = np.zeros(sizes, dtype=np.int64)
    np.add.at(dense, tuple(codes), counts)
    assert (exact(((0, 1), (1, 1), (2, 1))) == dense).all()
    assert (exact(((1, 1),)) == dense.sum(axis=(0, 2))).all()
    found = family.release(exact)
    assert np.allclose(found.table(((0, 1), (2, 1))).sum(axis=0), found.table(((2, 1),)))
    assert np.abs(found.table(((0, 1), (1, 1), (2, 1))) - dense).max() < 0.1


def test_a_column_of_one_value_adds_nothing():
    family = Marginals.calibrate((1, 3), every((1, 3), [1, 2]), price=Pure(epsilon=1))
    assert family.wanted == ((), ((1, 1),))
    assert marginal_cut([0, 1], (1, 3)) == ((1, 1),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Marginals.calibrate((2,), {}, price=Pure(epsilon=1)), "no marginal"),
        (lambda: Marginals.calibrate((2,), {((0, 1),): -1.0}, price=Pure(epsilon=1)), "weight"),
        (
            lambda: Marginals.calibrate(
                (20_000,) * 2, every((20_000,) * 2, [2]), price=ZCDP(rho=1)
            ),
            "400,000,000 cells",
        ),
        (lambda: marginal_cut([3], (2, 2)), "there are 2"),
        (lambda: Hierarchy(cells=5, branches=(2, 2)), "must cover it"),
        (lambda: Hierarchy(cells=True, branches=()), "at least 1"),
    ],
)
def test_refusals_say_what_and_why(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


def test_measurements_of_one_kind_add_up():
    hierarchies = (Hierarchy.flat(4),)
    counts = counts_for({((0, 1),): 1.0, (): 3.0}, hierarchies, epsilon=Fraction(1), unit=Unit())
    assert sum_losses(counts) == Pure(epsilon=1)
    made = contrasts_for({((0, 1),): 1.0, (): 3.0}, hierarchies, rho=Fraction(1, 3), unit=Unit())
    assert sum_losses(made) == ZCDP(rho=Fraction(1, 3))


def test_a_contrast_too_wide_for_integers_is_refused():
    hierarchies = (Hierarchy.flat(1 << 16), Hierarchy.flat(1 << 15))
    wide = contrasts_for({((0, 1), (1, 1)): 1.0}, hierarchies, rho=Fraction(1), unit=Unit())
    with pytest.raises(InvalidValue, match=r"2\*\*31"):
        measure_tables(wide, hierarchies, lambda _: np.zeros(1, dtype=np.int64))
