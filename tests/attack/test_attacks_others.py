"""Every other attack: succeeds where it should, and stays within the bound against a curator."""

import numpy as np
import pytest

from discreet.attacks import (
    Curated,
    audited,
    averaging,
    curator_race,
    differencing,
    exact,
    float_bits,
    linkage,
    lottery,
    made_up,
    member_bound,
    naive_race,
    naive_timing,
    noisy,
    rounded,
    suppressed,
    swapped,
    thresholded,
    tracing,
    tracing_power,
    value_bound,
    whole_bits,
)
from discreet.attacks import refusals as refused
from discreet.attacks.float_bits import possible, textbook_laplace
from discreet.audit import audit
from discreet.loss import Approximate, Pure
from support.fit import check_rate, check_rate_at_most, rejects


@pytest.fixture(scope="module")
def crowd():
    return made_up(100)


def small(questions):
    """A curator whose budget is so small that 60 right guesses of 60 would be noticed."""
    return Curated(epsilon=0.1, questions=questions)


def test_the_checks_of_a_small_budget_can_fail(crowd):
    found = differencing(crowd, exact(), targets=60)
    bound = value_bound(epsilon=0.1)
    assert rejects(check_rate_at_most, found.right, found.attempts, bound, name="exact answers")
    traced = tracing(exact(), candidates=100, traits=3000)
    limit = member_bound(epsilon=0.1)
    assert rejects(check_rate_at_most, traced.right, traced.attempts, limit, name="exact shares")


@pytest.mark.parametrize("interface", [exact(), suppressed(), thresholded(), audited()])
def test_differencing_needs_one_crowd_where_counts_are_exact(crowd, interface):
    crowds = 1 if interface.name in ("exact",) else 20
    assert differencing(crowd, interface, targets=100, crowds=crowds).accuracy == 1


@pytest.mark.parametrize(("interface", "crowds"), [(rounded(), 400), (noisy(1), 400)])
def test_differencing_over_many_crowds_defeats_rounding_and_noise(crowd, interface, crowds):
    assert differencing(crowd, interface, targets=100, crowds=crowds).accuracy >= 0.95


def test_averaging_defeats_fresh_noise_and_not_a_missing_answer(crowd):
    assert averaging(crowd, noisy(1), targets=100, repeats=1000).accuracy == 1
    hidden = averaging(crowd, suppressed(5), targets=100, repeats=2)
    assert check_rate(hidden.right, hidden.attempts, 0.5, name="coins for answers") > 0


def test_repeating_a_question_to_a_curator_is_free_and_tells_nothing_new(crowd):
    found = averaging(crowd, small(60), targets=60, repeats=5)
    assert check_rate_at_most(found.right, found.attempts, found.bound, name="repeats") > 0


def test_linkage_finds_those_who_are_alone_with_what_is_known():
    crowd = made_up(40)
    assert linkage(crowd, exact(), targets=40).accuracy > 0.8
    assert linkage(crowd, swapped(0.1), targets=40).accuracy > 0.6


@pytest.mark.parametrize("attack", [differencing, linkage])
def test_a_curator_resists_single_target_attacks(crowd, attack):
    found = attack(crowd, small(120), targets=60)
    assert check_rate_at_most(found.right, found.attempts, found.bound, name=attack.__name__) > 0


def test_refusals_disclose_everybody(crowd):
    assert refused(crowd, audited()).accuracy == 1
    found = refused(crowd, small(99))
    assert dict(found.parameters)["refused"] == "0"
    assert check_rate_at_most(found.right, found.attempts, found.bound, name="refusals") > 0


def test_tracing_finds_members_in_exact_shares_and_not_in_a_curators():
    assert tracing(exact(), candidates=100, traits=3000).accuracy > 0.9
    assert tracing_power(exact(), candidates=100, traits=3000).accuracy > 0.5
    found = tracing(small(100), candidates=100, traits=100)
    assert found.bound == member_bound(epsilon=0.1)
    assert check_rate_at_most(found.right, found.attempts, found.bound, name="tracing") > 0


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1])
def test_floats_tell_more_than_the_noise_admits(epsilon):
    named = {"epsilon": epsilon, "answers": 20_000}
    one, whole = float_bits(**named), whole_bits(**named)
    limit = member_bound(epsilon=epsilon)
    assert rejects(check_rate_at_most, one.right, one.attempts, limit, name="floats")
    assert check_rate_at_most(whole.right, whole.attempts, limit, name="whole numbers") > 0


@pytest.mark.parametrize("exact_value", [0.0, 1.0])
def test_a_float_that_was_released_is_never_called_impossible(exact_value):
    for scale in (0.5, 1.0, 10.0, 1000.0):
        released = textbook_laplace(np.full(20_000, exact_value), scale=scale)
        assert possible(released, exact=exact_value, scale=scale).all()


def test_the_lottery_has_no_epsilon(crowd):
    """The audit of a published row: no epsilon fits, and only a delta of the share does."""

    def published(rows, count):
        drawn = np.random.default_rng().random(count) < 0.1
        return np.where(drawn, rows, -1)

    named = {"pairs": [(0, 1)], "samples": 20_000, "false_alarm": 1e-3}
    assert audit(published, Pure(epsilon=4), **named).violated
    assert audit(published, Approximate(epsilon=3, delta=0.03), **named).violated
    found = lottery(crowd, share=0.1)
    assert check_rate(found.right, found.attempts, 0.1, name="lottery") > 0


def test_a_race_wins_against_a_naive_account_only():
    assert naive_race(affordable=10, askers=4).right > 0
    fair = curator_race(affordable=6, askers=3)
    assert (fair.right, dict(fair.parameters)["granted"]) == (0, "6")


def test_time_gives_a_careless_service_away():
    found = naive_timing(probes=200)
    assert found.accuracy > 0.8
