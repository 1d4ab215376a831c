"""Brackets of composed privacy losses against exact enumeration, closed forms and vectors."""

import json
import math
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.pld.distribution import Bracket, Distribution
from discreet.errors import InvalidValue
from support.loss_curves import (
    gaussian_curve,
    laplace_curve,
    mixed_delta,
    subsampled_curves,
    two_point_delta,
)

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "accounting.json"
needs_vectors = pytest.mark.skipif(
    not VECTORS.exists(), reason="the reference vectors are not next to this checkout"
)
WIDTH = 1e-4


@pytest.fixture(scope="module")
def vectors():
    return json.loads(VECTORS.read_text())


def check_against(bracket, lower, upper, slack=1e-7):
    """Ours is narrow enough and shares values with the reference, which is rounded."""
    assert bracket.upper - bracket.lower <= WIDTH * bracket.upper
    assert bracket.lower <= upper * (1 + slack)
    assert bracket.upper >= lower * (1 - slack)


@needs_vectors
def test_homogeneous_laplace_vectors(vectors):
    rows = vectors["homogeneous_laplace"]
    columns = zip(
        rows["epsilon0"], rows["laplace_pld_lower"], rows["laplace_pld_upper"], strict=True
    )
    for epsilon, lower, upper in columns:
        batch = rows["count"] * Distribution.laplace(epsilon=epsilon)
        check_against(batch.epsilon(delta=vectors["delta"]), lower, upper)


@needs_vectors
def test_optimal_pure_vectors(vectors):
    for row in vectors["kov_optimal_pure_dp"]:
        batch = row["count"] * Distribution.pure(epsilon=row["epsilon0"])
        bracket = batch.epsilon(delta=vectors["delta"])
        check_against(bracket, row["epsilon"], row["epsilon"], slack=1e-9)


@needs_vectors
def test_gaussian_vectors(vectors):
    for row in vectors["homogeneous_gaussian"]:
        one = Distribution.gaussian(sigma=row["sigma"], sensitivity=row["sensitivity"])
        bracket = (row["count"] * one).epsilon(delta=vectors["delta"])
        check_against(bracket, row["epsilon_exact"], row["epsilon_exact"], slack=1e-11)
        assert bracket.width < 1e-6


@needs_vectors
def test_subsampled_gaussian_vectors(vectors):
    for row in vectors["subsampled_gaussian"]:
        one = Distribution.subsampled_gaussian(rate=row["poisson_rate"], sigma=row["sigma"])
        bracket = (row["steps"] * one).epsilon(delta=vectors["delta"])
        check_against(bracket, row["lower"], row["upper"])


@needs_vectors
def test_ten_classes_vector(vectors):
    row = next(row for row in vectors["heterogeneous"] if row["name"] == "ten classes")
    batch = Distribution.compose(
        *(1000 * Distribution.laplace(epsilon=Fraction(j, 1000)) for j in range(1, 6)),
        *(1000 * Distribution.gaussian(sigma=100 * j) for j in range(1, 6)),
    )
    check_against(batch.epsilon(delta=vectors["delta"]), row["lower"], row["upper"])


@needs_vectors
@pytest.mark.parametrize("family", ["laplace", "pure"])
def test_ten_thousand_distinct_vector(vectors, family):
    row = next(row for row in vectors["heterogeneous"] if "ten thousand" in row["name"])
    kind = getattr(Distribution, family)
    start = time.process_time()
    prices = (0.001 + 0.009 * place / 9999 for place in range(10_000))
    bracket = Distribution.compose(*(kind(epsilon=price) for price in prices)).epsilon(
        delta=vectors["delta"]
    )
    assert time.process_time() - start < 3
    if family == "laplace":
        check_against(bracket, 0.99 * row["laplace_upper"], row["laplace_upper"])
    else:
        check_against(bracket, row["pure_dp_lower"], row["pure_dp_upper"])


TWO_POINT = [
    ([1.0], [0.0]),
    ([0.3] * 6, [0.0] * 6),
    ([0.5, 0.7, 0.11], [0.0, 0.0, 0.0]),
    ([0.01, 0.02, 0.035, 0.04], [1e-7, 0.0, 1e-6, 0.0]),
    ([3.0, 2.5], [1e-9, 1e-3]),
    ([1e-6, 2.5e-6], [0.0, 0.0]),
    ([12.0] * 4, [0.0] * 4),
]


def compose_two_point(epsilons, deltas):
    return Distribution.compose(
        *(
            Distribution.approximate(epsilon=price, delta=failure)
            if failure
            else Distribution.randomized_response(epsilon=price)
            for price, failure in zip(epsilons, deltas, strict=True)
        )
    )


def check_epsilon(bracket, delta_at, target):
    """delta(upper) <= target < delta(lower), where delta_at gives a bracket of delta."""
    if math.isfinite(bracket.upper):
        assert delta_at(bracket.upper)[0] <= Decimal(repr(target))
    if bracket.lower > 0:
        place = bracket.lower if math.isfinite(bracket.lower) else 1e3
        assert delta_at(place)[1] >= Decimal(repr(target))


@pytest.mark.parametrize("target", [0.2, 1e-3, 1e-6, 1e-12, 1e-30])
@pytest.mark.parametrize(("epsilons", "deltas"), TWO_POINT)
def test_epsilon_of_two_point_losses_by_enumeration(epsilons, deltas, target):
    bracket = compose_two_point(epsilons, deltas).epsilon(delta=target)
    check_epsilon(bracket, lambda place: two_point_delta(epsilons, deltas, place), target)
    assert bracket.upper in (0, bracket.lower) or bracket.width <= WIDTH * bracket.upper


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9, 0.9999, 1.0])
@pytest.mark.parametrize(("epsilons", "deltas"), TWO_POINT)
def test_delta_of_two_point_losses_by_enumeration(epsilons, deltas, share):
    place = share * sum(epsilons)
    bracket = compose_two_point(epsilons, deltas).delta(epsilon=place)
    low, high = two_point_delta(epsilons, deltas, place)
    assert Decimal(bracket.lower) <= high
    assert Decimal(bracket.upper) >= low
    # At the largest loss itself, delta is smaller than what rounding moves that loss by.
    assert share == 1 or bracket.width <= 2 * WIDTH * bracket.upper


@pytest.mark.parametrize("count", [1, 10, 100_000])
@pytest.mark.parametrize("target", [0.1, 1e-6, 1e-15])
def test_gaussian_composition_is_gaussian(count, target):
    ratio = 0.02
    bracket = (count * Distribution.gaussian(sigma=50)).epsilon(delta=target)
    curve = gaussian_curve(ratio * math.sqrt(count))
    assert curve(bracket.upper) <= target * (1 + 1e-7)
    assert bracket.lower == 0 or curve(bracket.lower) >= target * (1 - 1e-7)
    assert bracket.width <= 1e-6 * bracket.upper


OTHERS = [
    (Distribution.gaussian(sigma=2), (gaussian_curve(0.5),)),
    (Distribution.gaussian(sigma=3, sensitivity=0.01), (gaussian_curve(0.01 / 3),)),
    (Distribution.laplace(epsilon=0.6), (laplace_curve(0.6),)),
    (Distribution.laplace(epsilon=5), (laplace_curve(5.0),)),
    (Distribution.subsampled_gaussian(rate=0.05, sigma=1), subsampled_curves(0.05, 1.0)),
    (Distribution.subsampled_gaussian(rate=0.6, sigma=3), subsampled_curves(0.6, 3.0)),
]


@pytest.mark.parametrize("epsilons", [[], [0.4, 0.25, 0.1]])
@pytest.mark.parametrize("place", range(len(OTHERS)))
def test_mixtures_with_two_point_losses(place, epsilons):
    other, curves = OTHERS[place]
    batch = Distribution.compose(other, *(Distribution.pure(epsilon=price) for price in epsilons))
    for target in (0.01, 1e-6):
        bracket = batch.epsilon(delta=target)
        assert mixed_delta(epsilons, curves, bracket.upper) <= target * (1 + 1e-9) + 1e-15
        truth = mixed_delta(epsilons, curves, bracket.lower)
        assert bracket.lower == 0 or truth >= target * (1 - 1e-9) - 1e-15
        assert bracket.width <= WIDTH * bracket.upper
    exact = mixed_delta(epsilons, curves, 0.3)
    bracket = batch.delta(epsilon=0.3)
    assert bracket.lower <= exact * (1 + 1e-9) + 1e-15
    assert bracket.upper >= exact * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize("tolerance", [0.5, 0.01, 1e-7])
def test_brackets_of_any_tolerance_hold_and_nest(tolerance):
    batch = 30 * Distribution.laplace(epsilon=0.1) + Distribution.pure(epsilon=0.3)
    wide = batch.epsilon(delta=1e-6, tolerance=tolerance)
    fine = batch.epsilon(delta=1e-6, tolerance=1e-8)
    assert wide.lower <= fine.upper
    assert wide.upper >= fine.lower
    assert fine.width <= 1e-8 * fine.upper
    assert wide.width <= tolerance * wide.upper


def test_never_above_basic_composition():
    batch = 5 * Distribution.laplace(epsilon=0.1)
    assert batch.epsilon(delta=0) == Bracket(0.5 * (1 - 2.0**-48), 0.5)
    assert batch.epsilon(delta=1e-300).upper <= 0.5
    assert batch.delta(epsilon=0.5) == Bracket(0.0, 0.0)


def test_deltas_add_at_most_and_run_out():
    batch = 10 * Distribution.approximate(epsilon=1, delta=1e-7)
    assert batch.epsilon(delta=1e-6).upper <= 10
    assert batch.epsilon(delta=9e-7).lower == math.inf
    assert Distribution.gaussian(sigma=1).epsilon(delta=0) == Bracket(math.inf, math.inf)


def test_out_of_reach_is_wide_and_not_wrong():
    batch = 10_000 * Distribution.subsampled_gaussian(rate=0.01, sigma=1)
    known = batch.epsilon(delta=1e-6)
    hard = batch.epsilon(delta=1e-13)
    assert hard.upper > known.lower
    assert hard.upper > hard.lower


def test_both_directions_of_sampling_are_looked_at():
    remove, add = subsampled_curves(0.3, 0.8)
    batch = Distribution.subsampled_gaussian(rate=0.3, sigma=0.8)
    bracket = batch.delta(epsilon=0.1)
    assert remove(0.1) != pytest.approx(add(0.1), rel=1e-3)
    assert bracket.lower <= max(remove(0.1), add(0.1)) <= bracket.upper


def test_sampling_everything_is_the_plain_mechanism():
    plain = Distribution.gaussian(sigma=2)
    assert Distribution.subsampled_gaussian(rate=1, sigma=2) == plain


def test_values():
    one, two = Distribution.laplace(epsilon=0.1), Distribution.gaussian(sigma=3)
    assert one + two == two + one
    assert hash(one + two) == hash(two + one)
    assert one + one == 2 * one == one * 2
    assert one != two
    assert one != 0.1
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Distribution.laplace(epsilon=0),
        lambda: Distribution.laplace(epsilon=math.nan),
        lambda: Distribution.gaussian(sigma=-1),
        lambda: Distribution.pure(epsilon=True),
        lambda: Distribution.approximate(epsilon=1, delta=1),
        lambda: Distribution.subsampled_gaussian(rate=0, sigma=1),
        lambda: Distribution.subsampled_gaussian(rate=2, sigma=1),
        lambda: Distribution.subsampled_gaussian(rate=0.1, sigma=0.01).epsilon(delta=1e-6),
        lambda: Distribution.pure(epsilon=1) * 0,
        lambda: Distribution.pure(epsilon=1) * True,
        lambda: Distribution.compose(),
        lambda: Distribution.pure(epsilon=1).epsilon(delta=2),
        lambda: Distribution.pure(epsilon=1).epsilon(delta=0.1, tolerance=0),
        lambda: Distribution.pure(epsilon=1).delta(epsilon=-1),
        lambda: Bracket(lower=2.0, upper=1.0),
    ],
)
def test_refused(make):
    with pytest.raises(InvalidValue):
        make()
