"""One bit about a number in a range: the answer rounded at random to an end, then randomized."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.answers import count_codes, kept_bounds, read_codes, read_coin_bits
from discreet.local.randomizers.numbers import positions, read_lattice, span
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import Number, positive

__all__ = ["OneBit"]


@dataclass(frozen=True, slots=True)
class OneBit:
    """Sends 1 with a probability that grows linearly with the answer, from one end to the other.

    The answer, clamped and rounded to a multiple of the public step, becomes the upper end with
    probability (answer - lower)/(upper - lower), else the lower; that bit is kept with
    probability e^epsilon/(e^epsilon + 1). Both coins are exact.
    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer [DJW18, Sec. 4],
    [WXYZ19, Sec. III-A].
    >>> OneBit(epsilon=1, lower=0, upper=100, step=1).release(37) in {0, 1}
    True
    """

    epsilon: Fraction
    lattice: Lattice
    coin_bits: int | None = field(repr=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        lower: Number,
        upper: Number,
        step: Number,
        coin_bits: int | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "lattice", read_lattice(lower=lower, upper=upper, step=step))
        object.__setattr__(self, "coin_bits", read_coin_bits(coin_bits))

    @property
    def cells(self) -> int:
        """Two counts: zeros and ones."""
        return 2

    @property
    def report_bits(self) -> int:
        """One bit, whatever the range."""
        return 1

    @property
    def rounding(self) -> Fraction:
        """Half a step.

        >>> OneBit(epsilon=1, lower=0, upper=10, step=1).rounding  # of a step of 1
        Fraction(1, 2)
        """
        return self.lattice.step / 2

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [WXYZ19, Sec. III-A].
        >>> OneBit(epsilon=1, lower=0, upper=10, step=1).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The bit for one number, or an array of them for several.

        Privacy: epsilon-DP for each report [WXYZ19, Sec. III-A].
        >>> OneBit(epsilon=1, lower=0, upper=10, step=1).release([1.5, 7]).shape
        (2,)
        """
        held, single = positions(self.lattice, exact)
        upper = dice(span(self.lattice)[1], held.size, bits) < held
        keeps = flips(kept_bounds(epsilon=self.epsilon, coin_bits=self.coin_bits), held.size, bits)
        noisy = np.equal(upper, keeps).astype(np.int64)
        return int(noisy[0]) if single else noisy

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports are 0, and how many 1.

        >>> OneBit(epsilon=1, lower=0, upper=10, step=1).count([0, 1, 1]).tolist()
        [1, 2]
        """
        return count_codes(read_codes(reports, 2), 2)

    def decode_cells(self) -> NDArray[np.float64]:
        """What the two bits stand for: both lie outside the range.

        >>> OneBit(epsilon=1, lower=-1, upper=1, step=1).decode_cells().round(3).tolist()
        [-2.164, 2.164]
        """
        low, high = self._ends()
        return np.array([float(low), float(high)])

    def variance(self, exact: Any) -> float:
        """The variance of a decoded report on this answer.

        On [-1, 1] it is ((e^epsilon + 1)/(e^epsilon - 1))^2 - answer^2 [WXYZ19, Sec. III-A].
        Privacy: none: for planning, with made-up answers.
        >>> round(OneBit(epsilon=1, lower=-1, upper=1, step=1).variance(1), 3)
        3.683
        """
        low, high = self._ends()
        answer = self.lattice.step * self.lattice.steps(exact)
        return float((high - answer) * (answer - low))

    def _ends(self) -> tuple[Fraction, Fraction]:
        first, steps = span(self.lattice)
        truth = kept_bounds(epsilon=self.epsilon, coin_bits=self.coin_bits)(40)[0]
        middle = self.lattice.step * (first + Fraction(steps, 2))
        reach = self.lattice.step * steps / (2 * (2 * truth - 1))
        return middle - reach, middle + reach
