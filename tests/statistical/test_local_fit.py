"""Every randomizer with fresh bits against its law written by hand, and bugs that are caught."""

import itertools
import math

import numpy as np
import pytest

from discreet.local import (
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
    frequencies,
    mean,
)
from support.fit import check_fit, check_rate, rejects

MANY = 200_000
E = math.e


def numbered(rows):
    """Rows of bits as integers."""
    return rows.astype(np.int64) @ (1 << np.arange(rows.shape[1]))


def asked(question, answer, many=MANY):
    return question.release(np.full(many, answer))


def test_k_ary_fits():
    law = {x: (E if x == 2 else 1) / (E + 4) for x in range(5)}
    assert check_fit(asked(KaryResponse(epsilon=1, categories=5), 2), law, name="k-ary") > 0
    wrong = asked(KaryResponse(epsilon=1.1, categories=5), 2)
    assert rejects(check_fit, wrong, law, name="k-ary at another epsilon")


def unary_law(chances):
    law = {}
    for bits in itertools.product((0, 1), repeat=len(chances)):
        terms = [c if b else 1 - c for b, c in zip(bits, chances, strict=True)]
        law[sum(b << i for i, b in enumerate(bits))] = math.prod(terms)
    return law


def test_unary_fits():
    law = unary_law([1 / (E + 1), 1 / 2, 1 / (E + 1), 1 / (E + 1)])
    question = UnaryEncoding(epsilon=1, categories=4)
    assert check_fit(numbered(asked(question, 1)), law, name="unary") > 0
    assert rejects(check_fit, numbered(asked(question, 2)), law, name="another category")
    same = np.repeat(asked(question, 1)[:, :1], 4, axis=1)
    assert rejects(check_fit, numbered(same), law, name="one coin for all bits")


def test_rappor_fits():
    law = unary_law([5 / 8, 3 / 8, 3 / 8])
    question = Rappor(categories=3, blur=0.5, low=0.25, high=0.75)
    assert check_fit(numbered(asked(question, 0)), law, name="rappor") > 0
    copies = question.remember(np.zeros(MANY, dtype=np.int64))
    permanent = unary_law([3 / 4, 1 / 4, 1 / 4])
    assert check_fit(numbered(copies), permanent, name="permanent copies") > 0
    assert rejects(check_fit, numbered(copies), law, name="no fresh noise")


def test_subset_selection_fits():
    question = SubsetSelection(epsilon=1, categories=5, size=2)
    weights = {
        sum(1 << x for x in pair): E if 3 in pair else 1.0
        for pair in itertools.combinations(range(5), 2)
    }
    total = sum(weights.values())
    law = {code: weight / total for code, weight in weights.items()}
    assert check_fit(numbered(asked(question, 3)), law, name="subsets") > 0
    assert rejects(check_fit, numbered(asked(question, 1)), law, name="another category")


def test_hadamard_fits():
    question = HadamardResponse(epsilon=1, categories=5)
    signs = [(-1) ** (4 & column).bit_count() for column in range(8)]  # row 4 for category 3
    law = {c: (E if sign > 0 else 1) / (4 * (E + 1)) for c, sign in enumerate(signs)}
    assert check_fit(asked(question, 3), law, name="hadamard") > 0
    assert rejects(check_fit, asked(question, 4), law, name="the next row")


def hashes(rows, value, sides):
    return (rows[:, 0] * value + rows[:, 1]) % (2**31 - 1) % sides


def test_local_hashing_fits():
    question = LocalHashing(epsilon=1, categories=1000)
    assert question.sides == 4
    rows = asked(question, 777)
    kept = int((hashes(rows, 777, 4) == rows[:, 2]).sum())
    assert check_rate(kept, MANY, E / (E + 3), name="hashing, the answer") > 0
    step = (2**31 - 1) / 1024
    for column in (0, 1):
        edges = [math.ceil(cell * step) for cell in range(1025)]
        law = {c: (edges[c + 1] - edges[c]) / (2**31 - 1) for c in range(1024)}
        cells = np.searchsorted(edges, rows[:, column], side="right") - 1
        assert check_fit(cells, law, name=f"hashing, function part {column}") > 0
    met = int((hashes(rows, 12, 4) == rows[:, 2]).sum())
    assert check_rate(met, MANY, float(question.chances()[1]), name="hashing, another") > 0


RANGE = {"lower": 0, "upper": 6, "step": 1}


def piecewise_law(place, window, steps=6):
    total = window * E + steps
    outputs = range(steps + window)
    return {o: (E if place <= o < place + window else 1) / total for o in outputs}


def test_numbers_fit():
    one_bit = 1 / 2 + (2 / 3 - 1 / 2) * (E - 1) / (E + 1)
    bits_law = {0: 1 - one_bit, 1: one_bit}
    assert check_fit(asked(OneBit(epsilon=1, **RANGE), 4), bits_law, name="one bit") > 0
    question = Piecewise(epsilon=1, **RANGE)
    law = piecewise_law(4, question.window)
    assert check_fit(asked(question, 4), law, name="piecewise") > 0
    assert rejects(check_fit, asked(question, 5), law, name="one step beside")
    share = 1 - math.exp(-1 / 2)
    mixed = {o: share * chance for o, chance in law.items()}
    mixed |= {len(law) + bit: (1 - share) * chance for bit, chance in bits_law.items()}
    assert check_fit(asked(Hybrid(epsilon=1, **RANGE), 4), mixed, name="hybrid") > 0


SURE = 1 - 1e-12
PEOPLE = np.repeat(np.arange(4), [10_000, 5_000, 2_000, 0])


@pytest.mark.parametrize(
    "question",
    [
        kind(epsilon=1, categories=4)
        for kind in (
            KaryResponse,
            UnaryEncoding,
            LocalHashing,
            HadamardResponse,
            SubsetSelection,
        )
    ],
    ids=lambda question: type(question).__name__,
)
def test_intervals_hold_the_truth(question):
    # Four intervals of 1e-12 / 4 each: one check in the count below.
    found = frequencies(Tally.of(question, question.release(PEOPLE)))
    truth = np.bincount(PEOPLE, minlength=4)
    inside = sum(
        low <= held <= high
        for held, (low, high) in zip(truth, found.intervals(1 - 2.5e-13), strict=True)
    )
    assert check_rate(inside, 4, 1.0, name=f"intervals of {type(question).__name__}") > 0
    shifted = np.roll(truth, 1)
    assert any(
        not low <= held <= high
        for held, (low, high) in zip(shifted, found.intervals(0.999), strict=True)
    )


@pytest.mark.parametrize("kind", [OneBit, Piecewise, Hybrid])
def test_the_interval_of_the_mean_holds_the_truth(kind):
    question = kind(epsilon=2, lower=0, upper=10, step=0.5)
    exact = [1.5, 3.0, 9.5, 2.0] * 2_500
    low, high = mean(Tally.of(question, question.release(exact))).interval(SURE)
    assert check_rate(int(low <= 4.0 <= high), 1, 1.0, name=f"mean by {kind.__name__}") > 0
    assert high - low < 10


def test_the_joint_table_is_near_the_truth():
    one, two = KaryResponse(epsilon=2, categories=3), UnaryEncoding(epsilon=2, categories=2)
    first = np.repeat([0, 1, 2], [8_000, 8_000, 4_000])
    second = np.where(first == 1, 1, 0)
    table = JointTally.of(one, one.release(first), two, two.release(second)).table()
    truth = [[8_000, 0], [0, 8_000], [4_000, 0]]
    # Each of the six is a sum of 20,000 terms in an interval of width w: Hoeffding at 1e-13.
    widths = [1 / float(kept - other) for kept, other in (one.chances(), two.chances())]
    limit = 2 * math.prod(widths) * math.sqrt(20_000 * math.log(2 / 1e-13) / 2)
    far = sum(
        abs(count - held) > limit
        for row, expected in zip(table.counts, truth, strict=True)
        for count, held in zip(row, expected, strict=True)
    )
    assert check_rate(far, 6, 0.0, name="joint table") > 0
    apart = [sum(map(sum, truth)) / 6] * 6
    assert any(
        abs(count - held) > limit
        for count, held in zip((c for row in table.counts for c in row), apart, strict=True)
    )
