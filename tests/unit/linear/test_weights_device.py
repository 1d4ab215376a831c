"""Weights on another device are the same weights: numpy and torch's CPU run one code."""

import importlib
import importlib.util

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.linear.arrays import make_uniform, put_on_device, to_numpy, total
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights

UNIVERSE = Domain((*Domain.binary(8).names, "x"), (2,) * 8 + (5,))
TORCH = importlib.util.find_spec("torch") is not None
GPU = TORCH and importlib.import_module("torch").cuda.is_available()
DEVICES = [
    "cpu",
    pytest.param("torch", marks=pytest.mark.skipif(not TORCH, reason="no torch")),
    pytest.param("cuda", marks=pytest.mark.skipif(not GPU, reason="no GPU with torch")),
]


def drawn(count):
    """Predicates of every kind: boxes, several values, anything."""
    draw = np.random.default_rng(11)
    for turn in range(count):
        axes = tuple(sorted(draw.choice(9, size=int(draw.integers(1, 5)), replace=False).tolist()))
        shape = tuple(UNIVERSE.sizes[axis] for axis in axes)
        if turn % 2:
            yield Predicate(axes, draw.random(shape) < 0.5)
        else:
            values = {axis: int(draw.integers(UNIVERSE.sizes[axis])) for axis in axes}
            yield Predicate.where(values, UNIVERSE)


@pytest.mark.parametrize("device", DEVICES)
def test_updates_and_shares_are_those_of_the_dense_array(device):
    dense = np.random.default_rng(12).random(UNIVERSE.sizes)
    weights = Weights.of(UNIVERSE, dense, device=device)
    for predicate in drawn(60):
        weights.scale(predicate, 1.7)
        shape = [size if axis in predicate.axes else 1 for axis, size in enumerate(UNIVERSE.sizes)]
        mask = np.broadcast_to(predicate.mask.reshape(shape), UNIVERSE.sizes)
        dense = np.where(mask, dense * 1.7, dense)
        dense /= dense.sum()
        assert weights.share(predicate) == pytest.approx(dense[mask].sum(), abs=1e-5)
    assert np.allclose(weights.cells(), dense, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_large_universes_are_read_by_slices(device):
    domain = Domain.binary(23)  # above the size from which no table is made for a slice
    weights = Weights.uniform(domain, device=device)
    part = Predicate.where({0: 1, 11: 0, 22: 1}, domain)
    assert weights.share(part) == pytest.approx(1 / 8)
    assert not weights._tables
    weights.move(part, 0.5)
    assert weights.share(part) == pytest.approx(0.5, abs=1e-5)
    either = Predicate.any_of([part, Predicate.where({0: 0, 11: 0, 22: 0}, domain)], domain)
    assert weights.share(either) == pytest.approx(0.5 + 0.5 / 7, abs=1e-5)
    assert weights._tables


@pytest.mark.parametrize("device", DEVICES)
def test_many_updates_stay_in_the_range_of_floats(device):
    domain = Domain.binary(3)
    weights = Weights.uniform(domain, device=device)
    part = Predicate.where({0: 1}, domain)
    for _ in range(300):
        weights.scale(part, 2.0)
        weights.scale(part, 1.9)
    assert weights.share(part) == pytest.approx(1)
    assert np.isfinite(weights.cells()).all()
    for _ in range(300):
        weights.scale(part, 0.5)
        weights.scale(part, 0.5)
    assert np.isfinite(weights.cells()).all()
    assert weights.cells().sum() == pytest.approx(1)


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_keep_their_values(device):
    assert to_numpy(make_uniform(4, device)).tolist() == [0.25] * 4
    made = put_on_device(np.arange(24.0), device)
    part = made.reshape(2, 3, 4)[:, 1:, 1:3]
    assert float(total(part)) == np.arange(24.0).reshape(2, 3, 4)[:, 1:, 1:3].sum()
    beside = put_on_device(np.ones(2), "cpu", like=made)
    assert type(beside) is type(made)


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InvalidValue, match=r"needs torch|sees none"):
        Weights.uniform(UNIVERSE, device="cuda")


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidValue, match="one for each"):
        Weights(UNIVERSE, np.ones(3))
    with pytest.raises(InvalidValue, match="negative"):
        Weights.of(Domain.binary(1), np.array([-1.0, 2.0]))
    with pytest.raises(InvalidValue, match="above 0"):
        Weights.of(Domain.binary(1), np.zeros(2))
    weights = Weights.uniform(Domain.binary(1))
    for factor in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidValue, match="factor"):
            weights.scale(Predicate.where({0: 1}, weights.domain), factor)
    with pytest.raises(InvalidValue, match="says yes or no"):
        Predicate((0,), np.array([0, 1]))
    with pytest.raises(InvalidValue, match="in order"):
        Predicate((1, 0), np.ones((2, 2), dtype=bool))
    for names, sizes in ((("a",), (0,)), (("a", "a"), (2, 2)), ((), ())):
        with pytest.raises(InvalidValue):
            Domain(names, sizes)
