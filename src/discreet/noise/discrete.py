"""Exact discrete Laplace, discrete Gaussian and geometric noise, one draw or ten million.
A float decides only inside a margin proved in docs/proofs/noise.md; the rest is exact arithmetic.
"""

from dataclasses import dataclass
from functools import partial
from math import factorial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.noise.bits import BitSource, system
from discreet.noise.coins import below, bernoulli_exp
from discreet.noise.laws import Gaussian, Geometric, Laplace, Law
from discreet.noise.table import FIRST, Table, resolve, tabulate
from discreet.rationals import Number, exp_bounds, positive

__all__ = ["Margin", "PROVED", "discrete_gaussian", "discrete_laplace", "draw", "geometric"]

Integers = NDArray[np.int64]

_CHUNK = 1 << 16
_GUIDED = 1 << 12  # from this many draws on a guide and a finer table pay for themselves
_TABLED = 1 << 6  # below this many a coarse table costs less than the rejections it brings
_WIDE = 1 << 52  # spreads from here on leave 64-bit integers
_WIDEST_CELL = 1 << 48  # places in a cell take 48 bits of a word, its coin the other 16
_TAYLOR = [(-1) ** i / factorial(i) for i in range(13)]


@dataclass(frozen=True, slots=True)
class Margin:
    """How near a threshold the fast paths leave the decision to exact arithmetic.

    Wider is slower and gives the same distribution.
    >>> PROVED == Margin(cells=0, accept=2**-40)
    True
    """

    cells: int
    accept: float


PROVED = Margin(cells=0, accept=2.0**-40)
"""The margins of docs/proofs/noise.md."""


@overload
def discrete_laplace(*, scale: Number, bits: BitSource = ...) -> int: ...
@overload
def discrete_laplace(*, scale: Number, size: int, bits: BitSource = ...) -> NDArray[Any]: ...
def discrete_laplace(
    *, scale: Number, size: int | None = None, bits: BitSource = system
) -> int | NDArray[Any]:
    """Draws with P(x) proportional to exp(-|x| / scale), for any positive rational scale.

    Privacy: the distribution is exact [CKS20, Sec. 5.1].
    >>> discrete_laplace(scale=20, size=3).dtype
    dtype('int64')
    """
    return _draw_law(Laplace(positive(scale, "scale")), size, bits)


@overload
def discrete_gaussian(*, variance: Number, bits: BitSource = ...) -> int: ...
@overload
def discrete_gaussian(*, variance: Number, size: int, bits: BitSource = ...) -> NDArray[Any]: ...
def discrete_gaussian(
    *, variance: Number, size: int | None = None, bits: BitSource = system
) -> int | NDArray[Any]:
    """Draws with P(x) proportional to exp(-x^2 / (2 variance)), for any positive rational.

    Privacy: the distribution is exact [CKS20, Def. 1].
    >>> discrete_gaussian(variance=400, size=3).dtype
    dtype('int64')
    """
    return _draw_law(Gaussian(positive(variance, "variance")), size, bits)


@overload
def geometric(*, scale: Number, bits: BitSource = ...) -> int: ...
@overload
def geometric(*, scale: Number, size: int, bits: BitSource = ...) -> NDArray[Any]: ...
def geometric(
    *, scale: Number, size: int | None = None, bits: BitSource = system
) -> int | NDArray[Any]:
    """Draws with P(x) proportional to exp(-x / scale), x = 0, 1, 2, ...

    Privacy: the distribution is exact [CKS20, Sec. 5.1].
    >>> geometric(scale=20) >= 0
    True
    """
    drawn = _draw_law(Geometric(positive(scale, "scale")), size, bits)
    if isinstance(drawn, int):
        return max(drawn, -1 - drawn)
    folded: NDArray[Any] = np.maximum(drawn, -1 - drawn)
    return folded


def _draw_law(law: Law, size: int | None, bits: BitSource) -> int | NDArray[Any]:
    if size is None:
        return _draw_one(law, bits)
    if isinstance(size, bool) or size < 0:
        raise InvalidValue(f"size is {size!r}; it must be an integer of at least 0.")
    if law.spread >= _WIDE:
        wide = np.empty(size, dtype=object)
        wide[:] = [_draw_one(law, bits) for _ in range(size)]
        return wide
    return draw(law, size, bits)


def draw(law: Law, size: int, bits: BitSource, margin: Margin = PROVED) -> Integers:
    """`size` independent draws from a law whose spread is below 2**52.

    Privacy: the distribution is exact.
    >>> from fractions import Fraction
    >>> draw(Laplace(Fraction(1, 1000)), 2, system).tolist()
    [0, 0]
    """
    out = np.empty(size, dtype=np.int64)
    stride = min(_stride(law, size), _WIDEST_CELL)
    for start in range(0, size, _CHUNK):
        chunk = out[start : start + _CHUNK]
        if stride == 1:
            _fill_cells(law, 1, law.centre, chunk, bits, margin)
        else:
            _fill_coarse(law, stride, chunk, bits, margin)
    return out


def _stride(law: Law, size: int) -> int:
    """The power of two that divides the spread into 64 to 127 cells, fewer for few draws."""
    width = 7 if size >= _GUIDED else 5 if size >= _TABLED else 3
    return 1 << max(0, law.spread.bit_length() - width)


def _draw_one(law: Law, bits: BitSource) -> int:
    stride = _stride(law, 1)
    if stride == 1:
        return resolve(law, bits, stride=1, centre=law.centre, prefix=0, length=0)
    while True:
        cell = resolve(law, bits, stride=stride, centre=0, prefix=0, length=0)
        start = stride * max(cell, -1 - cell)
        low = start + bits.bits(stride.bit_length() - 1)
        reach = low + law.centre if cell < 0 else low
        if bernoulli_exp(law.exponent(reach) - law.exponent(start), bits):
            return -1 - low if cell < 0 else low


def _fill_cells(
    law: Law, stride: int, centre: int, out: Integers, bits: BitSource, margin: Margin
) -> None:
    """One cell of the law per element, by the first 32 bits of a uniform where they settle it."""
    table = tabulate(law, stride=stride, centre=centre, length=FIRST)
    uniform = np.empty(len(out), dtype=np.uint32)
    bits.fill(uniform.view(np.uint8))
    if len(out) >= _GUIDED:
        near = _find_by_guide(table, uniform, out)
    else:
        index = np.searchsorted(table.array[:-1], uniform)
        near = table.array[index]
        out[:] = index
    out += table.first
    undecided = uniform == near
    if margin.cells:
        undecided = np.abs(uniform.astype(np.int64) - near) <= margin.cells
    for i in np.flatnonzero(undecided):
        out[i] = resolve(
            law, bits, stride=stride, centre=centre, prefix=int(uniform[i]), length=FIRST
        )


def _find_by_guide(table: Table, uniform: NDArray[np.uint32], out: Integers) -> NDArray[np.uint32]:
    """Write the number of thresholds below each uniform; return the threshold next to it."""
    leading = (uniform >> np.uint32(16)).astype(np.intp)
    start = table.guide.start.take(leading)
    near = table.guide.threshold.take(leading)
    np.add(start, uniform > near, out=out, casting="unsafe")
    crowded = np.flatnonzero(start < 0)
    if len(crowded):
        rare = uniform[crowded]
        index = np.searchsorted(table.array[:-1], rare)
        out[crowded] = index
        near[crowded] = table.array[index]
    return near


def _fill_coarse(law: Law, stride: int, out: Integers, bits: BitSource, margin: Margin) -> None:
    """A cell by its first weight, a uniform place in it, and rejection down to the law."""
    _fill_cells(law, stride, 0, out, bits, margin)
    words = np.empty(len(out), dtype=np.uint64)
    bits.fill(words.view(np.uint8))
    place = (words >> np.uint64(65 - stride.bit_length())).astype(np.int64)
    coin = words.astype(np.uint16)  # the low bits, which `place` does not use
    sign = out >> 63
    cell = out ^ sign  # h for cell h and for cell -1 - h
    np.multiply(cell, stride, out=out)
    linear, square = law.slope(stride)
    # Within four spreads the exponent stays under `most`, and exp(-r) >= 1 - r.
    farthest = 4 * law.spread // stride if square else 1 << 62
    most = stride * (linear + square * (8 * law.spread + 4 * stride)) * (1 + 2.0**-40)
    limit = max(0, int(65536 * (1 - most - margin.accept)) - 1)
    rejected = np.flatnonzero((coin >= limit) | (cell > farthest))
    if len(rejected):
        reach = place[rejected] - law.centre * sign[rejected]
        rejected = rejected[
            ~_decide(law, out[rejected], reach, coin[rejected], (linear, square), bits, margin)
        ]
    out += place
    out ^= sign
    if len(rejected):
        out[rejected] = draw(law, len(rejected), bits, margin)


def _decide(
    law: Law,
    start: Integers,
    reach: Integers,
    coin: NDArray[np.uint16],
    slope: tuple[float, float],
    bits: BitSource,
    margin: Margin,
) -> NDArray[np.bool_]:
    """Whether a uniform that starts with `coin` is below exp(f(start) - f(start + reach))."""
    more = np.empty(len(coin), dtype=np.uint64)
    bits.fill(more.view(np.uint8))
    known = (coin.astype(np.int64) << 36) | (more >> np.uint64(28)).astype(np.int64)
    exponent = reach * (slope[0] + slope[1] * (2.0 * start + reach))
    chance = np.zeros(len(coin))
    for coefficient in reversed(_TAYLOR):
        chance *= exponent
        chance += coefficient
    distance = known * 2.0**-52 - chance
    accepted = distance < 0
    # Beyond 1/2 the Taylor polynomial is not proved to be near enough.
    undecided = (np.abs(distance) <= margin.accept) | (exponent > 0.5)
    for i in np.flatnonzero(undecided):
        first, last = int(start[i]), int(start[i]) + int(reach[i])
        bounds = partial(exp_bounds, law.exponent(first) - law.exponent(last))
        accepted[i] = below(bounds, bits, prefix=int(known[i]), length=52)
    return accepted
