"""The factorisation of running sums: integers that invert exactly, and the norm at its worst."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.streams.counter.factorisation import MOST_STEPS, ONE, Factorisation
from discreet.streams.counter.running_sums import RunningSums, Track


def moved(factorisation, change):
    """The squared length of what the encoder makes of a change."""
    return sum(value**2 for value in factorisation.encode(list(change)))


@pytest.mark.parametrize("steps", [1, 2, 7, 300, MOST_STEPS])
def test_coefficients_are_the_central_binomials_to_half_a_step(steps):
    encoder = Factorisation(steps).encoder
    assert len(encoder) == steps
    for place in {0, 1, steps // 2, steps - 1}:
        if place < steps:
            wanted = Fraction(comb(2 * place, place), 4**place) * ONE
            assert abs(encoder[place] - wanted) <= Fraction(1, 2) + Fraction(1, 10**6)
    assert all(a >= b for a, b in pairwise(encoder))
    assert min(encoder) > 0


@pytest.mark.parametrize("steps", [1, 5, 40, 700])
def test_decoder_times_encoder_is_the_running_sum(steps):
    factorisation = Factorisation(steps)
    exact = [((17 * place) % 23) - 11 for place in range(steps)]
    encoded = factorisation.encode(exact)
    assert factorisation.recover(encoded) == exact
    assert np.allclose(factorisation.decode(encoded), np.cumsum(exact), atol=1e-6)


def test_integers_of_any_size_invert_exactly():
    factorisation = Factorisation(6)
    exact = [2**70, -(2**70), 3, 0, 2**53 + 1, -1]
    assert factorisation.recover(factorisation.encode(exact)) == exact


def test_rows_from_a_start_are_those_of_the_whole():
    factorisation = Factorisation(8)
    exact = [3, 1, 4, 1, 5, 9, 2, 6]
    assert factorisation.encode(exact, 5) == factorisation.encode(exact)[5:]


@pytest.mark.parametrize("steps", [1, 2, 5, 9])
@pytest.mark.parametrize("touched", [1, 2, 3, 12])
def test_norm_is_the_worst_placement_by_brute_force(steps, touched):
    factorisation = Factorisation(steps)
    places = min(touched, steps)
    worst = max(
        moved(factorisation, [int(place in chosen) for place in range(steps)])
        for chosen in combinations(range(steps), places)
    )
    assert factorisation.norm_squared(touched) == worst


def test_no_sign_or_split_of_a_change_is_worse():
    factorisation = Factorisation(5)
    for change in product(range(-2, 3), repeat=5):
        size = sum(map(abs, change))
        if size <= 4:  # two steps of two each at most
            assert moved(factorisation, change) <= 4 * factorisation.norm_squared(2)


def test_a_norm_that_takes_one_column_for_all_is_too_small():
    """The bug that the brute force must see: two changes priced as one."""
    factorisation = Factorisation(9)
    assert moved(factorisation, [1, 1, 0, 0, 0, 0, 0, 0, 0]) > 2 * factorisation.norm_squared(1)


@pytest.mark.parametrize("steps", [0, -1, MOST_STEPS + 1, True, 2.0, "3", None])
def test_steps_are_checked(steps):
    with pytest.raises(InvalidValue, match="steps is"):
        Factorisation(steps)


@pytest.mark.parametrize("touched", [0, -1, True, 1.0])
def test_touched_is_checked(touched):
    with pytest.raises(InvalidValue, match="touched is"):
        Factorisation(3).norm_squared(touched)


def test_the_price_is_kept_and_nearly_used():
    for rho in (Fraction(1, 7), 0.5, 3):
        running = RunningSums.at_price(rho=rho, steps=100, per_step=5, touched=3)
        loss = running.loss(per_step=5, touched=3).rho
        limit = Fraction(str(rho)) if isinstance(rho, float) else Fraction(rho)
        assert limit * (1 - Fraction(1, 10**12)) <= loss <= limit


def test_a_track_hides_its_noise():
    running = RunningSums(steps=3, variance=2**200)  # of 31 digits, which are nowhere by chance
    track = running.extend(Track(), [1, 2, 3])
    assert "noise" not in repr(track)
    assert str(track.noise[0]) not in repr(track)


def test_what_was_measured_is_not_measured_again():
    running = RunningSums(steps=5, variance=2**50)
    first = running.extend(Track(), [10, 20])
    second = running.extend(first, [30])
    assert second.noisy[:2] == first.noisy
    assert second.noise[:2] == first.noise
    assert len(second.noisy) == 3


def test_parts_of_a_stream_give_the_encoding_of_the_whole():
    running = RunningSums(steps=6, variance=2**45)
    track = Track()
    for part in ([4, 1], [], [7], [0, 2, 5]):
        track = running.extend(track, part)
    encoded = [a - b for a, b in zip(track.noisy, track.noise, strict=True)]
    assert encoded == Factorisation(6).encode([4, 1, 7, 0, 2, 5])


def test_a_stream_has_an_end():
    running = RunningSums(steps=2, variance=1)
    with pytest.raises(InvalidValue, match="2 steps and 1 are measured; 2 more"):
        running.extend(running.extend(Track(), [1]), [1, 1])


def test_a_track_with_a_missing_noise_is_refused():
    with pytest.raises(InvalidValue, match="as many of both"):
        Track((1, 2), (3,))


def test_floats_are_refused():
    with pytest.raises(InvalidValue, match="integers only"):
        RunningSums(steps=2, variance=1).extend(Track(), [1.5])


def test_standard_deviations_follow_from_the_decoder():
    running = RunningSums(steps=64, variance=ONE**2)
    found = running.standard_deviations()
    assert found[0] == 1.0
    assert np.all(np.diff(found) > 0)
    # The square of the last is the sum of the squares of f_k, known in closed form nearly.
    exact = sum(float(Fraction(comb(2 * k, k), 4**k)) ** 2 for k in range(64))
    assert abs(found[-1] ** 2 - exact) < 1e-4


def test_narrow_noise_gets_the_subgaussian_width():
    narrow = RunningSums(steps=4, variance=4).errors(0.95)
    wide = RunningSums(steps=4, variance=2**60).errors(0.95)
    ratio = narrow / RunningSums(steps=4, variance=4).standard_deviations()
    assert np.allclose(ratio, (2 * np.log(40)) ** 0.5)
    assert np.all(wide < 2 * RunningSums(steps=4, variance=2**60).standard_deviations())
