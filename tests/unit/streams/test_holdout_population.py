"""The error for the population: the theorem at its best allowances, against the naive ways."""

import math

import pytest

from discreet.accounting.conversion import zcdp_rho
from discreet.errors import InvalidValue
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.streams.holdout.population import population_error

SETTINGS = {"n": 10**6, "epsilon": 0.03, "delta": 1e-9, "k": 2000}


def test_it_is_a_value_of_the_theorem_and_no_allowance_is_better():
    found = population_error(**SETTINGS)
    noise = DiscreteGaussian.of_variance(2000 / (2 * zcdp_rho(epsilon=0.03, delta=1e-9)))
    tried = []
    for share in (0.5, 0.8):
        for power in range(6, 14):
            c, d = 0.5**power, 1e-9 / (0.05 * (1 - share))
            sample = noise.simultaneous_error(2000, 1 - 0.05 * share * c) / 10**6
            tried.append(sample + math.expm1(0.03) + c + 2 * d)
    assert found.private <= min(tried) * 1.02
    assert found.private > found.sample + math.expm1(0.03)


@pytest.mark.parametrize("delta", [0, 1e-9])
def test_it_falls_with_rows_and_grows_with_questions(delta):
    errors = [
        population_error(n=n, epsilon=0.05, delta=delta, k=k).private
        for n, k in ((10**5, 1000), (10**6, 1000), (10**6, 100))
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]


def test_it_beats_rows_of_their_own_where_there_are_many_questions():
    assert population_error(**SETTINGS).gain > 1.3
    assert population_error(**{**SETTINGS, "k": 50}).gain < 1


def test_the_naive_ways_are_hoeffding_s():
    found = population_error(**SETTINGS)
    assert found.fixed == pytest.approx(math.sqrt(math.log(2 * 2000 / 0.05) / (2 * 10**6)))
    assert found.split == pytest.approx(math.sqrt(math.log(2 * 2000 / 0.05) / (2 * 500)))


def test_nothing_is_worse_than_one():
    found = population_error(n=10, epsilon=5, delta=0, k=1000)
    assert (found.private, found.split) == (1.0, 1.0)


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"k": True}, {"epsilon": 0}, {"delta": -1}, {"n": 1.5}, {"confidence": 1}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidValue):
        population_error(**{**SETTINGS, **wrong})
