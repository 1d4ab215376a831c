"""Contrasts: their lengths, their cost and their variances against brute force over all rows."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.contrasts import contrast_rows, from_contrasts, norms, to_contrasts
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.loss import Relation
from discreet.streams.hypothesis.parities import Measured, Parities

MIXED = Domain(("a", "b", "c", "d"), (2, 3, 1, 4))
EXACT = 10**15  # a rho at which noise has no chance


@pytest.fixture(scope="module")
def rows():
    drawn = np.random.default_rng(1).integers(0, MIXED.sizes, size=(500, 4))
    return np.unique(drawn, axis=0, return_counts=True)


def every_row(domain):
    return np.array(list(itertools.product(*map(range, domain.sizes))))


def contrasts_of(domain, parities, row):
    """All contrasts of one row and their variances, one by one from the definition."""
    found = []
    for axes, variance in parities.variances.items():
        for places in itertools.product(*(range(1, domain.sizes[axis]) for axis in axes)):
            value, square = 1, 1
            for axis, place in zip(axes, places, strict=True):
                value *= int(contrast_rows(domain.sizes[axis])[place, row[axis]])
                square *= int(norms(domain.sizes[axis])[place])
            found.append((value, variance * square))
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_contrasts_are_orthogonal_integers(size):
    rows = contrast_rows(size)
    assert rows.dtype == np.int64
    assert (rows @ rows.T == np.diag(norms(size))).all()


def test_a_table_is_restored_from_its_contrasts():
    table = np.random.default_rng(2).integers(0, 100, size=MIXED.sizes)
    assert to_contrasts(table).dtype == np.int64
    assert np.allclose(from_contrasts(to_contrasts(table)), table)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_loss_is_that_of_every_single_row(order):
    parities = Parities.of(MIXED, order=order, rho=Fraction(1, 7))
    paid = parities.loss().rho
    assert 0 <= Fraction(1, 7) - paid < Fraction(1, 10**12)
    for row in every_row(MIXED):
        moved = sum(Fraction(value**2) / v for value, v in contrasts_of(MIXED, parities, row))
        assert moved / 2 == paid


def test_the_loss_of_more_rows_and_of_replacement_covers_the_worst_pair():
    parities = Parities.of(MIXED, order=2, rho=1)
    assert parities.loss(rows_per_unit=3).rho == 9 * parities.loss().rho
    replaced = parities.loss(relation=Relation.REPLACE).rho
    rows = every_row(MIXED)
    listed = [contrasts_of(MIXED, parities, row) for row in rows]
    worst = max(
        sum(Fraction((a - b) ** 2) / v for (a, v), (b, _) in zip(one, two, strict=True))
        for one, two in itertools.combinations(listed, 2)
    )
    assert worst / 2 <= replaced
    assert worst / 2 > parities.loss().rho  # so the price of adding a row would not do
    smaller = Parities.of(MIXED, order=2, rho=1, rows_per_unit=3, relation=Relation.REPLACE)
    assert smaller.loss(rows_per_unit=3, relation=Relation.REPLACE).rho <= 1


def test_the_formula_of_parities_of_three_of_sixteen():
    """(sum over orders of sqrt(contrasts * coefficients))^2/64/(2 rho), by hand."""
    rho = Fraction(1497, 100_000)
    parities = Parities.of(Domain.binary(16), order=3, rho=rho)
    roots = sum(math.sqrt(math.comb(16, k) * math.comb(3, k)) for k in range(4))
    expected = roots / 8 / math.sqrt(2 * float(rho))
    question = Predicate.where({3: 0, 7: 1, 15: 1}, parities.domain)
    assert math.sqrt(parities.variance_of(question)) == pytest.approx(expected, rel=1e-6)
    assert expected == pytest.approx(36.5, abs=0.05)
    assert parities.count == 697


def test_no_other_weights_of_the_same_cost_are_better():
    """Scaling the variance of any one set up or down raises the mean variance of all tables."""
    domain = Domain(("a", "b", "c"), (2, 3, 4))
    parities = Parities.of(domain, order=2, rho=1)

    def mean_variance(made):
        total = 0.0
        for axes in itertools.combinations(range(3), 2):
            cells = list(itertools.product(*(range(domain.sizes[axis]) for axis in axes)))
            parts = [Predicate.where(dict(zip(axes, c, strict=True)), domain) for c in cells]
            total += sum(made.variance_of(part) for part in parts) / len(parts)
        return total * float(made.loss().rho)  # at the same cost

    best = mean_variance(parities)
    for axes in parities.variances:
        for factor in (Fraction(4, 5), Fraction(5, 4)):
            changed = {**parities.variances, axes: parities.variances[axes] * factor}
            assert mean_variance(Parities(domain, 2, changed)) > best * (1 + 1e-6)


def test_answers_are_exact_but_for_the_noise(rows):
    places, counts = rows
    measured = Parities.of(MIXED, order=2, rho=EXACT).release(places, counts)
    draw = np.random.default_rng(3)
    assert measured.total == 500
    for axes in itertools.combinations(range(4), 2):
        mask = draw.random(tuple(MIXED.sizes[axis] for axis in axes)) < 0.5
        predicate = Predicate(axes, mask)
        exact = counts[predicate.counts(places)].sum()
        assert measured.answer(predicate) == pytest.approx(exact, abs=1e-6)


def test_a_wide_predicate_is_spanned_when_it_is_a_sum_of_narrow_ones(rows):
    places, counts = rows
    measured = Parities.of(MIXED, order=2, rho=EXACT).release(places, counts)
    low = Predicate.where({0: 0, 1: 1}, MIXED)
    high = Predicate.where({0: 1, 3: [0, 2]}, MIXED)
    tree = Predicate.any_of([low, high], MIXED)
    assert tree.axes == (0, 1, 3)
    assert measured.parities.spans(tree)
    exact = counts[tree.counts(places)].sum()
    assert measured.answer(tree) == pytest.approx(exact, abs=1e-6)
    variance = measured.parities.variance_of(tree)
    assert variance < 2 * sum(map(measured.parities.variance_of, (low, high)))
    narrow = Predicate.where({0: 1, 1: 1, 3: 1}, MIXED)
    assert not measured.parities.spans(narrow)
    with pytest.raises(InvalidValue, match="at most 2"):
        measured.answer(narrow)


def test_the_variance_is_that_of_the_linear_answer():
    """The answer as a row of coefficients, found by measuring unit vectors, against the formula."""
    parities = Parities.of(MIXED, order=2, rho=1)
    predicate = Predicate(
        (0, 1, 3), np.random.default_rng(4).random((2, 3, 4)) < 2
    )  # everything: a sum of narrow ones
    half = Predicate.where({1: [0, 2], 3: [1, 2]}, MIXED)
    for each in (predicate, half):
        variance = 0.0
        for axes, spread in parities.variances.items():
            shape = tuple(MIXED.sizes[axis] - 1 for axis in axes)
            for place in np.ndindex(shape):
                noisy = {a: np.zeros([MIXED.sizes[x] - 1 for x in a]) for a in parities.variances}
                noisy[axes][place] = 1.0
                square = math.prod(
                    int(norms(MIXED.sizes[axis])[p + 1])
                    for axis, p in zip(axes, place, strict=True)
                )
                factor = Measured(parities, noisy).answer(each)
                variance += factor**2 * float(spread) * square
        assert parities.variance_of(each) == pytest.approx(variance)


def test_two_measurements_count_as_one_at_the_sum_of_their_prices(rows):
    one, two = (Parities.of(MIXED, order=2, rho=each) for each in (1, 3))
    both = Measured.combine([each.release(*rows) for each in (one, two)])
    whole = Parities.of(MIXED, order=2, rho=4)
    for axes, variance in whole.variances.items():
        assert both.parities.variances[axes] / variance == pytest.approx(1, abs=1e-9)


def test_written_down_and_read_again(rows):
    parities = Parities.of(MIXED, order=3, rho=1)
    measured = parities.release(*rows)
    flat = np.concatenate([np.ravel(each) for each in measured.noisy.values()])
    again = parities.reshape(flat)
    assert all((again.noisy[axes] == each).all() for axes, each in measured.noisy.items())
    with pytest.raises(InvalidValue, match="contrasts are given"):
        parities.reshape(flat[:-1])


@pytest.mark.parametrize("order", [0, 5, True])
def test_an_order_that_cannot_be_is_refused(order):
    with pytest.raises(InvalidValue, match="order"):
        Parities.of(MIXED, order=order, rho=1)
