"""The standard error of a model's count is that of the mechanism: over whole syntheses the truth
is seldom far outside it, and errors that are far too small are found out.
"""

import numpy as np

from discreet.loss import Sensitivity
from discreet.noise import system
from discreet.release.synth_domain import Attribute
from discreet.release.synth_loop import develop
from discreet.release.synth_rounds import Cells
from discreet.release.synth_spread import replicas
from support.fit import check_rate_at_most, rejects

RUNS = 60
SIZES = (2, 3, 4)
ATTRIBUTES = tuple(Attribute(str(place), size) for place, size in enumerate(SIZES))
CHOSEN = {0: np.array([0.0, 1.0]), 1: np.array([0.0, 0.0, 1.0])}


def table(count=2000):
    """Rows in which the second column follows the first."""
    places = np.arange(1, count + 1)
    x, y, z = (places * root**0.5 % 1 for root in (2, 3, 5))  # spread evenly, no chance in it
    first = (x < 0.3).astype(np.int64)
    second = np.where(y < 0.8, 2 * first, 1)
    third = np.minimum((4 * z**2).astype(np.int64), 3)
    return Cells(np.stack([first, second, third], axis=1), np.ones(count, dtype=np.int64))


class Memory:
    """Answers steps from rows in memory."""

    def __init__(self, exact):
        self.exact = exact

    def take(self, step):
        return step.release(self.exact, system)


def test_errors_are_those_of_whole_syntheses():
    exact = table()
    truth = ((exact.places[:, 0] == 1) & (exact.places[:, 1] == 2)).sum()
    far = []
    for _ in range(RUNS):
        made = develop(ATTRIBUTES, Memory(exact), rho=0.02, sensitivity=Sensitivity.single(1))
        far.append(abs(made.count(CHOSEN) - truth) / replicas(made, 8).deviation(CHOSEN))
    # Nominally 13% lie beyond 1.5 deviations; the deviation itself is estimated from eight.
    beyond = sum(each > 1.5 for each in far)
    assert check_rate_at_most(beyond, RUNS, 0.35, name="counts beyond 1.5 errors") > 0
    planted = sum(1000 * each > 1.5 for each in far)
    assert rejects(check_rate_at_most, planted, RUNS, 0.35, name="errors far too small")
