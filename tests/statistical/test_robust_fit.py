"""Robust mechanisms against their exact output laws; a planted bug beside each."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, Setting
from discreet.robust.moments.coinpress import CoinPress
from discreet.robust.moments.location import BinWidth, Location
from discreet.robust.moments.spectrum import AnalyzeGauss
from discreet.robust.tested.bounding import LocalBound
from discreet.robust.tested.outcome import Refused
from discreet.robust.tested.propose import ProposeTestRelease
from discreet.robust.tested.reaches import QuantileReach
from discreet.robust.tested.stable import DistanceTest, StableValue
from support.fit import check_fit, check_rate, check_rate_at_most, rejects
from support.mechanism_laws import (
    exponential_law,
    gaussian_weights,
    laplace_cdf,
    laplace_pmf,
    quantile_law,
)
from support.robust_laws import passing

TRIALS = 8000
REFUSED = -(10**6)  # stands for a refusal among integers
SETTING = Setting(lattice=Lattice(step=1, lower=0, upper=4), blocks=5, moved=1)


@pytest.mark.parametrize("distance", [0, 3, 6])
def test_distances_pass_as_often_as_they_should(distance):
    test = DistanceTest(epsilon=1, delta=Fraction(1, 50), moved=2)
    ratio = math.exp(-1 / 2)
    times = sum(test.passes(distance) for _ in range(TRIALS))
    chance = passing(distance, test.threshold, ratio)
    assert check_rate(times, TRIALS, chance, name=f"distance {distance}") > 0
    wrong = passing(distance + 2, test.threshold, ratio)
    assert rejects(check_rate, times, TRIALS, wrong, name="two rows too far")
    if distance == 0:
        assert check_rate_at_most(times, TRIALS, 1 / 50, name="unstable data pass") > 0


def test_proposed_values_fit_a_refusal_and_noise():
    mechanism = ProposeTestRelease(bound=3, epsilon=2, delta=Fraction(1, 20))
    query = QuantileReach(fraction=Fraction(1, 2), lower=0, upper=40)
    rows = [20] * 6
    distance = 5  # six insertions bring the whole range into reach, one of them is a step
    drawn = [mechanism.release(rows, query) for _ in range(TRIALS)]
    values = [REFUSED if isinstance(one, Refused) else one.value for one in drawn]
    chance = passing(distance, mechanism.test.threshold, math.exp(-1))

    def law(value, scale=3.0):
        return (
            1
            - chance
            + chance * (value >= REFUSED + 10**5) * laplace_cdf(math.exp(-1 / scale), value - 20)
            if value >= REFUSED
            else 0.0
        )

    assert 0.2 < chance < 0.98
    assert check_fit(values, law, name="proposed values") > 0
    assert rejects(check_fit, values, lambda value: law(value, 7.0), name="another noise")


def test_stable_values_are_exact_or_refused():
    mechanism = StableValue(epsilon=1, delta=Fraction(1, 20))
    drawn = [mechanism.mode([2, 6, 1]) for _ in range(TRIALS)]
    values = [REFUSED if isinstance(one, Refused) else one.value for one in drawn]
    chance = passing(3, mechanism.test.threshold, math.exp(-1))
    assert check_fit(values, {REFUSED: 1 - chance, 1: chance}, name="a stable mode") > 0
    planted = {REFUSED: 1 - chance, 0: 0.0, 1: chance * 0.9, 2: chance * 0.1}
    assert rejects(check_fit, values, planted, name="a noisy mode")


def test_bounds_and_values_fit_their_mixture():
    mechanism = LocalBound(epsilon=2, delta=Fraction(1, 20), drift=2)
    drawn = [mechanism.release(100, 30) for _ in range(TRIALS)]
    ratio = math.exp(-1 / 2)
    offset = 30 + mechanism.margin

    def bound_law(value):
        return laplace_cdf(ratio, value - offset) if value >= 1 else 0.0

    bounds = [one.bound for one in drawn]
    assert check_fit(bounds, bound_law, name="bounds") > 0
    assert rejects(check_fit, [bound - 1 for bound in bounds], bound_law, name="a bound less")
    weights = {max(1, offset + x): laplace_pmf(ratio, x) for x in range(-60, 61)}

    def value_law(value):
        return math.fsum(
            weight * laplace_cdf(math.exp(-1 / bound), value - 100)
            for bound, weight in weights.items()
        )

    values = [one.noisy for one in drawn]
    assert check_fit(values, value_law, name="values with noise for a noisy bound") > 0
    fixed = math.exp(-1 / (0.4 * offset))
    assert rejects(check_fit, values, lambda v: laplace_cdf(fixed, v - 100), name="fixed noise")


def test_the_mean_of_blocks_fits_its_noise():
    summary = BlockMean(price=Pure(epsilon=8))
    outputs = np.array([2, 2, 2, 2, 1])
    drawn = [int(5 * summary.release(outputs, SETTING)) for _ in range(TRIALS)]

    def law(total, scale=0.5):
        if total < 0:
            return 0.0
        return 1.0 if total >= 20 else laplace_cdf(math.exp(-1 / scale), total - 9)

    assert check_fit(drawn, law, name="block means") > 0
    assert rejects(check_fit, drawn, lambda total: law(total, 1.0), name="twice the noise")


def test_the_median_of_blocks_fits_the_exponential_mechanism():
    summary = BlockMedian(price=Pure(epsilon=2))
    outputs = np.array([0, 1, 1, 3, 4])
    counts = np.bincount(outputs, minlength=5)
    drawn = [int(summary.release(outputs, SETTING)) for _ in range(2500)]

    def law(scale):
        found = quantile_law(counts, [Fraction(5, 2)], math.exp(-1 / (2 * scale)), 2)
        return {place[0] if isinstance(place, tuple) else place: p for place, p in found.items()}

    assert summary.mechanism(SETTING).scale == 1
    assert check_fit(drawn, law(1.0), name="block medians") > 0
    assert rejects(check_fit, drawn, law(8.0), name="eight times the scale")


def test_the_width_fits_the_exponential_mechanism():
    mechanism = BinWidth(epsilon=2)
    rows = [0, 1, 2, 3, 40, 50, 60, 900]
    drawn = [mechanism.release(rows) for _ in range(700)]

    def law(scale):
        weights = [math.exp(score / scale) for score in BinWidth.scores(rows)]
        return dict(enumerate(exponential_law(weights)))

    assert check_fit(drawn, law(1.0), name="widths") > 0
    assert rejects(check_fit, drawn, law(4.0), name="four times the scale")


def test_matrices_and_sums_fit_the_discrete_gaussian():
    rows = np.array([[3, 4], [30, 40]])  # the second is shrunk to (3, 4)
    mechanism = AnalyzeGauss(columns=2, radius=5, rho=Fraction(25, 2))
    drawn = np.array([mechanism.release(rows).matrix for _ in range(2500)])

    def cdf_around(centre, variance):
        weights = gaussian_weights(variance)
        return lambda value: math.fsum(w for x, w in weights.items() if x <= value - centre)

    for entry, centre in (((0, 0), 18), ((0, 1), 24)):
        values = drawn[:, entry[0], entry[1]]
        assert check_fit(values, cdf_around(centre, 25.0), name=f"entry {entry}") > 0
        assert rejects(check_fit, values, cdf_around(centre, 144.0), name="more noise")
    assert (drawn == drawn.transpose(0, 2, 1)).all()


def test_the_intervals_of_the_noise_cover():
    """The mean of CoinPress and of the location lie within what their noise allows."""
    rng = np.random.default_rng()
    missed_ball, missed_place, trials = 0, 0, 40
    for _ in range(trials):
        rows = np.rint(rng.normal([10**6, -(10**5)], 1000, (3000, 2))).astype(np.int64)
        press = CoinPress(columns=2, scale=1000, radius=10**8, rho=0.5).release(rows)
        off = math.dist([float(m) for m in press.mean], [10**6, -(10**5)])
        missed_ball += off > press.radius
        found = Location(epsilon=2, delta=1e-6).release(rows[:, 0])
        missed_place += isinstance(found, Refused) or abs(found.value.mean - 10**6) > 400
    assert check_rate_at_most(missed_ball, trials, 0.05, name="CoinPress leaves its ball") > 0
    assert check_rate_at_most(missed_place, trials, 0.05, name="a location is off") > 0
    assert rejects(check_rate_at_most, trials // 2, trials, 0.05, name="half of them miss")
