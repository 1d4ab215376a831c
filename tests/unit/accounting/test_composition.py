"""Basic, advanced and optimal composition against independent sums."""

import math
import time
from fractions import Fraction

import pytest

from discreet.accounting import advanced, basic, optimal
from discreet.accounting.binomial import smallest_epsilon
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure
from discreet.rationals import exp_bounds

MILLIONTH = Fraction(1, 10**6)


def exact_delta(epsilon, count, level):
    """The optimal delta at `level` by the full sum, in rationals: bounds below and above."""
    ends = []
    for odds, factor in zip(exp_bounds(epsilon, 60), reversed(exp_bounds(level, 60)), strict=True):
        total = (1 + odds) ** count
        ends.append(
            sum(
                max(
                    Fraction(0),
                    math.comb(count, miss) * (odds ** (count - miss) - factor * odds**miss),
                )
                for miss in range(count + 1)
            )
            / total
        )
    return ends


@pytest.mark.parametrize("count", [1, 2, 3, 10, 45])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(7)])
@pytest.mark.parametrize(
    "delta", [Fraction(1, 10**30), MILLIONTH, Fraction(1, 10), Fraction(9, 10)]
)
def test_optimal_is_the_root_of_the_full_sum(count, epsilon, delta):
    found = smallest_epsilon(epsilon=epsilon, count=count, delta=delta)
    assert exact_delta(epsilon, count, found)[0] <= delta
    if found:
        below = found * (1 - Fraction(1, 10**15))
        assert exact_delta(epsilon, count, below)[1] > delta
    else:
        assert exact_delta(epsilon, count, Fraction(0))[0] <= delta


def test_one_mechanism_at_delta():
    # (e^e - e^g)/(1 + e^e) = delta
    level = math.log(math.e - 1e-6 * (1 + math.e))
    assert float(optimal(epsilon=1, count=1, target_delta=1e-6).epsilon) == pytest.approx(level)


def test_without_delta_optimal_is_basic():
    assert optimal(epsilon=0.1, count=7, target_delta=0).epsilon == Fraction(7, 10)
    assert optimal([Pure(epsilon=0.1), Pure(epsilon=0.2)], target_delta=0).epsilon == Fraction(
        3, 10
    )


def test_all_of_delta_costs_nothing():
    assert optimal(epsilon=3, count=7, target_delta=1).epsilon == 0


def test_ten_thousand_take_under_twenty_milliseconds():
    optimal(epsilon=0.01, count=100, target_delta=1e-6)
    times = []
    for _ in range(5):
        start = time.process_time()
        optimal(epsilon=0.01, count=10_000, target_delta=1e-6)
        times.append(time.process_time() - start)
    assert min(times) < 0.02


@pytest.mark.parametrize(
    ("epsilon", "count"), [(1e-9, 10**6), (500, 10), (20, 1000), (1e-4, 10**6)]
)
def test_extreme_parameters_stay_between_trivial_bounds(epsilon, count):
    found = optimal(epsilon=epsilon, count=count, target_delta=1e-9).epsilon
    assert 0 <= found <= count * Fraction(repr(epsilon))


def test_failing_parts_use_up_delta():
    # 1 - (1-d)^k (1-x) = target
    left = 1 - (1 - 1e-6) / (1 - 1e-9) ** 100
    with_failures = optimal(epsilon=0.1, delta=1e-9, count=100, target_delta=1e-6)
    without = optimal(epsilon=0.1, count=100, target_delta=left)
    assert float(with_failures.epsilon) == pytest.approx(float(without.epsilon), rel=1e-9)
    assert with_failures.delta == MILLIONTH


def test_failing_parts_that_exceed_the_target_are_refused():
    with pytest.raises(UnprovableRequest, match="raise target_delta"):
        optimal(epsilon=0.1, delta=1e-7, count=100, target_delta=1e-6)
    exact = optimal(epsilon=0.1, delta=1e-7, count=10, target_delta=1e-6)
    assert exact.epsilon <= 1


def test_a_list_of_equal_losses_is_the_closed_form():
    listed = optimal([Pure(epsilon=0.1)] * 30 + [BoundedRange(epsilon=0.1)] * 20, target_delta=1e-6)
    assert listed == optimal(epsilon=0.1, count=50, target_delta=1e-6)


def test_a_list_of_different_losses_lies_between_its_extremes():
    parts = [Pure(epsilon=0.1)] * 25 + [Pure(epsilon=0.2)] * 25
    low, mixed, high = (
        optimal(epsilon=0.1, count=50, target_delta=1e-6).epsilon,
        optimal(parts, target_delta=1e-6).epsilon,
        optimal(epsilon=0.2, count=50, target_delta=1e-6).epsilon,
    )
    assert low < mixed < high
    assert optimal(list(reversed(parts)), target_delta=1e-6).epsilon == pytest.approx(
        mixed, rel=1e-4
    )


def test_nearly_equal_losses_meet_the_closed_form():
    nudge = Fraction(1, 10) + Fraction(1, 10**9)
    mixed = optimal(
        [Pure(epsilon=0.1)] * 50 + [Pure(epsilon=nudge)] * 50, target_delta=1e-6
    ).epsilon
    assert optimal(epsilon=0.1, count=100, target_delta=1e-6).epsilon <= mixed
    assert mixed <= optimal(epsilon=nudge, count=100, target_delta=1e-6).epsilon * Fraction(
        10001, 10000
    )


def test_basic_keeps_pure_pure_and_adds_deltas():
    assert basic([]) == Pure(epsilon=0)
    assert basic([Pure(epsilon=0.1)] * 3) == Pure(epsilon=0.3)
    assert basic([BoundedRange(epsilon=1), Pure(epsilon=1)]) == Pure(epsilon=2)
    parts = [Approximate(epsilon=1, delta=0.6)] * 2
    assert basic(parts) == Approximate(epsilon=2, delta=1)


@pytest.mark.parametrize("compose", [basic, lambda parts: advanced(parts, slack=1e-6)])
def test_zcdp_has_no_epsilon_to_add(compose):
    with pytest.raises(UnprovableRequest, match="zcdp"):
        compose([ZCDP(rho=1)])


def test_advanced_formulas():
    spread = math.sqrt(2 * 50 * math.log(1e6)) * 0.2
    tanh = spread + 50 * 0.2 * math.tanh(0.1)
    classic = spread + 50 * 0.2 * math.expm1(0.2)
    found = advanced(epsilon=0.2, delta=1e-9, count=50, slack=1e-6)
    assert float(found.epsilon) == pytest.approx(tanh, rel=1e-13)
    assert found.delta == MILLIONTH + 50 * Fraction(1, 10**9)
    other = advanced(epsilon=0.2, count=50, slack=1e-6, form="dwork-roth")
    assert float(other.epsilon) == pytest.approx(classic, rel=1e-13)


def test_advanced_of_a_list():
    parts = [Pure(epsilon=0.2)] * 50
    assert advanced(parts, slack=1e-6) == advanced(epsilon=0.2, count=50, slack=1e-6)
    mixed = advanced([Pure(epsilon=0.1), Pure(epsilon=0.3)], slack=1e-6).epsilon
    squares = 0.1**2 + 0.3**2
    drift = 0.1 * math.tanh(0.05) + 0.3 * math.tanh(0.15)
    assert float(mixed) == pytest.approx(math.sqrt(2 * squares * math.log(1e6)) + drift)


@pytest.mark.parametrize("slack", [0, 1, 2, -1, math.nan, True, "1e-6"])
def test_slack_is_a_proper_probability(slack):
    with pytest.raises(InvalidValue):
        advanced(epsilon=0.1, count=10, slack=slack)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "3", None])
def test_counts_are_positive_integers_here_too(count):
    with pytest.raises(InvalidValue, match="count"):
        advanced(epsilon=0.1, count=count, slack=1e-6)
    with pytest.raises(InvalidValue, match="count"):
        optimal(epsilon=0.1, count=count, target_delta=1e-6)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True, "0.1"])
def test_parameters_are_numbers(value):
    for arguments in ({"epsilon": value}, {"epsilon": 1, "delta": value}):
        with pytest.raises(InvalidValue):
            optimal(count=3, target_delta=1e-6, **arguments)
    with pytest.raises(InvalidValue):
        optimal(epsilon=1, count=3, target_delta=value)


def test_either_a_list_or_parameters():
    with pytest.raises(InvalidValue, match="not both"):
        optimal([Pure(epsilon=1)], epsilon=1, count=1, target_delta=0)
    with pytest.raises(InvalidValue, match="give a list"):
        advanced(slack=1e-6)
    with pytest.raises(InvalidValue, match="form"):
        advanced(epsilon=1, count=1, slack=1e-6, form="best")
