"""Choosing a randomizer, the comparison with the central model, diaries and heavy hitters."""

import math
from fractions import Fraction

import pytest

from discreet.errors import InvalidValue
from discreet.local import (
    Diary,
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    OneBit,
    PrefixExtension,
    Rappor,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    candidates,
    choose,
    compare,
    count_variance,
    mean_variance,
    people_needed,
)
from discreet.mechanisms.additive.laplace import DiscreteLaplace


@pytest.mark.parametrize("categories", [2, 3, 5, 17, 100, 1024])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5])
def test_the_choice_has_the_least_variance(categories, epsilon):
    asked = {"categories": categories, "epsilon": epsilon}
    chosen = choose(**asked)
    kinds = [KaryResponse, UnaryEncoding, LocalHashing, HadamardResponse, SubsetSelection]
    least = min(mean_variance(kind(**asked)) for kind in kinds)
    assert mean_variance(chosen) == pytest.approx(least, rel=1e-12)
    assert chosen.loss().epsilon == Fraction(str(epsilon))
    variances = [candidate.variance for candidate in candidates(**asked)]
    assert variances == sorted(variances)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_k_ary_response_beats_unary_up_to_the_published_crossing(epsilon):
    crossing = 3 * math.exp(epsilon) + 2
    for categories in range(2, 40):
        asked = {"categories": categories, "epsilon": epsilon}
        better = count_variance(KaryResponse(**asked)) < count_variance(UnaryEncoding(**asked))
        assert better == (categories < crossing)


def test_short_reports_are_wanted_for_many_categories():
    assert isinstance(choose(categories=10**6, epsilon=1), LocalHashing)
    assert choose(categories=10**6, epsilon=1, report_bits=20).report_bits == 20
    with pytest.raises(InvalidValue, match="allow 20"):
        choose(categories=10**6, epsilon=1, report_bits=19)


@pytest.mark.parametrize("epsilon", [0.01, 1, 5])
@pytest.mark.parametrize("people", [1, 100, 10**8])
def test_the_gap_to_the_central_model_is_the_root_of_half_the_people(people, epsilon):
    found = compare(people=people, epsilon=epsilon)
    assert found.ratio == pytest.approx(math.sqrt(people / 2), rel=1e-12)
    ratio = math.exp(-epsilon)
    summed = 2 * sum(k * k * ratio**k for k in range(1, int(80 / epsilon))) * (1 - ratio)
    assert found.central == pytest.approx(math.sqrt(summed / (1 + ratio)), rel=1e-9)
    assert DiscreteLaplace(scale=Fraction(1) / found.epsilon).scale == 1 / found.epsilon


def test_the_people_needed_reach_the_error():
    people = people_needed(error=0.01, epsilon=1)
    assert compare(people=people, epsilon=1).local / people <= 0.01
    assert compare(people=people - 1, epsilon=1).local / (people - 1) > 0.01


QUESTIONS = {
    "smokes": KaryResponse(epsilon=1),
    "colour": UnaryEncoding(epsilon=0.5, categories=4),
    "age": OneBit(epsilon=0.25, lower=0, upper=100, step=1),
}


def test_what_is_said_again_is_the_same_report_and_costs_nothing():
    first, diary = Diary(QUESTIONS).answer("colour", 3)
    assert {tuple(diary.again("colour").tolist()) for _ in range(20)} == {tuple(first.tolist())}
    assert diary.losses()["colour"].epsilon == Fraction(1, 2)


def test_the_same_answer_given_again_is_drawn_afresh():
    question = UnaryEncoding(epsilon=0.5, categories=64)
    first, diary = Diary({"q": question}).answer("q", 3)
    second, diary = diary.answer("q", 3)
    assert second.tolist() != first.tolist()  # alike: below 0.54**63
    assert diary.loss().epsilon == 1


def test_the_loss_is_epsilon_times_the_answers_and_adds_over_questions():
    diary = Diary(QUESTIONS)
    told = [("smokes", 1), ("smokes", 0), ("smokes", 1), ("colour", 2), ("age", 40.2), ("age", 40)]
    for question, exact in told:
        _, diary = diary.answer(question, exact)
    losses = {name: loss.epsilon for name, loss in diary.losses().items()}
    assert losses == {"smokes": 3, "colour": Fraction(1, 2), "age": Fraction(1, 2)}
    assert diary.loss().epsilon == 4
    assert diary.limit({"smokes": 3, "colour": 1, "age": 2}) == diary.loss()


def test_a_diary_holds_no_answers():
    _, diary = Diary(QUESTIONS).answer("age", 41)
    assert "41" not in repr(diary)
    assert "41" not in str(diary._sent)
    with pytest.raises(InvalidValue, match="no question 'height'"):
        diary.answer("height", 3)
    with pytest.raises(InvalidValue, match="no question 'height'"):
        diary.again("height")
    with pytest.raises(InvalidValue, match="'smokes' has not been answered yet"):
        diary.again("smokes")


def test_the_old_diary_is_left_as_it_was():
    diary = Diary(QUESTIONS)
    _, later = diary.answer("smokes", 1)
    assert diary.loss().epsilon == 0
    assert later.loss().epsilon == 1


def test_rappor_keeps_one_copy_and_draws_fresh_reports():
    question = Rappor(categories=32, blur=0.5, low=0.25, high=0.75)
    first, diary = Diary({"page": question}).answer("page", 7)
    reports = {tuple(first.tolist())}
    reports |= {tuple(diary.again("page").tolist()) for _ in range(4)}
    assert len(reports) > 1  # all five alike: below 0.24**32
    assert diary.loss() == question.loss()


def test_the_lengths_end_with_the_whole_answer():
    assert PrefixExtension(epsilon=1, width=30, first=8, step=7).lengths == (8, 15, 22, 29, 30)
    assert PrefixExtension(epsilon=1, width=4, first=8, step=7).lengths == (4,)


@pytest.mark.parametrize("reports", [[1, 2], [[9, 0, 0, 0]], [[-1, 0, 0, 0]], [[0, 0, 0]], [["a"]]])
def test_malformed_prefix_reports_are_refused(reports):
    with pytest.raises(InvalidValue, match="malformed"):
        PrefixExtension(epsilon=1, width=12).find(reports)


def test_counting_a_huge_domain_whole_is_refused():
    for question in (
        LocalHashing(epsilon=1, categories=2**40),
        KaryResponse(epsilon=1, categories=2**40),
    ):
        with pytest.raises(InvalidValue, match="count_of"):
            Tally.of(question, question.release([1, 2]))
        with pytest.raises(InvalidValue, match="count_of"):
            Tally.empty(question)
