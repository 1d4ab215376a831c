"""The sparse vector mechanisms as values: scales, exact losses, refusals, runs."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.composition import optimal
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest
from discreet.loss import Pure, Relation, Sensitivity
from discreet.streams import AboveThreshold, NumericSparse, Run, Sparse, Thresholds
from discreet.streams.svt.accuracy import (
    above_threshold_accuracy,
    numeric_sparse_accuracy,
    sparse_accuracy,
)

ONE, THREE = Sensitivity.single(1), Sensitivity.single(3)
ADD = Relation.ADD_REMOVE


@pytest.mark.parametrize("alarms", [1, 2, 5, 50])
@pytest.mark.parametrize("sensitivity", [ONE, THREE])
@pytest.mark.parametrize("epsilon", [0.1, 1, 7])
def test_a_price_is_spent_to_the_last_digit(alarms, sensitivity, epsilon):
    words = {"epsilon": epsilon, "alarms": alarms, "sensitivity": sensitivity}
    spent = Pure(epsilon=epsilon)
    assert Sparse.of(**words).loss(sensitivity) == spent
    assert NumericSparse.of(**words).loss(sensitivity) == spent
    assert Sparse.textbook(**words).loss(sensitivity) == spent
    assert NumericSparse.textbook(**words).loss(sensitivity) == spent
    one_way = Sparse.monotone(**words, relation=ADD)
    assert one_way.monotone_loss(sensitivity, relation=ADD) == spent
    assert one_way.loss(sensitivity).epsilon > spent.epsilon
    numeric = NumericSparse.monotone(**words, relation=ADD)
    assert numeric.monotone_loss(sensitivity, relation=ADD) == spent


@pytest.mark.parametrize("alarms", [1, 2, 5, 50])
def test_a_rho_is_never_exceeded_and_nearly_used(alarms):
    for made in (
        Sparse.of(rho=0.3, alarms=alarms, sensitivity=THREE),
        NumericSparse.of(rho=0.3, alarms=alarms, sensitivity=THREE),
    ):
        rho = sum(part.zcdp().rho for part in made.losses(THREE))
        assert Fraction(3, 10) * (1 - Fraction(1, 10**12)) < rho <= Fraction(3, 10)
    one_way = Sparse.monotone(rho=0.3, alarms=alarms, sensitivity=ONE, relation=ADD)
    parts = one_way.monotone_losses(ONE, relation=ADD)
    assert len(parts) == alarms
    assert sum(part.zcdp().rho for part in parts) <= Fraction(3, 10)


def test_fresh_thresholds_are_chosen_where_losses_add_as_squares():
    fresh = Sparse.of(rho=0.5, alarms=20, sensitivity=ONE)
    one = Sparse.of(epsilon=1, alarms=20, sensitivity=ONE)  # the same rho
    assert fresh.thresholds is Thresholds.FRESH
    assert one.thresholds is Thresholds.ONE
    assert fresh.error(0.95, queries=1000) < one.error(0.95, queries=1000) / 2


def test_the_split_of_the_default_is_better_than_halves_and_than_the_book():
    ours = Sparse.of(epsilon=1, alarms=10, sensitivity=ONE)
    halves = Sparse(threshold_scale=2, query_scale=40, alarms=10)
    book = Sparse.textbook(epsilon=1, alarms=10, sensitivity=ONE)
    assert halves.loss(ONE) == book.loss(ONE) == ours.loss(ONE)
    errors = [each.error(0.95, queries=1000) for each in (ours, halves, book)]
    assert errors == sorted(set(errors))


def test_the_scales_of_the_book():
    assert AboveThreshold.textbook(epsilon=0.5, sensitivity=ONE).threshold_scale == 4
    assert AboveThreshold.textbook(epsilon=0.5, sensitivity=ONE).query_scale == 8
    sparse = Sparse.textbook(epsilon=0.5, alarms=3, sensitivity=ONE)
    assert (sparse.threshold_scale, sparse.query_scale) == (12, 24)  # sigma = 2c/epsilon
    numeric = NumericSparse.textbook(epsilon=1, alarms=2, sensitivity=ONE)
    assert numeric.sparse.threshold_scale == Fraction(9, 2)  # sigma(8/9 epsilon)
    assert numeric.number_scale == 18  # sigma(2/9 epsilon)


def test_the_numbers_of_the_book_with_a_delta_have_their_factor_epsilon():
    """Printed without it, the noise of the numbers would not depend on epsilon."""
    small, large = (
        NumericSparse.textbook(epsilon=epsilon, alarms=4, sensitivity=ONE, delta=1e-6)
        for epsilon in (0.1, 0.9)
    )
    assert small.number_scale > 5 * large.number_scale


@pytest.mark.parametrize("epsilon", [0.1, 0.9, 5])
def test_the_book_with_a_delta_is_priced_by_the_accountant(epsilon):
    made = Sparse.textbook(epsilon=epsilon, alarms=20, sensitivity=ONE, delta=1e-6)
    reached = optimal(list(made.losses(ONE)), target_delta=1e-6).epsilon
    assert epsilon * 0.999 < reached <= Fraction(str(epsilon))


def test_a_long_run_has_the_price_of_its_alarms_only():
    sparse = Sparse.of(epsilon=1, alarms=2, sensitivity=ONE)
    answers = sparse.release(np.full(20_000, -1000))
    assert answers == [False] * 20_000


def test_monotone_losses_are_refused_under_replace():
    sparse = Sparse(threshold_scale=2, query_scale=4, alarms=1)
    for attempt in (
        lambda: sparse.monotone_loss(ONE, relation=Relation.REPLACE),
        lambda: AboveThreshold.monotone(epsilon=1, sensitivity=ONE, relation=Relation.REPLACE),
        lambda: NumericSparse.monotone(
            epsilon=1, alarms=1, sensitivity=ONE, relation=Relation.REPLACE
        ),
    ):
        with pytest.raises(UnprovableRequest, match="both ways"):
            attempt()


BAD = [0, -1, float("nan"), float("inf"), True, "1"]


@pytest.mark.parametrize("value", BAD)
def test_numbers_that_cannot_be_prices_or_scales_are_refused(value):
    for attempt in (
        lambda: Sparse(threshold_scale=value, query_scale=1, alarms=1),
        lambda: Sparse(threshold_scale=1, query_scale=value, alarms=1),
        lambda: Sparse.of(epsilon=value, alarms=1, sensitivity=ONE),
        lambda: Sparse.of(rho=value, alarms=1, sensitivity=ONE),
        lambda: AboveThreshold(threshold_scale=1, query_scale=value),
        lambda: NumericSparse.of(epsilon=value, alarms=1, sensitivity=ONE),
        lambda: NumericSparse.of(epsilon=1, alarms=1, sensitivity=ONE, numbers=value),
    ):
        with pytest.raises(InvalidValue):
            attempt()


@pytest.mark.parametrize("alarms", [0, -1, True, 1.0, "1"])
def test_alarms_are_counted_in_whole_numbers(alarms):
    with pytest.raises(InvalidValue, match="alarms"):
        Sparse.of(epsilon=1, alarms=alarms, sensitivity=ONE)


def test_one_price_is_wanted():
    for price in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(InvalidValue, match="one price"):
            Sparse.of(alarms=1, sensitivity=ONE, **price)
        with pytest.raises(InvalidValue, match="one price"):
            NumericSparse.of(alarms=1, sensitivity=ONE, **price)


def test_what_nobody_moves_is_public():
    with pytest.raises(InvalidValue, match="public"):
        Sparse.of(epsilon=1, alarms=1, sensitivity=Sensitivity.single(0))


@pytest.mark.parametrize("value", [1.5, float("nan"), True, "8734", None, Fraction(1, 2)])
def test_only_integers_are_compared_and_refusals_keep_them_secret(value):
    sparse = Sparse(threshold_scale=1, query_scale=2, alarms=1)
    for attempt in (
        lambda: sparse.start().check(value, threshold=0),
        lambda: sparse.release([0, value]),
    ):
        with pytest.raises(InvalidValue, match="integers") as refusal:
            attempt()
        assert "8734" not in str(refusal.value)
    with pytest.raises(InvalidValue, match="integers"):
        sparse.release(np.array([0.5]))
    with pytest.raises(InvalidValue, match="dimensions"):
        sparse.release(np.zeros((2, 2), dtype=np.int64))


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, 1 << 200])
def test_integers_of_any_size(size):
    sparse = Sparse(threshold_scale=1, query_scale=2, alarms=2)
    assert sparse.release([-size, size, 0, size], threshold=size // 2) == [False, True, False, True]
    assert sparse.release([size, -size], threshold=-2 * size) == [True, True]
    if size < 1 << 64:
        values = np.array([0, size], dtype=np.uint64)
        assert sparse.release(values, threshold=size // 2) == [False, True]
    wide = Sparse(threshold_scale=size, query_scale=size, alarms=1)
    assert wide.release([10**100 * size]) == [True]
    assert sparse.release([]) == []


def test_a_run_stops_with_its_last_alarm():
    run = Sparse(threshold_scale=1, query_scale=2, alarms=2).start()
    said = [run.check(value, threshold=500) for value in (0, 1000, 0, 1000)]
    assert said == [False, True, False, True]
    assert run.left == 0
    for value in (0, 1000):
        with pytest.raises(BudgetExceeded, match="2 of 2 alarms are used"):
            run.check(value, threshold=500)


def test_a_run_cannot_be_copied_and_does_not_show_its_noise():
    run = NumericSparse.of(epsilon=1, alarms=1, sensitivity=ONE).start()
    for attempt in (lambda: copy.copy(run), lambda: pickle.dumps(run), lambda: copy.deepcopy(run)):
        with pytest.raises(InvalidValue, match="cannot be copied"):
            attempt()
    assert not hasattr(run, "__dict__")
    assert repr(Sparse(threshold_scale=10**9, query_scale=1, alarms=1).begin()) == (
        "SvtState(used=0)"
    )


def test_a_spent_standing_is_refused():
    sparse = Sparse(threshold_scale=1, query_scale=2, alarms=1)
    above, after = sparse.step(sparse.begin(), 1000, 0)
    assert above
    assert after.used == 1
    with pytest.raises(InvalidValue, match="used"):
        sparse.step(after, 1000, 0)


def test_one_threshold_is_kept_and_a_fresh_one_is_not():
    kept = Sparse(threshold_scale=10**12, query_scale=1, alarms=2)
    standing = kept.begin()
    assert kept.step(standing, 10**20, 0)[1].noise == standing.noise
    fresh = Sparse(threshold_scale=10**12, query_scale=1, alarms=2, thresholds=Thresholds.FRESH)
    standing = fresh.begin()
    assert fresh.step(standing, -(10**20), 0)[1].noise == standing.noise
    assert fresh.step(standing, 10**20, 0)[1].noise != standing.noise  # equal once in 10**12


def test_numbers_come_with_alarms_only():
    numeric = NumericSparse.of(epsilon=1, alarms=2, sensitivity=ONE)
    answers = numeric.release([0, 10_000, 0, 20_000, 0], threshold=5_000)
    assert [number is None for number in answers] == [True, False, True, False]
    assert abs(answers[1] - 10_000) < 1000
    assert abs(answers[3] - 20_000) < 1000
    run: Run[int | None] = numeric.start()
    assert run.check(0, threshold=5_000) is None
    assert abs(run.check(10_000, threshold=5_000) - 10_000) < 1000


def test_errors_grow_with_questions_and_confidence_and_stay_below_the_book():
    sparse = Sparse.textbook(epsilon=0.7, alarms=3, sensitivity=THREE)
    errors = [sparse.error(0.95, queries=count) for count in (1, 10, 100, 1000)]
    assert errors == sorted(set(errors))
    assert sparse.error(0.5, queries=10) < sparse.error(0.999, queries=10)
    for count in (1, 10, 1000):
        assert sparse.error(0.95, queries=count) < sparse.accuracy_bound(0.95, queries=count)


def test_errors_at_large_scales_follow_those_at_small_ones():
    narrow = Sparse(threshold_scale=1000, query_scale=1000, alarms=1).error(0.95, queries=100)
    for power, most in ((6, 1.002), (12, 1.002), (15, 1.5)):
        wide = Sparse(threshold_scale=10**power, query_scale=10**power, alarms=1)
        ratio = wide.error(0.95, queries=100) / narrow / 10 ** (power - 3)
        assert 0.999 < ratio < most


@pytest.mark.parametrize("queries", [1, 50, 10_000])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_the_theorems_are_the_proofs_at_the_scales_of_the_book(queries, failure):
    words = {"queries": queries, "epsilon": 0.5, "failure": failure, "sensitivity": THREE}
    book = {"epsilon": 0.5, "sensitivity": THREE}
    asked = (1 - Fraction(str(failure)),)
    first = AboveThreshold.textbook(**book).accuracy_bound(*asked, queries=queries)
    assert above_threshold_accuracy(**words) == first
    sparse = Sparse.textbook(alarms=4, **book).accuracy_bound(*asked, queries=queries)
    assert sparse_accuracy(alarms=4, **words) == sparse
    numeric = NumericSparse.textbook(alarms=4, **book).accuracy_bound(*asked, queries=queries)
    assert numeric_sparse_accuracy(alarms=4, **words) == numeric


def test_the_theorems_with_a_delta_hold_for_the_scales_of_the_accountant():
    words = {"epsilon": 0.5, "sensitivity": ONE, "alarms": 6, "delta": 1e-6}
    sparse, numeric = Sparse.textbook(**words), NumericSparse.textbook(**words)
    asked = {"queries": 100, "failure": 0.05}
    assert sparse.accuracy_bound(0.95, queries=100) <= sparse_accuracy(**words, **asked)
    assert numeric.accuracy_bound(0.95, queries=100) <= numeric_sparse_accuracy(**words, **asked)
    with pytest.raises(UnprovableRequest, match="below 1"):
        sparse_accuracy(**{**words, "epsilon": 1}, **asked)


def test_counts_of_the_theorems_are_checked():
    words = {"epsilon": 1, "failure": 0.05, "sensitivity": ONE}
    for bad in ({"queries": 0}, {"queries": True}, {"queries": 1, "failure": 1}):
        with pytest.raises(InvalidValue):
            above_threshold_accuracy(**{**words, **bad})
    with pytest.raises(InvalidValue, match="delta"):
        sparse_accuracy(**{**words, "epsilon": 0.5}, queries=1, alarms=1, delta=1)
