"""Answers of the sparse vector technique against their exact laws, which sum over the noise of the
threshold; numbers against the Laplace distribution; the textbook's accuracy theorems, counted.
"""

import math

import pytest

from discreet.loss import Sensitivity
from discreet.streams import AboveThreshold, NumericSparse, Sparse, Thresholds
from discreet.streams.svt.accuracy import (
    above_threshold_accuracy,
    numeric_sparse_accuracy,
    sparse_accuracy,
)
from support.fit import check_fit, check_rate_at_most, rejects
from support.mechanism_laws import laplace_cdf
from support.sparse_laws import coded, law_of_fresh, law_of_one

MARGINS = [-1, 2, 0, -3, 1]
ONE = Sensitivity.single(1)


def released(mechanism, samples):
    return [tuple(mechanism.release(MARGINS)) for _ in range(samples)]


def stepped(mechanism, samples):
    """The same answers from runs, one question after the other, each with its own threshold."""
    found = []
    for _ in range(samples):
        run, said = mechanism.start(), []
        for place, margin in enumerate(MARGINS):
            if run.left:
                said.append(run.check(margin + 10**6 * place, threshold=10**6 * place))
        found.append(tuple(said))
    return found


CASES = {  # with as many samples as the nearest planted law needs
    "above threshold": (AboveThreshold(threshold_scale=2, query_scale=3), law_of_one, 14_000),
    "two alarms": (Sparse(threshold_scale=1.5, query_scale=4, alarms=2), law_of_one, 20_000),
    "fresh thresholds": (
        Sparse(threshold_scale=2, query_scale=3, alarms=2, thresholds=Thresholds.FRESH),
        law_of_fresh,
        12_000,
    ),
}


@pytest.mark.parametrize("draw", [released, stepped])
@pytest.mark.parametrize("name", CASES)
def test_answers_follow_their_exact_law(name, draw):
    mechanism, law, count = CASES[name]
    scales = float(mechanism.threshold_scale), float(mechanism.query_scale)
    code, exact = coded(law(MARGINS, *scales, mechanism.alarms))
    samples = [code[said] for said in draw(mechanism, count)]
    assert check_fit(samples, exact, name=f"{name}, {draw.__name__}") > 0
    # Strictly above instead of at least, and less noise, are seen.
    for wrong in (
        law([margin - 1 for margin in MARGINS], *scales, mechanism.alarms),
        law(MARGINS, scales[0], scales[1] * 0.5, mechanism.alarms),
        law(MARGINS, scales[0] * 0.5, scales[1], mechanism.alarms),
    ):
        planted = coded(wrong)[1]
        assert rejects(check_fit, samples, planted, name="planted")


def test_kept_and_fresh_thresholds_are_told_apart():
    kept = Sparse(threshold_scale=4, query_scale=1, alarms=3)
    code, exact = coded(law_of_fresh(MARGINS, 4, 1, 3))
    samples = [code[said] for said in released(kept, 10_000)]
    assert rejects(check_fit, samples, exact, name="kept, not fresh")


def test_numbers_have_fresh_noise():
    """Given an alarm, the number's noise has its own law, whatever was compared."""
    sparse = Sparse(threshold_scale=2, query_scale=3, alarms=1)
    numeric = NumericSparse(sparse=sparse, number_scale=5)
    noise = [
        answers[-1] - 7
        for answers in (numeric.release([7], threshold=8) for _ in range(10_000))
        if answers[-1] is not None
    ]
    assert len(noise) > 2_500

    def law(value):
        return laplace_cdf(math.exp(-1 / 5), value)

    assert check_fit(noise, law, name="numbers of alarms") > 0
    # Had the compared value been told, it would lean upwards: it was above.
    compared = [max(value, -3) for value in noise]
    assert rejects(check_fit, compared, law, name="leaning")


def failures(mechanism, steps, queries, threshold=0):
    """How often an answer is wrong by more than so many steps, at the worst values.

    All but the alarms are just farther below than allowed; those come last, just farther above.
    """
    low, high = -int(steps) - 1, int(steps) + 1
    values = [low] * (queries - mechanism.alarms) + [high] * mechanism.alarms
    wanted = [value > 0 for value in values]
    wrong = 0
    for _ in range(TRIALS):
        answers = mechanism.release(values, threshold=threshold)
        said = [answer is not None and answer is not False for answer in answers]
        numbers = [
            abs(answer - value) > steps
            for answer, value in zip(answers, values, strict=False)
            if type(answer) is int
        ]
        wrong += said != wanted or any(numbers)
    return wrong


TRIALS = 700
QUERIES = 50
THEOREMS = {
    "3.24": (
        AboveThreshold.textbook(epsilon=0.5, sensitivity=ONE),
        above_threshold_accuracy,
        {},
    ),
    "3.26": (
        Sparse.textbook(epsilon=0.5, alarms=3, sensitivity=ONE),
        sparse_accuracy,
        {"alarms": 3},
    ),
    "3.26 with delta": (
        Sparse.textbook(epsilon=0.5, alarms=3, sensitivity=ONE, delta=1e-6),
        sparse_accuracy,
        {"alarms": 3, "delta": 1e-6},
    ),
    "3.28": (
        NumericSparse.textbook(epsilon=0.5, alarms=3, sensitivity=ONE),
        numeric_sparse_accuracy,
        {"alarms": 3},
    ),
    "3.28 with delta": (
        NumericSparse.textbook(epsilon=0.5, alarms=3, sensitivity=ONE, delta=1e-6),
        numeric_sparse_accuracy,
        {"alarms": 3, "delta": 1e-6},
    ),
}


@pytest.mark.parametrize("name", THEOREMS)
def test_the_accuracy_theorems_of_the_book_hold(name):
    mechanism, theorem, words = THEOREMS[name]
    failure = 0.2
    steps = theorem(queries=QUERIES, epsilon=0.5, failure=failure, sensitivity=ONE, **words)
    wrong = failures(mechanism, steps, QUERIES)
    assert check_rate_at_most(wrong, TRIALS, failure, name=f"Theorem {name}") > 0
    # The theorems are safe, not tight: half of our own error is what shows that it can fail.
    nearer = failures(mechanism, mechanism.error(0.8, queries=QUERIES) / 2, QUERIES)
    assert rejects(check_rate_at_most, nearer, TRIALS, failure, name="too near")


OWN = {
    "one alarm": AboveThreshold.of(epsilon=0.5, sensitivity=ONE),
    "three alarms": Sparse.of(epsilon=0.5, alarms=3, sensitivity=ONE),
    "fresh thresholds": Sparse.of(rho=0.2, alarms=3, sensitivity=ONE),
    "numbers": NumericSparse.of(epsilon=0.5, alarms=3, sensitivity=ONE),
}


@pytest.mark.parametrize("name", OWN)
def test_our_own_error_holds_and_is_not_far_off(name):
    mechanism = OWN[name]
    steps = mechanism.error(0.8, queries=QUERIES)
    wrong = failures(mechanism, steps, QUERIES)
    assert check_rate_at_most(wrong, TRIALS, 0.2, name=f"error of {name}") > 0
    assert wrong > 0.05 * TRIALS
    nearer = failures(mechanism, steps * 0.7, QUERIES)
    assert rejects(check_rate_at_most, nearer, TRIALS, 0.2, name="seven tenths of it")


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_many_answers_follow_their_exact_law(name):
    mechanism, law, _ = CASES[name]
    scales = float(mechanism.threshold_scale), float(mechanism.query_scale)
    code, exact = coded(law(MARGINS, *scales, mechanism.alarms))
    samples = [code[said] for said in stepped(mechanism, 1_600_000)]
    assert check_fit(samples, exact, name=f"{name}, long") > 0
