"""Thresholdout audited: a run keeps its price; three planted shortcuts do not."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.noise.discrete import discrete_laplace
from discreet.streams.thresholdout import Thresholdout
from support.fit import counted

EPSILON = Fraction(1)
TRAINING, THRESHOLD = 100, 4
BEFORE, AFTER = (104, 105, 104, 105), (105, 104, 105, 104)  # one unit moves every sum by one
PAIRS, SAMPLES = [(BEFORE, AFTER)], 1500


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


def compares_without_noise(exact, count):
    """Which question is the first disagreement, when only the threshold has noise."""
    scale = mechanism().numeric.sparse.threshold_scale
    level = THRESHOLD + discrete_laplace(scale=scale, size=count)
    gaps = np.abs(np.array(exact) - TRAINING)
    above = gaps >= level[:, None]
    return np.where(above.any(axis=1), above.argmax(axis=1), len(exact))


def forgets_to_count(exact):
    """Goes on after its disagreement, with the noise of one: the mean of the numbers is exact."""
    noise = DiscreteLaplace(scale=mechanism().numeric.number_scale)
    return int(noise.release(np.full(400, exact[0])).sum()) // 100


def test_a_run_keeps_its_price():
    claim = mechanism().loss(Sensitivity.single(1))
    assert claim == Pure(epsilon=EPSILON)
    rate = counted("audit of a holdout")
    assert not audit(honest, claim, pairs=PAIRS, samples=SAMPLES, false_alarm=rate).violated


@pytest.mark.parametrize(
    ("planted", "samples"),
    [(says_the_exact_sum, 500), (compares_without_noise, 20_000), (forgets_to_count, 1000)],
)
def test_planted_shortcuts_are_caught(planted, samples):
    assert audit(planted, Pure(epsilon=EPSILON), pairs=PAIRS, samples=samples).violated
