"""Sums, choices and histograms of the robust mechanisms: brute-forced sensitivities, exact laws and
more bugs than the catalogue of audits plants, where the mechanisms stand end to end.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.blackbox import audit
from discreet.audit.exact import enumerate_loss
from discreet.loss import ZCDP, Approximate, Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import system
from discreet.rationals import ceil_decimal, log_bounds
from discreet.robust.blocks.blocks import SampleAndAggregate
from discreet.robust.blocks.summaries import BlockMean, BlockMode, Setting
from discreet.robust.moments.balls import coarseness, shrink_to_ball
from discreet.robust.moments.coinpress import CoinPress
from discreet.robust.moments.location import BinWidth, Location
from discreet.robust.moments.spectrum import AnalyzeGauss
from discreet.robust.tested.histogram import StabilityHistogram
from discreet.robust.tested.property import PropertyDistance, rows_outside_clusters
from discreet.robust.tested.stable import mode_distance
from support.fit import check_rate_at_most, rejects
from support.mechanism_laws import exponential_law, laplace_pmf, largest_ratio
from support.robust_estimators import size
from support.robust_laws import checked_law, one_move

HALF = Fraction(1, 2)
LN2 = ceil_decimal(log_bounds(Fraction(2))[1])
DELTA = Fraction(1, 50)


# Distance from a property: one exact law.


def test_the_distance_from_a_property_uses_exactly_its_loss():
    def law(exact, ratio):
        return [laplace_pmf(ratio, output - exact) for output in range(-20, 30)]

    before = rows_outside_clusters([0, 1, 2, 50], clusters=1, width=3)
    after = rows_outside_clusters([0, 1, 2, 50, 90, 91], clusters=1, width=3)
    assert after - before == 2  # a unit of two rows
    assert largest_ratio(law(before, HALF), law(after, HALF)) == 4
    honest = PropertyDistance(epsilon=2 * LN2, rows_per_unit=2)
    assert math.exp(-1 / honest.noise.scale) == pytest.approx(0.5)
    forgetful = PropertyDistance(epsilon=2 * LN2)  # one row a unit: twice as bold
    assert largest_ratio(law(before, HALF**2), law(after, HALF**2)) == 16
    assert math.exp(-1 / forgetful.noise.scale) == pytest.approx(0.25)


# The scale of a column: scores against brute force, then the exact law.


@given(rows=st.lists(st.integers(-9, 9), max_size=8).map(lambda rows: tuple(sorted(rows))))
@settings(max_examples=60)
def test_one_row_moves_the_score_of_a_width_by_half_a_row(rows):
    before = BinWidth.scores(list(rows))
    for neighbour in one_move(rows, range(-9, 10, 3)):
        after = BinWidth.scores(list(neighbour))
        assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1


def width_law(rows, ratio):
    return exponential_law([ratio**-score for score in BinWidth.scores(list(rows))])


def test_the_choice_of_a_width_keeps_its_epsilon_and_a_bolder_one_does_not():
    pairs = [((0, 1), (0, 1, 1)), ((0, 5, 9), (0, 5)), ((3,) * 4, (3,) * 4 + (8,)), ((), (1,))]
    ratio = [largest_ratio(width_law(a, HALF), width_law(b, HALF)) for a, b in pairs]
    bolder = [largest_ratio(width_law(a, HALF**3), width_law(b, HALF**3)) for a, b in pairs]
    claim = BinWidth(epsilon=2 * LN2)
    assert math.exp(-1 / claim.mechanism.scale) == pytest.approx(0.5)
    assert max(ratio) <= 4 < max(bolder)


# Rows within a ball: never longer than said, whatever they are.


@given(
    rows=st.lists(
        st.lists(st.integers(-(2**60), 2**60) | st.integers(-50, 50), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    ),
    centre=st.lists(st.integers(-(2**60), 2**60), min_size=3, max_size=3),
    radius=st.integers(1, 2**61) | st.integers(1, 90),
)
def test_held_rows_are_never_longer_than_the_radius(rows, centre, radius):
    bits = coarseness(radius, 1 << 26)
    limit = radius >> bits
    kept = shrink_to_ball(np.array(rows), np.array(centre), limit, bits)
    assert all(sum(int(value) ** 2 for value in row) <= limit**2 for row in kept)
    near = shrink_to_ball(np.array([[3, -4, 0]]), np.zeros(3, dtype=np.int64), 5, 0)
    assert near.tolist() == [[3, -4, 0]]  # what is inside stays


def test_one_row_moves_the_matrix_by_the_square_of_the_radius():
    mechanism = AnalyzeGauss(columns=3, radius=7, rho=HALF)
    for row in product((-9, 0, 4, 7), repeat=3):
        kept = shrink_to_ball(np.array([row]), np.zeros(3, dtype=np.int64), 7, 0)[0]
        upper = np.outer(kept, kept)[np.triu_indices(3)]
        assert int((upper**2).sum()) <= 7**4
    assert mechanism.noise.sigma_squared == 7**4
    assert mechanism.loss().rho == HALF


# Keys nobody declared, with units of several rows.


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_keys_of_one_unit_show_no_more_often_than_delta(rows_per_unit):
    honest = StabilityHistogram(epsilon=1, delta=1e-2, rows_per_unit=rows_per_unit)
    keys = 100_000
    rows = np.repeat(np.arange(keys), rows_per_unit)  # each key: one unit with all its rows
    times = len(honest.release(rows))
    rate = float(honest.mechanism.loss(honest.sensitivity).delta) / honest.sensitivity.groups
    assert times > 0
    assert check_rate_at_most(times, keys, rate, name="keys of one unit") > 0
    three_units = len(honest.release(np.repeat(np.arange(keys), 3 * rows_per_unit)))
    assert rejects(check_rate_at_most, three_units, keys, rate, name="rows counted as units")


# Summaries of blocks: exact laws where a step replaces values.

SETTING = Setting(lattice=Lattice(step=1, lower=0, upper=2), blocks=6, moved=1)
OUTPUTS = list(product(range(3), repeat=6))


def replaced(outputs):
    return [(value, *outputs[1:]) for value in range(3)]


def block_mode_law(outputs, moved):
    mechanism = BlockMode(epsilon=moved * LN2, delta=DELTA).mechanism(SETTING)
    winner, far = mode_distance(np.bincount(outputs, minlength=3), moved=moved)
    return checked_law(
        winner, far, threshold=mechanism.test.threshold, test=HALF, noise=None, reach=0
    )


def test_replacing_a_block_counts_as_two_rows_for_the_mode():
    honest, planted = 0, 0
    for outputs in OUTPUTS[:: len(OUTPUTS) // 120]:
        for other in replaced(outputs):
            for moved in (2, 1):  # as two rows, and as one
                laws = [block_mode_law(one, moved) for one in (outputs, other)]
                claim = Approximate(epsilon=moved * LN2, delta=DELTA)
                caught = enumerate_loss(*laws).violates(claim)
                honest, planted = honest + (caught and moved == 2), planted + (moved == 1 == caught)
    assert BlockMode(epsilon=1, delta=DELTA).mechanism(SETTING).test.moved == 2
    assert honest == 0
    assert planted > 0


# More planted bugs, end to end.


def test_a_location_whose_clipping_looks_at_the_data_is_caught():
    """Sums between the least and the greatest row: one row far out moves them far."""
    mechanism = Location(epsilon=1, delta=DELTA)

    def naive(rows):
        values = np.array(rows)
        reach = int(np.abs(values - 5).max())
        return mechanism._moments(values, 5, max(1, reach), system).total

    pairs = [((5,) * 60, (5,) * 60 + (10**9,))]
    claim = Approximate(epsilon=1, delta=DELTA)
    assert audit(naive, claim, pairs=pairs, samples=1000).violated


def test_a_coinpress_that_forgets_to_clip_is_caught():
    def pressed(rows):
        total = int(np.sum(rows))  # not held within the ball
        noise = CoinPress(columns=1, scale=5, radius=100, rho=0.5, rounds=1)
        return noise._noise(200, noise.shares[1]).release(total)

    pairs = [((0,), (0, 5000))]
    assert audit(pressed, ZCDP(rho=0.5), pairs=pairs, samples=2000).violated


@pytest.mark.soak
def test_sample_and_aggregate_end_to_end():
    """Processes are slow, so few samples: only gross bugs show."""
    lattice = Lattice(step=1, lower=0, upper=4, missing=0)

    def run(units, epsilon):
        mechanism = SampleAndAggregate(
            blocks=4, lattice=lattice, summary=BlockMean(price=Pure(epsilon=epsilon))
        )
        return float(mechanism.release(size, np.zeros(len(units)), list(units)))

    pairs = [((), (7, 7, 7, 7))]
    claim = Pure(epsilon=HALF)
    assert not audit(lambda u: run(u, HALF), claim, pairs=pairs, samples=100).violated
    assert audit(lambda u: run(u, 30), claim, pairs=pairs, samples=100).violated
