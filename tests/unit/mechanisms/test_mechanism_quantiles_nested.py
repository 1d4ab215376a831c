"""Quantiles by recursion: the tree and its price, order, ties, refusals."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.nested_quantiles import _DIVISION, NestedQuantiles
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.noise.bits import SeededBits

ONE = Sensitivity.single(1)


def even(count):
    return [Fraction(place, count + 1) for place in range(1, count + 1)]


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5])
def test_evenly_spaced_fractions_cost_one_median_for_each_level(levels):
    mechanism = NestedQuantiles(fractions=even(2**levels - 1), scale=1)
    assert mechanism.pure_loss(ONE).epsilon == levels + Fraction(levels - 1, 2)
    assert mechanism.loss(ONE).rho == Fraction(levels + levels - 1, 8)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 20])
def test_the_number_of_levels_is_the_logarithm(count):
    mechanism = NestedQuantiles(fractions=even(count), scale=1)
    assert len(mechanism._levels()) == count.bit_length()


def test_uneven_fractions_cost_more_and_all_rows_count():
    near = NestedQuantiles(fractions=(0.98, 0.99), scale=1)  # 0.99, and 98/99 of what is below
    reach = max(Fraction(99, 100), Fraction(98, 99))
    assert near.pure_loss(ONE).epsilon == 2 * reach + 2 * Fraction(98, 99) + Fraction(1, 2)
    spread = Sensitivity(groups=3, per_group=2, total=4)
    assert near.pure_loss(spread).epsilon == 4 * near.pure_loss(ONE).epsilon
    assert near.loss(spread).rho == 16 * near.loss(ONE).rho


def test_one_fraction_is_the_plain_mechanism():
    counts = np.array([3, 0, 2, 8, 1])
    for fraction in (Fraction(1, 2), Fraction(1, 10)):
        plain = Quantiles(fractions=(fraction,), scale=2, candidates=5)
        nested = NestedQuantiles(fractions=(fraction,), scale=2, candidates=5)
        assert nested.loss(ONE) == plain.loss(ONE)
        assert nested.pure_loss(ONE) == plain.pure_loss(ONE)
        assert nested.error(0.9) == plain.error(0.9)
        for seed in range(20):
            drawn = [m.release(counts, SeededBits(seed)) for m in (plain, nested)]
            assert drawn[0] == drawn[1]


def test_many_fractions_cost_less_than_one_by_one():
    many = even(99)
    nested, plain = (kind(fractions=many, scale=1) for kind in (NestedQuantiles, Quantiles))
    assert 10 * nested.pure_loss(ONE).epsilon < plain.pure_loss(ONE).epsilon
    assert 10 * nested.loss(ONE).rho < plain.loss(ONE).rho


@pytest.mark.parametrize("counts", [[0, 0, 0], [1, 0, 2, 1], [5, 5], [9]])
def test_answers_grow_with_the_fraction_however_much_noise_there_is(counts):
    mechanism = NestedQuantiles(fractions=(0.9, 0.1, 0.5, 0.3), scale=50)
    for _ in range(200):
        last, first, third, second = mechanism.release(np.array(counts))
        assert 0 <= first <= second <= third <= last < len(counts)


TIES = [
    [0, 0, 10**6, 0, 0],
    [450_000, 0, 500_000, 0, 50_000],
    [1, 10**6, 1, 10**6, 1],
    [10**5] * 5,
]


@pytest.mark.parametrize("counts", TIES)
@pytest.mark.parametrize("count", [3, 9])
@pytest.mark.parametrize("factor", [1, 2**50])
def test_ties_do_no_harm(counts, count, factor):
    """The error is a few scales, whatever the number of tied rows."""
    large = [entry * factor for entry in counts]
    fractions = even(count)
    mechanism = NestedQuantiles(fractions=fractions, scale=2, candidates=5)
    limit = mechanism.error(Fraction(10**12 - 1, 10**12))
    assert limit < 1000
    for _ in range(20):
        answers = mechanism.release(np.array(large, dtype=object if factor > 1 else np.int64))
        for fraction, answer in zip(fractions, answers, strict=True):
            target = fraction * sum(large)
            lower = sum(large[:answer])
            assert lower - limit <= target <= lower + large[answer] + limit


@pytest.mark.parametrize("price", [Pure(epsilon=0.3), ZCDP(rho=0.07)])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_a_price_is_kept_and_used_up(price, count):
    sensitivity = Sensitivity.single(3)
    made = NestedQuantiles.of_price(fractions=even(count), sensitivity=sensitivity, price=price)
    if isinstance(price, Pure):
        assert made.pure_loss(sensitivity) == price
    else:
        assert price.rho * (1 - Fraction(1, 10**15)) < made.loss(sensitivity).rho <= price.rho


@pytest.mark.parametrize("fractions", [(0,), (0, 0.5), (0.5, 1), (), (0.5, 0.5), (2,)])
def test_fractions_that_are_refused(fractions):
    with pytest.raises(InvalidValue, match="fraction"):
        NestedQuantiles(fractions=fractions, scale=1)


def test_the_error_is_that_of_the_worst_rank_in_an_uneven_tree():
    """Of 0.1, 0.2 and 0.9 the root is 0.2; half of what its end is off moves 0.1, an eighth 0.9."""
    mechanism = NestedQuantiles(fractions=(0.1, 0.2, 0.9), scale=2, candidates=1000)
    hold = 1 - Fraction(5, 100) / 4  # three choices and one division
    choice = Fraction(Exponential(scale=2, candidates=1000).error(hold))
    end = choice + Fraction(DiscreteLaplace(scale=2 * _DIVISION).error(hold)) + 1
    assert mechanism.error(0.95) == pytest.approx(float(choice + end / 2), rel=1e-12)
    turned = NestedQuantiles(fractions=(0.1, 0.8, 0.9), scale=2, candidates=1000)
    assert turned.error(0.95) == mechanism.error(0.95)


def test_the_error_grows_with_the_scale():
    """Every part of it does, but for the step that rounding takes."""
    one, many = (
        NestedQuantiles(fractions=(0.25, 0.5, 0.75), scale=scale, candidates=2).error(0.95)
        for scale in (100, 1000)
    )
    assert one * 9.95 <= many <= one * 10


def test_a_level_costs_what_its_dearest_part_costs():
    """One row is in one part of a level, and may be in that of 1/5 as well as in that of 1/2."""
    mechanism = NestedQuantiles(fractions=(0.25, 0.5, 0.6), scale=1)
    assert mechanism.pure_loss(ONE).epsilon == 2 * Fraction(1, 2) + 2 * Fraction(4, 5) + Fraction(
        1, 2
    )
