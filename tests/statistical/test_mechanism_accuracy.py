"""The accuracy theorems hold on fresh draws, and would not hold for tighter claims."""

import math

import numpy as np
import pytest

from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.noisy_max import NoisyMax
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from support.fit import check_rate, check_rate_at_most, rejects

pytestmark = pytest.mark.slow("coverage of errors")

RUNS = 20_000


def worst_of(mechanism, count):
    noisy = mechanism.release(np.zeros((RUNS, count), dtype=np.int64))
    return np.abs(noisy).max(axis=1)


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=5), DiscreteGaussian(sigma=5)])
def test_error_holds_for_one_and_for_many_together(mechanism):
    name = type(mechanism).__name__
    single, many = mechanism.error(0.9), mechanism.simultaneous_error(40, 0.9)
    alone, together = worst_of(mechanism, 1), worst_of(mechanism, 40)
    assert check_rate_at_most(int((alone > single).sum()), RUNS, 0.1, name=f"{name} one") > 0
    assert check_rate_at_most(int((together > many).sum()), RUNS, 0.1, name=f"{name} all") > 0
    assert rejects(check_rate_at_most, int((together > single).sum()), RUNS, 0.1, name="single")
    tighter = int((together > many - 3).sum())
    assert rejects(check_rate_at_most, tighter, RUNS, 0.1, name="three steps less")


def test_theorem_3_8_of_dwork_and_roth():
    mechanism = DiscreteLaplace(scale=5)
    bound = mechanism.accuracy_bound(40, 0.9)
    assert bound >= mechanism.simultaneous_error(40, 0.9)
    assert bound >= 5 * math.log(40 / 0.1)
    missed = int((worst_of(mechanism, 40) > bound).sum())
    assert check_rate_at_most(missed, RUNS, 0.1, name="DR Thm 3.8") > 0


def shortfalls(mechanism, scores):
    array = np.array(scores)
    best = int(array.max())
    return np.array([best - scores[mechanism.release(array)] for _ in range(RUNS)])


@pytest.mark.parametrize(("best", "name"), [(1, "DR Cor 3.12"), (5, "DR Thm 3.11")])
def test_utility_of_the_exponential_mechanism(best, name):
    mechanism = Exponential(scale=2, candidates=50)
    bound = mechanism.utility_bound(0.9, best=best)
    assert bound == pytest.approx(2 * (math.log(50 / best) + math.log(10)))
    scores = [0] * best + [-math.ceil(bound)] * (50 - best)
    missed = int((shortfalls(mechanism, scores) >= bound).sum())
    assert check_rate_at_most(missed, RUNS, 0.1, name=name) > 0


@pytest.mark.parametrize(
    "mechanism",
    [
        Exponential(scale=2, candidates=50),
        PermuteAndFlip(scale=2, candidates=50),
        NoisyMax(scale=2, candidates=50),
    ],
)
def test_error_of_selection_at_its_worst_case(mechanism):
    name = type(mechanism).__name__
    error = mechanism.error(0.9)
    just_beyond = [0] + [-math.floor(error) - 1] * 49
    missed = int((shortfalls(mechanism, just_beyond) > error).sum())
    assert check_rate_at_most(missed, RUNS, 0.1, name=f"{name} error") > 0
    nearer = [0] + [-math.floor(error) + 2] * 49
    far_too_often = int((shortfalls(mechanism, nearer) > 0).sum())
    assert rejects(check_rate_at_most, far_too_often, RUNS, 0.1, name="two steps less")


def test_randomized_response_is_unbiased_with_the_stated_standard_deviation():
    mechanism, people, holders = RandomizedResponse(epsilon=1, categories=3), 500, 125
    exact = np.array([2] * holders + [0] * (people - holders))
    runs = 4000
    reports = mechanism.release(np.tile(exact, (runs, 1)))
    found = np.array([mechanism.estimate(row).counts[2] for row in reports])
    deviation = mechanism.standard_deviation(people, share=holders / people)
    # Bernstein: a mean of `runs` bounded terms strays 8.5 deviations with chance below 1e-12.
    assert abs(found.mean() - holders) < 8.5 * deviation / math.sqrt(runs)
    assert found.std() == pytest.approx(deviation, rel=0.1)
    stated = mechanism.estimate(reports[0]).standard_errors[2]
    assert stated == pytest.approx(deviation, rel=0.3)
    # Within two deviations: at least 3/4 of the time, by Chebyshev.
    outside = int((np.abs(found - holders) > 2 * deviation).sum())
    assert check_rate_at_most(outside, runs, 0.25, name="two deviations") > 0


def test_hoeffding_error_of_randomized_response_holds():
    mechanism, people = RandomizedResponse.two_coins(), 200
    runs = 5000
    reports = mechanism.release(np.ones((runs, people), dtype=np.int64))
    shares = (reports.mean(axis=1) - 0.25) / 0.5
    error = mechanism.error(0.9, reports=people)
    assert check_rate_at_most(int((np.abs(shares - 1) > error).sum()), runs, 0.1, name="rr") > 0
    assert check_rate(int((reports[:, 0] == 1).sum()), runs, 0.75, name="rr column") > 0
