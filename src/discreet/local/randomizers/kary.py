"""k-ary randomized response as a question; `mechanisms.RandomizedResponse` does the drawing."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.answers import (
    count_codes,
    kept_bounds,
    read_codes,
    read_coin_bits,
    release,
)
from discreet.loss import Pure
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, whole

__all__ = ["KaryResponse"]


@dataclass(frozen=True, slots=True)
class KaryResponse:
    """Names the true category with probability e^epsilon/(e^epsilon + k - 1), else another.

    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer [War65], [KBR16, Sec. 3].
    >>> KaryResponse(epsilon=1, categories=4).release(2) in range(4)
    True
    """

    epsilon: Fraction
    categories: int
    coin_bits: int | None = field(repr=False)

    def __init__(
        self, *, epsilon: Number, categories: int = 2, coin_bits: int | None = None
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        most = (1 << 62) - 1
        object.__setattr__(self, "categories", whole(categories, "categories", least=2, most=most))
        object.__setattr__(self, "coin_bits", read_coin_bits(coin_bits))

    @property
    def cells(self) -> int:
        """One count for each category."""
        return self.categories

    @property
    def report_bits(self) -> int:
        """The bits of a category's number."""
        return (self.categories - 1).bit_length()

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [KBR16, Sec. 3].
        >>> KaryResponse(epsilon=1).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def chances(self) -> tuple[Fraction, Fraction]:
        """How probably a report names the true category, and each other one.

        >>> round(float(KaryResponse(epsilon=1).chances()[0]), 6)
        0.731059
        """
        truth = self._mechanism().truth_bounds()[0]
        return truth, (1 - truth) / (self.categories - 1)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The category to report, or an array of them.

        Privacy: epsilon-DP for each report [KBR16, Sec. 3].
        >>> KaryResponse(epsilon=1).release([0, 1, 1]).shape
        (3,)
        """
        mechanism = self._mechanism()
        return release(exact, self.categories, 1, lambda held: mechanism.release(held, bits))

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports name each category.

        >>> KaryResponse(epsilon=1).count([0, 1, 1]).tolist()
        [1, 2]
        """
        return count_codes(read_codes(reports, self.categories), self.categories)

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """The named category, as a row for each report.

        >>> KaryResponse(epsilon=1).mark_supported([1]).tolist()
        [[False, True]]
        """
        named = read_codes(reports, self.categories)[:, None]
        return np.equal(named, np.arange(self.categories))

    def _mechanism(self) -> RandomizedResponse:
        if self.coin_bits is None:
            return RandomizedResponse(epsilon=self.epsilon, categories=self.categories)
        bounds = kept_bounds(
            epsilon=self.epsilon, rest=self.categories - 1, coin_bits=self.coin_bits
        )
        return RandomizedResponse.of_truth(bounds(40)[0], categories=self.categories)
