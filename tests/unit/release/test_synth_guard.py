"""What a replaced stage cannot do: see exact counts, move a score by more than is charged, or hide
what it weighs. And what no price can do: make scores leave 64 bits.
"""

import dataclasses
import functools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.simplex import project_to_simplex
from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.noise import system
from discreet.release.synth.aim import run_aim
from discreet.release.synth.domain import Attribute
from discreet.release.synth.grade import plan_grade
from discreet.release.synth.mwem import reweigh
from discreet.release.synth.rounds import Candidate, Cells, Round, to_steps
from discreet.release.synth.stages import Stages, gaussian, worst_missed

ONE = Sensitivity.single(1)
ATTRIBUTES = tuple(Attribute(name, size, ordered=False) for name, size in (("a", 2), ("b", 3)))
PLACES = np.array([[a, b] for a in range(2) for b in range(3)])
TABLE = Cells(PLACES, np.array([4000, 1000, 1000, 1000, 1000, 4000]))  # far above any noise here


class Memory:
    """Answers steps from rows in memory."""

    def __init__(self):
        self.steps = []

    def take(self, step):
        self.steps.append(step)
        return step.release(TABLE, system)


def made(**replaced):
    source = Memory()
    run_aim(ATTRIBUTES, source, rho=10, sensitivity=ONE, stages=Stages(**replaced))
    return source


def test_expected_counts_cannot_wrap_around():
    """At -2**63 a distance had no absolute value: a score told whether a count is exactly 3."""
    tell = np.array([256 * 3 - 2**63, 0, 0, 0])
    with pytest.raises(InvalidValue, match="expects up to"):
        Candidate((0, 1), tell, 1, 0)
    with pytest.raises(InvalidValue, match="expects up to"):
        Candidate((0, 1), np.full(4, 2**62), 1, 0)
    with pytest.raises(InvalidValue, match="expects up to"):
        Candidate((0, 1), np.full(4, 2**64 - 1, dtype=np.uint64), 1, 0)
    assert Candidate((0, 1), np.full(4, 2**58), 1, 0).expected.dtype == np.int64


@pytest.mark.parametrize("total", [0.5, 50.0, 1e12, 1e17, 1e18, 1e300, np.inf, np.nan])
def test_one_row_moves_a_distance_by_one_row_whatever_the_model_expects(total):
    for width in (1, 2, 3):
        expected = to_steps(np.full(width, total))
        Candidate((0,), expected, 1, 0)
        for count in (0, 1, 2**50):
            near, far = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
            near[0], far[0] = count, count + 1
            before, after = (int(np.abs(256 * each - expected).sum()) for each in (near, far))
            assert abs(before - after) <= 256


def test_a_grade_of_a_huge_total_moves_by_one_row():
    """A price of 1e-34 gives such totals. The noise is 0 here but for probability e^-500000."""
    step = plan_grade((3,), np.array([[0]]), total=1e18, rho=Fraction(1), sensitivity=ONE)
    step = dataclasses.replace(step, variances=(Fraction(1, 10**6),))
    sums = [
        int(step.release(Cells(np.array([[0]]), np.array([count])), system)[0].counts[0])
        for count in (0, 1)
    ]
    assert abs(sums[0] - sums[1]) <= 256


def test_weights_stay_numbers_when_noise_is_larger_than_the_table():
    """A total below one row made shares of thousands, whose exponential is infinite."""

    class Far(Memory):
        def take(self, step):
            found = super().take(step)
            value = 5000 if self.steps[1:] else -5000
            return tuple(
                dataclasses.replace(each, counts=np.full_like(each.counts, value)) for each in found
            )

    found = reweigh(ATTRIBUTES, Far(), epsilon=1, sensitivity=ONE)
    assert np.isfinite(found.marginal((0, 1))).all()


SEEN = []


class Spy(np.ndarray):
    """Sees what it is subtracted from."""

    def __array_ufunc__(self, ufunc, method, *given, **more):
        SEEN.append(given)
        plain = [np.asarray(each) for each in given]
        return getattr(ufunc, method)(*plain, **more)


class Number(int):
    """Sees what it is subtracted from or multiplied by."""


def test_a_candidate_keeps_its_own_plain_numbers():
    given = np.zeros(6, dtype=np.int64).view(Spy)
    kept = Candidate((0, 1), given, 1, 0).expected
    assert type(kept) is np.ndarray
    assert not np.shares_memory(kept, given)
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1
    for odd in ({"weight": Number(1)}, {"handicap": Number(1)}, {"handicap": 0.5}):
        with pytest.raises(InvalidValue):
            Candidate(**{"clique": (0, 1), "expected": given, "weight": 1, "handicap": 0, **odd})


def test_a_fit_cannot_hand_on_an_array_that_looks():
    def spying(offer):
        first = worst_missed(offer)[0]
        return (dataclasses.replace(first, expected=first.expected.view(Spy)),)

    SEEN.clear()
    source = made(select=spying)
    before = len(SEEN)
    step = next(each for each in source.steps if isinstance(each, Round))
    step.release(TABLE, system)
    assert len(SEEN) == before


class Swelling:
    """Weighs little when it is priced."""

    clique, expected, handicap, asked = (0, 1), np.zeros(6, dtype=np.int64), 0, 0

    @property
    def weight(self):
        self.asked += 1
        return 1 if self.asked < 4 else 10**9


def test_only_candidates_are_candidates():
    def swelling(_):
        return (Swelling(),)

    with pytest.raises(InvalidValue, match="must give candidates"):
        made(select=swelling)


def test_what_is_proposed_is_copied():
    held = []

    def holding(offer):
        held[:] = worst_missed(offer)
        return held

    source = made(select=holding)
    step = [each for each in source.steps if isinstance(each, Round)][-1]
    assert held
    assert all(one is not other for one in held for other in step.candidates)


class Open:
    """Says that it costs a little, and shows all."""

    variance = 1.0

    def __init__(self, honest):
        self.honest = honest

    def loss(self, sensitivity):
        return self.honest.loss(sensitivity)

    def release(self, exact, _):
        return exact


def test_a_mechanism_of_unknown_proof_is_not_handed_counts():
    def opened(*, rho, sensitivity):
        return Open(gaussian(rho=rho, sensitivity=sensitivity))

    with pytest.raises(InvalidValue, match="it would see exact counts"):
        made(measure=opened)


@pytest.mark.parametrize("group", [-1, 2])
def test_a_value_of_no_group_is_refused_before_a_row_is_read(group):
    """It would fail for rows that have the value and for no others."""
    groups = (np.array([0, 1]), np.array([0, group, 1]))
    with pytest.raises(InvalidValue, match="in no group"):
        Round((2, 2), (0, 1), groups, (), 1, Fraction(1), DiscreteGaussian(sigma=1))


def test_stages_that_share_a_name_are_refused():
    """Two partial functions were one name: the second synthesis was given the first one's."""
    for share in (2, 3):
        with pytest.raises(InvalidValue, match="function with a name"):
            Stages(measure=functools.partial(gaussian, sensitivity=share))


@pytest.mark.parametrize("price", [Fraction(1, 10**33), Fraction(1, 10**36)])
def test_a_price_that_buys_noise_only_still_gives_a_model(price):
    """Noise beyond 2**53 swallowed the total: what was paid for failed half of the time."""
    for _ in range(4):
        found = run_aim(ATTRIBUTES, Memory(), rho=price, sensitivity=ONE)
        assert np.isfinite(found.marginal((0, 1))).all()
    assert project_to_simplex(np.array([1e17, 1e17]), 1.0).tolist() == [0.0, 0.0]
