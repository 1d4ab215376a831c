"""The hybrid randomizer of a number in a range: piecewise or one bit, by a coin that ignores it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.answers import count_codes, read_codes
from discreet.local.randomizers.numbers import positions
from discreet.local.randomizers.one_bit import OneBit
from discreet.local.randomizers.piecewise import Piecewise
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import flips
from discreet.rationals import Number, exp_bounds

__all__ = ["Hybrid"]

_PIECEWISE_FROM = Fraction(61, 100)  # below this epsilon one bit is always better


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Uses `Piecewise` with probability 1 - e^(-epsilon/2), else `OneBit`; below 0.61 one bit only.

    Outputs of the piecewise randomizer come first, then the two bits.
    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer: the coin is drawn without
    looking at it [WXYZ19, Sec. III-C].
    >>> Hybrid(epsilon=1, lower=0, upper=100, step=1).cells
    163
    """

    piecewise: Piecewise
    one_bit: OneBit

    def __init__(
        self,
        *,
        epsilon: Number,
        lower: Number,
        upper: Number,
        step: Number,
        coin_bits: int | None = None,
    ) -> None:
        for name, kind in (("piecewise", Piecewise), ("one_bit", OneBit)):
            part = kind(epsilon=epsilon, lower=lower, upper=upper, step=step, coin_bits=coin_bits)
            object.__setattr__(self, name, part)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of both parts."""
        return self.one_bit.epsilon

    @property
    def lattice(self) -> Lattice:
        """The lattice of both parts."""
        return self.one_bit.lattice

    @property
    def cells(self) -> int:
        """The outputs of both parts.

        >>> Hybrid(epsilon=2, lower=0, upper=2, step=1).cells
        5
        """
        return self.piecewise.cells + self.one_bit.cells

    @property
    def report_bits(self) -> int:
        """The bits of an output's number.

        >>> Hybrid(epsilon=2, lower=0, upper=2, step=1).report_bits
        3
        """
        return (self.cells - 1).bit_length()

    @property
    def share(self) -> Fraction:
        """How probably the piecewise part is used, to 40 digits; exact with `coin_bits`.

        >>> round(float(Hybrid(epsilon=2, lower=0, upper=2, step=1).share), 4)
        0.6321
        """
        return self._bounds(40)[0]

    @property
    def rounding(self) -> Fraction:
        """Half a step."""
        return self.one_bit.rounding

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [WXYZ19, Sec. III-C].
        >>> Hybrid(epsilon=1, lower=0, upper=10, step=1).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The output for one number, or an array of them for several.

        Privacy: epsilon-DP for each report [WXYZ19, Sec. III-C].
        >>> Hybrid(epsilon=1, lower=0, upper=100, step=1).release(37) in range(163)
        True
        """
        held, single = positions(self.lattice, exact)
        answers = [exact] if single else exact
        chosen = flips(self._bounds, held.size, bits)
        # Both are drawn for everyone, so that time and bits used do not depend on the choice.
        noisy = np.where(
            chosen,
            self.piecewise.release(answers, bits),
            self.piecewise.cells + self.one_bit.release(answers, bits),
        )
        return int(noisy[0]) if single else noisy

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports name each output.

        >>> Hybrid(epsilon=2, lower=0, upper=2, step=1).count([0, 4]).tolist()
        [1, 0, 0, 0, 1]
        """
        return count_codes(read_codes(reports, self.cells), self.cells)

    def decode_cells(self) -> NDArray[np.float64]:
        """The number each output stands for.

        >>> Hybrid(epsilon=2, lower=-1, upper=1, step=1).decode_cells().round(2).tolist()
        [-1.47, 0.0, 1.47, -1.31, 1.31]
        """
        return np.concatenate([self.piecewise.decode_cells(), self.one_bit.decode_cells()])

    def variance(self, exact: Any) -> float:
        """The variance of a decoded report on this answer: both parts have its expectation.

        Privacy: none: for planning, with made-up answers.
        >>> round(Hybrid(epsilon=1, lower=-1, upper=1, step=0.01).variance(1), 2)
        4.29
        """
        share = float(self.share)
        return share * self.piecewise.variance(exact) + (1 - share) * self.one_bit.variance(exact)

    def _bounds(self, digits: int) -> tuple[Fraction, Fraction]:
        if self.epsilon < _PIECEWISE_FROM:
            return Fraction(0), Fraction(0)
        low, high = exp_bounds(-self.epsilon / 2, digits)
        if self.one_bit.coin_bits is None:
            return 1 - high, 1 - low
        # Any chance will do here: the coin does not look at the answer.
        scale = 1 << self.one_bit.coin_bits
        chance = Fraction(math.floor((1 - exp_bounds(-self.epsilon / 2, 100)[1]) * scale), scale)
        return chance, chance
