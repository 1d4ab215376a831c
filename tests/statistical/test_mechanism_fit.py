"""Every mechanism against its exact distribution, with fresh bits, and the bugs the same checks
must catch.
"""

import math

import numpy as np
import pytest

from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.additive.lattice import Lattice, Rounded
from discreet.mechanisms.hamming import HammingNoise
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.metric import MetricNoise
from discreet.mechanisms.selection.noisy_max import MaxNoise, NoisyMax
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.top_k import TopK
from support.fit import check_fit, check_rate, rejects
from support.mechanism_laws import (
    difference_pmf,
    exponential_law,
    gap_law,
    gaussian_weights,
    laplace_cdf,
    noisy_max_law,
    permute_and_flip_law,
    top_k_law,
)

MANY = 400_000
SOME = 6_000
SCORES = [3, 0, 5, 5, -2]


def laplace(scale):
    return lambda value: laplace_cdf(math.exp(-1 / scale), value)


def gaussian(sigma):
    weights = gaussian_weights(sigma**2)
    far = max(weights)
    running = np.cumsum([weights[x] for x in range(-far, far + 1)])
    return lambda value: float(running[min(value, far) + far]) if value >= -far else 0.0


def mapping(law):
    return {index: float(chance) for index, chance in enumerate(law)}


@pytest.mark.parametrize("scale", [0.5, 1, 20])
def test_discrete_laplace_fits(scale):
    noisy = DiscreteLaplace(scale=scale).release(np.full(MANY, 7, dtype=np.int64))
    assert check_fit(noisy - 7, laplace(scale), name=f"laplace {scale}") > 0


@pytest.mark.parametrize("sigma", [0.5, 1, 20])
def test_discrete_gaussian_fits(sigma):
    noisy = DiscreteGaussian(sigma=sigma).release(np.full(MANY, -7, dtype=np.int64))
    assert check_fit(noisy + 7, gaussian(sigma), name=f"gaussian {sigma}") > 0


def test_scalars_and_lists_fit_too():
    mechanism = DiscreteLaplace(scale=2)
    noisy = [mechanism.release(10**30) - 10**30 for _ in range(SOME)]
    assert check_fit(noisy, laplace(2), name="laplace, one at a time") > 0
    listed = mechanism.release([10**30] * SOME)
    assert check_fit([v - 10**30 for v in listed], laplace(2), name="laplace, a list") > 0


@pytest.mark.parametrize(
    ("bug", "broken"),
    [
        ("half noise", lambda: DiscreteLaplace(scale=0.5).release(np.zeros(MANY, np.int64))),
        ("10% too little", lambda: DiscreteLaplace(scale=0.9).release(np.zeros(MANY, np.int64))),
        ("off by one", lambda: DiscreteLaplace(scale=1).release(np.ones(MANY, np.int64))),
        (
            "continuous noise rounded",
            lambda: np.rint(np.random.default_rng().laplace(0, 1, MANY)).astype(np.int64),
        ),
        ("Gaussian instead", lambda: DiscreteGaussian(sigma=1).release(np.zeros(MANY, np.int64))),
    ],
)
def test_laplace_bugs_are_caught(bug, broken):
    assert rejects(check_fit, broken(), laplace(1), name=bug)


@pytest.mark.parametrize(
    ("bug", "broken"),
    [
        ("half noise", lambda: DiscreteGaussian(sigma=0.5).release(np.zeros(MANY, np.int64))),
        ("10% too little", lambda: DiscreteGaussian(sigma=0.9).release(np.zeros(MANY, np.int64))),
        ("off by one", lambda: DiscreteGaussian(sigma=1).release(np.ones(MANY, np.int64))),
        (
            "continuous noise rounded",
            lambda: np.rint(np.random.default_rng().normal(0, 1, MANY)).astype(np.int64),
        ),
    ],
)
def test_gaussian_bugs_are_caught(bug, broken):
    assert rejects(check_fit, broken(), gaussian(1), name=bug)


def differences(noisy):
    return noisy[0::2] - noisy[1::2]


def difference_law():
    ratio = math.exp(-1)
    return {d: difference_pmf(ratio, d) for d in range(-99, 100)}


def test_coordinates_are_independent_and_reused_noise_is_caught():
    mechanism = DiscreteLaplace(scale=1)
    noisy = mechanism.release(np.zeros(MANY, dtype=np.int64))
    assert check_fit(differences(noisy), difference_law(), name="differences") > 0
    reused = np.repeat(mechanism.release(np.zeros(MANY // 2, dtype=np.int64)), 2)
    assert rejects(check_fit, differences(reused), difference_law(), name="reused noise")
    opposite = reused * np.tile([1, -1], MANY // 2)
    assert rejects(check_fit, differences(opposite), difference_law(), name="mirrored noise")


def test_rounded_fits_on_its_lattice():
    lattice = Lattice(step=0.25, lower=0, upper=10)
    mechanism = Rounded(mechanism=DiscreteLaplace(scale=2), lattice=lattice)
    noisy = mechanism.release([7.3] * SOME)
    steps = [value / lattice.step - 29 for value in noisy]  # 7.3 rounds to 29 quarters
    assert check_fit([int(s) for s in steps], laplace(2), name="rounded") > 0
    assert {s.denominator for s in steps} == {1}


def drawn(mechanism, exact, count=SOME):
    return [mechanism.release(exact) for _ in range(count)]


def weights(scale, scores=SCORES):
    return [math.exp((score - max(scores)) / scale) for score in scores]


@pytest.mark.parametrize("form", [list, np.array])
def test_exponential_fits(form):
    law = mapping(exponential_law(weights(3)))
    found = drawn(Exponential(scale=3), form(SCORES))
    assert check_fit(found, law, name=f"exponential {form.__name__}") > 0


def test_exponential_with_half_the_scale_is_caught():
    law = mapping(exponential_law(weights(3)))
    assert rejects(check_fit, drawn(Exponential(scale=1.5), SCORES), law, name="half scale")


def test_permute_and_flip_in_place_of_exponential_is_caught():
    scores = [5, 0, 0, 0, 0]  # far enough apart: 0.57 and 0.69 for the best, 18 deviations
    law = mapping(exponential_law(weights(3, scores)))
    sharp = drawn(PermuteAndFlip(scale=3), scores)
    assert rejects(check_fit, sharp, law, name="permute-and-flip instead")


@pytest.mark.parametrize(
    "mechanism", [PermuteAndFlip(scale=3), NoisyMax(scale=3, noise="exponential")]
)
def test_permute_and_flip_fits(mechanism):
    law = mapping(permute_and_flip_law(weights(3)))
    assert check_fit(drawn(mechanism, SCORES), law, name=type(mechanism).__name__) > 0


def test_permute_and_flip_is_noisy_max_with_exponential_noise():
    """Floats are good enough to tell two distributions apart."""
    noise = np.random.default_rng().exponential(3, (MANY, len(SCORES)))
    found = np.argmax(np.array(SCORES) + noise, axis=1)
    law = mapping(permute_and_flip_law(weights(3)))
    assert check_fit(found, law, name="exponential noise") > 0


def test_noisy_max_with_laplace_noise_fits():
    law = noisy_max_law(SCORES, math.exp(-1 / 3), 120)
    assert sum(law) == pytest.approx(1, abs=1e-13)
    many = 2 * SOME
    found = drawn(NoisyMax(scale=3), np.array(SCORES), many)
    assert check_fit(found, mapping(law), name="noisy max") > 0
    huge = [score + 10**30 for score in SCORES]
    assert check_fit(drawn(NoisyMax(scale=3), huge, many), mapping(law), name="noisy max, huge") > 0
    last_wins = [4 - i for i in drawn(NoisyMax(scale=3), SCORES[::-1], many)]
    assert rejects(check_fit, last_wins, mapping(law), name="ties to the last")


def test_noisy_max_with_gumbel_noise_is_the_exponential_mechanism():
    law = mapping(exponential_law(weights(3)))
    found = drawn(NoisyMax(scale=3, noise=MaxNoise.GUMBEL), SCORES)
    assert check_fit(found, law, name="gumbel") > 0


def test_the_gap_fits_together_with_the_index():
    scores = [2, 0, 2]
    law = {
        1000 * index + gap: chance
        for (index, gap), chance in gap_law(scores, math.exp(-1), 60).items()
    }
    mechanism = NoisyMax(scale=1)
    found = [1000 * i + g for i, g in (mechanism.release_with_gap(scores) for _ in range(SOME))]
    assert check_fit(found, law, name="gap") > 0
    plain = [code + 1 for code in found]
    assert rejects(check_fit, plain, law, name="gap off by one")


def test_top_k_fits_and_replacement_is_caught():
    scores = [3, 0, 5]
    chances = [math.exp((score - 5) / 2) for score in scores]
    law = {10 * a + b: chance for (a, b), chance in top_k_law(chances, 2).items()}
    found = [10 * a + b for a, b in drawn(TopK(scale=2, count=2), scores)]
    assert check_fit(found, law, name="top-k") > 0
    single = Exponential(scale=2)
    again = [10 * single.release(scores) + single.release(scores) for _ in range(SOME // 10)]
    assert rejects(check_fit, again, law, name="with replacement")


@pytest.mark.parametrize("categories", [2, 5])
def test_randomized_response_fits(categories):
    mechanism = RandomizedResponse(epsilon=1.25, categories=categories)
    other = 1 / (math.exp(1.25) + categories - 1)
    law = dict.fromkeys(range(categories), other) | {1: math.exp(1.25) * other}
    noisy = mechanism.release(np.ones(MANY, dtype=np.int64))
    assert check_fit(noisy, law, name=f"randomized response {categories}") > 0
    weaker = RandomizedResponse(epsilon=1.35, categories=categories)
    assert rejects(check_fit, weaker.release(np.ones(MANY, np.int64)), law, name="epsilon 1.35")


def test_two_coins_tell_the_truth_three_times_in_four():
    mechanism = RandomizedResponse.two_coins()
    noisy = mechanism.release(np.ones(MANY, dtype=np.bool_))
    assert check_rate(int(noisy.sum()), MANY, 0.75, name="two coins") > 0
    one_at_a_time = sum(mechanism.release(True) for _ in range(SOME))
    assert check_rate(one_at_a_time, SOME, 0.75, name="two coins, one at a time") > 0


def test_metric_noise_fits_and_the_lost_minus_sign_is_caught():
    places = [0, 1, 3, 7]
    mechanism = MetricNoise.between(places, lambda a, b: abs(a - b), scale=2)
    law = mapping(exponential_law([math.exp(-abs(p - 1) / 2) for p in places]))
    found = drawn(mechanism, 1)
    assert check_fit(found, law, name="metric noise") > 0
    misprint = mapping(exponential_law([math.exp(abs(p - 1) / 2) for p in places]))
    assert rejects(check_fit, found, misprint, name="the sign of the misprint")


def test_hamming_noise_fits_and_the_printed_probability_is_caught():
    mechanism = HammingNoise(scale=1, dimension=MANY)
    flipped = int((mechanism.release(np.zeros(MANY, np.int8)) != 0).sum())
    assert check_rate(flipped, MANY, 1 / (1 + math.e), name="hamming") > 0
    assert rejects(check_rate, flipped, MANY, 0.5 - 0.5 / 2, name="1/2 - epsilon/2S")
