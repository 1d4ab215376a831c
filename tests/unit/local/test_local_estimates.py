"""Tallies, estimates, intervals and projections: arithmetic on reports, no noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.local import (
    Frequencies,
    HadamardResponse,
    Hybrid,
    JointTally,
    KaryResponse,
    LocalHashing,
    OneBit,
    Piecewise,
    Rappor,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    count_variance,
    frequencies,
    mean,
    mean_variance,
)

BINARY = KaryResponse(epsilon=1)
RANGE = {"epsilon": 1, "lower": 0, "upper": 10, "step": 1}
EVERY = [
    BINARY,
    KaryResponse(epsilon=2, categories=7),
    UnaryEncoding(epsilon=1, categories=6),
    LocalHashing(epsilon=1, categories=9),
    LocalHashing(epsilon=1, categories=2**40),
    HadamardResponse(epsilon=1, categories=9),
    SubsetSelection(epsilon=1, categories=9),
    Rappor(categories=4, blur=0.5, low=0.25, high=0.75),
    OneBit(**RANGE),
    Piecewise(**RANGE),
    Hybrid(**RANGE),
]
COUNTED = [question for question in EVERY if question.cells < 2**30]


def test_the_estimate_inverts_the_expectation():
    # Of 1000 people 600, 300 and 100 hold the categories; p = 1/2 and q = 1/4 at e^epsilon = 3.
    question = Rappor(categories=3, blur=Fraction(1, 2), low=0, high=1)
    kept, other = question.chances()
    assert (kept, other) == (Fraction(3, 4), Fraction(1, 4))
    expected = [int(held * kept + (1000 - held) * other) for held in (600, 300, 100)]
    found = frequencies(Tally(question, 1000, tuple(expected)))
    assert found.counts == (600.0, 300.0, 100.0)
    assert found.standard_errors[0] == pytest.approx(math.sqrt(1000 * 0.1875 / 0.25))


@pytest.mark.parametrize("question", EVERY, ids=str)
def test_a_report_is_as_small_as_it_says(question):
    assert question.report_bits <= 128
    report = np.asarray(question.release(1))
    assert int(report.max()).bit_length() <= question.report_bits


@pytest.mark.parametrize("question", COUNTED, ids=str)
def test_tallies_of_parts_add_up(question):
    reports = question.release([0, 1, 1, 2, 3, 1, 0])
    whole = Tally.of(question, reports)
    parts = Tally.empty(question).add(reports[:3]) + Tally.of(question, reports[3:])
    assert parts == whole
    assert whole.reports == 7
    assert Tally.of(question, reports[:0]) == Tally.empty(question)
    assert hash(whole) == hash(parts)


def test_tallies_of_other_questions_do_not_add():
    with pytest.raises(InvalidValue, match="one question only"):
        Tally.empty(BINARY) + Tally.empty(KaryResponse(epsilon=2))


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3), (-1, 2), (5, 0)])
def test_impossible_tallies_are_refused(counts):
    with pytest.raises(InvalidValue):
        Tally(BINARY, 3, counts)


MALFORMED = [
    (BINARY, [2]),
    (BINARY, [-1]),
    (BINARY, [0.0]),
    (BINARY, ["1"]),
    (BINARY, [[0, 1]]),
    (BINARY, [True]),
    (BINARY, [2**70]),
    (UnaryEncoding(epsilon=1, categories=3), [[0, 1]]),
    (UnaryEncoding(epsilon=1, categories=3), [[0, 1, 2]]),
    (UnaryEncoding(epsilon=1, categories=3), [0, 1, 1]),
    (SubsetSelection(epsilon=1, categories=5, size=2), [[1, 1, 1, 0, 0]]),
    (SubsetSelection(epsilon=1, categories=5, size=2), [[1, 0, 0, 0, 0]]),
    (HadamardResponse(epsilon=1, categories=5), [8]),
    (LocalHashing(epsilon=1, categories=5, sides=4), [[0, 0, 4]]),
    (LocalHashing(epsilon=1, categories=5, sides=4), [[2**31 - 1, 0, 0]]),
    (LocalHashing(epsilon=1, categories=5, sides=4), [[0, 0, -1]]),
    (LocalHashing(epsilon=1, categories=5, sides=4), [[0, 0]]),
    (Rappor(categories=3, blur=0.5), [[0, 3, 0]]),
    (OneBit(**RANGE), [2]),
    (Piecewise(**RANGE), [16]),
    (Hybrid(**RANGE), [-1]),
]


@pytest.mark.parametrize(("question", "reports"), MALFORMED, ids=str)
def test_malformed_reports_are_refused(question, reports):
    with pytest.raises(InvalidValue, match="malformed"):
        Tally.of(question, reports)


@pytest.mark.parametrize("question", EVERY, ids=str)
@pytest.mark.parametrize("exact", ["41", None, [41j], [[41.5]], {41}])
def test_answers_that_cannot_be_read_are_refused_without_showing_them(question, exact):
    with pytest.raises(InvalidValue) as refusal:
        question.release(exact)
    assert "41" not in str(refusal.value)


@pytest.mark.parametrize(
    "question", [KaryResponse(epsilon=10**6, categories=5), LocalHashing(epsilon=60, categories=5)]
)
def test_what_lies_outside_counts_as_the_nearest_category(question):
    for exact, held in ((-7, 0), (10**40, 4), (5, 4), (np.int64(2), 2), (True, 1)):
        report = np.array([question.release(exact)])
        assert question.mark_supported(report)[0][held]


@pytest.mark.parametrize(
    "make",
    [
        lambda epsilon: KaryResponse(epsilon=epsilon, categories=3),
        lambda epsilon: UnaryEncoding(epsilon=epsilon, categories=3),
        lambda epsilon: LocalHashing(epsilon=epsilon, categories=3),
        lambda epsilon: HadamardResponse(epsilon=epsilon, categories=3),
        lambda epsilon: SubsetSelection(epsilon=epsilon, categories=3),
        lambda epsilon: OneBit(epsilon=epsilon, lower=0, upper=1, step=0.1),
        lambda epsilon: Piecewise(epsilon=epsilon, lower=0, upper=1, step=0.1),
        lambda epsilon: Hybrid(epsilon=epsilon, lower=0, upper=1, step=0.1),
    ],
)
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "1"])
def test_epsilon_is_refused(make, epsilon):
    with pytest.raises(InvalidValue):
        make(epsilon)


@pytest.mark.parametrize("kind", [KaryResponse, UnaryEncoding, LocalHashing, HadamardResponse])
@pytest.mark.parametrize("categories", [1, 0, -3, True, 2.0, 2**63])
def test_categories_are_refused(kind, categories):
    with pytest.raises(InvalidValue, match="categories"):
        kind(epsilon=1, categories=categories)


@pytest.mark.parametrize(
    "given",
    [
        {"blur": 0},
        {"blur": 1},
        {"blur": 0.5, "low": 0.5, "high": 0.5},
        {"blur": 0.5, "low": 0.7, "high": 0.3},
        {"blur": 0.5, "high": 1.5},
    ],
)
def test_rappor_refuses_what_is_not_private_or_says_nothing(given):
    with pytest.raises(InvalidValue):
        Rappor(categories=3, **given)


def test_rappor_without_fresh_noise_sends_the_copy():
    question = Rappor(categories=4, blur=0.5)
    copy = question.remember(2)
    assert question.report(copy).tolist() == copy.tolist()


@pytest.mark.parametrize("step", [11, 1e-7])
def test_a_range_needs_some_steps_and_not_too_many(step):
    with pytest.raises(InvalidValue, match="another step"):
        OneBit(epsilon=1, lower=0, upper=5, step=step)


@pytest.mark.parametrize("question", [OneBit(**RANGE), Piecewise(**RANGE), Hybrid(**RANGE)])
def test_numbers_that_are_not_finite_are_clamped(question):
    reports = question.release([float("inf"), -float("inf"), float("nan"), 3.7])
    assert Tally.of(question, reports).reports == 4


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def coverage(holders, people, confidence, question=BINARY):
    """The exact probability that the interval of category 1 holds the true count."""
    kept, other = (float(chance) for chance in question.chances())
    law = np.convolve(binomial(holders, kept), binomial(people - holders, other))
    total = 0.0
    for ones, chance in enumerate(law):
        found = frequencies(Tally(question, people, (people - ones, ones)))
        low, high = found.intervals(confidence)[1]
        total += chance if low <= holders <= high else 0.0
    return total


@pytest.mark.parametrize("holders", [0, 1, 20, 39, 40])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_intervals_cover_exactly_as_promised(holders, confidence):
    assert coverage(holders, 40, confidence) >= confidence


def test_intervals_that_are_too_short_would_be_caught(monkeypatch):
    honest = Frequencies.intervals

    def short(self, confidence=0.95):
        return tuple(
            (count + (low - count) / 2, count + (high - count) / 2)
            for count, (low, high) in zip(self.counts, honest(self, confidence), strict=True)
        )

    monkeypatch.setattr(Frequencies, "intervals", short)
    assert coverage(20, 40, 0.95) < 0.95


def test_intervals_stay_in_order_where_the_estimate_leaves_the_range():
    for counts in ((1000, 0), (0, 1000), (990, 10)):
        found = frequencies(Tally(KaryResponse(epsilon=0.1), 1000, counts))
        for low, high in found.intervals(0.5):
            assert 0 <= low <= high <= 1000


@pytest.mark.parametrize("confidence", [0, 1, 2, float("nan")])
def test_confidence_is_refused(confidence):
    with pytest.raises(InvalidValue):
        frequencies(Tally(BINARY, 2, (1, 1))).intervals(confidence)
    with pytest.raises(InvalidValue):
        mean(Tally(OneBit(**RANGE), 2, (1, 1))).interval(confidence)


def test_no_reports_give_no_information():
    empty = frequencies(Tally.empty(BINARY))
    assert empty.counts == (0.0, 0.0)
    assert empty.intervals() == ((0.0, 0.0), (0.0, 0.0))
    with pytest.raises(InvalidValue, match="no mean of none"):
        mean(Tally.empty(OneBit(**RANGE)))


def test_means_and_frequencies_are_not_mixed_up():
    with pytest.raises(InvalidValue, match="ask for frequencies"):
        mean(Tally(BINARY, 1, (1, 0)))
    with pytest.raises(InvalidValue, match="ask for their mean"):
        frequencies(Tally(OneBit(**RANGE), 1, (1, 0)))


def test_the_mean_of_expected_counts_is_the_answer():
    question = OneBit(epsilon=1, lower=0, upper=10, step=1)
    kept = float(KaryResponse(epsilon=1).chances()[0])
    ones = 0.3 * kept + 0.7 * (1 - kept)  # everyone answers 3
    people = 10**9
    count = round(people * ones)
    found = mean(Tally(question, people, (people - count, count)))
    assert found.value == pytest.approx(3, abs=1e-6)
    assert found.standard_error == pytest.approx(math.sqrt(question.variance(3) / people), rel=1e-6)
    low, high = found.interval()
    assert low < 3 < high


@pytest.mark.parametrize("question", EVERY[:7], ids=str)
def test_the_mean_variance_is_the_average_over_any_shares(question):
    shares = [Fraction(1, 2), Fraction(1, 2)] + [Fraction(0)] * min(5, question.categories - 2)
    if question.categories > 7:
        rest = question.categories - 7
        total = sum(count_variance(question, share=s) for s in shares)
        total += rest * count_variance(question)
    else:
        total = sum(count_variance(question, share=s) for s in shares)
    assert mean_variance(question) == pytest.approx(total / question.categories, rel=1e-9)


def test_the_joint_table_inverts_the_expectation():
    # Chances 3/4 and 1/4 on both sides; 16 people: everyone holds the pair (0, 1).
    question = Rappor(categories=2, blur=Fraction(1, 2))
    both = {(0, 0): 3, (0, 1): 9, (1, 0): 1, (1, 1): 3}
    tally = JointTally(
        question,
        question,
        16,
        ((both[0, 0], both[0, 1]), (both[1, 0], both[1, 1])),
        (12, 4),
        (4, 12),
    )
    assert tally.table().counts == ((0.0, 16.0), (0.0, 0.0))
    assert all(error > 0 for row in tally.table().standard_errors for error in row)


def test_joint_tallies_add_and_keep_the_pairs():
    one, two = KaryResponse(epsilon=1, categories=3), UnaryEncoding(epsilon=2, categories=2)
    first, second = one.release([0, 1, 2, 0, 1]), two.release([1, 1, 0, 0, 1])
    whole = JointTally.of(one, first, two, second)
    parts = JointTally.of(one, first[:2], two, second[:2]) + JointTally.of(
        one, first[2:], two, second[2:]
    )
    assert whole == parts
    direct = one.mark_supported(first).astype(int).T @ two.mark_supported(second).astype(int)
    assert whole.both == tuple(map(tuple, direct.tolist()))
    with pytest.raises(InvalidValue, match="pair them"):
        JointTally.of(one, first, two, second[:2])
    with pytest.raises(InvalidValue, match="other questions"):
        _ = whole + JointTally.of(two, second, one, first)


def test_joint_margins_of_k_ary_reports_are_the_estimates():
    one, two = KaryResponse(epsilon=1, categories=3), KaryResponse(epsilon=2)
    first, second = one.release([0, 1, 2, 0, 1]), two.release([1, 1, 0, 0, 1])
    table = JointTally.of(one, first, two, second).table()
    rows = [sum(row) for row in table.counts]
    assert rows == pytest.approx(frequencies(Tally.of(one, first)).counts)
    columns = [sum(column) for column in zip(*table.counts, strict=True)]
    assert columns == pytest.approx(frequencies(Tally.of(two, second)).counts)
    assert sum(map(sum, table.projected())) == pytest.approx(5)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("answer", [0, 0.3, 1])
def test_the_interval_of_the_mean_covers_exactly_as_promised(answer, confidence):
    question = OneBit(epsilon=1, lower=0, upper=1, step=Fraction(1, 10**5))
    kept = float(KaryResponse(epsilon=1).chances()[0])
    total, people = 0.0, 60
    for ones, chance in enumerate(binomial(people, answer * kept + (1 - answer) * (1 - kept))):
        low, high = mean(Tally(question, people, (people - ones, ones))).interval(confidence)
        total += chance if low <= answer <= high else 0.0
    assert total >= confidence
    reach = math.sqrt(math.log(2 / (1 - confidence)) / (2 * people)) / (2 * kept - 1)
    assert (high - low) / 2 == pytest.approx(reach, rel=1e-4)  # and no wider than the inequality
