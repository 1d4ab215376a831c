"""What a budget means: both statements, tests, groups and harm, and the sentences."""

import math
from fractions import Fraction

import pytest

from discreet.accounting import explain
from discreet.errors import InvalidValue
from discreet.loss import Relation


@pytest.mark.parametrize("epsilon", [0, 0.01, 0.5, 1, 3, 20])
def test_values_cost_twice_membership(epsilon):
    meaning = explain(epsilon=epsilon, delta=1e-9)
    assert meaning.value.epsilon == 2 * meaning.membership.epsilon
    assert float(meaning.value.delta) == pytest.approx(min(1, 1e-9 * (1 + math.exp(epsilon))))
    # With a delta the factor is 10/9 as large, and exceeded with a small probability.
    assert meaning.membership.odds_factor == pytest.approx(math.exp(epsilon) * 10 / 9)
    assert meaning.value.odds_factor == pytest.approx(math.exp(2 * epsilon) * 10 / 9)
    assert 1e-8 < meaning.membership.exception <= 1.9e-8 + 1e-20
    pure = explain(epsilon=epsilon)
    assert pure.membership.odds_factor == pytest.approx(math.exp(epsilon))
    assert pure.value.odds_factor == pytest.approx(math.exp(2 * epsilon))
    assert pure.membership.exception == pure.value.exception == 0
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
    assert [one.steps for one in meaning.groups] == [2, 5, 10]
    for one in meaning.groups:
        assert one.epsilon == one.steps * Fraction(1, 2)
        chain = 1e-8 * math.expm1(one.steps * 0.5) / math.expm1(0.5)
        assert float(one.delta) == pytest.approx(chain)


def test_sentences_carry_the_numbers():
    text = str(explain(epsilon=1, delta=1e-6))
    for piece in (
        "epsilon 1, delta 1e-06",
        "at most 2.719 times that without, plus 1e-06",
        "at most 3.021, except with probability 1.3311e-05",
        "50% becomes at most 75.13%",
        "at most 13.6%",
        "at most 73.11%",
        "by at most 2.719 and adds at most 1e-06 of the largest harm",
        "5 people whose data go together (relatives) have epsilon 5, delta 8.57911e-05",
        "everybody who cannot break it",
    ):
        assert piece in text
    assert "50% becomes at most 73.11%" in str(explain(epsilon=1))


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("relation", list(Relation))
def test_the_words_that_were_wrong_are_gone(delta, relation):
    """Delta is no probability of exceeding epsilon, beliefs are about one person, and the cipher
    behind the bits can be broken in time: earlier words denied each."""
    for sentence in explain(epsilon=1, delta=delta, relation=relation).sentences():
        assert "none of these limits need hold" not in sentence
        assert "for ever" not in sentence
        if "odds of" in sentence:
            assert "with everybody else's data fixed" in sentence
        if "harm" in sentence and delta:
            assert "adds at most 1e-06 of the largest harm" in sentence


def test_replace_hides_values_at_one_step_and_says_so():
    meaning = explain(epsilon=1, relation=Relation.REPLACE)
    assert meaning.value.epsilon == meaning.membership.epsilon == 1
    assert meaning.shared(10).epsilon == 10
    text = str(meaning)
    assert "for replacing one person's data" in text
    assert "adding or removing" not in text


def test_harm():
    meaning = explain(epsilon=1, delta=0.01)
    assert meaning.harm(without=1, largest=100) == pytest.approx(math.e + 1)
    assert meaning.harm(without=0, largest=100) == pytest.approx(1)
    assert meaning.harm(without=90, largest=100) == 100
    assert explain(epsilon=5000).harm(without=0, largest=3) == 3
    with pytest.raises(InvalidValue, match="above the largest"):
        meaning.harm(without=2, largest=1)


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
