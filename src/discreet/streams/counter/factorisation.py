"""The square-root factorisation of running sums, in integers. Owns the public numbers: the encoder,
how far one unit moves what is encoded, and the decoder. Draws no noise and sees no data but its
arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.factorisation import decoder_column, encoder_column
from discreet.rationals import whole

__all__ = ["Factorisation", "MOST_STEPS", "ONE"]

MOST_STEPS = 4096
"""The longest stream: eleven years of days."""

ONE = 1 << 30
"""What stands for 1 in the encoder: its coefficients are rounded to multiples of 1/ONE."""

_DIGITS = 128  # binary digits that the recurrence keeps


@dataclass(frozen=True, slots=True)
class Factorisation:
    """Running sums of `steps` integers as decoder times encoder, both lower triangular Toeplitz.

    The encoder's coefficients are f_k = C(2k, k)/4^k in steps of 1/ONE: integers that never
    grow. The decoder inverts the rounded encoder exactly, so rounding costs a little accuracy
    and no privacy.
    Privacy: the factorisation is that of [FHU23, Sec. 1].
    >>> [round(weight / ONE, 4) for weight in Factorisation(4).encoder]
    [1.0, 0.5, 0.375, 0.3125]
    """

    steps: int

    def __post_init__(self) -> None:
        steps: object = self.steps
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
            raise InvalidValue(
                f"steps is {self.steps!r}; a stream has 1 to {MOST_STEPS} steps. Use coarser ones."
            )

    @property
    def encoder(self) -> tuple[int, ...]:
        """The first column of the encoder.

        >>> len(Factorisation(3).encoder)
        3
        """
        return encoder_column(self.steps, one=ONE, digits=_DIGITS)

    @property
    def decoder(self) -> NDArray[np.float64]:
        """The first column of the decoder: running sums of the inverse of the encoder.

        >>> (Factorisation(3).decoder * ONE).round(4).tolist()
        [1.0, 0.5, 0.375]
        """
        return decoder_column(self.steps, one=ONE, digits=_DIGITS) / ONE

    def norm_squared(self, touched: int) -> int:
        """The most by which `touched` changes of one step each move what is encoded, squared.

        The encoder's coefficients do not grow, so the worst changes are those of the first steps
        (docs/proofs/streams.md); the result is exact.
        >>> Factorisation(1).norm_squared(1) == ONE**2
        True
        """
        whole(touched, "touched")
        total, moved = 0, 0
        for place, weight in enumerate(self.encoder):
            moved += weight - (self.encoder[place - touched] if place >= touched else 0)
            total += moved**2
        return total

    def encode(self, exact: Sequence[int], start: int = 0) -> list[int]:
        """The encoder times a stream, from the row `start` on: exact integers, not yet private.

        Privacy: none by itself; noise is added to what it returns.
        >>> Factorisation(2).encode([2, 0]) == [2 * ONE, ONE]
        True
        """
        rows = range(start, len(exact))
        return [sum(map(mul, self.encoder, reversed(exact[: row + 1]))) for row in rows]

    def decode(self, noisy: Sequence[int]) -> NDArray[np.float64]:
        """The running sums that belong to what was measured.

        >>> Factorisation(3).decode(Factorisation(3).encode([5, 0, 2])).round(6).tolist()
        [5.0, 5.0, 7.0]
        """
        floats = np.array([float(value) for value in noisy])
        sums: NDArray[np.float64] = np.convolve(self.decoder[: len(floats)], floats)
        return sums[: len(floats)]

    def recover(self, encoded: Sequence[int]) -> list[int]:
        """The stream whose encoding this is: `encode` backwards, exactly. What was exact stays so.

        >>> Factorisation(3).recover(Factorisation(3).encode([5, 0, 2]))
        [5, 0, 2]
        """
        stream: list[int] = []
        for value in encoded:
            # The first product pairs the coefficient of one step ago with the newest entry.
            known = sum(map(mul, self.encoder[1:], reversed(stream)))
            stream.append((value - known) // ONE)
        return stream

    def spread(self) -> NDArray[np.float64]:
        """The standard deviation of every running sum for noise of variance 1.

        >>> (Factorisation(2).spread() * ONE).round(4).tolist()
        [1.0, 1.118]
        """
        root: NDArray[np.float64] = np.sqrt(np.cumsum(self.decoder**2))
        return root
