"""Quantiles: what is refused, how answers are ordered, and exactness at any size of count."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.mechanisms.shared.ranks import rank_gaps
from discreet.noise.bits import SeededBits
from support.mechanism_laws import rank_distance

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
ONE = Sensitivity.single(1)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"fractions": (), "scale": 1}, "no fractions"),
        ({"fractions": (0.5, Fraction(1, 2)), "scale": 1}, "given twice"),
        ({"fractions": (1.5,), "scale": 1}, "between 0 and 1"),
        ({"fractions": (-0.1,), "scale": 1}, "between 0 and 1"),
        ({"fractions": (math.nan,), "scale": 1}, "finite"),
        ({"fractions": (True,), "scale": 1}, "boolean"),
        ({"fractions": (0.5,), "scale": 0}, "scale"),
        ({"fractions": (0.5,), "scale": "1"}, "scale"),
        ({"fractions": (0.5,), "scale": 1, "candidates": 0}, "candidates"),
    ],
)
def test_parameters_that_are_refused(named, message):
    with pytest.raises(InvalidValue, match=message):
        Quantiles(**named)


@pytest.mark.parametrize(
    ("exact", "message"),
    [
        (np.array([], dtype=np.int64), "no candidates"),
        (np.array([7319, -1]), "negative"),
        (np.array([7319, -1], dtype=object), "negative"),
        (np.array([7319.0, 1.0]), "integers only"),
        (np.array([True, False]), "integers only"),
        (np.array([[7319, 1]]), "dimensions"),
    ],
)
def test_histograms_that_are_refused_without_showing_them(exact, message):
    with pytest.raises(InvalidValue, match=message) as caught:
        Quantiles(fractions=(0.5,), scale=1).release(exact)
    assert "7319" not in str(caught.value)


def test_another_number_of_candidates_than_declared_is_refused():
    with pytest.raises(InvalidValue, match="candidates is 3"):
        Quantiles(fractions=(0.5,), scale=1, candidates=3).release(np.array([1, 2]))
    with pytest.raises(InvalidValue, match="declare it"):
        Quantiles(fractions=(0.5,), scale=1).error(0.9)


def test_answers_follow_the_order_of_the_fractions():
    counts = np.full(8, 10**6)
    given = (Fraction(3, 4), Fraction(1, 8), Fraction(1, 2) + Fraction(1, 16))
    assert Quantiles(fractions=given, scale=1).release(counts)[1:] in ([0, 4], [1, 4])
    assert Quantiles(fractions=(1, 0), scale=1).release(counts) == [7, 0]


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [1, 0, 2, 1], [5, 5, 5, 5]])
def test_answers_grow_with_the_fraction_however_much_noise_there_is(counts):
    mechanism = Quantiles(fractions=(0.9, 0.1, 0.5), scale=100)
    seen = set()
    for _ in range(200):
        high, low, middle = mechanism.release(np.array(counts))
        assert low <= middle <= high
        seen.add((low, middle, high))
    assert len(seen) > 5


SHAPES = [[3, 0, 5, 1], [0, 1, 0, 0], [2, 2, 2, 2], [0, 0, 0, 9]]


@pytest.mark.parametrize("counts", SHAPES)
@pytest.mark.parametrize("factor", [1, 2**40, 2**60, 2**300])
def test_the_choice_is_the_same_at_any_size_of_count(counts, factor):
    """Counts and scale multiplied by one number leave every weight as it was."""
    plain = Quantiles(fractions=QUARTERS, scale=3)
    wide = Quantiles(fractions=QUARTERS, scale=3 * factor)
    large = np.array([count * factor for count in counts], dtype=object)
    if factor <= 2**40:
        large = large.astype(np.int64)
    for seed in range(20):
        first = plain.release(np.array(counts), SeededBits(seed))
        assert wide.release(large, SeededBits(seed)) == first


def test_counts_whose_sum_overflows_64_bits():
    counts = np.array([2**62, 2**62, 2**62, 2**62])
    assert Quantiles(fractions=QUARTERS, scale=1).release(counts)[1] in (1, 2)
    unsigned = np.array([2**64 - 1, 1], dtype=np.uint64)
    assert Quantiles(fractions=(0.5,), scale=1).release(unsigned) == [0]
    assert Quantiles(fractions=(0.5,), scale=1).release([10**40, 1, 1]) == [0]


def test_one_row_of_2_to_the_53_is_seen():
    """Where floats would round it away: ranks 2**53 and 2**53 + 1 differ."""
    counts = np.array([2**53, 1, 2**53])
    assert Quantiles(fractions=(0.5,), scale=Fraction(1, 10**4)).release(counts) == [1]


@pytest.mark.parametrize("scale", [Fraction(1, 10**150), 10**150])
def test_scales_beyond_floats(scale):
    answer = Quantiles(fractions=(0.5,), scale=scale).release(np.array([0, 5, 5, 5, 0]))[0]
    assert answer == 2 if scale < 1 else answer in range(5)


HISTOGRAMS = list(product(range(3), repeat=3))


def moves(rows):
    """Every way to add this many rows to three candidates."""
    return [move for move in product(range(rows + 1), repeat=3) if sum(move) == rows]


@pytest.mark.parametrize("fraction", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_rows_move_a_rank_distance_by_at_most_what_loss_counts(fraction, rows):
    """Brute force over histograms and additions; the bound is reached."""
    largest = 0
    for counts, move in product(HISTOGRAMS, moves(rows)):
        more = [count + step for count, step in zip(counts, move, strict=True)]
        for place in range(3):
            before = rank_distance(counts, fraction * sum(counts), place)
            after = rank_distance(more, fraction * sum(more), place)
            largest = max(largest, abs(after - before))
    claim = Quantiles(fractions=(fraction,), scale=1).pure_loss(Sensitivity.single(rows)).epsilon
    assert 2 * largest == claim
    # An understated claim is caught: the smaller of q and 1 - q, or rows not counted.
    assert 2 * largest > 2 * rows * min(fraction, 1 - fraction) or fraction == Fraction(1, 2)


def ends(counts, inward, fraction):
    inside = min(Fraction(inward), Fraction(sum(counts), 2))
    return inside if fraction == 0 else sum(counts) - inside


@pytest.mark.parametrize("fraction", [0, 1])
@pytest.mark.parametrize("inward", [0, 1, 2, 5])
def test_the_ends_move_by_at_most_one_for_each_row(fraction, inward):
    for counts, move in product(HISTOGRAMS, moves(1)):
        more = [count + step for count, step in zip(counts, move, strict=True)]
        for place in range(3):
            before = rank_distance(counts, ends(counts, inward, fraction), place)
            after = rank_distance(more, ends(more, inward, fraction), place)
            assert abs(after - before) <= 1


def test_minimum_and_maximum_stay_within_the_data_when_there_is_enough_of_it():
    counts = np.zeros(1000, dtype=np.int64)
    counts[400:600] = 50
    mechanism = Quantiles(fractions=(0, 1), scale=1, candidates=1000)
    inside = 0
    for _ in range(100):
        low, high = mechanism.release(counts)
        inside += 400 <= low <= 402 and 597 <= high < 600
    assert inside > 50  # nine in ten are; aiming at rank 0 itself, one in 160,000 would be


@pytest.mark.parametrize("fractions", [(0.5,), (0.1,), QUARTERS, (0, 1), (0.05, 0.95)])
@pytest.mark.parametrize("price", [Pure(epsilon=0.3), ZCDP(rho=0.07), Pure(epsilon=1)])
@pytest.mark.parametrize("rows", [1, 7])
def test_a_price_is_kept_and_used_up(fractions, price, rows):
    sensitivity = Sensitivity.single(rows)
    made = Quantiles.of_price(fractions=fractions, sensitivity=sensitivity, price=price)
    if isinstance(price, Pure):
        assert made.pure_loss(sensitivity) == price
    else:
        assert price.rho * (1 - Fraction(1, 10**15)) < made.loss(sensitivity).rho <= price.rho


@pytest.mark.parametrize(
    ("sensitivity", "price"),
    [(Sensitivity.single(0), Pure(epsilon=1)), (ONE, Pure(epsilon=0)), (ONE, ZCDP(rho=0))],
)
def test_a_price_of_nothing_is_refused(sensitivity, price):
    with pytest.raises(InvalidValue):
        Quantiles.of_price(fractions=(0.5,), sensitivity=sensitivity, price=price)


def test_the_loss_counts_every_fraction_and_all_rows_of_a_unit():
    mechanism = Quantiles(fractions=QUARTERS, scale=2)
    spread = Sensitivity(groups=3, per_group=2, total=4)
    assert mechanism.pure_loss(ONE).epsilon == 2  # 2 * (3/4 + 1/2 + 3/4)/2
    assert mechanism.loss(ONE).rho == Fraction(11, 64)  # (9 + 4 + 9)/16 * 1/8
    assert mechanism.pure_loss(spread).epsilon == 8
    assert mechanism.loss(spread).rho == 16 * Fraction(11, 64)


def test_error_grows_with_what_is_asked():
    def error(**named):
        defaults = {"fractions": (0.5,), "scale": 2, "candidates": 100}
        return Quantiles(**{**defaults, **named}).error(0.95)

    assert error() < error(fractions=QUARTERS) < error(fractions=(0, 0.25, 0.5, 0.75))
    assert error() < error(candidates=1000)
    assert error(scale=4) == pytest.approx(2 * error())
    assert error(candidates=1) == 0


@pytest.mark.parametrize("scale", [Fraction(1, 10**150), Fraction(3, 7), Fraction(10**150)])
def test_rank_gaps_are_distances_over_the_scale(scale):
    """Ranks 0 to 3, 3 to 8 and 8 to 9; the target is 9/2, so distances are 3/2, 0 and 7/2."""
    upto = np.array([3, 8, 9])
    gaps = rank_gaps(upto - np.array([3, 5, 1]), upto, 9, 2, scale)
    assert [gaps.exactly(place) * scale for place in range(3)] == [
        Fraction(3, 2),
        Fraction(0),
        Fraction(7, 2),
    ]
