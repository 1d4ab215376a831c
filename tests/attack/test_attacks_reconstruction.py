"""Reconstruction takes the secrets from exact and slightly noisy answers, and from a curator no
more than privacy admits. Guesses about fair secrets are dominated by a binomial at the bound, so
the suite's limits hold for them.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import (
    Curated,
    Solver,
    exact,
    made_up,
    noisy,
    reconstruction,
    rounded,
    suppressed,
    swapped,
    table_attack,
    thresholded,
    value_bound,
)
from discreet.loss import Relation
from support.fit import check_rate_at_most, rejects

PEOPLE = 500
LITTLE = Fraction(round(100 * PEOPLE**0.5 / 10), 100)  # sqrt(n)/10


@pytest.fixture(scope="module")
def crowd():
    return made_up(PEOPLE)


@pytest.mark.parametrize("interface", [exact(), noisy(LITTLE), rounded(), suppressed()])
def test_least_squares_recovers_nearly_every_secret(crowd, interface):
    found = reconstruction(crowd, interface, questions=4 * PEOPLE)
    assert found.accuracy >= 0.95
    assert found.bound is None


@pytest.mark.parametrize("interface", [exact(), noisy(LITTLE), thresholded()])
def test_the_linear_program_recovers_nearly_every_secret(interface):
    found = reconstruction(made_up(200), interface, questions=800, solver=Solver.LINEAR_PROGRAM)
    assert found.accuracy >= 0.9


def test_the_linear_program_takes_500_secrets_from_noisy_answers(crowd):
    named = {"questions": 3 * PEOPLE, "solver": Solver.LINEAR_PROGRAM}
    assert reconstruction(crowd, noisy(LITTLE), **named).accuracy >= 0.95


def test_swapping_saves_those_who_were_swapped_and_nobody_else(crowd):
    found = reconstruction(crowd, swapped(0.2), questions=4 * PEOPLE)
    assert 0.8 <= found.accuracy < 1


def test_too_few_questions_do_not_suffice(crowd):
    assert reconstruction(crowd, noisy(LITTLE), questions=PEOPLE // 2).accuracy < 0.95


def test_a_curator_gives_away_no_more_than_its_budget_admits(crowd):
    one = table_attack(crowd, Curated(epsilon=1))
    assert one.bound == value_bound(epsilon=1)
    assert check_rate_at_most(one.right, one.attempts, one.bound, name="a cell each") > 0
    # Only those who have the secret are counted: one step of adding, so the bound of one step.
    step = value_bound(epsilon=1, relation=Relation.REPLACE)
    assert check_rate_at_most(one.right, one.attempts, step, name="a cell each, one step") > 0


@pytest.mark.parametrize(
    "count", [20, pytest.param(100, marks=pytest.mark.slow("attacks on curators"))]
)
def test_a_curator_that_answers_many_questions_gives_away_no_more(crowd, count):
    many = reconstruction(crowd, Curated(epsilon=1, questions=count), questions=count)
    assert dict(many.parameters)["answered"] == str(count)
    assert check_rate_at_most(many.right, many.attempts, many.bound, name="subsets") > 0


def test_a_curator_with_a_twentieth_of_the_noise_would_be_noticed(crowd):
    careless = table_attack(crowd, noisy(Fraction(1, 20)))
    bound = value_bound(epsilon=1)
    assert rejects(check_rate_at_most, careless.right, careless.attempts, bound, name="careless")


def test_a_curator_stops_when_the_budget_is_spent():
    crowd = made_up(20)
    found = reconstruction(crowd, Curated(epsilon=1, questions=5), questions=9)
    assert dict(found.parameters)["answered"] == "5"


def test_what_nobody_answers_is_guessed():
    from discreet.attacks import Questions, reconstruct

    asked = Questions(np.ones((3, 400), dtype=bool))
    guesses = reconstruct(asked, np.full(3, np.nan))
    assert 0 < guesses.sum() < 400


@pytest.mark.soak
def test_two_thousand_people_and_eight_questions_for_each():
    crowd = made_up(2_000)
    found = reconstruction(crowd, noisy(Fraction(9, 2)), questions=16_000)
    assert found.accuracy >= 0.95


@pytest.mark.soak
def test_500_questions_of_a_curator(crowd):
    many = reconstruction(crowd, Curated(epsilon=1, questions=500), questions=500)
    assert check_rate_at_most(many.right, many.attempts, many.bound, name="500 subsets") > 0
