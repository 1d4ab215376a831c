"""Coins and dice: limits, refusals, and decisions at the edge of the known bits."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.noise import SeededBits, bernoulli, bernoulli_exp, system, uniform
from discreet.noise.coins import below
from discreet.rationals import exp_bounds


class Script:
    """A source that answers with prepared bits and fails when they run out."""

    def __init__(self, *values):
        self.values = list(values)

    def bits(self, count):
        value = self.values.pop(0)
        assert 0 <= value < 1 << count
        return value


def test_certain_and_impossible():
    assert all(bernoulli(1) for _ in range(50))
    assert not any(bernoulli(0) for _ in range(50))
    assert all(bernoulli_exp(0) for _ in range(50))
    assert not any(bernoulli_exp(10**6) for _ in range(50))
    assert not any(bernoulli_exp(10**400) for _ in range(5))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1, True, "0.5", None])
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(InvalidValue):
        bernoulli(wrong)
    with pytest.raises(InvalidValue):
        bernoulli_exp(wrong)


def test_uniform_refuses_an_empty_range_and_needs_no_bits_for_one_value():
    with pytest.raises(InvalidValue, match="at least 1"):
        uniform(0)
    assert uniform(1, Script(0)) == 0


def test_uniform_rejects_what_lies_beyond():
    assert uniform(5, Script(7, 5, 4)) == 4


def test_undecided_bits_are_extended_until_they_decide():
    low, high = exp_bounds(Fraction(-1), 60)
    prefix = int(low * 2**64)
    assert prefix == int(high * 2**64)  # 64 bits equal to those of 1/e decide nothing
    assert bernoulli_exp(1, Script(prefix, 0))
    assert not bernoulli_exp(1, Script(prefix, 2**64 - 1))
    assert bernoulli_exp(1, Script(prefix - 1))
    assert not bernoulli_exp(1, Script(prefix + 1))


def test_a_known_prefix_is_used_before_new_bits():
    def half(_):
        return Fraction(1, 2), Fraction(1, 2)

    assert below(half, Script(), prefix=0, length=1)
    assert not below(half, Script(), prefix=1, length=1)


def test_seeded_coins_reproduce():
    first, second = SeededBits(3), SeededBits(3)
    assert [bernoulli_exp(0.5, first) for _ in range(50)] == [
        bernoulli_exp(0.5, second) for _ in range(50)
    ]


def test_numpy_scalars_are_read():
    assert bernoulli(np.float64(1.0), system)
    assert uniform(np.int64(1)) == 0
