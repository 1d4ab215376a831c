"""What a budget means: both statements, tests, groups and harm, and the sentences."""

import math
from fractions import Fraction

import pytest

from discreet.accounting import explain
from discreet.errors import InvalidValue


@pytest.mark.parametrize("epsilon", [0, 0.01, 0.5, 1, 3, 20])
def test_values_cost_twice_membership(epsilon):
    meaning = explain(epsilon=epsilon, delta=1e-9)
    assert meaning.value.epsilon == 2 * meaning.membership.epsilon
    assert float(meaning.value.delta) == pytest.approx(min(1, 1e-9 * (1 + math.exp(epsilon))))
    assert meaning.membership.odds_factor == pytest.approx(math.exp(epsilon))
    assert meaning.value.odds_factor == pytest.approx(math.exp(2 * epsilon))
    assert meaning.harm_factor == pytest.approx(math.exp(epsilon))


@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 4])
def test_posteriors_follow_bayes_for_the_worst_answer(epsilon):
    for statement, level in (
        (explain(epsilon=epsilon).membership, epsilon),
        (explain(epsilon=epsilon).value, 2 * epsilon),
    ):
        assert [prior for prior, _ in statement.posteriors] == [0.01, 0.1, 0.5]
        for prior, posterior in statement.posteriors:
            # Randomized response attains it: P(answer | yes)/P(answer | no) = e^epsilon.
            yes, no = math.exp(level) / (1 + math.exp(level)), 1 / (1 + math.exp(level))
            assert posterior == pytest.approx(prior * yes / (prior * yes + (1 - prior) * no))
            assert posterior >= prior


@pytest.mark.parametrize("epsilon", [0, 0.05, 1, 2.9, 3.1, 6])
@pytest.mark.parametrize("delta", [0, 1e-6, 0.1, 0.96])
def test_power_is_the_corner_of_the_region_of_tests(epsilon, delta):
    found = explain(epsilon=epsilon, delta=delta).membership.power
    odds = math.exp(epsilon)
    missed = max(0.0, 1 - delta - odds * 0.05, (1 - delta - 0.05) / odds)
    assert found == pytest.approx(1 - missed)
    assert found <= 1


def test_power_without_budget_is_the_false_alarm_rate():
    assert explain(epsilon=0).membership.power == pytest.approx(0.05)


def test_groups():
    meaning = explain(epsilon=0.5, delta=1e-8)
    assert [one.size for one in meaning.groups] == [2, 5, 10]
    for one in meaning.groups:
        assert one.epsilon == one.size * Fraction(1, 2)
        chain = 1e-8 * math.expm1(one.size * 0.5) / math.expm1(0.5)
        assert float(one.delta) == pytest.approx(chain)


def test_sentences_carry_the_numbers():
    text = str(explain(epsilon=1, delta=1e-6))
    for piece in (
        "epsilon 1, delta 1e-06",
        "2.719",
        "7.39",
        "50% becomes at most 73.11%",
        "50% becomes at most 88.08%",
        "at most 13.6%",
        "For 5 people together: epsilon 5",
        "none of these limits need hold",
    ):
        assert piece in text
    assert "none of these limits" not in str(explain(epsilon=1))


def test_shown_bounds_are_rounded_up():
    text = str(explain(epsilon=1))
    assert "1% becomes at most 2.68%" in text  # 2.6726%
    assert "10% becomes at most 23.2%" in text  # 23.196%


def test_a_void_budget_says_so():
    meaning = explain(epsilon=5000, delta=1e-6)
    assert meaning.membership.odds_factor == math.inf
    assert meaning.membership.power == 1
    assert meaning.groups[0].delta == 1
    assert "100%" in str(meaning)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True, "1", None])
def test_only_numbers_are_explained(value):
    with pytest.raises(InvalidValue):
        explain(epsilon=value)
    with pytest.raises(InvalidValue):
        explain(epsilon=1, delta=value)
