"""How a price is divided among measurements so that the error of a workload is least. Public shapes
and prices only. Shares are decimals rounded down, so a price is never exceeded.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.components import share
from discreet.linear.hierarchy import Cut, Hierarchy, coarsen
from discreet.rationals import floor_decimal

__all__ = ["least_shares", "needs_of", "split_price"]

_DIGITS = 15
_ROUNDS = 500
_LEAST_SHARE = 1e-3  # of a price; what has less is not measured


def needs_of(weights: Mapping[Cut, float], hierarchies: tuple[Hierarchy, ...]) -> dict[Cut, float]:
    """What a unit of variance in each component adds to the weighted variance of wanted tables.

    A table counts with the mean variance of its cells times its weight.
    >>> needs_of({((0, 1),): 1.0}, (Hierarchy.flat(4),))
    {(): 0.0625, ((0, 1),): 0.75}
    """
    needs: dict[Cut, float] = {}
    for cut, weight in weights.items():
        for part in coarsen(cut):
            needs[part] = needs.get(part, 0.0) + weight * share(part, cut, hierarchies)
    return needs


def split_price(price: Fraction, weights: Mapping[Cut, float]) -> dict[Cut, Fraction]:
    """A price divided in proportion to weights, in decimals; rounding never exceeds the price.

    >>> shares = split_price(Fraction(1, 2), {(): 1.0, ((0, 1),): 3.0})
    >>> sum(shares.values()), round(float(shares[()]), 9)
    (Fraction(1, 2), 0.125)
    """
    if len(weights) == 1:
        return dict.fromkeys(weights, price)
    total = sum(weights.values())
    room = price * (1 - Fraction(1, 10**12))  # the sum of rounded proportions may be above 1
    shares = {
        cut: floor_decimal(room * Fraction(weight / total), _DIGITS)
        for cut, weight in weights.items()
    }
    rest = price - sum(shares.values())
    if rest < 0:
        raise InvalidValue(f"{len(weights):,} parts of one price are too many. Release fewer.")
    shares[max(shares, key=lambda cut: shares[cut])] += rest
    return shares


def least_shares(
    needs: NDArray[np.float64], gains: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Shares s of a price with a small sum of needs[c] / sum_m gains[m, c] s_m^2.

    A fixed point of s_m <- s_m (s_m g_m)^(1/3), where g is minus the slope: it is where no share
    gains from another. Exact for components that one measurement each informs; otherwise a local
    minimum. Measurements that end below a thousandth are dropped.
    >>> shares, _ = least_shares(np.array([1.0, 8.0]), np.eye(2))
    >>> shares.round(6).tolist()
    [0.333333, 0.666667]
    """
    measured = np.arange(len(gains))
    while True:
        shares = _find_fixed_point(needs, gains[measured])
        large = shares >= _LEAST_SHARE
        if large.all() or not (gains[measured[large]] > 0).any(axis=0).all():
            break
        measured = measured[large]
    all_shares = np.zeros(len(gains))
    all_shares[measured] = shares
    return all_shares, float((needs / (gains.T @ all_shares**2)).sum())


def _find_fixed_point(
    needs: NDArray[np.float64], gains: NDArray[np.float64]
) -> NDArray[np.float64]:
    shares = np.full(len(gains), 1 / len(gains))
    for _ in range(_ROUNDS):
        slope = gains @ (needs / (gains.T @ shares**2) ** 2)
        better = np.maximum(shares * np.cbrt(shares * slope), 1e-9)
        better /= better.sum()
        change = float(np.abs(better - shares).max())
        shares = better
        if change < 1e-9:
            break
    return shares
