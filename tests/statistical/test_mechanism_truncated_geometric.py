"""The truncated geometric mechanism: fit, exact audit, planted bugs, refusals, edges."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import mechanisms
from discreet.errors import InvalidValue
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.additive.truncated_geometric import TruncatedGeometric
from support.fit import check_fit, rejects

LOWER, UPPER = 0, 6
MANY = 200_000


def law(ratio, exact):
    """P(y) for y in [LOWER, UPPER]: the mass beyond a bound sits on it."""
    share = (1 - ratio) / (1 + ratio)
    masses = {y: share * ratio ** abs(y - exact) for y in range(LOWER, UPPER + 1)}
    masses[LOWER] = ratio ** (exact - LOWER) / (1 + ratio)
    masses[UPPER] = ratio ** (UPPER - exact) / (1 + ratio)
    return masses


def drawn(scale, exact):
    mechanism = TruncatedGeometric(scale=scale, lower=LOWER, upper=UPPER)
    return mechanism.release(np.full(MANY, exact, dtype=np.int64))


@pytest.mark.parametrize("exact", [0, 2, 6])
def test_it_fits_and_bugs_are_caught(exact):
    expected = law(math.exp(-1 / 2), exact)
    assert check_fit(drawn(2, exact), expected, name=f"truncated geometric at {exact}") > 0
    assert rejects(check_fit, drawn(1, exact), expected, name="half noise")
    assert rejects(check_fit, drawn(Fraction(9, 5), exact), expected, name="10% too little")


def test_values_outside_count_as_the_bounds():
    assert check_fit(drawn(2, -50), law(math.exp(-1 / 2), 0), name="below the bounds") > 0


def test_neighbours_differ_by_at_most_the_loss_and_use_it():
    half = Fraction(1, 2)  # stands for exp(-1/scale)
    for exact in range(LOWER, UPPER):
        first, second = law(half, exact), law(half, exact + 1)
        assert sum(first.values()) == 1
        ratios = [first[y] / second[y] for y in first]
        assert max(ratios) == 2
        assert min(ratios) == half
    first, second = law(half, 0), law(half, 2)  # a sensitivity of 2 priced as 1 is caught
    assert max(first[y] / second[y] for y in first) > 2


def test_it_is_found_by_the_package_and_priced_exactly():
    assert "TruncatedGeometric" in mechanisms.__all__
    assert mechanisms.TruncatedGeometric.__module__ == TruncatedGeometric.__module__
    mechanism = TruncatedGeometric(scale=0.3, lower=0, upper=1)
    assert mechanism.loss(Sensitivity.single(1)) == Pure(epsilon=Fraction(10, 3))


def test_forms_and_limits():
    wide = TruncatedGeometric(scale=10**15, lower=-(2**63), upper=2**63 - 1)
    noisy = wide.release(np.array([2**63 - 1, -(2**63)], dtype=np.int64))
    assert noisy.dtype == np.int64
    narrow = TruncatedGeometric(scale=1, lower=-1, upper=1)
    assert set(narrow.release([10**40, -(10**40), 0])) <= {-1, 0, 1}
    assert narrow.release(np.array([100], dtype=np.int8))[0] in {-1, 0, 1}
    for kind in (object, np.uint64):
        noisy = narrow.release(np.array([[2**64 - 1, 0]], dtype=kind))
        assert (noisy.dtype, noisy.shape) == (np.dtype(object), (1, 2))
        assert set(noisy.ravel()) <= {-1, 0, 1}
    assert narrow.release(7) in {-1, 0, 1}
    assert narrow.error(0.999999) == 2


@pytest.mark.parametrize(
    "parameters",
    [
        {"scale": 0, "lower": 0, "upper": 1},
        {"scale": float("nan"), "lower": 0, "upper": 1},
        {"scale": 1, "lower": 2, "upper": 1},
        {"scale": 1, "lower": 0, "upper": 2**63},
        {"scale": 1, "lower": 0.0, "upper": 1},
        {"scale": 1, "lower": False, "upper": 1},
    ],
)
def test_parameters_are_refused(parameters):
    with pytest.raises(InvalidValue):
        TruncatedGeometric(**parameters)


@pytest.mark.parametrize("exact", [1.5, True, "41", None, np.array([1.5]), np.array([True])])
def test_only_integers_are_taken(exact):
    with pytest.raises(InvalidValue) as refusal:
        TruncatedGeometric(scale=1, lower=0, upper=9).release(exact)
    assert "41" not in str(refusal.value)
