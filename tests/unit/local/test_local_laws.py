"""The exact output law of every randomizer, by running its own code on every outcome of its coins:
the largest log ratio is at most epsilon and within 1e-9 of it, and the estimates are unbiased with
the stated variance.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.local import (
    HadamardResponse,
    Hybrid,
    KaryResponse,
    LocalHashing,
    OneBit,
    Piecewise,
    PrefixExtension,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
    count_variance,
)
from discreet.local.randomizers import hashing
from discreet.rationals import log_bounds
from support.decision_tree import largest_ratio, law

SMALL = 5  # the prime of the hash in these tests: all of its functions can be enumerated


def questions(epsilon):
    return [
        KaryResponse(epsilon=epsilon),
        KaryResponse(epsilon=epsilon, categories=5),
        UnaryEncoding(epsilon=epsilon, categories=2),
        UnaryEncoding(epsilon=epsilon, categories=4),
        LocalHashing(epsilon=epsilon, categories=4, sides=2),
        LocalHashing(epsilon=epsilon, categories=5, sides=3),
        HadamardResponse(epsilon=epsilon, categories=2),
        HadamardResponse(epsilon=epsilon, categories=6),
        SubsetSelection(epsilon=epsilon, categories=2),
        SubsetSelection(epsilon=epsilon, categories=5, size=1),
        SubsetSelection(epsilon=epsilon, categories=5, size=2),
        SubsetSelection(epsilon=epsilon, categories=5, size=4),
    ]


RATIONAL = [replace(question, coin_bits=64) for question in questions(2)]
CATEGORIES = [*questions(0.3), *questions(1), *questions(3), *RATIONAL]
RAPPOR = [
    Rappor(categories=3, blur=Fraction(1, 2), low=Fraction(1, 4), high=Fraction(3, 4)),
    Rappor(categories=2, blur=Fraction(1, 10), low=Fraction(1, 3), high=Fraction(1, 2)),
]
NUMBERS = [
    kind(epsilon=epsilon, lower=lower, upper=upper, step=step)
    for kind in (OneBit, Piecewise, Hybrid)
    for epsilon in (0.3, 1, 4)
    for lower, upper, step in ((-1, 1, 1), (0, 3, 1), (0.5, 1.5, 0.25))
]
NUMBERS += [
    kind(epsilon=2, lower=0, upper=3, step=1, coin_bits=64) for kind in (OneBit, Piecewise, Hybrid)
]


@pytest.fixture(autouse=True)
def _small_prime(monkeypatch):
    monkeypatch.setattr(hashing, "_PRIME", SMALL)


def plain(report):
    return tuple(report.tolist()) if isinstance(report, np.ndarray) else report


def laws(question, answers, monkeypatch, draw="release"):
    return [
        law(lambda a=answer: plain(getattr(question, draw)(a)), monkeypatch) for answer in answers
    ]


def check_tight(found, epsilon):
    for one in found:
        assert abs(sum(one.values()) - 1) < Fraction(1, 10**25)
    # The brackets' lower ends stand for the coins: 1e-15 covers what 60 digits leave open.
    low, high = log_bounds(largest_ratio(found))
    assert high <= epsilon + Fraction(1, 10**15)
    assert low >= epsilon - Fraction(1, 10**9)


@pytest.mark.parametrize("question", CATEGORIES, ids=str)
def test_the_loss_of_categories_is_exactly_epsilon(question, monkeypatch):
    found = laws(question, range(question.categories), monkeypatch)
    check_tight(found, question.loss().epsilon)


def test_rational_coins_never_cost_more_and_few_bits_are_seen(monkeypatch):
    for question in RATIONAL:
        found = laws(question, range(question.categories), monkeypatch)
        for one in found:
            assert sum(one.values()) == 1  # every coin is rational: nothing is left open
        assert log_bounds(largest_ratio(found))[0] <= question.epsilon
    coarse = replace(KaryResponse(epsilon=2), coin_bits=16)
    with pytest.raises(AssertionError):
        check_tight(laws(coarse, range(2), monkeypatch), coarse.epsilon)
    with pytest.raises(InvalidValue, match="cannot tell it from 0"):
        KaryResponse(epsilon=1e-9, coin_bits=16).release(0)


@pytest.mark.parametrize("question", RAPPOR, ids=str)
def test_the_losses_of_rappor(question, monkeypatch):
    answers = range(question.categories)
    check_tight(laws(question, answers, monkeypatch, "remember"), question.loss().epsilon)
    check_tight(laws(question, answers, monkeypatch), question.report_epsilon)


@pytest.mark.parametrize("question", [*CATEGORIES, *RAPPOR], ids=str)
def test_support_has_the_stated_chances_whatever_the_answer(question, monkeypatch):
    kept, other = question.chances()
    for answer, found in enumerate(laws(question, range(question.categories), monkeypatch)):
        chances = [Fraction(0)] * question.categories
        for report, chance in found.items():
            supported = question.mark_supported(np.array([report]))[0]
            assert question.count(np.array([report])).tolist() == supported.tolist()
            chances = [c + chance * bool(s) for c, s in zip(chances, supported, strict=True)]
        for category, chance in enumerate(chances):
            expected = kept if category == answer else other
            assert abs(chance - expected) < Fraction(1, 10**25)


@pytest.mark.parametrize("question", [*CATEGORIES, *RAPPOR], ids=str)
def test_the_variance_of_an_estimated_count(question, monkeypatch):
    """Of n people, h hold category 0: each report's indicator is enumerated, the sum compared."""
    kept, other = question.chances()
    found = laws(question, range(2), monkeypatch)
    variances = []
    for one in found:
        indicator = {
            report: (int(question.mark_supported(np.array([report]))[0][0]) - other)
            / (kept - other)
            for report in one
        }
        mean = sum(one[r] * indicator[r] for r in one)
        variances.append(sum(one[r] * indicator[r] ** 2 for r in one) - mean**2)
    for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
        expected = float(share * variances[0] + (1 - share) * variances[1])
        assert count_variance(question, share=share) == pytest.approx(expected, rel=1e-13)


def places(question):
    first = round(question.lattice.lower / question.lattice.step)
    last = round(question.lattice.upper / question.lattice.step)
    return [question.lattice.step * place for place in range(first, last + 1)]


@pytest.mark.parametrize("question", NUMBERS, ids=str)
def test_numbers_cost_epsilon_and_are_unbiased(question, monkeypatch):
    answers = places(question)
    found = laws(question, answers, monkeypatch)
    check_tight(found, question.loss().epsilon)
    decoded = question.decode_cells()
    for answer, one in zip(answers, found, strict=True):
        assert set(one) <= set(range(question.cells))
        mean = sum(float(chance) * decoded[code] for code, chance in one.items())
        assert mean == pytest.approx(float(answer), abs=1e-9)
        square = sum(float(chance) * (decoded[code] - mean) ** 2 for code, chance in one.items())
        assert question.variance(answer) == pytest.approx(square, rel=1e-9)


def test_prefixes_cost_epsilon(monkeypatch):
    monkeypatch.setattr(hashing, "_PRIME", 5)
    question = PrefixExtension(epsilon=1, width=2, first=1, step=1)
    assert question.lengths == (1, 2)
    check_tight(laws(question, range(4), monkeypatch), question.loss().epsilon)


def test_two_limbs_hash_like_one(monkeypatch):
    monkeypatch.setattr(hashing, "_LIMB", 1)
    monkeypatch.setattr(hashing, "_PRIME", 3)
    question = LocalHashing(epsilon=1, categories=4, sides=2)
    found = laws(question, range(4), monkeypatch)
    check_tight(found, question.loss().epsilon)
    kept, other = question.chances()
    for answer, one in enumerate(found):
        for category in range(4):
            chance = sum(
                p for r, p in one.items() if question.mark_supported(np.array([r]))[0][category]
            )
            assert abs(chance - (kept if category == answer else other)) < Fraction(1, 10**25)


@pytest.mark.parametrize("epsilon", [0.1, 1, 2.5])
@pytest.mark.parametrize("categories", [2, 10, 1000])
def test_the_published_formulas(epsilon, categories):
    e, k = math.exp(epsilon), categories
    assert count_variance(UnaryEncoding(epsilon=epsilon, categories=k)) == pytest.approx(
        4 * e / (e - 1) ** 2
    )
    assert count_variance(KaryResponse(epsilon=epsilon, categories=k)) == pytest.approx(
        (k - 2 + e) / (e - 1) ** 2
    )
    assert count_variance(HadamardResponse(epsilon=epsilon, categories=k)) == pytest.approx(
        ((e + 1) / (e - 1)) ** 2
    )


@pytest.mark.parametrize("epsilon", [math.log(2), math.log(3), math.log(7)])
def test_hashing_reaches_the_unary_variance_where_the_sides_are_whole(epsilon, monkeypatch):
    monkeypatch.setattr(hashing, "_PRIME", (1 << 31) - 1)
    e = math.exp(epsilon)
    found = count_variance(LocalHashing(epsilon=epsilon, categories=1000))
    assert found == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
@pytest.mark.parametrize("answer", [0, 0.5, 1])
def test_numbers_on_a_fine_lattice_have_the_published_variances(epsilon, answer):
    asked = {"epsilon": epsilon, "lower": -1, "upper": 1, "step": Fraction(1, 20_000)}
    e, s = math.exp(epsilon), math.exp(epsilon / 2)
    one_bit = ((e + 1) / (e - 1)) ** 2 - answer**2
    piecewise = answer**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)
    assert OneBit(**asked).variance(answer) == pytest.approx(one_bit)
    assert Piecewise(**asked).variance(answer) == pytest.approx(piecewise, rel=1e-3)
    share = 1 - 1 / s if epsilon > 0.61 else 0
    assert Hybrid(**asked).variance(answer) == pytest.approx(
        share * piecewise + (1 - share) * one_bit, rel=1e-3
    )


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (KaryResponse(epsilon=1, categories=3), KaryResponse(epsilon=1.001, categories=3)),
        (UnaryEncoding(epsilon=1, categories=3), UnaryEncoding(epsilon=1.001, categories=3)),
        (UnaryEncoding(epsilon=1, categories=3), UnaryEncoding(epsilon=0.999, categories=3)),
        (SubsetSelection(epsilon=1, categories=4), SubsetSelection(epsilon=1.001, categories=4)),
    ],
)
def test_a_claim_that_is_off_by_a_thousandth_is_caught(kind, wrong, monkeypatch):
    found = laws(wrong, range(kind.categories), monkeypatch)
    with pytest.raises(AssertionError):
        check_tight(found, kind.loss().epsilon)


def test_a_subset_that_always_keeps_its_size_by_dropping_the_last_is_caught(monkeypatch):
    question = SubsetSelection(epsilon=1, categories=5, size=2)
    honest = SubsetSelection._draw_set

    def biased(self, held, bits):
        noisy = honest(self, held, bits)
        noisy.sort(axis=1)  # the planted bug: always the last categories
        return noisy

    monkeypatch.setattr(SubsetSelection, "_draw_set", biased)
    found = laws(question, range(5), monkeypatch)
    with pytest.raises(AssertionError):
        check_tight(found, question.loss().epsilon)


def test_a_hash_function_chosen_after_the_answer_is_caught(monkeypatch):
    question = LocalHashing(epsilon=1, categories=4, sides=2)
    honest = LocalHashing._row

    def peeking(self, held, bits):
        noisy = honest(self, held, bits)
        noisy[:, 0] = (noisy[:, 0] + (held == 3)) % SMALL if held[0] == 3 else 1
        return noisy

    monkeypatch.setattr(LocalHashing, "_row", peeking)
    with pytest.raises(AssertionError):
        check_tight(laws(question, range(4), monkeypatch), question.loss().epsilon)
