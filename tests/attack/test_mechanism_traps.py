"""How systems like this one were broken, tried on the mechanisms."""

import ast
import math
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidValue
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.additive.lattice import Lattice, Rounded
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.noise.bits import SeededBits

LATTICE = Lattice(step=Fraction(1, 1024), lower=-(2**50), upper=2**50)
MECHANISMS = [DiscreteLaplace(scale=1000), DiscreteGaussian(sigma=1000)]


def naive(exact):
    return exact + np.random.default_rng().laplace(0, 1000 / 1024, 400)


def low_bits(values):
    """Whether any value uses bits finer than the step."""
    return any((Fraction(value) * 1024).denominator != 1 for value in values)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_outputs_lie_on_one_lattice_whatever_the_data(mechanism):
    """Mironov 2012; Haney et al. 2022: the same pattern of low bits at 0, 1 and 2**40."""
    rounded = Rounded(mechanism=mechanism, lattice=LATTICE)
    for exact in (0.0, 1.0, 0.1, 2.0**40, 2.0**40 + 0.1):
        assert not low_bits(rounded.release([exact] * 400))
    assert low_bits(naive(0.0))
    # Naive noise is coarser at 2**40 than at 0, which tells the two apart.
    finest = [max(Fraction(v).denominator for v in naive(x)) for x in (0.0, 2.0**40)]
    assert finest[0] > 1000 * finest[1]


def test_the_noise_at_zero_and_at_two_to_the_forty_is_the_same_number():
    for mechanism in MECHANISMS:
        rounded = Rounded(mechanism=mechanism, lattice=LATTICE)
        near = rounded.release(0.0, SeededBits(5))
        far = rounded.release(2.0**40, SeededBits(5))
        assert far - near == 2**40


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=1e-3), DiscreteGaussian(sigma=1e-3)])
def test_totals_do_not_wrap_around(mechanism):
    """Neighbours [2^31 - 1, 0] and [2^31 - 1, 1]: sums one apart stay one apart."""
    for kind in (np.int32, np.int64):
        first, second = (np.array([2**31 - 1, last], dtype=kind) for last in (0, 1))
        sums = [int(mechanism.release(column).sum(dtype=np.int64)) for column in (first, second)]
        assert sums == [2**31 - 1, 2**31]
    ends = np.array([2**63 - 1, -(2**63)])
    assert mechanism.release(ends).tolist() == ends.tolist()


def test_float_sums_depend_on_order_and_lattice_sums_do_not():
    """Casacuberta et al. 2022: [2^53, 1, 1, ...] reordered."""
    values = [2.0**53] + [1.0] * 64
    backwards = values[::-1]
    assert reduce(add, values) != reduce(add, backwards)  # sum() compensates since Python 3.12
    lattice = Lattice(step=1, lower=0, upper=2**53)
    assert sum(lattice.steps(values)) == sum(lattice.steps(backwards)) == 2**53 + 64


@pytest.mark.parametrize("record", [1e308, float("inf"), float("-inf"), float("nan"), -1e308])
def test_one_record_moves_the_sum_by_at_most_the_bound(record):
    lattice = Lattice(step=0.5, lower=-3, upper=8)
    allowed = lattice.sum_sensitivity().l1
    rest = [0.25, 7.9, -100.0, 3.0]
    assert abs(sum(lattice.steps([*rest, record])) - sum(lattice.steps(rest))) <= allowed
    assert not math.isfinite(sum([*rest, record])) or abs(record) > 1e300


def test_exponential_weights_neither_overflow_nor_vanish():
    """diffprivlib PR 108, Ilvento 2019."""
    for kind in (Exponential, PermuteAndFlip):
        for scores, best in (([0, -1e6], 0), ([0, 1e308], 1), ([-1e308, 0.0, 1e308], 2)):
            assert kind(scale=1).release(scores) == best
            assert kind(scale=1).release(np.array(scores, dtype=float)) == best
    with pytest.raises(OverflowError):
        math.exp(1e308)  # what a naive weight does


def test_permute_and_flip_has_no_bounded_range_price():
    """opendp 2911."""
    loss = PermuteAndFlip(scale=2).loss(Sensitivity.single(1))
    assert isinstance(loss, Pure)
    assert loss.zcdp().rho == Fraction(1, 2)


@pytest.mark.parametrize("budget", [float("nan"), -1, 0, "0.1", True, None, [1], 1e-400])
def test_numbers_that_are_no_budget_are_refused(budget):
    for make in (
        lambda: DiscreteLaplace(scale=budget),
        lambda: DiscreteGaussian(sigma=budget),
        lambda: Exponential(scale=budget),
        lambda: PermuteAndFlip(scale=budget),
    ):
        with pytest.raises(InvalidValue):
            make()


def test_tenths_add_up():
    losses = [DiscreteLaplace(scale=10).loss(Sensitivity.single(1))] * 3
    total = losses[0] + losses[1] + losses[2]
    assert total == Pure(epsilon=0.3)
    assert 0.1 + 0.1 + 0.1 != 0.3


FIXED = {"advanced", "optimal", "Distribution", "pure_share", "zcdp_share", "bounded_range_share"}


def fixed_parameter_names(text):
    """Theorems for parameters fixed in advance that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found & FIXED


def test_only_filters_admit_charges():
    """Rogers et al. 2016: adaptively chosen losses are not priced by fixed-parameter theorems."""
    assert fixed_parameter_names("from discreet.accounting import advanced") == {"advanced"}
    root = Path(discreet.__file__).parent
    modules = [path for part in ("ledger", "curator") for path in (root / part).glob("*.py")]
    assert len(modules) > 5
    for path in modules:
        assert not fixed_parameter_names(path.read_text()), path.name
    account = (root / "ledger" / "account.py").read_text()
    assert "Filter" in {
        alias.name
        for node in ast.walk(ast.parse(account))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
