"""Questions to a composition: epsilon at a delta, delta at an epsilon, both as certified brackets.
Owns the search for tilt, smoothing and root; every answer rests on Inversion.bounds alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.accounting.pld.curves import Array, Factor
from discreet.accounting.pld.inversion import (
    SMALLEST,
    Inversion,
    Setting,
    chernoff,
    cumulant_error,
    cumulants,
    invert,
)
from discreet.rationals import floor_float

__all__ = ["Build", "Composition", "delta_range", "epsilon_range"]

_ROUNDS = 5
_FEWEST_CELLS, _MOST_CELLS = 192, 12_000
_ROUND = 2.0**-50
_NOTHING_KNOWN = 1000.0  # above the logarithm of any ratio of floats


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """One direction of a composition, ready for inversion.

    `upper` dominates the mechanisms and `lower` is dominated by them; `infinite` brackets the
    probability of an infinite loss; `slack` bounds what discretisation may have missed.
    """

    upper: tuple[Factor, ...]
    lower: tuple[Factor, ...]
    variance: float
    infinite: tuple[float, float]
    slack: float
    ceiling: float  # basic composition, rounded up; infinite where there is none
    failure: Fraction = Fraction(0)  # its delta


Build = Callable[[int], Composition]
"""Makes the composition with so many cells for each mechanism that needs discretising."""


def _tilts(composition: Composition) -> Array:
    """Candidate tilts, from below one over the standard deviation upwards; a heavy tail, whose
    cumulant explodes long before, needs them from a quarter."""
    ends = cumulants(composition.upper, composition.variance, np.array([0.0, 1.0]))
    first = 0.4 / math.sqrt(max(float(ends[1] - ends[0]), 1e-16))  # about a variance
    lowest = min(first, 0.25)
    return np.asarray(lowest * 1.7 ** np.arange(40 + math.ceil(math.log(first / lowest, 1.7))))


def _best(composition: Composition, objective: Callable[[Array, Array], Array]) -> float:
    """The tilt with the least objective(tilts, cumulants plus Chernoff factor), about."""
    tilts = _tilts(composition)
    for _ in range(2):
        exponents = cumulants(composition.upper, composition.variance, tilts) + chernoff(tilts)
        values = objective(tilts, exponents)
        place = int(np.argmin(values))
        around = tilts[max(0, place - 1)], tilts[min(len(tilts) - 1, place + 1)]
        best = float(tilts[place])
        tilts = np.geomspace(around[0], around[1], 9)
    return best


def _setting(composition: Composition, tilt: float, precision: float) -> Setting:
    """Smoothing that widens delta by about `precision`, relative; none if Gaussians suffice."""
    smoothing = min(1.0, math.sqrt(precision / (tilt * (1 + tilt))))
    if composition.variance >= smoothing**2:
        smoothing = 0.0
    return Setting(tilt=tilt, smoothing=smoothing, variance=composition.variance)


def _invert(
    composition: Composition, setting: Setting, centre: float
) -> tuple[Inversion, Inversion]:
    above = invert(composition.upper, setting, centre)
    if composition.lower is composition.upper:
        return above, above
    return invert(composition.lower, setting, centre), above


def _root(function: Callable[[float], float], low: float, high: float, width: float) -> float:
    """A point at most `width` above a sign change, with function(point) <= 0 <= function(low)."""
    at_low, at_high = function(low), function(high)
    side = 0
    while high - low > width and at_low > 0 > at_high:
        fraction = at_low / (at_low - at_high)
        guess = min(max(low + fraction * (high - low), low + width / 4), high - width / 4)
        value = function(guess)
        if value > 0:
            low, at_low = guess, value
            at_high = at_high / 2 if side > 0 else at_high
            side = 1
        else:
            high, at_high = guess, value
            at_low = at_low / 2 if side < 0 else at_low
            side = -1
    return high


def _upper_epsilon(above: Inversion, target: float, start: float, width: float) -> float:
    """The least certified epsilon for `target`; `start` is certified by the Chernoff bound."""

    def excess(epsilon: float) -> float:
        return math.log(above.bounds(epsilon=epsilon)[1] / target)

    if excess(start) > 0:
        return start
    step = 2 / above.tilt
    low = max(0.0, start - step)
    while excess(low) <= 0:
        if low == 0:
            return 0.0
        step *= 2
        start, low = low, max(0.0, low - step)
    return _root(excess, low, start, width)


def _lower_epsilon(below: Inversion, target: float, start: float, width: float) -> float:
    """The largest certified epsilon whose delta is still above `target`."""

    def shortfall(epsilon: float) -> float:
        delta = below.bounds(epsilon=epsilon)[0]
        return math.log(target / delta) if delta else _NOTHING_KNOWN

    step, high = 4 * width, start
    low = max(0.0, start - step)
    while shortfall(low) >= 0:
        if low == 0 or step > start:
            return 0.0
        step *= 1.5
        high, low = low, max(0.0, low - step)
    # Mirrored, so that the certified side is the one returned.
    return -_root(lambda mirror: shortfall(-mirror), -high, -low, width)


def _enough(composition: Composition, tilt: float, precision: float, cells: int) -> int:
    """Cells whose discretisation widens delta by about `precision`, relative."""
    rough = sum(factor.roughness(tilt) for factor in composition.upper)
    wide = tilt * (1 + tilt) * rough / 8  # splitting adds a sixth, merging takes a twelfth
    return min(_MOST_CELLS, math.ceil(1.1 * cells * math.sqrt(wide / precision)))


def _exponent(composition: Composition, tilt: float) -> float:
    """The logarithm of the Chernoff bound at epsilon = 0, rounded up."""
    tilts = np.array([tilt])
    exponent = cumulants(composition.upper, composition.variance, tilts) + chernoff(tilts)
    return float(exponent[0]) + cumulant_error(composition.upper, composition.variance, tilt)


def _chernoff_epsilon(composition: Composition, tilt: float, room: float) -> float:
    """An epsilon certified by the Chernoff bound at one tilt."""
    start = (_exponent(composition, tilt) - math.log(room)) / tilt
    return start + _ROUND * (abs(start) + abs(math.log(room)) / tilt)


def _chernoff_delta(composition: Composition, tilt: float, place: float) -> float:
    """The Chernoff bound on the finite part of delta at one tilt."""
    exponent = _exponent(composition, tilt) - tilt * place * (1 - _ROUND)
    return max(SMALLEST, math.exp(min(0.0, exponent + _ROUND)))


def _chernoff_epsilons(offset: float, tilts: Array, sums: Array) -> Array:
    return np.asarray((sums - offset) / tilts)


def _attempt(
    composition: Composition, tilt: float, limit: float, aim: tuple[float, float, float]
) -> tuple[float, float]:
    """One certified bracket of epsilon, for aim = (known ceiling, width wanted, smoothing's)."""
    ceiling, goal, budget = aim
    room = limit - composition.infinite[1] - composition.slack - _ROUND * limit
    reach = limit - composition.infinite[0] + composition.slack + _ROUND * limit
    if room <= 0:
        return 0.0, math.inf
    start = _chernoff_epsilon(composition, tilt, room)
    setting = _setting(composition, tilt, budget * tilt)
    lower, upper = _invert(composition, setting, start)
    high = _upper_epsilon(upper, room, start, 0.004 * goal)
    return _lower_epsilon(lower, reach, min(high, ceiling), 0.004 * goal), high


def _holds_at_zero(composition: Composition, room: float) -> bool:
    """Whether epsilon = 0 is certified: it needs a tilt of its own."""
    tilt = _best(composition, lambda tilts, sums: sums)  # noqa: ARG005
    _, upper = _invert(composition, _setting(composition, tilt, 0.1), 0.0)
    return upper.bounds(epsilon=0.0)[1] <= room


def _finer(budget: float, goal: float, width: float) -> float:
    """What smoothing may add in the next round; widths are about proportional to it."""
    return budget * min(0.4, max(0.002, 0.6 * goal / width))


def epsilon_range(build: Build, *, delta: Fraction, tolerance: float) -> tuple[float, float]:
    """Certified lower and upper bound on epsilon at `delta`; wider than asked if need be.

    >>> one = Composition((), (), 1.0, (0.0, 0.0), 0.0, math.inf)
    >>> low, high = epsilon_range(lambda cells: one, delta=Fraction(1, 10**6), tolerance=1e-4)
    >>> low <= 4.886554125 <= high
    True
    """
    cells, budget, limit = _FEWEST_CELLS, math.inf, floor_float(delta)
    composition = build(cells)
    below, above = composition.infinite
    if limit * (1 + _ROUND) < below - composition.slack:
        return math.inf, math.inf
    if delta == 0:  # the largest loss there is
        edge = composition.ceiling if above == 0 else math.inf
        return (edge * (1 - 2.0**-48) if edge > SMALLEST else 0.0), edge
    floor, ceiling = 0.0, composition.ceiling if delta >= composition.failure else math.inf
    width = math.inf
    for _ in range(_ROUNDS):
        room = limit - composition.infinite[1] - composition.slack - _ROUND * limit
        if room <= 0:
            break
        offset = math.log(room)
        tilt = _best(composition, partial(_chernoff_epsilons, offset))
        start = _chernoff_epsilon(composition, tilt, room)
        if start <= 0:
            return 0.0, 0.0
        # An epsilon far below 1 / tilt need not be known to more digits than delta is.
        goal = tolerance * max(min(start, ceiling), 0.001 / tilt)
        tilt = min(tilt, 8 / goal)
        budget = min(budget, 0.35 * goal)
        wanted = _enough(composition, tilt, budget * tilt, cells)
        if wanted > cells:
            cells, composition = wanted, build(wanted)
        low, high = _attempt(composition, tilt, limit, (ceiling, goal, budget))
        floor, ceiling = max(floor, low), min(ceiling, high)
        if floor == 0 and _holds_at_zero(composition, room):
            return 0.0, 0.0
        goal, width, before = tolerance * max(floor, 0.001 / tilt), ceiling - floor, width
        if width <= goal or width > 0.8 * before:
            break
        budget = _finer(budget, goal, width)
    return floor, ceiling


def delta_range(
    build: Build, *, epsilon: float, tolerance: float, known: float = 0.0
) -> tuple[float, float]:
    """Certified lower and upper bound on delta at `epsilon`; wider than asked if need be.

    Stops as soon as the upper bound is at most `known`.
    >>> one = Composition((), (), 1.0, (0.0, 0.0), 0.0, math.inf)
    >>> low, high = delta_range(lambda cells: one, epsilon=1.0, tolerance=1e-4)
    >>> low <= 0.12693673750664397 <= high
    True
    """
    cells, precision = _FEWEST_CELLS, 0.35 * tolerance
    composition = build(cells)
    lowest, highest = max(0.0, composition.infinite[0] - composition.slack), 1.0
    width = math.inf
    gap = max(0.0, composition.ceiling - epsilon)  # no finite loss gains more than this
    if gap <= 2.0**-44 * composition.ceiling < math.inf:
        return lowest, min(1.0, composition.infinite[1] + composition.slack + gap)
    for _ in range(_ROUNDS):
        tilt = _best(composition, lambda tilts, sums: sums - tilts * epsilon)
        ceiling = _chernoff_delta(composition, tilt, epsilon)
        highest = min(highest, ceiling + composition.infinite[1] + composition.slack)
        if highest <= known or ceiling <= max(SMALLEST, composition.slack):
            break  # another direction is worse, or there is nothing left to resolve
        wanted = _enough(composition, tilt, precision, cells)
        if wanted > cells:
            cells, composition = wanted, build(wanted)
        lower, upper = _invert(composition, _setting(composition, tilt, precision), epsilon)
        low = lower.bounds(epsilon=epsilon * (1 + _ROUND))[0] + composition.infinite[0]
        high = upper.bounds(epsilon=epsilon)[1] + composition.infinite[1]
        lowest = max(lowest, (low - composition.slack) * (1 - _ROUND))
        highest = min(highest, (high + composition.slack) * (1 + _ROUND))
        goal, width, before = tolerance * lowest, highest - lowest, width
        if width <= goal or width > 0.8 * before:
            break
        precision = _finer(precision, goal, width)
    return lowest, highest
