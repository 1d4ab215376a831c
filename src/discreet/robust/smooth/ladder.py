"""The ladder mechanism: an exponential mechanism over the lattice, whose score is how many rungs of
a growth lie between a number and the exact value. Exact draws; holds no data.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from discreet.loss import BoundedRange
from discreet.noise.bits import BitSource, system
from discreet.noise.coins import uniform
from discreet.noise.discrete import geometric
from discreet.rationals import Number, exp_bounds, positive
from discreet.robust.smooth.growth import Growth

__all__ = ["LadderMechanism"]

_STEP = 64


@dataclass(frozen=True, slots=True)
class LadderMechanism:
    """Draws y with probability proportional to exp(-epsilon/2 * rung of y).

    The rung of y is the least k with |y - exact| <= A_0 + ... + A_{k-1}. The lattice is public and
    the weights are exact: rungs are chosen by lazily extended bits against certified sums, the
    place in a rung uniformly. Beyond the last rung all are equally wide, and the draw goes on.
    Privacy: the rung of y changes by at most 1 between neighbours, so the draw is an exponential
    mechanism of sensitivity 1: epsilon-bounded range for the relation of the query
    [ZCPSX15], [MT07, Thm. 6], [DR19, Lemma 4.1].
    >>> LadderMechanism(epsilon=1).loss
    BoundedRange(epsilon=Fraction(1, 1))
    """

    epsilon: Fraction

    def __init__(self, *, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    @property
    def loss(self) -> BoundedRange:
        """The cost of one release, whatever the data.

        Privacy: epsilon-bounded range [ZCPSX15].
        >>> LadderMechanism(epsilon=0.5).loss.epsilon
        Fraction(1, 2)
        """
        return BoundedRange(epsilon=self.epsilon)

    def release(self, exact: Growth, bits: BitSource = system) -> int:
        """A noisy number of steps.

        Privacy: as `loss` says.
        >>> LadderMechanism(epsilon=10**4).release(Growth(exact=7, rungs=[1, 2], limit=9))
        7
        """
        reaches = _Reaches(exact)
        if exact.limit == 0:  # the same for every data set
            return math.floor(exact.exact + Fraction(1, 2))
        rung = self._draw_rung(reaches, bits)
        if rung == reaches.rungs:  # beyond the last: rungs of `limit` numbers on each side
            rung += geometric(scale=2 / self.epsilon, bits=bits)
        return reaches.place(rung, bits)

    def _draw_rung(self, reaches: "_Reaches", bits: BitSource) -> int:
        """A rung below the last, or the last for all from there on, by exact inversion."""
        prefix, length = bits.bits(_STEP), _STEP
        shown = math.ceil((64 + reaches.log_size) * 2 / self.epsilon) + 2
        while True:
            lows, highs, rest = reaches.weights(self.epsilon, length + 32, shown)
            least, most = lows[-1], highs[-1] + rest
            place = bisect_left(lows, (prefix + 1) * most, key=lambda low: low << length)
            settled = place == 0 or highs[place - 1] << length <= prefix * least
            if place < len(lows) and settled:
                return place
            prefix = prefix << _STEP | bits.bits(_STEP)
            length, shown = length + _STEP, 2 * shown


class _Reaches:
    """How far each rung reaches, and how many lattice points it holds."""

    __slots__ = ("_exact", "_limit", "_resolution", "_sums", "rungs")

    def __init__(self, growth: Growth) -> None:
        self._exact = growth.exact
        self._limit = -(-growth.limit // growth.resolution)  # whole steps: every such rung alike
        self._resolution = growth.resolution
        self._sums = list(accumulate((int(rung) for rung in growth.rungs), initial=0))
        self.rungs = len(self._sums)

    @property
    def log_size(self) -> int:
        """At least ln of the number of points on any rung that matters."""
        return int(self._sums[-1] + 2 * self._limit + 3).bit_length()

    def _reach(self, rung: int) -> Fraction:
        if rung < self.rungs:
            return Fraction(self._sums[rung], self._resolution)
        past = (rung - self.rungs + 1) * self._limit
        return Fraction(self._sums[-1], self._resolution) + past

    def _ends(self, rung: int) -> tuple[int, int]:
        """The least and the largest lattice point up to this rung."""
        reach = self._reach(rung)
        return math.ceil(self._exact - reach), math.floor(self._exact + reach)

    def place(self, rung: int, bits: BitSource) -> int:
        """A uniform lattice point of the rung."""
        low, high = self._ends(rung)
        if rung == 0:
            return low
        inner_low, inner_high = self._ends(rung - 1)
        below = inner_low - low
        drawn = uniform(below + high - inner_high, bits)
        return low + drawn if drawn < below else inner_high + 1 + drawn - below

    def weights(
        self, epsilon: Fraction, precision: int, shown: int
    ) -> tuple[list[int], list[int], int]:
        """Running sums of the rungs' weights from below and above, and a bound on what is left.

        The entry after the last rung stands for it and all beyond. With more rungs than `shown`
        the later ones are left to the bound.
        """
        unit = 1 << precision
        low, high = exp_bounds(-epsilon / 2, precision // 3 + 4)
        ratio = (math.floor(low * unit), math.ceil(high * unit))
        power = (unit, unit)
        lows: list[int] = []
        highs: list[int] = []
        below = above = points = 0
        for rung in range(min(shown, self.rungs)):
            first, last = self._ends(rung)
            count, points = last - first + 1 - points, last - first + 1
            below, above = below + count * power[0], above + count * power[1]
            lows.append(below)
            highs.append(above)
            power = (power[0] * ratio[0] >> precision, -(-power[1] * ratio[1] >> precision))
        gaps = (max(1, unit - ratio[1]), max(1, unit - ratio[0]))
        if shown >= self.rungs:
            wide = 2 * self._limit
            below += wide * power[0] * unit // gaps[1]
            above += -(-wide * power[1] * unit // gaps[0])
            return [*lows, below], [*highs, above], 0
        # No rung holds more than 2 * limit + 2 points.
        rest = -(-(2 * self._limit + 2) * power[1] * unit // gaps[0])
        return lows, highs, rest
