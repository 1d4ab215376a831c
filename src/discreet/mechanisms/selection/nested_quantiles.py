"""Many quantiles by recursion: the middle one first, then each side of it on its own rows.
Every level costs about as much as one quantile, however many there are. Rows tied at an answer are
divided between the sides at a noisy rank, so ties do no harm. docs/proofs/quantiles.md, section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Price, Pure, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.priced import scale_for
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.shared.ranks import rank_gaps, ranks, reach, read_fractions
from discreet.mechanisms.shared.scores import check_candidates, read_candidates, require_candidates
from discreet.mechanisms.shared.weights import choose
from discreet.noise.bits import BitSource, system
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_float, positive

__all__ = ["NestedQuantiles"]

_DIVISION = 2  # the noise of a division, in scales


@dataclass(frozen=True, slots=True)
class _Node:
    """One quantile within its part of the rows, and the quantiles of the two sides of it."""

    place: int
    fraction: Fraction
    lower: "_Node | None"
    upper: "_Node | None"

    @property
    def sides(self) -> "list[_Node]":
        return [side for side in (self.lower, self.upper) if side]


def _grow(wanted: Sequence[tuple[Fraction, int]], low: Fraction, high: Fraction) -> "_Node | None":
    """The tree of fractions within a part that should hold the ranks from low to high."""
    if not wanted:
        return None
    half = len(wanted) // 2
    fraction, place = wanted[half]
    return _Node(
        place,
        (fraction - low) / (high - low),
        _grow(wanted[:half], low, fraction),
        _grow(wanted[half + 1 :], fraction, high),
    )


@lru_cache(maxsize=64)
def _tree(fractions: tuple[Fraction, ...]) -> _Node:
    wanted = sorted((fraction, place) for place, fraction in enumerate(fractions))
    root = _grow(wanted, Fraction(0), Fraction(1))
    assert root is not None  # there is at least one fraction
    return root


@dataclass(frozen=True, slots=True)
class NestedQuantiles:
    """Names one candidate for each fraction, growing with it, level by level.

    `Quantiles` states a smaller worst-case error for few fractions; with many fractions this one
    costs less, and what it gets wrong is usually far below what it states.
    Privacy: each row is in one part of every level [KSS22]; see `loss`.
    >>> mechanism = NestedQuantiles(fractions=(0.75, 0.25, 0.5), scale=1)
    >>> mechanism.release(np.array([0, 9000, 0, 9000, 9000, 1]))[1:]
    [1, 3]
    """

    fractions: tuple[Fraction, ...]
    scale: Fraction
    candidates: int | None

    def __init__(
        self, *, fractions: Sequence[Number], scale: Number, candidates: int | None = None
    ) -> None:
        read = read_fractions(fractions)
        if min(read) == 0 or max(read) == 1:
            raise InvalidValue(
                "a fraction is 0 or 1; nested quantiles lie strictly between. "
                "Ask Quantiles for minimum and maximum."
            )
        object.__setattr__(self, "fractions", read)
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "candidates", read_candidates(candidates))

    @classmethod
    def of_price(
        cls,
        *,
        fractions: Sequence[Number],
        sensitivity: Sensitivity,
        price: Price,
        candidates: int | None = None,
    ) -> "NestedQuantiles":
        """The mechanism with the least noise whose loss is at most the price.

        The scale is rounded up.
        >>> NestedQuantiles.of_price(fractions=(0.25, 0.5, 0.75),
        ...     sensitivity=Sensitivity.single(1), price=Pure(epsilon=1)).scale
        Fraction(5, 2)
        """
        unit = cls(fractions=fractions, scale=1, candidates=candidates)
        scale = scale_for(
            price, pure=unit.pure_loss(sensitivity), concentrated=unit.loss(sensitivity)
        )
        return cls(fractions=fractions, scale=scale, candidates=candidates)

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of all fractions in zCDP; l1 is how many rows of the histograms can change.

        Privacy: for each level (2 w l1/scale)^2/8, w the largest max(q, 1 - q) of its relative
        fractions q, and (l1/(2 scale))^2/2 for dividing ties where another level follows, for the
        relation of the sensitivity [CR21, Lemma 3.4], [BS16, Prop. 1.4 and Lemma 1.7].
        >>> NestedQuantiles(fractions=(0.25, 0.5, 0.75), scale=1).loss(Sensitivity.single(1)).rho
        Fraction(3, 8)
        """
        step = sensitivity.l1 / self.scale
        widths = self._widths()
        chosen = sum(((2 * width * step) ** 2 / 8 for width in widths), Fraction(0))
        return ZCDP(rho=chosen + (len(widths) - 1) * (step / _DIVISION) ** 2 / 2)

    def pure_loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of all fractions in a pure account.

        Privacy: for each level 2 w l1/scale, and l1/(2 scale) where another level follows
        [MT07, Thm. 6], [DMNS06, Prop. 3.3].
        >>> NestedQuantiles(fractions=(0.25, 0.5, 0.75), scale=1).pure_loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(5, 2))
        """
        step = sensitivity.l1 / self.scale
        widths = self._widths()
        chosen = sum((2 * width * step for width in widths), Fraction(0))
        return Pure(epsilon=chosen + (len(widths) - 1) * step / _DIVISION)

    def release(self, exact: NDArray[Any], bits: BitSource = system) -> list[int]:
        """An index of the histogram for each fraction, in the order of `fractions`.

        `exact` holds the number of rows at each candidate, candidates in ascending order.
        Privacy: as `loss` says.
        >>> NestedQuantiles(fractions=(0.3, 0.6), scale=1).release(np.array([0, 9999, 0]))
        [1, 1]
        """
        check_candidates(self.candidates, exact)
        below, upto = ranks(exact)
        answers = [0] * len(self.fractions)
        parts = [(_tree(self.fractions), upto - below, 0)]
        while parts:
            node, counts, first = parts.pop()
            place = self._answer(node, counts, bits)
            answers[node.place] = first + place
            if node.sides:
                lower, upper = self._divide_ties(node.fraction, counts, place, bits)
                if node.lower:
                    parts.append((node.lower, lower, first))
                if node.upper:
                    parts.append((node.upper, upper, first + place))
        return answers

    def error(self, confidence: Number) -> float:
        """How many rows any of the ranks may be off with this probability, whatever the data.

        >>> round(NestedQuantiles(fractions=(0.5,), scale=2, candidates=100).error(0.95), 2)
        15.08
        """
        count = require_candidates(self.candidates, "quantiles")
        nodes = [node for level in self._levels() for node in level]
        missed = tail(confidence) / (len(nodes) + sum(bool(node.sides) for node in nodes))
        choice = Fraction(Exponential(scale=self.scale, candidates=count).error(1 - missed))
        noise = DiscreteLaplace(scale=_DIVISION * self.scale).error(1 - missed)
        return ceil_float(_worst_error(_tree(self.fractions), choice, Fraction(noise) + 1))

    def _levels(self) -> list[list[_Node]]:
        levels = [[_tree(self.fractions)]]
        while below := [side for node in levels[-1] for side in node.sides]:
            levels.append(below)
        return levels

    def _widths(self) -> list[Fraction]:
        return [max(reach(node.fraction) for node in level) for level in self._levels()]

    def _answer(self, node: _Node, counts: NDArray[Any], bits: BitSource) -> int:
        upto = np.cumsum(counts)
        target, steps = int(upto[-1]) * node.fraction.numerator, node.fraction.denominator
        return choose(rank_gaps(upto - counts, upto, target, steps, self.scale), bits)

    def _divide_ties(
        self, fraction: Fraction, counts: NDArray[Any], place: int, bits: BitSource
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows below and above, those at the place divided where the noisy rank falls."""
        tied = int(counts[place])
        aim = int(counts.sum()) * fraction.numerator // fraction.denominator
        aim = min(max(aim - int(counts[:place].sum()), 0), tied)
        aim = DiscreteLaplace(scale=_DIVISION * self.scale).release(aim, bits)
        lower, upper = counts[: place + 1].copy(), counts[place:].copy()
        lower[-1] = min(max(aim, 0), tied)
        upper[0] = tied - int(lower[-1])
        return lower, upper


def _worst_error(
    node: _Node,
    choice: Fraction,
    noise: Fraction,
    low: Fraction = Fraction(0),
    high: Fraction = Fraction(0),
) -> Fraction:
    """The largest rank error in a tree whose part begins and ends this far from where it should."""
    off = (1 - node.fraction) * low + node.fraction * high + choice
    worst = off
    if node.lower:
        worst = max(worst, _worst_error(node.lower, choice, noise, low, off + noise))
    if node.upper:
        worst = max(worst, _worst_error(node.upper, choice, noise, off + noise, high))
    return worst
