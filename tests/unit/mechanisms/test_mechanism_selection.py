"""Selection: prices, extreme scores, the float filter against exact arithmetic."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, BoundedRange, Pure, Relation, Sensitivity
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.noisy_max import MaxNoise, NoisyMax, _log_difference_tail
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.top_k import TopK
from discreet.mechanisms.shared.scores import FAR, exp_negative, read_gaps
from discreet.mechanisms.shared.weights import _scale_bounds, choose, flip
from discreet.noise.bits import SeededBits
from discreet.rationals import exp_bounds
from support.mechanism_laws import difference_pmf, noisy_max_law, permute_and_flip_law

ONE = Sensitivity.single(1)
ALL = [
    Exponential(scale=2),
    PermuteAndFlip(scale=2),
    NoisyMax(scale=2),
    NoisyMax(scale=2, noise=MaxNoise.EXPONENTIAL),
    NoisyMax(scale=2, noise=MaxNoise.GUMBEL),
]
REAL = [ALL[0], ALL[1], ALL[3], ALL[4]]  # those that take scores that are not integers


def test_prices():
    assert Exponential(scale=2).loss(ONE) == BoundedRange(epsilon=1)
    assert PermuteAndFlip(scale=2).loss(ONE) == Pure(epsilon=1)
    assert NoisyMax(scale=2).loss(ONE) == Pure(epsilon=1)
    assert NoisyMax(scale=2, noise="exponential").loss(ONE) == Pure(epsilon=1)
    assert NoisyMax(scale=2, noise="gumbel").loss(ONE) == BoundedRange(epsilon=1)
    assert TopK(scale=2, count=4).loss(ONE) == ZCDP(rho=Fraction(1, 2))
    many = Sensitivity(groups=9, per_group=1)
    assert all(mechanism.loss(many) == mechanism.loss(ONE) for mechanism in ALL)


@pytest.mark.parametrize("mechanism", ALL)
def test_the_monotone_price_is_half_and_refused_under_replace(mechanism):
    monotone = mechanism.monotone_loss(ONE, relation=Relation.ADD_REMOVE)
    assert monotone.epsilon == mechanism.loss(ONE).epsilon / 2
    assert type(monotone) is type(mechanism.loss(ONE))
    with pytest.raises(UnprovableRequest, match="replace"):
        mechanism.monotone_loss(ONE, relation=Relation.REPLACE)
    with pytest.raises(TypeError):
        mechanism.monotone_loss(ONE)


@pytest.mark.parametrize("mechanism", REAL)
@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([0, -(10**6)], 0),
        ([0, 10**308], 1),
        ([0.0, -1e6], 0),
        ([0.0, 1e308], 1),
        ([-1e308, 1e308], 1),
        ([5e-324, 0.0, -1e6], None),
        ([Fraction(1, 3), Decimal("1e40"), 2], 1),
        ([10**400, 10**400 - 10**6, 0], 0),
        ([7], 0),
    ],
)
def test_extreme_scores_raise_nothing(mechanism, scores, best):
    for form in (list, np.array):
        chosen = mechanism.release(form(scores))
        assert type(chosen) is int
        assert chosen == best or best is None


@pytest.mark.parametrize("scale", [Fraction(1, 10**300), 10**300, Fraction(1, 10**60)])
@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_extreme_scales_raise_nothing(scale, kind):
    for scores in (np.array([0, 2**62, -(2**62)]), np.array([0.0, 1e-300, 1e300]), [0, 10**9]):
        chosen = kind(scale=scale).release(scores)
        if scale < 1:
            assert chosen == int(np.argmax(scores))


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize(
    "scores",
    [
        [],
        np.zeros(0),
        [41.5, float("nan")],
        np.array([41.5, np.nan]),
        [41.5, float("inf")],
        np.array([[41, 2]]),
        [True, False],
        ["41", "2"],
        np.array([True, False]),
        [None, 41.5],
    ],
)
def test_refusals_do_not_repeat_a_score(mechanism, scores):
    with pytest.raises(InvalidValue) as refusal:
        mechanism.release(scores)
    assert "41" not in str(refusal.value)


def test_laplace_noise_takes_integers_only():
    for scores in ([0.5, 1], np.array([0.5, 1.0]), [Fraction(1, 2)]):
        with pytest.raises(InvalidValue, match="Lattice"):
            NoisyMax(scale=2).release(scores)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
def test_declared_candidates_are_checked_and_needed_for_the_error(kind):
    with pytest.raises(InvalidValue, match="3 scores and candidates is 2"):
        kind(scale=1, candidates=2).release([1, 2, 3])
    with pytest.raises(InvalidValue, match="declare"):
        kind(scale=1).error(0.9)
    for bad in (0, -1, True, 1.5):
        with pytest.raises(InvalidValue):
            kind(scale=1, candidates=bad)
    assert kind(scale=1, candidates=1).error(0.999) == 0


SCORES = st.one_of(
    st.lists(st.integers(-60, 60), min_size=1, max_size=12),
    st.lists(st.fractions(-20, 20, max_denominator=50), min_size=1, max_size=12),
    st.lists(st.floats(-30, 30), min_size=1, max_size=12),
)


@settings(max_examples=150, deadline=None)
@given(SCORES, st.fractions(Fraction(1, 10), 40, max_denominator=20), st.integers(0, 2**60))
def test_the_margin_changes_the_way_and_never_the_choice(scores, scale, seed):
    for form in (list, np.array):
        gaps = read_gaps(form(scores), scale)
        assert choose(gaps, SeededBits(seed)) == choose(gaps, SeededBits(seed), margin=1.0)
        fast, exact = flip(gaps, SeededBits(seed)), flip(gaps, SeededBits(seed), margin=1.0)
        assert fast.tolist() == exact.tolist()


@settings(max_examples=60, deadline=None)
@given(SCORES, st.fractions(Fraction(1, 10), 40, max_denominator=20), st.integers(0, 2**60))
def test_lists_and_arrays_lead_to_the_same_choice(scores, scale, seed):
    listed, array = read_gaps(scores, scale), read_gaps(np.array(scores), scale)
    assert choose(listed, SeededBits(seed)) == choose(array, SeededBits(seed))


def test_the_filter_is_within_its_proved_error():
    gaps = np.concatenate([np.linspace(0, 3, 400), np.linspace(3, FAR, 600), [FAR + 1, np.inf]])
    found = exp_negative(gaps)
    for gap, weight in zip(gaps[:-2], found[:-2], strict=True):
        low, high = exp_bounds(-Fraction(gap), 400)
        assert low * (1 - Fraction(1, 2**49)) <= Fraction(weight) <= high * (1 + Fraction(1, 2**49))
    assert found[-2:].tolist() == [0, 0]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1, max_size=6),
    st.fractions(Fraction(1, 10**6), 10**6),
)
def test_approximate_gaps_are_within_their_stated_error(scores, scale):
    gaps = read_gaps(np.array(scores), scale)
    for index in range(len(scores)):
        exact, near = gaps.exactly(index), gaps.approximate[index]
        if near <= 746:
            assert abs(exact - Fraction(near)) <= Fraction(gaps.error)
        else:
            assert exact > FAR or math.isinf(gaps.weight_error)


def test_a_choice_at_a_boundary_is_decided_by_more_bits():
    class Halves:
        """The first word is exactly one half, the next say on which side it goes on."""

        def __init__(self, following):
            self.words = [1 << 63, *following]

        def bits(self, count):
            assert count == 64
            return self.words.pop(0)

    gaps = read_gaps([0, 0], Fraction(1))
    assert choose(gaps, Halves([])) == 1  # u >= 1/2 is certain: the weights are exactly equal
    gaps = read_gaps([0, Fraction(1, 10**40)], Fraction(1))
    assert choose(gaps, Halves([0, 0])) == 1
    gaps = read_gaps([Fraction(1, 10**40), 0], Fraction(1))
    assert choose(gaps, Halves([0, 0, 0])) == 0


def test_a_million_candidates():
    scores = np.arange(10**6) % 1000
    for mechanism in (Exponential(scale=5), PermuteAndFlip(scale=5), NoisyMax(scale=5)):
        assert scores[mechanism.release(scores)] > 700


def test_top_k_names_different_indices_and_refuses_too_many():
    chosen = TopK(scale=100, count=5).release([0, 0, 0, 0, 0])
    assert sorted(chosen) == [0, 1, 2, 3, 4]
    assert TopK(scale=0.001, count=3).release(np.array([1, 5, 3, 4])) == [1, 3, 2]
    with pytest.raises(InvalidValue, match="ask for fewer"):
        TopK(scale=1, count=3).release([1, 2])
    for bad in (0, True, 1.0):
        with pytest.raises(InvalidValue):
            TopK(scale=1, count=bad)


def test_the_gap_counts_how_far_the_winner_could_fall():
    tiny = NoisyMax(scale=0.001)  # noise that is always 0
    assert tiny.release_with_gap([5, 3, 4]) == (0, 1)
    assert tiny.release_with_gap([5, 5]) == (0, 0)  # a tie goes to the lower index
    assert tiny.release_with_gap([3, 5, 1]) == (1, 1)  # falling by 2 would lose the tie to 0
    assert tiny.release_with_gap(np.array([0, 2**62, -(2**63)])) == (1, 2**62 - 1)
    assert tiny.release_with_gap([10**30, 0]) == (0, 10**30)
    with pytest.raises(InvalidValue):
        tiny.release_with_gap([1])
    for noise in ("exponential", "gumbel"):
        with pytest.raises(UnprovableRequest, match="laplace"):
            NoisyMax(scale=1, noise=noise).release_with_gap([1, 2])


def test_exponential_error_is_the_worst_case():
    mechanism = Exponential(scale=1, candidates=50)
    error = mechanism.error(0.95)
    assert 49 * math.exp(-error) / (1 + 49 * math.exp(-error)) == pytest.approx(0.05)
    assert error <= mechanism.utility_bound(0.95)
    assert Exponential(scale=1, candidates=50).error(0.01) == 0
    for bad in (0, 51):
        with pytest.raises(InvalidValue):
            mechanism.utility_bound(0.95, best=bad)


def test_permute_and_flip_error_is_the_worst_case_and_never_worse():
    mechanism = PermuteAndFlip(scale=1, candidates=8)
    error = mechanism.error(0.9)
    law = permute_and_flip_law([1.0] + [math.exp(-error)] * 7)
    assert 1 - law[0] == pytest.approx(0.1, rel=1e-6)
    for confidence in (0.5, 0.9, 0.999999):
        assert mechanism.error(confidence) <= Exponential(scale=1, candidates=8).error(confidence)


def test_noisy_max_error_is_the_worst_case():
    ratio = math.exp(-1 / 2)
    error = int(NoisyMax(scale=2, candidates=4).error(0.9))
    # The best comes last, so that it loses every tie.
    for steps, holds in ((error + 1, True), (error, False)):
        law = noisy_max_law([-steps, -steps, -steps, 0], ratio, 150)
        assert (1 - law[3] <= 0.1) is holds
    assert NoisyMax(scale=2**20, candidates=4).error(0.9) > 2**20


def test_the_tail_of_a_difference():
    ratio = math.exp(-1 / 3)
    for steps in (1, 2, 10):
        summed = math.fsum(difference_pmf(ratio, d) for d in range(steps, 400))
        assert math.exp(_log_difference_tail(Fraction(3), steps)) == pytest.approx(summed)


@pytest.mark.parametrize("kind", [PermuteAndFlip, NoisyMax])
@pytest.mark.parametrize("power", [20, 280, 300, 320, 400])
def test_errors_at_tails_that_floats_do_not_hold(kind, power):
    """Both tails fall at least like (n - 1) exp(-x/scale)/2 and at most (3 + x) times as slowly."""
    error = kind(scale=2, candidates=11).error(1 - Fraction(1, 10**power))
    least = 2 * (power * math.log(10) + math.log(10 / 2))
    assert least - 2 <= error <= least + 2 * math.log(3 + least)


def test_noisy_max_error_of_tiny_and_huge_scales():
    assert NoisyMax(scale=0.001, candidates=9).error(0.95) == 0
    assert NoisyMax(scale=10**9, candidates=9).error(0.95) > 10**9


@pytest.mark.parametrize("gap", [Fraction(1, 3), Fraction(7), Fraction(60), Fraction(997, 4)])
def test_integer_bounds_of_a_weight_hold_it(gap):
    """At 30 digits a small weight has more places than the unit: its ends are rounded outwards."""
    unit = 10**40
    low, high = _scale_bounds(gap, 30, unit)
    narrow = exp_bounds(-gap, 400)
    assert low <= narrow[0] * unit <= narrow[1] * unit <= high
    assert high - low <= 2 + unit * narrow[1] / 10**25


def test_short_floats_are_scores_like_others():
    scores = np.array([0.5, 2.0, -1.0], dtype=np.float32)
    gaps, others = read_gaps(scores, Fraction(2)), read_gaps(scores.tolist(), Fraction(2))
    assert [gaps.exactly(place) for place in range(3)] == [
        others.exactly(place) for place in range(3)
    ]
    assert gaps.exactly(0) == Fraction(3, 4)


@pytest.mark.parametrize(("candidates", "scales"), [(2, 3.27181), (4, 4.59416)])
def test_noisy_max_error_above_the_summed_scale_is_that_of_the_rivals(candidates, scales):
    """(n - 1) P(one Laplace noise exceeds another by t scales) = (n - 1)(2 + t) e^-t / 4."""
    assert (candidates - 1) * (2 + scales) * math.exp(-scales) / 4 == pytest.approx(0.05, rel=1e-4)
    error = NoisyMax(scale=5000, candidates=candidates).error(0.95)
    assert error / 5000 == pytest.approx(scales, rel=1e-3)


def test_noisy_max_error_above_the_summed_scale_is_right_to_the_step():
    """The tail of a difference is summed here, not taken from a formula."""
    ratio, far = math.exp(-1 / 5000), 40 * 5000
    pmf = [difference_pmf(ratio, d) for d in range(far)]
    tails = np.cumsum(pmf[::-1])[::-1]  # P(X - Y >= d), to 1e-13
    for candidates in (2, 5):
        error = int(NoisyMax(scale=5000, candidates=candidates).error(0.9))
        assert (candidates - 1) * tails[error + 1] <= 0.1 < (candidates - 1) * tails[error]


def test_the_error_of_float_gaps_follows_the_largest_score():
    """Rounding goes with the largest score, here -2**60: near the best it shows."""
    gaps = read_gaps(np.array([-1152921504606846976.0, 0.1]), Fraction(10**12))
    assert gaps.error >= 2.0**-53 * 2**60 / 10**12
    assert read_gaps(np.array([0.3, 0.1]), Fraction(10**15)).error < 2.0**-40


def test_scores_at_the_end_of_64_bits_do_not_wrap_around_with_noise():
    """Noise on the largest integer of 64 bits is above 0 in a quarter of the draws."""
    scores = np.array([2**63 - 1, -5])
    assert {NoisyMax(scale=1).release(scores) for _ in range(64)} == {0}


def test_the_error_of_two_candidates_is_half_the_chance_at_far_tails():
    """With two candidates the best is missed with probability exp(-error/scale)/2, always."""
    for power in (1, 3, 6, 12, 400):
        error = PermuteAndFlip(scale=1, candidates=2).error(1 - Fraction(1, 10**power))
        assert error == pytest.approx(power * math.log(10) - math.log(2), rel=1e-6)


def test_a_coin_that_floats_cannot_decide_is_decided_exactly():
    """Words just below and above exp(-gap) 2^64, a float of which may lie on either side of it."""
    gaps = [Fraction(place, 97) for place in range(1, 90)]
    borders = [math.floor(exp_bounds(-gap, 60)[0] * 2**64) for gap in gaps]
    scores = np.array([0, *(-int(gap * 97) for gap in gaps)])
    for step in (-1, 0, 1):
        words = [0, *(border + step for border in borders)]
        came_up = flip(read_gaps(scores, Fraction(97)), Words(words))
        assert came_up.tolist() == [True, *[step < 0] * len(gaps)]


class Words:
    """Bits that begin with these words; all that are drawn later are one."""

    def __init__(self, words):
        self.words = words

    def fill(self, buffer):
        buffer.view(np.uint64)[:] = self.words

    def bits(self, count):
        return (1 << count) - 1


@pytest.mark.parametrize("candidates", [3, 10])
def test_noisy_max_error_below_the_summed_scale_is_no_union_bound(candidates):
    """The least error at which the best, which loses every tie, is missed in half the draws."""
    error = int(NoisyMax(scale=3, candidates=candidates).error(0.5))
    missed = []
    for steps in (error, error + 1):
        law = noisy_max_law([-steps] * (candidates - 1) + [0], math.exp(-1 / 3), 150)
        missed.append(1 - law[-1])
    assert missed[1] <= 0.5 < missed[0]


def test_noisy_max_of_lists_and_arrays_adds_the_same_noise():
    scores = [3, 9, 0, 7, 8, 9]
    chosen = [
        [NoisyMax(scale=4).release(form(scores), SeededBits(seed)) for seed in range(40)]
        for form in (list, np.array, lambda each: np.array(each, dtype=object))
    ]
    assert chosen[0] == chosen[1] == chosen[2]
    assert len(set(chosen[0])) > 1
