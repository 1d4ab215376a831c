"""RAPPOR on categories: a permanent noisy copy of the answer, and fresh noise in every report."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.randomizers.answers import chance_bounds, read_bit_rows, release, sum_columns
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import flips
from discreet.rationals import Number, log_bounds, probability, whole

__all__ = ["Rappor"]


@dataclass(frozen=True, slots=True)
class Rappor:
    """Blurs k bits twice: once for good (`blur` f), and again in each report (`low` p, `high` q).

    A bit of the permanent copy is replaced by a fair coin with probability f; a report then sets
    it with probability q where the copy is 1 and p where it is 0. All three are exact rationals.
    The form with one bit a category, without Bloom filters.
    Privacy: any number of reports made from one permanent copy are together
    (2 ln((1 - f/2)/(f/2)))-DP, by replacing the answer; one report alone costs `report_epsilon`
    [EPK14, Thm. 1 and Sec. 3.2].
    >>> Rappor(categories=4, blur=0.5, low=0.25, high=0.75).release(2).shape
    (4,)
    """

    categories: int
    blur: Fraction
    low: Fraction
    high: Fraction

    def __init__(self, *, categories: int, blur: Number, low: Number = 0, high: Number = 1) -> None:
        share = probability(blur, "blur")
        below, above = probability(low, "low"), probability(high, "high")
        if not 0 < share < 1:
            raise InvalidValue(
                f"blur is {blur}; it must lie above 0, where copies are not private, "
                "and below 1, where they say nothing."
            )
        if below >= above:
            raise InvalidValue(f"low is {low} and high {high}; low must be the lesser.")
        most = 1 << 20
        object.__setattr__(self, "categories", whole(categories, "categories", least=2, most=most))
        object.__setattr__(self, "blur", share)
        object.__setattr__(self, "low", below)
        object.__setattr__(self, "high", above)

    @property
    def epsilon(self) -> Fraction:
        """What all reports from one permanent copy cost together, rounded up.

        2 ln((1 - f/2)/(f/2)) [EPK14, Thm. 1].
        >>> round(float(Rappor(categories=4, blur=0.5).epsilon), 6)  # 2 ln 3
        2.197225
        """
        return log_bounds(((2 - self.blur) / self.blur) ** 2)[1]

    @property
    def report_epsilon(self) -> Fraction:
        """What one report alone costs, rounded up.

        ln(q'(1 - p')/(p'(1 - q'))) for the chances q', p' of a set bit [EPK14, Sec. 3.2].
        >>> round(float(Rappor(categories=4, blur=0.5, low=0.25, high=0.75).report_epsilon), 6)
        1.021651
        """
        own, other = self.chances()
        return log_bounds(own * (1 - other) / (other * (1 - own)))[1]

    @property
    def cells(self) -> int:
        """One count for each category."""
        return self.categories

    @property
    def report_bits(self) -> int:
        """One bit for each category."""
        return self.categories

    def loss(self) -> Pure:
        """The cost of any number of reports from one permanent copy.

        Privacy: 2 ln((1 - f/2)/(f/2)), rounded up, by replacing the answer [EPK14, Thm. 1].
        >>> round(float(Rappor(categories=4, blur=0.5).loss().epsilon), 6)
        2.197225
        """
        return Pure(epsilon=self.epsilon)

    def chances(self) -> tuple[Fraction, Fraction]:
        """How probably a report sets the true category's bit, and each other one's.

        >>> Rappor(categories=4, blur=0.5, low=0.25, high=0.75).chances()
        (Fraction(5, 8), Fraction(3, 8))
        """
        half = self.blur / 2
        return ((1 - half) * self.high + half * self.low, half * self.high + (1 - half) * self.low)

    def remember(self, exact: Any, bits: BitSource = system) -> Any:
        """The permanent copy of an answer, drawn once and kept by the respondent.

        Privacy: as `loss` says [EPK14, Thm. 1].
        >>> Rappor(categories=4, blur=0.5).remember(2).shape
        (4,)
        """
        return release(exact, self.categories, self.categories, lambda held: self._copy(held, bits))

    def report(self, permanent: Any, bits: BitSource = system) -> Any:
        """A fresh report made from a permanent copy, or one from each row of copies.

        Privacy: post-processing of the copy; alone it costs `report_epsilon` [EPK14, Sec. 3.2].
        >>> Rappor(categories=2, blur=0.5).report([0, 1]).tolist()
        [0, 1]
        """
        stored = np.asarray(permanent)
        copies = read_bit_rows(np.atleast_2d(stored), self.categories)
        set_low = flips(chance_bounds(self.low), copies.size, bits).reshape(copies.shape)
        set_high = flips(chance_bounds(self.high), copies.size, bits).reshape(copies.shape)
        noisy = np.where(copies == 1, set_high, set_low).astype(np.uint8)
        return noisy[0] if stored.ndim == 1 else noisy

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """A report from a permanent copy that is made now and forgotten.

        To answer repeatedly, keep the copy: `remember` once, then `report`.
        Privacy: costs `report_epsilon`, by replacing the answer [EPK14, Sec. 3.2].
        >>> Rappor(categories=4, blur=0.5).release([0, 3]).shape
        (2, 4)
        """
        return self.report(self.remember(exact, bits), bits)

    def _copy(self, held: NDArray[np.int64], bits: BitSource) -> NDArray[np.uint8]:
        changed = flips(chance_bounds(self.blur / 2), held.size * self.categories, bits)
        noisy = changed.reshape(held.size, self.categories)
        noisy[np.arange(held.size), held] ^= True
        return noisy.astype(np.uint8)

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports set each category's bit.

        >>> Rappor(categories=2, blur=0.5).count([[1, 1], [0, 1]]).tolist()
        [1, 2]
        """
        return sum_columns(read_bit_rows(reports, self.categories))

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """The bits themselves.

        >>> Rappor(categories=2, blur=0.5).mark_supported([[0, 1]]).tolist()
        [[False, True]]
        """
        return read_bit_rows(reports, self.categories).astype(np.bool_)
