"""Discrete privacy losses above and below a smooth one, with a certificate.
Upper: each cell's outcomes are split between its ends. Lower: they are merged into one outcome.
The floats that result are checked against the curve afterwards; the largest violation is `slack`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.pld.curves import Array
from discreet.errors import InvalidValue

__all__ = ["Cells", "above", "below", "subsampled_add", "subsampled_remove"]

_ROUND = 2.0**-53
_LARGE = 500.0  # no node has such an exponent; merged tails may
_REACH = 9.0  # standard deviations; a tail weighs less than 2e-19


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A pair (P, Q) cut at increasing losses; cells 0 and n are the tails beyond the n nodes.

    >>> subsampled_remove(rate=0.1, sigma=1.0, cells=8).losses.shape
    (9,)
    """

    losses: Array  # n nodes x
    curve: Array  # delta at the nodes
    slope: Array  # exp(x) Q(loss > x) at the nodes
    curve_error: Array  # bounds on the evaluation errors of these two
    slope_error: Array
    masses: Array  # n + 1 cells: P
    merged: Array  # n + 1 cells: ln(P/Q) of the whole cell
    excess: Array  # n - 1 inner cells: P - exp(left end) Q


def _erfc(values: Array) -> Array:
    """erfc within 8 units in the last place, as the C library gives it."""
    return np.fromiter(map(math.erfc, values.tolist()), dtype=np.float64, count=len(values))


def _normal(points: Array) -> tuple[Array, Array, Array]:
    """Upper tails, lower tails, and the n + 1 cell probabilities of a standard normal."""
    scaled = points / math.sqrt(2)
    upper, lower = 0.5 * _erfc(scaled), 0.5 * _erfc(-scaled)
    inner = np.where(points[1:] + points[:-1] > 0, upper[:-1] - upper[1:], lower[1:] - lower[:-1])
    cells = np.concatenate([lower[:1], inner, upper[-1:]])
    return upper, lower, cells


def _logs(share: float, rest: float, exponents: Array) -> Array:
    """ln(rest + share exp(y)), rest = 1 - share, without overflow or cancellation."""
    near = np.minimum(exponents, _LARGE)
    change = share * np.expm1(near)
    with np.errstate(over="ignore"):
        small = np.where(
            change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log(rest + share * np.exp(near))
        )
        large = exponents + math.log(share) + np.log1p(rest / share * np.exp(-exponents))
    return np.where(exponents < _LARGE, small, large)


def _shares(rate: float | Fraction) -> tuple[float, float]:
    """The rate and what is left of 1, each rounded once."""
    return float(rate), float(1 - Fraction(rate))


def _grid(sigma: float, cells: int) -> tuple[Array, Array, Array, Array]:
    """Outcomes t, their two standard scores, and the loss of the Gaussian mechanism there."""
    if sigma < 0.05:
        raise InvalidValue(
            f"sigma is {sigma:g} with subsampling; the discretisation is proved from 0.05 up. "
            "Price it without subsampling, which is an upper bound."
        )
    points = np.linspace(-_REACH * sigma, 1 + _REACH * sigma, cells + 1)
    return points, points / sigma, (points - 1) / sigma, (points - 0.5) / sigma**2


def _relative(scores: Array, exponents: Array | float = 0.0) -> Array:
    """Relative error of a tail at these scores times a factor exp(exponents) (section 6)."""
    return np.asarray(_ROUND * (40 + 6 * np.maximum(scores, 0) ** 2 + 6 * np.abs(exponents)))


def _shift(nodes: tuple[Array, Array], slope: Array, constant: Array, growing: Array) -> Array:
    """By how much the rounding of the nodes' own losses moves the curve (section 6).

    `nodes` are losses and exponents; the other two are the slope times q/(1 - q + q exp(y)), and
    that times exp(y).
    """
    losses, exponents = np.abs(nodes[0]), np.abs(nodes[1])
    return np.asarray(
        _ROUND * (8 * losses * slope + 20 * constant + (20 + 16 * exponents) * growing)
    )


def _ratios(one: Array, zero: Array) -> Array:
    return np.divide(one, zero, out=np.ones_like(one), where=zero > 0)


def subsampled_remove(*, rate: float | Fraction, sigma: float, cells: int) -> Cells:
    """(1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2): the unit is in the first data set.

    Privacy: the worst pair of the Poisson-subsampled Gaussian when the unit is removed
    [ZDW22, Thm. 11].
    >>> bool(np.isclose(subsampled_remove(rate=0.1, sigma=1.0, cells=8).masses.sum(), 1))
    True
    """
    share, rest = _shares(rate)
    _, zero, one, exponents = _grid(sigma, cells)
    zero_up, _, zero_cells = _normal(zero)
    one_up, _, one_cells = _normal(one)
    growth = np.exp(exponents)
    losses = _logs(share, rest, exponents)
    weighted = growth * zero_up
    curve = share * (one_up - weighted)
    slope = np.exp(losses) * zero_up
    error = _relative(one) * one_up + _relative(zero, exponents) * weighted
    shift = _shift((losses, exponents), slope, share * zero_up, share * weighted)
    inner = share * (one_cells[1:-1] - growth[:-1] * zero_cells[1:-1])
    return Cells(
        losses=losses,
        curve=curve,
        slope=slope,
        curve_error=share * error + shift,
        slope_error=_relative(zero) * slope + 2 * shift,
        masses=rest * zero_cells + share * one_cells,
        merged=_logs(share, rest, np.log(_ratios(one_cells, zero_cells))),
        excess=inner,
    )


def subsampled_add(*, rate: float | Fraction, sigma: float, cells: int) -> Cells:
    """N(0, s^2) against (1-q) N(0, s^2) + q N(1, s^2): the unit is in the second data set.

    Privacy: the worst pair of the Poisson-subsampled Gaussian when the unit is added
    [ZDW22, Thm. 11].
    >>> bool(np.isclose(subsampled_add(rate=0.1, sigma=1.0, cells=8).masses.sum(), 1))
    True
    """
    share, rest = _shares(rate)
    _, zero, one, exponents = _grid(sigma, cells)
    _, zero_down, zero_cells = _normal(zero)
    _, one_down, one_cells = _normal(one)
    rising = _logs(share, rest, exponents)
    shrink = 1 / (rest + share * np.exp(exponents))
    growth = 1 / (rest * np.exp(-exponents) + share)
    weighted = growth * zero_down
    curve = share * (weighted - shrink * one_down)
    slope = shrink * (rest * zero_down + share * one_down)
    error = (
        _relative(-zero, exponents * rest * shrink) * weighted
        + _relative(-one, exponents * share * growth) * shrink * one_down
    )
    shift = _shift((rising, exponents), slope, share * shrink * slope, share * growth * slope)
    inner = share * (growth[1:] * zero_cells[1:-1] - shrink[1:] * one_cells[1:-1])
    return Cells(
        losses=-rising[::-1],
        curve=curve[::-1],
        slope=slope[::-1],
        curve_error=(share * error + shift)[::-1],
        slope_error=((_relative(-zero) + _relative(-one)) * slope + 2 * shift)[::-1],
        masses=zero_cells[::-1],
        merged=-_logs(share, rest, np.log(_ratios(one_cells, zero_cells)))[::-1],
        excess=inner[::-1],
    )


def _suffix_sums(values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Sums from each place to the end, in two levels, and the most additions behind any."""
    width = math.isqrt(len(values)) + 1
    height = -(-len(values) // width)
    padded = np.zeros(height * width, dtype=values.dtype)
    padded[: len(values)] = values[::-1]
    table = padded.reshape(height, width).cumsum(axis=1)
    table[1:] += np.cumsum(table[:-1, -1])[:, None]
    return table.ravel()[: len(values)][::-1], width + height


def _recompute_curve(losses: Array, masses: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """The curve of the atoms at the atoms, and a bound on the error of that evaluation."""
    wide = masses.astype(np.longdouble)
    tails, additions = _suffix_sums(wide)
    shrunk, _ = _suffix_sums(wide * np.exp(-losses.astype(np.longdouble)))
    unit = float(np.finfo(np.longdouble).eps) * (additions + 16)
    return tails - np.exp(losses.astype(np.longdouble)) * shrunk, 2 * unit * tails


def above(cells: Cells) -> tuple[Array, Array, float, float]:
    """Losses and masses of a dominating discrete loss, its infinite mass, and its slack.

    curve <= curve of the result + slack, at every point [DGKKM22, Sec. 3].
    >>> losses, masses, infinite, slack = above(subsampled_remove(rate=0.1, sigma=1.0, cells=100))
    >>> infinite < 1e-15 and slack < 1e-15
    True
    """
    inner = cells.masses[1:-1]
    widths = -np.expm1(-np.maximum(np.diff(cells.losses), 1e-300))
    right = np.clip(np.nan_to_num(cells.excess / widths), 0, inner)
    masses = np.zeros(len(cells.losses))
    masses[:-1] += inner - right
    masses[1:] += right
    infinite = max(0.0, float(cells.curve[-1]))
    masses[0] += cells.masses[0]
    masses[-1] += max(0.0, float(cells.masses[-1]) - infinite)
    values, error = _recompute_curve(cells.losses, masses)
    missing = cells.curve + cells.curve_error + error - values - infinite
    whole = 1 - math.fsum(masses) - infinite + _ROUND
    return cells.losses, masses, infinite, max(0.0, float(missing.max()), whole)


def below(cells: Cells) -> tuple[Array, Array, float]:
    """Losses and masses of a dominated discrete loss, and its slack.

    curve of the result <= curve + slack, at every point: merging outcomes is post-processing [DR14,
    Prop. 2.1].
    >>> below(subsampled_remove(rate=0.1, sigma=1.0, cells=100))[2] < 1e-14
    True
    """
    ends = np.concatenate([[-np.inf], cells.losses, [np.inf]])
    used = cells.masses > 0
    losses = np.maximum.accumulate(np.clip(cells.merged, ends[:-1], ends[1:])[used])
    masses = cells.masses[used]
    values, error = _recompute_curve(losses, masses)
    # Each atom lies between two nodes; the tangents there must stay above the result.
    place = np.flatnonzero(used)
    worst = np.zeros(len(losses))
    for node in (place - 1, place):
        inside = (node >= 0) & (node < len(cells.losses))
        at = np.clip(node, 0, len(cells.losses) - 1)
        rise = np.expm1(np.minimum(losses - cells.losses[at], 50.0))
        tangent = cells.curve[at] - cells.slope[at] * rise
        spare = cells.curve_error[at] + cells.slope_error[at] * np.abs(rise) + error
        worst = np.where(inside, np.maximum(worst, values - tangent + spare), worst)
    first = float(values[0] - (-math.expm1(losses[0])) + error[0])  # against 1 - exp(x)
    whole = math.fsum(masses) - 1 + _ROUND
    return losses, masses, max(0.0, float(worst.max()), first, whole)
