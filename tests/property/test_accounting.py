"""Laws of accounting: monotone, indifferent to order, ranked, and filters that never overspend."""

from fractions import Fraction

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Filter,
    Odometer,
    advanced,
    basic,
    discrete_gaussian_delta,
    gaussian_delta,
    gaussian_sigma,
    optimal,
    pure_share,
    zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from discreet.errors import BudgetExceeded
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure

epsilons = st.fractions(Fraction(1, 1000), 5, max_denominator=10**6)
deltas = st.integers(2, 12).map(lambda power: Fraction(1, 10**power))
counts = st.integers(1, 300)
hair = Fraction(1, 10**15)


def losses(limit):
    amounts = st.fractions(0, limit, max_denominator=10**45)
    tiny = st.integers(10**44, 10**46).map(lambda size: Fraction(1, size))
    price = st.one_of(amounts, tiny, st.floats(0, float(limit)).map(lambda x: Fraction(repr(x))))
    failure = st.one_of(st.just(Fraction(0)), deltas)
    return st.one_of(
        st.builds(lambda epsilon: Pure(epsilon=epsilon), price),
        st.builds(lambda epsilon: BoundedRange(epsilon=epsilon), price),
        st.builds(lambda rho, delta: ZCDP(rho=rho, delta=delta), price, failure),
        st.builds(lambda epsilon, delta: Approximate(epsilon=epsilon, delta=delta), price, failure),
    )


@given(epsilons, counts, deltas)
@settings(max_examples=60, deadline=None)
def test_optimal_is_never_above_the_other_theorems(epsilon, count, delta):
    best = optimal(epsilon=epsilon, count=count, target_delta=delta).epsilon
    assert best <= basic([Pure(epsilon=epsilon)] * count).epsilon
    tanh = advanced(epsilon=epsilon, count=count, slack=delta).epsilon
    assert best <= tanh
    assert tanh <= advanced(epsilon=epsilon, count=count, slack=delta, form="dwork-roth").epsilon
    assert best <= zcdp([Pure(epsilon=epsilon)] * count, delta=delta).epsilon


@given(epsilons, counts, deltas)
@settings(max_examples=60, deadline=None)
def test_optimal_is_monotone(epsilon, count, delta):
    here = optimal(epsilon=epsilon, count=count, target_delta=delta).epsilon
    assert here <= optimal(epsilon=epsilon, count=count + 1, target_delta=delta).epsilon
    assert here <= optimal(epsilon=epsilon * 2, count=count, target_delta=delta).epsilon
    assert here >= optimal(epsilon=epsilon, count=count, target_delta=delta * 2).epsilon
    assert (
        here
        <= optimal(
            epsilon=epsilon, delta=delta / (2 * count), count=count, target_delta=delta
        ).epsilon
    )


@given(st.lists(losses(2), max_size=8), st.randoms(use_true_random=False))
def test_composition_ignores_the_order(parts, random):
    shuffled = list(parts)
    random.shuffle(shuffled)
    plain = [part for part in parts if not isinstance(part, ZCDP)]
    mixed = [part for part in shuffled if not isinstance(part, ZCDP)]
    assert basic(plain) == basic(mixed)
    assert advanced(plain, slack=1e-6) == advanced(mixed, slack=1e-6)
    if sum(part.zcdp().delta for part in parts) < Fraction(9, 10):
        assert zcdp(parts, delta=0.9) == zcdp(shuffled, delta=0.9)


@given(epsilons, deltas)
@settings(deadline=None)
def test_conversion_is_monotone_and_its_inverse_safe(rho, delta):
    here = zcdp_epsilon(rho=rho, delta=delta)
    assert here <= zcdp_epsilon(rho=rho * 2, delta=delta)
    assert here >= zcdp_epsilon(rho=rho, delta=delta * 2)
    assert zcdp_delta(rho=rho, epsilon=here) <= delta * (1 + hair)
    bought = zcdp_rho(epsilon=here, delta=delta)
    assert zcdp_epsilon(rho=bought, delta=delta) <= here


@given(epsilons, deltas)
@settings(max_examples=40, deadline=None)
def test_gaussian_curve_is_monotone_and_calibrated(epsilon, delta):
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta)
    here = gaussian_delta(sigma=sigma, epsilon=epsilon)
    assert delta * (1 - Fraction(1, 10**9)) < here <= delta
    assert gaussian_delta(sigma=sigma, epsilon=epsilon * 2) <= here
    assert gaussian_delta(sigma=sigma * 2, epsilon=epsilon) <= here
    assert here <= gaussian_delta(sigma=sigma, epsilon=epsilon, count=2)


@given(st.fractions(Fraction(1, 10), 200, max_denominator=100), epsilons, st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_discrete_gaussian_delta_rises_with_the_shift(variance, epsilon, steps):
    here, more = (
        discrete_gaussian_delta(sigma_squared=variance, epsilon=epsilon, sensitivity=shift)
        for shift in (steps, steps + 1)
    )
    assert here <= more
    assert more >= discrete_gaussian_delta(
        sigma_squared=variance, epsilon=epsilon * 2, sensitivity=steps + 1
    )


@given(st.integers(1, 60), epsilons, deltas)
@settings(max_examples=30, deadline=None)
def test_a_planned_batch_keeps_its_target(count, epsilon, delta):
    each = pure_share(count=count, epsilon=epsilon, delta=delta).epsilon
    assert optimal(epsilon=each, count=count, target_delta=delta).epsilon <= epsilon


@given(st.lists(losses(Fraction(1, 2)), max_size=30), st.fractions(Fraction(1, 10), 2))
@example([Pure(epsilon=Fraction(1, 10**39 + step)) for step in range(30)], Fraction(1, 10))
def test_a_filter_never_admits_more_than_its_budget(history, limit):
    pure, rho = Filter.pure(epsilon=limit), Filter.zcdp(rho=limit, delta=Fraction(1, 100))
    paid, exact = Fraction(0), ZCDP(rho=0)
    for loss in history:
        if not isinstance(loss, ZCDP) and not loss.approximate().delta:
            price = loss.approximate().epsilon
            if pure.admits(loss):
                pure, paid = pure.charge(loss), paid + price
            else:
                # Refused only if it does not fit, up to the roundings so far.
                assert paid + price > limit - Fraction(len(history), 10**40)
        try:
            rho = rho.charge(loss)
        except BudgetExceeded:
            continue
        exact += loss.zcdp()
    assert paid <= pure.spent <= limit
    assert exact.rho <= rho.spent <= limit
    assert exact.delta <= rho.delta_spent <= Fraction(1, 100)
    assert rho.spent - exact.rho <= Fraction(len(history), 10**40)
    assert rho.spent + rho.remaining.rho == rho.limit


@given(st.lists(losses(2), min_size=1, max_size=20), epsilons, deltas)
def test_an_odometer_is_never_below_what_its_totals_allow(history, expected, delta):
    meter = Odometer.open(delta=delta, expected_rho=expected)
    previous = meter.bound.epsilon
    for loss in history:
        meter = meter.record(loss)
        assert meter.bound.epsilon >= previous
        previous = meter.bound.epsilon
    assume(meter.spent.delta < Fraction(1, 2))
    if meter.bound == Pure(epsilon=previous):
        stated = [loss for loss in history if not isinstance(loss, ZCDP)]
        assert previous >= basic(stated).epsilon
    else:
        assert previous >= zcdp_epsilon(rho=meter.spent.rho, delta=delta) - hair


@given(st.fractions(Fraction(1, 100), 10, max_denominator=1000), deltas, deltas)
@settings(deadline=None)
def test_closed_form_filter_is_never_the_more_generous(epsilon, delta, share):
    slack = delta * share
    converted = Filter.converted(epsilon=epsilon, delta=delta, conversion_delta=slack)
    simple = Filter.approximate(epsilon=epsilon, delta=delta, slack=slack)
    assert simple.limit <= converted.limit
    assert simple.delta_limit == converted.delta_limit
    assert zcdp_epsilon(rho=converted.limit, delta=slack) <= epsilon
