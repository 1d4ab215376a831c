"""Running sums audited: the whole stream keeps its price, and planted shortcuts are caught."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import ZCDP
from discreet.noise.discrete import discrete_gaussian
from discreet.streams.factorisation import Factorisation
from discreet.streams.running_sums import RunningSums, Track
from support.fit import counted

STEPS, RHO = 6, Fraction(2)
BEFORE = (4, 1, 0, 3, 2, 5)
AFTER = (5, 2, 0, 3, 2, 5)  # a unit with a row in each of the first two steps
SAMPLES = 2000


def direction(samples):
    """The statistic that tells the neighbours apart best: how far along their difference."""
    difference = np.array(Factorisation(STEPS).encode([1, 1, 0, 0, 0, 0]), dtype=float)
    difference /= np.linalg.norm(difference)
    base = np.array(Factorisation(STEPS).encode(BEFORE), dtype=float)
    return np.round((samples - base) @ difference / 2**26).astype(np.int64)


def honest(exact, count):
    running = RunningSums.at_price(rho=RHO, steps=STEPS, per_step=1, touched=2)
    noisy = [running.extend(Track(), list(exact)).noisy for _ in range(count)]
    return direction(np.array(noisy, dtype=float))


def one_column(exact, count):
    """Priced as if a unit changed one step only."""
    running = RunningSums.at_price(rho=RHO, steps=STEPS, per_step=1, touched=1)
    noise = discrete_gaussian(variance=running.variance, size=count * STEPS)
    encoded = np.array(running.factorisation.encode(list(exact)))
    return direction((encoded + noise.reshape(count, STEPS)).astype(float))


def same_noise_again(exact, count):
    """Measured twice with the same noise, once before the unit came: the difference is exact."""
    running = RunningSums.at_price(rho=RHO, steps=STEPS, per_step=1, touched=2)
    found = []
    for _ in range(count):
        track = running.extend(Track(), list(exact))
        again = [
            a + b for a, b in zip(Factorisation(STEPS).encode(BEFORE), track.noise, strict=True)
        ]
        found.append(sum(a - b for a, b in zip(track.noisy, again, strict=True)))
    return np.array(found)


def price(touched=2):
    return RunningSums.at_price(rho=RHO, steps=STEPS, per_step=1, touched=touched).loss(
        per_step=1, touched=touched
    )


def test_the_price_of_a_stream_is_not_contradicted():
    rate = counted("audit of a stream")
    verdict = audit(honest, price(), pairs=[(BEFORE, AFTER)], samples=SAMPLES, false_alarm=rate)
    assert not verdict.violated


def test_a_tenth_of_the_price_would_be_contradicted():
    claim = ZCDP(rho=RHO / 10)
    assert audit(honest, claim, pairs=[(BEFORE, AFTER)], samples=SAMPLES).violated


@pytest.mark.parametrize(("planted", "samples"), [(one_column, 40_000), (same_noise_again, 600)])
def test_planted_shortcuts_are_caught(planted, samples):
    assert audit(planted, price(), pairs=[(BEFORE, AFTER)], samples=samples).violated
