"""Running sums: the noise is the stated one, sums miss their stated widths as often as said, and
the error stays under that of the theorem.
"""

import math

import numpy as np

from discreet.streams.counter.factorisation import ONE, Factorisation
from discreet.streams.counter.running_sums import RunningSums, Track
from support.fit import check_fit, check_rate, check_rate_at_most, rejects

STREAM = [3, 0, 7, 1, 12, 5, 0, 9]


def drawn(running, exact, runs):
    return [running.extend(Track(), exact) for _ in range(runs)]


def normal_below(variance):
    return lambda value: 0.5 * math.erfc(-(value + 0.5) / math.sqrt(2 * variance))


def differences(running, exact, runs):
    """What was added to the encoding, all steps of all runs."""
    encoded = np.array(running.factorisation.encode(exact))
    return np.array([track.noisy for track in drawn(running, exact, runs)]) - encoded


def test_the_noise_on_the_encoding_is_discrete_gaussian():
    variance = 10**8  # so wide that the rounded normal is the discrete one to 1e-9
    running = RunningSums(steps=8, variance=variance)
    found = differences(running, STREAM, 4000).ravel()
    check_fit(found, normal_below(variance), name="noise of running sums")
    assert rejects(check_fit, found * 13 // 10, normal_below(variance), name="too wide")


def test_small_noise_is_exactly_discrete():
    running = RunningSums(steps=8, variance=1)
    weights = {value: math.exp(-(value**2) / 2) for value in range(-12, 13)}
    total = sum(weights.values())
    law = {value: weight / total for value, weight in weights.items()}
    check_fit(differences(running, STREAM, 4000).ravel(), law, name="small noise of running sums")


def test_parts_of_a_stream_have_independent_noise():
    running = RunningSums(steps=8, variance=10**8)
    same = 0
    for _ in range(2000):
        track = running.extend(Track(), STREAM[:4])
        track = running.extend(track, STREAM[4:])
        same += (track.noise[0] > 0) == (track.noise[4] > 0)
    check_rate(same, 2000, 0.5, name="signs of noise in two parts agree half of the time")


def test_sums_miss_their_widths_as_often_as_said():
    running = RunningSums.at_price(rho=0.5, steps=8, per_step=1, touched=1)
    truth, widths = np.cumsum(STREAM), running.errors(0.9)
    found = np.array([running.sums(track) for track in drawn(running, STREAM, 4000)])
    missed = np.abs(found - truth) > widths
    for step in (0, 7):
        check_rate(int(missed[:, step].sum()), 4000, 0.1, name=f"misses at step {step}")
    halved = np.abs(found - truth) > widths / 2
    assert rejects(check_rate_at_most, int(halved[:, 7].sum()), 4000, 0.1, name="half the width")


def test_the_largest_error_is_under_the_theorem():
    """sqrt(2 ln(2T/b)) times the product of the norms bounds all steps together, but for b."""
    steps, missed, rho = 64, 0.05, 0.5
    running = RunningSums.at_price(rho=rho, steps=steps, per_step=1, touched=1)
    norm = math.sqrt(Factorisation(steps).norm_squared(1)) / ONE
    bound = norm**2 / math.sqrt(2 * rho) * math.sqrt(2 * math.log(2 * steps / missed))
    assert norm**2 <= 1 + (0.5772 + math.log(steps)) / math.pi + 0.2  # the growth of FHU23
    exact = [place % 5 for place in range(steps)]
    truth = np.cumsum(exact)
    largest = [np.abs(running.sums(t) - truth).max() for t in drawn(running, exact, 400)]
    check_rate_at_most(
        int((np.array(largest) > bound).sum()), 400, missed, name="errors of all steps together"
    )
