"""Samplers: every fast decision agrees with exact arithmetic on the same bits; limits and types."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.noise import SeededBits, discrete, discrete_gaussian, discrete_laplace, geometric
from discreet.noise.bits import system
from discreet.noise.discrete import PROVED, Margin, draw
from discreet.noise.laws import Gaussian, Geometric, Laplace

EVERYTHING = Margin(cells=1 << 32, accept=1.0)
FINE = [
    Laplace(Fraction(1)),
    Laplace(Fraction(50, 7)),
    Geometric(Fraction(9)),
    Gaussian(Fraction(400)),
]
COARSE = [
    Laplace(Fraction(1000)),
    Geometric(Fraction(10**6)),
    Gaussian(Fraction(10**6)),
    Gaussian(Fraction(10**30)),
    Laplace(Fraction(10**15)),
]


def fresh_seed():
    return system.bits(200)


@pytest.mark.parametrize("law", FINE, ids=str)
@pytest.mark.parametrize("size", [1000, 6000])
def test_cells_decided_fast_are_those_decided_exactly(law, size):
    seed = fresh_seed()
    fast = draw(law, size, SeededBits(seed), PROVED)
    slow = draw(law, size, SeededBits(seed), EVERYTHING)
    # Fewer than 1 draw in 10**5 has bits that really decide nothing; 4 of them: under 1e-10.
    assert (fast != slow).sum() < 4


@pytest.mark.parametrize("law", FINE, ids=str)
def test_the_widened_margin_reaches_exact_arithmetic_every_time(law, monkeypatch):
    calls = []
    original = discrete.resolve
    monkeypatch.setattr(discrete, "resolve", lambda *a, **k: calls.append(1) or original(*a, **k))
    draw(law, 5000, system, EVERYTHING)
    assert len(calls) == 5000
    calls.clear()
    draw(law, 5000, system, PROVED)
    assert len(calls) < 5


@pytest.mark.parametrize("law", COARSE, ids=str)
@pytest.mark.parametrize(("size", "cells"), [(1, 40), (10**6, 600)])
def test_acceptance_decided_fast_is_that_decided_exactly(law, size, cells):
    count = 3000
    generator = np.random.default_rng(fresh_seed())
    stride = discrete._stride(law, size)
    start = generator.integers(0, cells, count) * stride
    reach = generator.integers(0, stride, count)
    coin = generator.integers(0, 1 << 16, count).astype(np.uint16)
    arguments = (law, start, reach, coin, law.slope(stride))
    seed = fresh_seed()
    fast = discrete._decide(*arguments, SeededBits(seed), PROVED)
    slow = discrete._decide(*arguments, SeededBits(seed), EVERYTHING)
    assert (fast == slow).all()
    assert 0 < fast.sum() < count


@pytest.mark.parametrize("law", COARSE, ids=str)
def test_the_widened_margin_skips_every_shortcut(law, monkeypatch):
    calls = []
    original = discrete.below
    monkeypatch.setattr(discrete, "below", lambda *a, **k: calls.append(1) or original(*a, **k))
    draw(law, 2000, system, EVERYTHING)
    assert len(calls) >= 2000
    calls.clear()
    draw(law, 2000, system, PROVED)
    assert len(calls) < 20


@pytest.mark.parametrize("size", [1, 63, 64, 4096])
def test_a_place_in_a_cell_and_its_coin_share_no_bit(size, monkeypatch):
    widest = Laplace(Fraction((1 << 52) - 1))
    assert widest.spread < discrete._WIDE
    assert widest.spread.bit_length() == 52
    strides = []
    original = discrete._fill_coarse
    monkeypatch.setattr(
        discrete,
        "_fill_coarse",
        lambda law, stride, *rest: strides.append(stride) or original(law, stride, *rest),
    )
    draw(widest, size, system)
    assert strides
    for stride in strides:
        place = np.uint64((1 << 64) - 1) >> np.uint64(65 - stride.bit_length())
        assert int(place).bit_length() + 16 <= 64


def test_a_wrong_slope_would_be_seen():
    law = Gaussian(Fraction(10**6))
    stride = discrete._stride(law, 10**6)
    seed, count = fresh_seed(), 3000
    generator = np.random.default_rng(fresh_seed())
    start = generator.integers(0, 300, count) * stride
    reach = generator.integers(0, stride, count)
    coin = generator.integers(60_000, 1 << 16, count).astype(np.uint16)
    linear, square = law.slope(stride)
    wrong = (linear, square * 2)  # seen at 100 places or so
    fast = discrete._decide(law, start, reach, coin, wrong, SeededBits(seed), PROVED)
    slow = discrete._decide(law, start, reach, coin, wrong, SeededBits(seed), EVERYTHING)
    assert (fast != slow).any()


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1, 127, 128, 129, 1e9, 1e15, 2**51, 2**53, 10**30])
@pytest.mark.parametrize("sampler", [discrete_laplace, geometric, discrete_gaussian])
def test_scales_from_a_thousandth_to_beyond_64_bits(scale, sampler):
    parameter = (
        {"variance": Fraction(scale) ** 2} if sampler is discrete_gaussian else {"scale": scale}
    )
    one = sampler(**parameter)
    many = sampler(**parameter, size=200)
    assert type(one) is int
    assert many.dtype == (np.int64 if scale < 2**52 else object)
    assert all(type(value) is int for value in many.tolist())
    assert max(abs(value) for value in many.tolist()) <= 200 * scale
    if scale >= 128:
        assert len(set(many.tolist())) > 100
    if scale == 1e-3:
        assert not many.any()


def test_low_bits_are_uniform_at_large_scales():
    values = discrete_laplace(scale=10**15, size=4000)
    assert len(set((values & 0xFFF).tolist())) > 2000


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_bad_scales_are_refused(wrong):
    for sampler, name in (
        (discrete_laplace, "scale"),
        (geometric, "scale"),
        (discrete_gaussian, "variance"),
    ):
        with pytest.raises(InvalidValue, match=name):
            sampler(**{name: wrong})


@pytest.mark.parametrize("size", [-1, True])
def test_bad_sizes_are_refused(size):
    with pytest.raises(InvalidValue, match="size"):
        discrete_laplace(scale=1, size=size)


def test_no_draws_and_one_draw():
    assert discrete_laplace(scale=5, size=0).shape == (0,)
    assert discrete_gaussian(variance=5, size=1).shape == (1,)


def test_seeds_reproduce_across_chunks():
    size = 3 * discrete._CHUNK + 17
    first = discrete_gaussian(variance=10**8, size=size, bits=SeededBits(11))
    second = discrete_gaussian(variance=10**8, size=size, bits=SeededBits(11))
    assert (first == second).all()


@pytest.mark.parametrize("law", [Laplace(Fraction(20)), Gaussian(Fraction(10**6))], ids=str)
def test_extra_memory_stays_far_below_the_output(law):
    size = 2_000_000
    tracemalloc.start()
    try:
        out = draw(law, size, system)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - out.nbytes < 20e6
