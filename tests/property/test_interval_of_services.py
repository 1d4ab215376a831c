"""What monitors, holdouts, joint questions and robust estimates say of their error holds on every
column and stream: crowded at one distance, with gaps, of two points, heavy in the tails. Nothing
is sampled: each probability is summed from the exact law of the noise.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms import DiscreteLaplace, Lattice
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, BlockMode, Setting
from discreet.robust.tested.bounding import BoundedValue
from discreet.robust.tested.property import PropertyDistance
from discreet.robust.tested.propose import ProposeTestRelease
from discreet.robust.tested.stable import DistanceTest, mode_distance
from discreet.streams.svt.above_threshold import AboveThreshold
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.sparse import Sparse, Thresholds
from support.candidate_laws import choice_laws
from support.fit import rejects
from support.sparse_laws import at_least, chance

ONE = Sensitivity.single(1)
QUERIES = 60
SETTING = Setting(lattice=Lattice(step=Fraction(1, 2), lower=0, upper=100), blocks=50, moved=1)


def missed(scale, width):
    """The exact probability that discrete Laplace noise is farther off than a width."""
    return 2 * float(at_least(np.array(math.floor(width) + 1), float(scale)))


def check_width(scale, width):
    """At least 95%, and no wider than the noise needs."""
    assert missed(scale, width) <= 0.05 + 1e-12
    assert width < 1 or missed(scale, width - 1) > 0.05


def _numbers(**price):
    sparse = NumericSparse.of(alarms=3, sensitivity=ONE, **price)
    return sparse.number_scale, sparse.number_error(0.95)


def _propose(**price):
    made = ProposeTestRelease(bound=5, **price)
    return made.noise.scale, made.error(0.95)


def _mean(price):
    mean = BlockMean(price=price)
    steps = mean.error(0.95, SETTING) / float(SETTING.lattice.step) * SETTING.blocks
    return mean.noise(SETTING).scale, round(steps)


WIDTHS = {
    "a number with an alarm, of a monitor or a holdout": lambda: _numbers(epsilon=1),
    "the same for rho": lambda: _numbers(rho=Fraction(1, 50)),
    "the same for much": lambda: _numbers(epsilon=60),
    "a number of rows to go": lambda: (2, PropertyDistance(epsilon=Fraction(1, 2)).error(0.95)),
    "a value that was tested": lambda: _propose(epsilon=1, delta=1e-6),
    "a value behind a bound": lambda: (
        Fraction(9, 2),
        BoundedValue(noisy=7, bound=2, scale=Fraction(9, 2)).error(0.95),
    ),
    "a mean of blocks": lambda: _mean(Pure(epsilon=1)),
    "a mean of blocks for little": lambda: _mean(Pure(epsilon=Fraction(1, 100))),
}


@pytest.mark.parametrize("what", WIDTHS)
def test_noise_is_within_its_half_width(what):
    check_width(*WIDTHS[what]())


@pytest.mark.parametrize("scale", [1, 3, 100])
def test_the_width_of_another_law_would_be_found(scale):
    """1.96 deviations, which hold for the normal law only."""
    deviation = float(DiscreteLaplace(scale=scale).variance) ** 0.5
    assert rejects(check_width, scale, math.floor(1.96 * deviation))


def streams(reach, alarms):
    """Distances from thresholds, all beyond `reach`, of which at most `alarms` are above."""
    far = math.floor(reach) + 1
    below = [-far] * (QUERIES - alarms)
    yield "crowded below", [-far] * QUERIES
    yield "crowded, then above", [*below, *[far] * alarms]
    yield "above at once", [*[far] * alarms, *below]
    yield "two points", [*[far, -far] * alarms, *[-far] * (QUERIES - 2 * alarms)]
    yield "gappy", [-far if place % 3 else -50 * far for place in range(QUERIES)]
    yield "heavy tails", [-far * QUERIES // (1 + place) - 1 for place in range(QUERIES)]
    yield "heavy above", [*below, *(far * 2**place for place in range(alarms))]


def wrong(mechanism, margins):
    """The exact probability that anything is called by the wrong side, up to the last alarm."""
    scales = float(mechanism.threshold_scale), float(mechanism.query_scale)
    said = [margin > 0 for margin in margins]
    alarms = getattr(mechanism, "alarms", 1)
    ends = [place + 1 for place, above in enumerate(said) if above]
    if len(ends) == alarms:
        margins = margins[: ends[-1]]
    if getattr(mechanism, "thresholds", None) is not Thresholds.FRESH:
        return 1 - chance(margins, said, *scales)
    cuts = [0, *(end for end in ends if end < len(margins)), len(margins)]
    parts = itertools.pairwise(cuts)
    return 1 - math.prod(chance(margins[a:b], said[a:b], *scales) for a, b in parts)


def check_sides(mechanism, reach):
    alarms = getattr(mechanism, "alarms", 1)
    for name, margins in streams(reach, alarms):
        assert wrong(mechanism, margins) <= 0.05 + 1e-9, name


MONITORS = {
    "one alarm": AboveThreshold.of(epsilon=0.5, sensitivity=ONE),
    "three alarms": Sparse.of(epsilon=0.5, alarms=3, sensitivity=ONE),
    "three alarms of a sum": Sparse.of(epsilon=2, alarms=3, sensitivity=Sensitivity.single(40)),
    "fresh thresholds": Sparse.of(rho=0.2, alarms=3, sensitivity=ONE),
    "for much": Sparse.of(epsilon=30, alarms=2, sensitivity=ONE),
}


@pytest.mark.parametrize("name", MONITORS)
def test_a_monitor_takes_no_side_that_is_farther_off_than_it_says(name):
    mechanism = MONITORS[name]
    check_sides(mechanism, mechanism.error(0.95, queries=QUERIES))


@pytest.mark.parametrize("name", ["one alarm", "three alarms", "fresh thresholds"])
def test_a_shorter_distance_would_be_found(name):
    mechanism = MONITORS[name]
    assert rejects(check_sides, mechanism, mechanism.error(0.95, queries=QUERIES) * 0.8)


def passing(test, distance):
    """The exact probability that a distance passes its test."""
    return float(at_least(np.array(test.threshold + 1 - int(distance)), float(test.scale)))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-3"])
def test_a_distance_as_far_as_is_said_passes(epsilon, delta):
    test = DistanceTest(epsilon=Fraction(epsilon), delta=Fraction(delta))
    needed = test.error(0.95)
    assert passing(test, needed) >= 0.95 - 1e-12
    assert passing(test, needed - 2) < 0.95


BLOCKS = {
    "crowded": [100] * 48 + [0, 200],
    "gappy": [place % 4 for place in range(25)] + [200] * 25,
    "two points": [0] * 30 + [200] * 20,
    "heavy tails": [200 // (1 + place) for place in range(50)],
    "constant": [77] * 50,
}


@pytest.mark.parametrize("shape", BLOCKS)
@pytest.mark.parametrize("price", [Pure(epsilon=1), Pure(epsilon=9), ZCDP(rho=Fraction(1, 2))])
def test_a_median_of_blocks_is_as_near_in_ranks_as_is_said(shape, price):
    values, median = np.sort(BLOCKS[shape]), BlockMedian(price=price)
    counts = np.bincount(values, minlength=SETTING.steps + 1)
    [law] = choice_laws(median.mechanism(SETTING), counts)
    upto = np.cumsum(counts)
    off = np.maximum(0, np.maximum(upto - counts - 25, 25 - upto))
    reach = median.error(0.95, SETTING)
    assert np.exp(law)[off > reach].sum() <= 0.05 + 1e-9


@pytest.mark.parametrize("place", [0, 7, 200])
def test_a_value_that_leads_by_as_much_as_is_said_is_shown(place):
    mode = BlockMode(epsilon=1, delta=1e-6)
    lead = int(mode.error(0.95, SETTING))
    counts = np.zeros(SETTING.steps + 1, dtype=np.int64)
    counts[3] = 1
    counts[place] = 1 + lead
    test = mode.mechanism(SETTING).test
    winner, distance = mode_distance(counts, moved=test.moved)
    assert winner == place
    # `passes` counts in units that move `moved` rows, as the noise of the test does.
    assert passing(test, distance) >= 0.95 - 1e-12
