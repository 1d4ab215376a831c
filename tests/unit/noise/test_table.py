"""Thresholds against exact distribution functions, and the lengthening of undecided prefixes."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise.laws import Gaussian, Geometric, Laplace
from discreet.noise.table import resolve, tabulate
from discreet.rationals import exp_bounds

LAWS = [
    Laplace(Fraction(1)),
    Laplace(Fraction(1, 1000)),
    Laplace(Fraction(37, 7)),
    Geometric(Fraction(5, 3)),
    Gaussian(Fraction(1)),
    Gaussian(Fraction(1, 10**6)),
    Gaussian(Fraction(123, 10)),
]


def distribution_bounds(law, centre, stride, value):
    """Brackets of P(cell <= value) from first principles: 60-digit weights, summed one by one."""
    negligible = Fraction(1, 10**45)

    def magnitude(cell):
        return cell if cell >= 0 else -cell if centre else -1 - cell

    weights = {}
    cell = 0
    while True:
        low, high = exp_bounds(-law.exponent(stride * cell), 60)
        weights[cell] = (low, high)
        if high < negligible:
            break
        cell += 1
    cells = range(-cell - 1 + centre, cell + 1)
    chosen = [weights[magnitude(c)] for c in cells if c <= value]
    total = [weights[magnitude(c)] for c in cells]
    rest = Fraction(1, 10**40)
    low = sum(w[0] for w in chosen) / (sum(w[1] for w in total) + rest)
    high = (sum(w[1] for w in chosen) + rest) / sum(w[0] for w in total)
    return low, high


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("length", [32, 64])
def test_thresholds_are_the_distribution_function_cut_to_length(law, length):
    table = tabulate(law, stride=1, centre=law.centre, length=length)
    assert list(table.thresholds) == sorted(table.thresholds)
    assert table.thresholds[0] == 0
    assert table.thresholds[-1] == 2**length - 1
    for index in {0, 1, len(table.thresholds) // 2, len(table.thresholds) - 2}:
        low, high = distribution_bounds(law, law.centre, 1, table.first + index)
        cut = table.thresholds[index]
        # A prefix below the threshold is below F, a prefix above it is at least F.
        assert Fraction(cut, 2**length) <= high
        assert low <= Fraction(cut + 1, 2**length)


@pytest.mark.parametrize("law", [Laplace(Fraction(1000)), Gaussian(Fraction(10**6))], ids=str)
def test_coarse_cells_are_symmetric_about_minus_one_half(law):
    table = tabulate(law, stride=16, centre=0, length=32)
    cut = np.array(table.thresholds)
    middle = -1 - table.first
    assert cut[middle] == 2**31
    left, right = cut[:middle][::-1], cut[middle + 1 :]
    assert (left + right == 2**32 - 1).all()
    low, high = distribution_bounds(law, 0, 16, -2)
    assert Fraction(int(left[0]), 2**32) <= high
    assert low <= Fraction(int(left[0]) + 1, 2**32)


def test_an_off_by_one_table_would_be_seen():
    law = Laplace(Fraction(37, 7))
    table = tabulate(law, stride=1, centre=1, length=32)
    index = len(table.thresholds) // 2
    low, _ = distribution_bounds(law, 1, 1, table.first + index)
    assert low > Fraction(table.thresholds[index - 1] + 1, 2**32)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_guide_agrees_with_a_search(law):
    table = tabulate(law, stride=1, centre=law.centre, length=32)
    for prefix in range(0, 1 << 16, 257):
        start = int(table.guide.start[prefix])
        inside = [t for t in table.thresholds if t >> 16 == prefix]
        if len(inside) > 1:
            assert start < 0
        else:
            assert start == np.searchsorted(table.array[:-1], prefix << 16)
            if inside:
                assert table.guide.threshold[prefix] == inside[0]


class Script:
    def __init__(self, *values):
        self.values = list(values)

    def bits(self, count):
        value = self.values.pop(0)
        assert 0 <= value < 1 << count
        return value


def test_a_prefix_equal_to_a_threshold_draws_more_bits_and_obeys_them():
    law = Laplace(Fraction(1))
    short = tabulate(law, stride=1, centre=1, length=32)
    long = tabulate(law, stride=1, centre=1, length=64)
    index = len(short.thresholds) // 2
    prefix, value = short.thresholds[index], short.first + index
    exact = long.thresholds[value - long.first]
    assert exact >> 32 == prefix
    known = {"stride": 1, "centre": 1, "prefix": prefix, "length": 32}
    assert resolve(law, Script((exact & (2**32 - 1)) - 1), **known) == value
    assert resolve(law, Script((exact & (2**32 - 1)) + 1), **known) == value + 1
    # Equal again: 64 more bits.
    assert resolve(law, Script(exact & (2**32 - 1), 0), **known) == value
    assert resolve(law, Script(exact & (2**32 - 1), 2**64 - 1), **known) == value + 1


def test_the_far_tail_is_reached_through_longer_tables():
    law = Laplace(Fraction(1, 10))
    known = {"stride": 1, "centre": 1, "prefix": 0, "length": 32}
    short = tabulate(law, stride=1, centre=1, length=32)
    far = resolve(law, Script(0, 12345), **known)
    assert far < short.first
