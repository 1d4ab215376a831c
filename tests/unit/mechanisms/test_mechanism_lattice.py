"""The lattice adapter: fixed rules for every input, and a sensitivity that brute force confirms."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure, Relation, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.additive.lattice import Lattice, Rounded

CENTS = Lattice(step=0.01, lower=-10, upper=10)


@pytest.mark.parametrize(
    ("exact", "steps"),
    [
        (0.015, 2),
        (0.025, 2),
        (0.035, 4),
        (-0.015, -2),
        (Fraction(1, 3), 33),
        (Decimal("0.125"), 12),
        (3, 300),
        (1e308, 1000),
        (-1e308, -1000),
        (10**400, 1000),
        (float("inf"), 1000),
        (float("-inf"), -1000),
        (float("nan"), -1000),
        (Decimal("Infinity"), 1000),
        (Decimal("NaN"), -1000),
        (Decimal("sNaN"), -1000),
        (Decimal("1e-20000"), 0),
        (Decimal("-1e20000"), -1000),
        (-0.0, 0),
        (5e-324, 0),
        (np.float64(0.5), 50),
        (np.int8(2), 200),
    ],
)
def test_every_number_has_its_fixed_number_of_steps(exact, steps):
    assert CENTS.steps(exact) == steps
    assert CENTS.steps([exact]) == [steps]


def test_decimals_beyond_floats_are_clamped_like_every_other_number():
    wide = Lattice(step=10**390, lower=0, upper=10**500)
    assert wide.steps(Decimal("1e400")) == wide.steps(10**400) == 10**10


def test_arrays_and_a_declared_constant_for_nan():
    lattice = Lattice(step=1, lower=0, upper=9, missing=5)
    array = np.array([[1.2, np.nan], [np.inf, -np.inf]])
    assert lattice.steps(array) == [1, 5, 9, 0]


@pytest.mark.parametrize("exact", ["41", None, True, object(), 41j])
def test_what_is_no_number_is_refused_without_repeating_it(exact):
    with pytest.raises(InvalidValue) as refusal:
        CENTS.steps(exact)
    assert "41" not in str(refusal.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"step": 0, "lower": 0, "upper": 1},
        {"step": -1, "lower": 0, "upper": 1},
        {"step": float("nan"), "lower": 0, "upper": 1},
        {"step": 1, "lower": 2, "upper": 1},
        {"step": 1, "lower": 0, "upper": float("inf")},
        {"step": 1, "lower": 0, "upper": 1, "missing": 2},
        {"step": True, "lower": 0, "upper": 1},
    ],
)
def test_parameters_are_refused(parameters):
    with pytest.raises(InvalidValue):
        Lattice(**parameters)


@settings(max_examples=300, deadline=None)
@given(
    st.fractions(-9, 9, max_denominator=8),
    st.fractions(0, 5, max_denominator=8),
    st.fractions(Fraction(1, 8), 3, max_denominator=8),
)
def test_rounding_is_charged_in_full(value, distance, step):
    lattice = Lattice(step=step, lower=-100, upper=100)
    allowed = lattice.sensitivity(Sensitivity.single(distance)).linf
    assert abs(lattice.steps(value + distance) - lattice.steps(value)) <= allowed


@pytest.mark.parametrize("eighths", range(33))
def test_the_charge_is_attained_by_brute_force(eighths):
    """Half to even depends on the position modulo 2 only, so this grid sees every case."""
    distance = Fraction(eighths, 8)
    lattice = Lattice(step=1, lower=-100, upper=100)
    worst = max(
        lattice.steps(Fraction(start, 16) + distance) - lattice.steps(Fraction(start, 16))
        for start in range(64)
    )
    assert worst == lattice.sensitivity(Sensitivity.single(distance)).linf


def test_without_the_charge_a_small_change_would_be_understated():
    lattice = Lattice(step=1, lower=0, upper=100)
    moved = lattice.steps(Fraction(51, 100)) - lattice.steps(Fraction(49, 100))
    assert moved == 1 > Fraction(2, 100)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.fractions(0, 3, max_denominator=4), min_size=1, max_size=3),
    st.lists(st.fractions(-5, 5, max_denominator=4), min_size=3, max_size=3),
)
def test_vectors_stay_within_all_norms(moves, values):
    real = Sensitivity(groups=len(moves), per_group=max(moves), total=sum(moves))
    steps = Lattice(step=Fraction(1, 2), lower=-100, upper=100)
    allowed = steps.sensitivity(real)
    moved = [
        abs(steps.steps(value + move) - steps.steps(value))
        for value, move in zip(values, moves, strict=False)
    ]
    assert max(moved) <= allowed.linf
    assert sum(moved) <= allowed.l1
    assert sum(m * m for m in moved) <= allowed.l2_squared


def test_bounds_limit_the_sensitivity():
    lattice = Lattice(step=1, lower=0, upper=3)
    assert lattice.sensitivity(Sensitivity.single(1000)).linf == 3


def test_a_sum_of_rounded_records_pays_nothing_for_rounding():
    lattice = Lattice(step=0.5, lower=-1, upper=2)
    assert lattice.sum_sensitivity(rows_per_unit=3).l1 == 12
    replaced = lattice.sum_sensitivity(relation=Relation.REPLACE, groups_in_all=1)
    assert replaced.l1 == 6


def test_rounded_prices_by_its_mechanism():
    lattice = Lattice(step=0.5, lower=0, upper=100)
    laplace = Rounded(mechanism=DiscreteLaplace(scale=6), lattice=lattice)
    assert laplace.loss(Sensitivity.single(1.2)) == Pure(epsilon=Fraction(1, 2))
    gaussian = Rounded(mechanism=DiscreteGaussian(sigma=3), lattice=lattice)
    assert gaussian.loss(Sensitivity.single(1.2)) == ZCDP(rho=Fraction(1, 2))


def test_released_values_lie_on_the_lattice_whatever_the_data():
    lattice = Lattice(step=Fraction(1, 3), lower=-(2**50), upper=2**50)
    mechanism = Rounded(mechanism=DiscreteLaplace(scale=5), lattice=lattice)
    for exact in (0, 1, 0.1, math.pi, 2.0**40, 2.0**40 + 0.1, -1e300, float("nan")):
        assert (mechanism.release(exact) * 3).denominator == 1
    assert mechanism.error(0.95) >= float(Fraction(DiscreteLaplace(scale=5).error(0.95)) / 3)


def test_steps_are_monotone():
    values = [Fraction(n, 300) for n in range(-400, 400)]
    assert all(CENTS.steps(a) <= CENTS.steps(b) for a, b in pairwise(values))


@pytest.mark.parametrize("step", [Fraction(1, 2), Fraction(3)])
def test_bounds_limit_the_sensitivity_in_steps(step):
    lattice = Lattice(step=step, lower=-3, upper=9)
    assert lattice.sensitivity(Sensitivity.single(1000)).linf == 12 / step


def test_a_total_is_rounded_down_to_steps_before_what_rounding_adds():
    """3.2 steps over three groups: whole steps they can share, and one for each group."""
    real = Sensitivity(groups=3, per_group=Fraction(8, 5), total=Fraction(8, 5))
    steps = Lattice(step=Fraction(1, 2), lower=-100, upper=100).sensitivity(real)
    assert (steps.groups, steps.per_group, steps.total) == (3, 4, 6)


@pytest.mark.parametrize("step", [Fraction(1, 10), Fraction(7)])
def test_the_error_is_noise_and_half_a_step_in_units_of_the_value(step):
    noise = DiscreteLaplace(scale=6)
    lattice = Lattice(step=step, lower=0, upper=700)
    error = Rounded(mechanism=noise, lattice=lattice).error(0.95)
    assert error == pytest.approx(float((Fraction(noise.error(0.95)) + Fraction(1, 2)) * step))
