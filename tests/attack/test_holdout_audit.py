"""Thresholdout audited: a run keeps its price; three planted shortcuts do not."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.streams.run import Standing
from discreet.streams.thresholdout import Thresholdout

EPSILON = Fraction(1)
TRAINING, THRESHOLD = 100, 4
BEFORE, AFTER = (104, 105, 104, 105), (105, 104, 105, 104)  # one unit moves every sum by one
PAIRS, SAMPLES = [(BEFORE, AFTER)], 2000


def mechanism():
    return Thresholdout.of(epsilon=EPSILON, overfits=1, sensitivity=Sensitivity.single(1))


def run(exact, step):
    """What is said of all questions until the one disagreement."""
    made, said = mechanism(), []
    standing = made.begin()
    for each in exact:
        number, standing = step(made, standing, each)
        said.append(number)
        if number is not None:
            break
    return tuple(said)


def honestly(made, standing, exact):
    return made.step(standing, exact, training=TRAINING, threshold=THRESHOLD)


def honest(exact):
    return run(exact, honestly)


def says_the_exact_sum(exact):
    def step(made, standing, each):
        number, after = honestly(made, standing, each)
        return (None if number is None else each), after

    return run(exact, step)


def compares_without_noise(exact):
    def step(made, standing, each):
        above = abs(each - TRAINING) >= THRESHOLD + standing.noise
        number = DiscreteLaplace(scale=made.numeric.number_scale).release(each)
        return (number if above else None), Standing(standing.noise, standing.used + above)

    return len(run(exact, step))


def forgets_to_count(exact):
    """Goes on after its disagreement, with the noise of one: the mean of the numbers is exact."""
    noise = DiscreteLaplace(scale=mechanism().numeric.number_scale)
    return int(noise.release(np.full(400, exact[0])).sum()) // 100


def test_a_run_keeps_its_price():
    claim = mechanism().loss(Sensitivity.single(1))
    assert claim == Pure(epsilon=EPSILON)
    assert not audit(honest, claim, pairs=PAIRS, samples=SAMPLES).violated


@pytest.mark.parametrize("planted", [says_the_exact_sum, compares_without_noise, forgets_to_count])
def test_planted_shortcuts_are_caught(planted):
    assert audit(planted, Pure(epsilon=EPSILON), pairs=PAIRS, samples=SAMPLES).violated
