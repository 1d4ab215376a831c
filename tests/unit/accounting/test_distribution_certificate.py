"""Each error term of the certificate: it covers the error it names, and without it bounds fail."""

import dataclasses
import math

import numpy as np
import pytest

from discreet.accounting.pld.atoms import Atoms
from discreet.accounting.pld.curves import Ends, laplace_shares, pure_shares
from discreet.accounting.pld.discretise import above, below, subsampled_add, subsampled_remove
from discreet.accounting.pld.inversion import (
    Setting,
    chernoff,
    cumulant_error,
    cumulants,
    invert,
)
from discreet.accounting.pld.query import Composition, epsilon_range
from support.loss_curves import gaussian_curve, mixed_delta, subsampled_curves

UNIT = 2.0**-47
EPSILONS = np.array([0.3, 0.55, 1.2])
COUNTS = np.array([400, 1, 37])


def pure_factor(epsilons, counts):
    epsilons = np.asarray(epsilons, dtype=float)
    scales = -np.log1p(np.exp(-epsilons))
    return Ends(epsilons, np.asarray(counts), scales, pure_shares)


def laplace_factor(epsilons, counts):
    epsilons = np.asarray(epsilons, dtype=float)
    return Ends(epsilons, np.asarray(counts), np.zeros(len(epsilons)), laplace_shares)


def wide_transform(shares, tilt, frequencies):
    """The transform of EPSILONS and COUNTS in extended precision, one factor after the other."""
    point = np.longdouble(tilt) + 1j * frequencies.astype(np.longdouble)
    result = np.ones(len(frequencies), dtype=np.clongdouble)
    for epsilon, count in zip(EPSILONS.astype(np.longdouble), COUNTS, strict=True):
        values = []
        for z in (point, np.longdouble(tilt) + 0 * point):
            up, down = shares(z)
            values.append(up * np.exp(z * epsilon) + down * np.exp(-(1 + z) * epsilon))
        result *= (values[0] / values[1]) ** int(count)
    return result


@pytest.mark.parametrize("shares", [laplace_shares, pure_shares])
@pytest.mark.parametrize("tilt", [0.01, 0.7, 30.0])
def test_rounding_of_closed_transforms_is_covered(shares, tilt):
    factor = Ends(EPSILONS, COUNTS, np.zeros(3), shares)
    indices = np.arange(3000)
    step = 0.013
    exact = wide_transform(shares, tilt, step * indices)
    error = np.abs(factor.transform(tilt, step, indices) - exact).astype(float)
    allowed = UNIT * (factor.weight + tilt * factor.spread + step * indices * factor.spread)
    assert np.all(error <= allowed)
    assert error.max() > 1e-4 * allowed.max() / 100  # the bound is not vacuous


def test_rounding_of_atoms_is_covered_in_both_evaluations():
    places = np.linspace(-1, 2, 301) ** 3
    masses = np.exp(-(places**2))
    factor = Atoms(places, masses / masses.sum(), 50)
    step, tilt = 0.05, 1.5
    for indices in (np.arange(10), np.arange(1000)):
        wide = masses.astype(np.longdouble) * np.exp(tilt * places.astype(np.longdouble))
        angles = np.multiply.outer(step * indices, places.astype(np.longdouble))
        exact = (np.exp(1j * angles) @ (wide / wide.sum())) ** 50
        error = np.abs(factor.transform(tilt, step, indices) - exact).astype(float)
        allowed = UNIT * (factor.weight + tilt * factor.spread + step * indices * factor.spread)
        assert np.all(error <= allowed)


@pytest.mark.parametrize("tilt", [0.05, 2.0, 40.0])
def test_cumulants_are_within_their_error(tilt):
    factor = laplace_factor(EPSILONS, COUNTS)
    z = np.longdouble(tilt)
    wide = sum(
        int(count) * np.log(((1 + z) * np.exp(z * e) + z * np.exp(-(1 + z) * e)) / (1 + 2 * z))
        for e, count in zip(EPSILONS.astype(np.longdouble), COUNTS, strict=True)
    )
    found = cumulants((factor,), 0.0, np.array([tilt]))[0]
    assert abs(float(found - wide)) <= cumulant_error((factor,), 0.0, tilt)


@pytest.mark.parametrize("make", [laplace_factor, pure_factor])
@pytest.mark.parametrize("width", [0.01, 0.5, 3.0])
def test_decay_bounds_the_transform_inside_the_interval(make, width):
    factor = make([0.11, 0.13, 0.2], [3, 1, 2])
    low = np.linspace(0, 40, 200)
    bounds = factor.decay(0.8, low, low + width)
    for share in (0.0, 0.3, 0.5, 0.9, 1.0):
        places = low + share * width
        values = np.array(
            [abs(factor.transform(0.8, place, np.ones(1, int))[0]) for place in places]
        )
        assert np.all(np.log(values) <= bounds + 1e-9)


def test_decay_of_atoms_bounds_the_transform():
    factor = Atoms(np.array([-0.2, 0.0, 0.5]), np.array([0.2, 0.5, 0.3]), 7)
    low = np.linspace(0, 30, 300)
    bounds = factor.decay(0.4, low, low + 0.2)
    for share in (0.0, 0.5, 1.0):
        values = np.abs(
            [factor.transform(0.4, place + 0.2 * share, np.ones(1, int))[0] for place in low]
        )
        assert np.all(np.log(values) <= bounds + 1e-9)


@pytest.mark.parametrize("smoothing", [1.0, 0.3, 1e-3])
def test_smoothing_lemma(smoothing):
    """0 <= smoothed - hinge <= (1 + s) s phi((y + s^2/2)/s), the inequality of section 3."""
    curve = gaussian_curve(smoothing)
    for score in np.linspace(-7, 7, 1001):
        place = float(smoothing * score)
        excess = curve(-place) - max(0.0, -math.expm1(-place))
        top = (place + smoothing**2 / 2) / smoothing
        density = math.exp(-(top**2) / 2) / math.sqrt(2 * math.pi)
        assert -1e-15 <= excess <= (1 + smoothing) * smoothing * density + 1e-15


ATOMS = [0.4, 0.9, 1.3, 0.2]


def inversion_of_atoms(smoothing=0.05, tilt=6.0, centre=1.5):
    factors = (pure_factor(ATOMS, [1] * len(ATOMS)),)
    return invert(factors, Setting(tilt=tilt, smoothing=smoothing, variance=0.0), centre)


def truth(place):
    return mixed_delta(ATOMS, [lambda loss: max(0.0, -math.expm1(loss))], place)


PLACES = np.linspace(1.0, 2.0, 201)


def violations(inversion, exact=truth):
    """How often a bound is wrong."""
    wrong = 0
    for place in PLACES:
        low, high = inversion.bounds(epsilon=float(place))
        wrong += not low <= exact(float(place)) * (1 + 1e-12) <= high * (1 + 2e-12)
    return wrong


def test_bounds_hold_everywhere():
    for smoothing in (0.3, 0.05, 0.004):
        assert violations(inversion_of_atoms(smoothing)) == 0


def test_planted_no_bump():
    inversion = inversion_of_atoms()
    assert violations(dataclasses.replace(inversion, bump=inversion.bump[:0])) > 0


def test_planted_half_a_bump():
    inversion = inversion_of_atoms()
    assert violations(dataclasses.replace(inversion, bump=inversion.bump / 2)) > 0


def test_planted_wrong_scale():
    inversion = inversion_of_atoms(smoothing=0.004)
    for wrong in (0.01, -0.01):
        moved = dataclasses.replace(inversion, scale=inversion.scale + wrong)
        assert violations(moved) > 0


def test_planted_skipped_frequencies():
    inversion = inversion_of_atoms(smoothing=0.004)
    half = len(inversion.frequencies) // 8
    cut = dataclasses.replace(
        inversion,
        frequencies=inversion.frequencies[:half],
        upper=inversion.upper[:half],
        bump=inversion.bump[:half],
    )
    assert violations(cut) > 0


def short_period(monkeypatch, share):
    """An inversion whose window is a fraction of what it should be."""
    import discreet.accounting.pld.inversion as module

    tails = module._tails

    def shorter(factors, setting, centre):
        period, *rest = tails(factors, setting, centre)
        return (share * period, *rest)

    monkeypatch.setattr(module, "_tails", shorter)
    factors = (laplace_factor([0.1], [1000]),)
    return invert(factors, Setting(tilt=1.0, smoothing=0.05, variance=0.0), 15.0)


def fine_truth():
    factors = (laplace_factor([0.1], [1000]),)
    fine = invert(factors, Setting(tilt=1.5, smoothing=0.003, variance=0.0), 15.0)
    return lambda place: sum(fine.bounds(epsilon=place)) / 2


def wrong_at(inversion, exact):
    return sum(
        not inversion.bounds(epsilon=place)[0] <= exact(place) <= inversion.bounds(epsilon=place)[1]
        for place in (14.0, 15.0, 16.0)
    )


def test_too_small_a_window_gives_wide_bounds_not_wrong_ones(monkeypatch):
    exact = fine_truth()
    inversion = short_period(monkeypatch, 0.15)
    assert wrong_at(inversion, exact) == 0
    low, high = inversion.bounds(epsilon=15.0)
    assert high > 1.05 * low


def test_planted_aliasing_is_caught(monkeypatch):
    exact = fine_truth()
    inversion = short_period(monkeypatch, 0.15)
    steps = np.ones(1)
    blind = dataclasses.replace(
        inversion, rising=(steps, -1e9 * steps), falling=(steps, -1e9 * steps)
    )
    assert wrong_at(blind, exact) > 0


@pytest.mark.parametrize("cut", [subsampled_remove, subsampled_add])
@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.3, 0.5), (0.9, 4.0)])
def test_discretisation_is_above_and_below_the_curve(cut, rate, sigma):
    curve = subsampled_curves(rate, sigma)[0 if cut is subsampled_remove else 1]
    cells = cut(rate=rate, sigma=sigma, cells=60)
    losses, masses, infinite, slack = above(cells)
    low_losses, low_masses, low_slack = below(cells)
    assert max(slack, low_slack) < 1e-13
    inside = np.linspace(cells.losses[0] + 1e-9, min(cells.losses[-1], 5.0), 400)
    for place in inside:
        exact = curve(float(place))
        upper = masses @ np.maximum(0, -np.expm1(place - losses)) + infinite
        lower = low_masses @ np.maximum(0, -np.expm1(place - low_losses))
        assert lower <= exact + 1e-13
        assert upper >= exact - 1e-13


@pytest.mark.parametrize("cut", [subsampled_remove, subsampled_add])
def test_planted_discretisation_bugs_show_in_the_slack(cut):
    cells = cut(rate=0.2, sigma=1.0, cells=60)
    ends = np.concatenate([cells.losses, [cells.losses[-1] + 1]])
    assert below(dataclasses.replace(cells, merged=ends))[2] > 1e-4  # rounded up, not merged
    assert above(dataclasses.replace(cells, excess=cells.excess / 2))[3] > 1e-4
    assert above(dataclasses.replace(cells, masses=cells.masses * 0.999))[3] > 1e-4
    assert below(dataclasses.replace(cells, masses=cells.masses * 1.001))[2] > 1e-4


def test_planted_exchange_of_upper_and_lower():
    remove, _ = subsampled_curves(0.2, 1.0)
    cells = subsampled_remove(rate=0.2, sigma=1.0, cells=40)
    losses, masses, infinite, slack = above(cells)
    upper = (Atoms(losses, masses, 1),)
    lower = (Atoms(*below(cells)[:2], 1),)

    def found(first, second):
        made = Composition(first, second, 0.0, (0.0, infinite), slack, math.inf)
        return epsilon_range(lambda _: made, delta=1e-4, tolerance=1e-3)

    low, high = found(upper, lower)
    assert remove(high) <= 1e-4 <= remove(low)
    low, high = found(lower, upper)
    assert not remove(high) <= 1e-4 <= remove(low)


def test_chernoff_factor_is_the_maximum():
    for tilt in (0.1, 1.0, 20.0):
        places = np.linspace(1e-4, 20, 200_000)
        most = np.max(np.exp(-tilt * places) * -np.expm1(-places))
        bound = float(np.exp(chernoff(np.array([tilt])))[0])
        assert most <= bound * (1 + 1e-12)
        assert most >= bound * (1 - 1e-3)
