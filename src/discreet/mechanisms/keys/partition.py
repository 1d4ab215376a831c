"""Keys that are not public, shown without their counts by the optimal rule.
The chance of a key depends only on its number of distinct units. docs/proofs/keys.md holds the
proofs. Chances are certified brackets, coins are exact.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.loss import ZCDP, Approximate
from discreet.mechanisms.shared.counts import read_delta, read_units
from discreet.noise.bits import BitSource, system
from discreet.noise.coins import below
from discreet.rationals import (
    Number,
    ceil_float,
    exp_bounds,
    least_integer,
    log_bounds,
    positive,
    probability,
    whole,
)

__all__ = ["Partition"]

_LAST_WORD = (1 << 64) - 1
_LARGEST_COUNT = 1 << 62
_ENOUGH = Fraction(64)  # a larger epsilon is treated as this one, which costs less


@dataclass(frozen=True, slots=True)
class Partition:
    """Shows a key of n units with the largest chance that (epsilon, delta) allows at every n.

    Epsilon and delta are divided by `keys_per_unit`: how many keys one step of the neighbouring
    relation can touch, that is what one unit may have under add/remove, twice that under replace.
    Privacy: (epsilon, delta)-DP [DVGM22].
    >>> Partition(epsilon=1, delta=1e-6, keys_per_unit=1).release(np.array([1000])).tolist()
    [0]
    """

    epsilon: Fraction
    delta: Fraction
    keys_per_unit: int

    def __init__(self, *, epsilon: Number, delta: Number, keys_per_unit: int = 1) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", read_delta(delta=delta))
        object.__setattr__(self, "keys_per_unit", whole(keys_per_unit, "keys_per_unit"))

    def loss(self) -> Approximate:
        """The cost of one release.

        Privacy: (epsilon, delta)-DP for the relation `keys_per_unit` was counted for
        [DVGM22], [DR14, Thm. 3.16].
        >>> Partition(epsilon=1, delta=1e-6, keys_per_unit=4).loss().epsilon
        Fraction(1, 1)
        """
        return Approximate(epsilon=self.epsilon, delta=self.delta)

    def zcdp_loss(self) -> ZCDP:
        """The cost in zCDP, where the keys of one unit add up more slowly.

        Privacy: keys_per_unit choices that are (epsilon/keys_per_unit, delta/keys_per_unit)-DP
        each: rho = epsilon^2/(2 keys_per_unit) with delta [BS16, Lemma 8.8 and 8.2, Prop. 1.4].
        >>> Partition(epsilon=1, delta=1e-6, keys_per_unit=4).zcdp_loss().rho
        Fraction(1, 8)
        """
        return ZCDP(rho=self.epsilon**2 / (2 * self.keys_per_unit), delta=self.delta)

    def chance(self, units: int, digits: int = 40) -> tuple[Fraction, Fraction]:
        """Rationals below and above the chance that a key of this many units is shown.

        >>> low, high = Partition(epsilon=1, delta=1e-3).chance(1)
        >>> low == high == Fraction(1, 1000)
        True
        """
        delta = self.delta / self.keys_per_unit
        epsilon = min(self.epsilon / self.keys_per_unit, _ENOUGH)
        if units < 1:
            return Fraction(0), Fraction(0)
        return _chance(epsilon, delta, units, digits)

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> NDArray[np.int64]:
        """The places of the keys that are shown.

        `exact` holds the number of distinct units of every key that has one. Where keys stand in
        the table may depend on data, so the caller puts what is shown in an order of the keys.
        Privacy: as `loss` says.
        >>> Partition(epsilon=1, delta=1e-6).release(np.array([500, 500])).tolist()
        [0, 1]
        """
        # From `sure` on every chance is 1; holding counts at a limit brings none farther apart.
        sure = self.error(1)
        limit = int(sure) if sure < _LARGEST_COUNT else _LARGEST_COUNT
        counts = np.minimum(read_units(exact), limit).astype(np.int64)
        units, place = np.unique(counts, return_inverse=True)
        brackets = [self.chance(int(count)) for count in units]
        surely = [min(math.floor(low * 2**64), _LAST_WORD) for low, _ in brackets]
        never = [min(math.ceil(high * 2**64), _LAST_WORD) for _, high in brackets]
        words = np.empty(len(counts), dtype=np.uint64)
        bits.fill(words.view(np.uint8))
        shown = words < np.array(surely, dtype=np.uint64)[place]
        undecided = ~shown & (words <= np.array(never, dtype=np.uint64)[place])
        for index in np.flatnonzero(undecided):
            count = int(counts[index])
            shown[index] = below(
                lambda digits, count=count: self.chance(count, digits),  # type: ignore[misc]
                bits,
                prefix=int(words[index]),
                length=64,
            )
        return np.flatnonzero(shown).astype(np.int64)

    def error(self, confidence: Number) -> float:
        """The smallest number of units whose key is shown with at least this probability.

        >>> Partition(epsilon=1, delta=1e-6).error(0.95)
        16.0
        """
        wanted = probability(confidence, "confidence")
        least = least_integer(lambda units: self.chance(units)[0] >= wanted)
        return ceil_float(Fraction(least))


@dataclass(frozen=True, slots=True)
class _Curve:
    """What all chances share: brackets of e^epsilon, the turning point and the chance there."""

    step: tuple[Fraction, Fraction]
    turn: int
    reached: tuple[Fraction, Fraction]


def _chance(
    epsilon: Fraction, delta: Fraction, units: int, digits: int
) -> tuple[Fraction, Fraction]:
    """[DVGM22]: growth up to the turning point, then decay of what is missing."""
    # Digits lost to e^epsilon - 1 near 0, to the growth from delta to 1 and to 1 - e^-epsilon.
    digits += 10 + int(epsilon) + 2 * _digits(1 / epsilon) + _digits(1 / delta)
    curve = _curve(epsilon, delta, digits)
    if units <= curve.turn:
        return _growth(epsilon, delta, units, digits)
    fade = exp_bounds(-(units - curve.turn) * epsilon, digits)
    # (1 - fade)(1 + delta/(step - 1)) + fade * reached, which falls in fade and in step.
    limit = [1 + delta / (step - 1) for step in curve.step]
    low = (1 - fade[1]) * limit[1] + fade[1] * curve.reached[0]
    high = (1 - fade[0]) * limit[0] + fade[0] * curve.reached[1]
    return min(low, Fraction(1)), min(high, Fraction(1))


def _digits(number: Fraction) -> int:
    return int(number).bit_length() // 3 + 1


@lru_cache(maxsize=64)
def _curve(epsilon: Fraction, delta: Fraction, digits: int) -> _Curve:
    turn = _turning_point(epsilon, delta, digits)
    return _Curve(exp_bounds(epsilon, digits), turn, _growth(epsilon, delta, turn, digits))


def _growth(
    epsilon: Fraction, delta: Fraction, units: int, digits: int
) -> tuple[Fraction, Fraction]:
    """delta (e^(units epsilon) - 1)/(e^epsilon - 1)."""
    if units == 1:
        return delta, delta
    step, all_steps = exp_bounds(epsilon, digits), exp_bounds(units * epsilon, digits)
    return (delta * (all_steps[0] - 1) / (step[1] - 1), delta * (all_steps[1] - 1) / (step[0] - 1))


def _turning_point(epsilon: Fraction, delta: Fraction, digits: int) -> int:
    """1 + floor(ln((e^epsilon + 2 delta - 1)/(delta (e^epsilon + 1)))/epsilon)."""
    while True:
        # The quotient grows with e^epsilon, since delta is at most 1.
        quotients = [(x + 2 * delta - 1) / (delta * (x + 1)) for x in exp_bounds(epsilon, digits)]
        low = math.floor(log_bounds(quotients[0], digits)[0] / epsilon)
        high = math.floor(log_bounds(quotients[1], digits)[1] / epsilon)
        # e^epsilon is transcendental, so below delta = 1 this is never an integer.
        if low == high:
            return 1 + low
        digits *= 2
