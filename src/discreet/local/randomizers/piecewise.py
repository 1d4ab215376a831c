"""The piecewise randomizer of a number in a range: a report near the answer is likelier.

Written on integers: m steps of input, m + w outputs, and a window of w outputs that moves with the
answer, so that no floating point stands between the answer and the report.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.answers import (
    Bounds,
    count_codes,
    kept_bounds,
    read_codes,
    read_coin_bits,
)
from discreet.local.randomizers.numbers import positions, read_lattice, span
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import Number, exp_bounds, positive, whole

__all__ = ["Piecewise"]


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Sends one of m + w outputs; the w from the answer's place on are e^epsilon times as likely.

    The window defaults to w = m e^(-epsilon/2), rounded, at least 1: the lattice form of the
    piecewise mechanism.
    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer: every output has one of two
    probabilities, a factor e^epsilon apart [WXYZ19, Sec. III-B].
    >>> Piecewise(epsilon=1, lower=0, upper=100, step=1).window
    61
    """

    epsilon: Fraction
    lattice: Lattice
    window: int
    coin_bits: int | None = field(repr=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        lower: Number,
        upper: Number,
        step: Number,
        window: int | None = None,
        coin_bits: int | None = None,
    ) -> None:
        value = positive(epsilon, "epsilon")
        lattice = read_lattice(lower=lower, upper=upper, step=step)
        if window is None:
            wanted = span(lattice)[1] * exp_bounds(-value / 2)[0]
            window = max(1, math.floor(wanted + Fraction(1, 2)))
        object.__setattr__(self, "epsilon", value)
        object.__setattr__(self, "lattice", lattice)
        object.__setattr__(self, "window", whole(window, "window", least=1, most=1 << 20))
        object.__setattr__(self, "coin_bits", read_coin_bits(coin_bits))

    @property
    def cells(self) -> int:
        """One count for each of the m + w outputs.

        >>> Piecewise(epsilon=1, lower=0, upper=100, step=1).cells
        161
        """
        return span(self.lattice)[1] + self.window

    @property
    def report_bits(self) -> int:
        """The bits of an output's number.

        >>> Piecewise(epsilon=1, lower=0, upper=100, step=1).report_bits
        8
        """
        return (self.cells - 1).bit_length()

    @property
    def rounding(self) -> Fraction:
        """Half a step.

        >>> Piecewise(epsilon=1, lower=0, upper=100, step=1).rounding
        Fraction(1, 2)
        """
        return self.lattice.step / 2

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [WXYZ19, Sec. III-B].
        >>> Piecewise(epsilon=1, lower=0, upper=100, step=1).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The output for one number, or an array of them for several.

        Privacy: epsilon-DP for each report [WXYZ19, Sec. III-B].
        >>> Piecewise(epsilon=1, lower=0, upper=100, step=1).release(37) in range(161)
        True
        """
        held, single = positions(self.lattice, exact)
        steps = span(self.lattice)[1]
        inside = flips(self._bounds(), held.size, bits)
        near = held + dice(self.window, held.size, bits)
        far = dice(steps, held.size, bits)
        far += np.where(far >= held, self.window, 0)
        noisy = np.where(inside, near, far)
        return int(noisy[0]) if single else noisy

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports name each output.

        >>> Piecewise(epsilon=1, lower=0, upper=2, step=1).count([0, 2, 2]).tolist()
        [1, 0, 2]
        """
        return count_codes(read_codes(reports, self.cells), self.cells)

    def decode_cells(self) -> NDArray[np.float64]:
        """The number each output stands for: its expectation is the answer.

        >>> Piecewise(epsilon=2, lower=-1, upper=1, step=1).decode_cells().round(3).tolist()
        [-1.47, 0.0, 1.47]
        """
        offset, slope = self._line()
        return float(offset) + float(slope) * np.arange(self.cells, dtype=np.float64)

    def variance(self, exact: Any) -> float:
        """The variance of a decoded report on this answer.

        On [-1, 1] and for small steps it tends to answer^2/(s - 1) + (s + 3)/(3(s - 1)^2), where
        s = e^(epsilon/2) [WXYZ19, Sec. III-B].
        Privacy: none: for planning, with made-up answers.
        >>> round(Piecewise(epsilon=1, lower=-1, upper=1, step=0.001).variance(0), 2)
        3.68
        """
        place = self.lattice.steps(exact) - span(self.lattice)[0]
        inner, outer = self._weights()
        window = [_power_sum(place + self.window, n) - _power_sum(place, n) for n in (1, 2)]
        everything = [_power_sum(self.cells, n) for n in (1, 2)]
        mean, square = (
            inner * near + outer * (whole_sum - near)
            for near, whole_sum in zip(window, everything, strict=True)
        )
        return float(self._line()[1] ** 2 * (square - mean**2))

    def _weights(self) -> tuple[Fraction, Fraction]:
        """The probability of one output in the window, and of one outside."""
        steps = span(self.lattice)[1]
        truth = self._bounds()(40)[0]
        return truth / self.window, (1 - truth) / steps

    def _bounds(self) -> Bounds:
        rest = span(self.lattice)[1]
        return kept_bounds(
            epsilon=self.epsilon, weight=self.window, rest=rest, coin_bits=self.coin_bits
        )

    def _line(self) -> tuple[Fraction, Fraction]:
        """The output o stands for offset + slope * o."""
        inner, outer = self._weights()
        # E(o) at place j is outer * sum(all) + (inner - outer) * (w j + w (w - 1)/2).
        slope = 1 / ((inner - outer) * self.window)
        start = outer * _power_sum(self.cells, 1) * slope + Fraction(self.window - 1, 2)
        first = span(self.lattice)[0]
        return self.lattice.step * (first - start), self.lattice.step * slope


def _power_sum(count: int, power: int) -> int:
    """0^n + 1^n + ... + (count - 1)^n for n = 1, 2."""
    linear = count * (count - 1)
    return linear // 2 if power == 1 else linear * (2 * count - 1) // 6
