"""What the randomizers share: reading answers and reports, and the brackets of their coins.
Messages never carry an answer.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.mechanisms.shared.integers import clamp_categories
from discreet.rationals import exp_bounds, whole

__all__ = [
    "Bounds",
    "chance_bounds",
    "clamp_answers",
    "count_codes",
    "kept_bounds",
    "read_bit_rows",
    "read_codes",
    "read_coin_bits",
    "release",
    "sum_columns",
]

Bounds = Callable[[int], tuple[Fraction, Fraction]]
"""Brackets of a chance, by the number of digits."""
_CELLS = 1 << 20  # how many coins are drawn at once


def read_coin_bits(value: int | None) -> int | None:
    """How many bits a rational coin has; None where coins are those of e^epsilon itself."""
    return None if value is None else whole(value, "coin_bits", least=16, most=256)


def chance_bounds(chance: Fraction) -> Bounds:
    """The bracket of a chance that is rational."""
    return lambda _digits: (chance, chance)


def kept_bounds(
    *, epsilon: Fraction, weight: int = 1, rest: int = 1, coin_bits: int | None = None
) -> Bounds:
    """Brackets of weight e^epsilon/(weight e^epsilon + rest), by the number of digits.

    With `coin_bits` it is that chance rounded down to so many bits, which only lessens the loss.

    Privacy: the chance of an epsilon-DP report, by replacing the answer; see each randomizer.
    """

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        low, high = exp_bounds(-epsilon, digits)
        return weight / (weight + rest * high), weight / (weight + rest * low)

    if coin_bits is None:
        return bounds
    scale = 1 << coin_bits
    chance = Fraction(math.floor(bounds(20 + coin_bits)[0] * scale), scale)
    if chance * (weight + rest) <= weight:
        raise InvalidValue(
            f"epsilon is {float(epsilon):g}; coins of {coin_bits} bits cannot tell it from 0. "
            "Use more coin_bits, or a larger epsilon."
        )
    return chance_bounds(chance)


def release(
    exact: Any, categories: int, width: int, draw: Callable[[NDArray[np.int64]], NDArray[Any]]
) -> Any:
    """Reports on one category, a list or an array; `draw` takes and gives rows of `width` cells.

    A category outside 0, ..., k - 1 counts as the nearest end, so nothing about it shows.

    Privacy: that of `draw`, for each report.
    """
    if not isinstance(exact, list | np.ndarray):
        noisy = draw(clamp_answers([exact], categories))[0]
        return int(noisy) if noisy.ndim == 0 else noisy
    held = clamp_answers(exact, categories)
    rows = max(1, _CELLS // width)
    starts = range(0, max(1, len(held)), rows)
    return np.concatenate([draw(held[start : start + rows]) for start in starts])


def clamp_answers(exact: Any, categories: int) -> NDArray[np.int64]:
    """One-dimensional categories, each moved to the nearest that exists.

    Privacy: NONE: the result is exact; it goes to a randomizer.
    """
    answers = np.asarray(exact, dtype=object if isinstance(exact, list) else None)
    if answers.ndim != 1:
        raise InvalidValue(f"answers come in {answers.ndim} dimensions; pass one per respondent.")
    return clamp_categories(answers, categories)


def read_codes(reports: Any, cells: int) -> NDArray[np.int64]:
    """Reports that are single numbers 0, ..., cells - 1; anything else is refused."""
    noisy = np.asarray(reports)
    if noisy.size == 0:
        return np.zeros(0, dtype=np.int64)
    if noisy.dtype.kind not in "iu" or noisy.ndim != 1 or noisy.min() < 0 or noisy.max() >= cells:
        raise InvalidValue(f"a report is malformed; each is an integer from 0 to {cells - 1}.")
    return noisy.astype(np.int64, copy=False)


def read_bit_rows(reports: Any, cells: int) -> NDArray[np.uint8]:
    """Reports that are rows of `cells` zeros and ones; anything else is refused."""
    noisy = np.asarray(reports)
    if noisy.size == 0:
        return np.zeros((0, cells), dtype=np.uint8)
    shaped = noisy.ndim == 2 and noisy.shape[1] == cells and noisy.dtype.kind in "iub"
    if not shaped or noisy.min() < 0 or noisy.max() > 1:
        raise InvalidValue(f"a report is malformed; each is a row of {cells} zeros and ones.")
    return noisy.astype(np.uint8, copy=False)


def count_codes(noisy: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """How many of the codes fall on each cell."""
    return np.bincount(noisy, minlength=cells).astype(np.int64)


def sum_columns(noisy: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many rows have each bit set."""
    sums: NDArray[np.int64] = noisy.sum(axis=0, dtype=np.int64)
    return sums
