"""What parities cost as (epsilon, delta) by themselves: the privacy loss of many discrete Gaussians
is added up and every rounding goes towards more loss. For one release that stands alone; a filter
that holds rho prices it by rho.
"""

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.conversion import zcdp_rho
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.linear.domain import Domain
from discreet.loss import Approximate
from discreet.rationals import Number, ceil_decimal, ceil_float, positive, probability
from discreet.streams.hypothesis.parities import Parities

__all__ = ["certified", "discrete_gaussians_delta"]

_REACH = 11  # deviations of a sum that are looked at; beyond lie less than 1e-25
_CELLS = 1 << 18  # of the grid on which losses are added
_SLACK = 1e-12  # floating sums and transforms of probabilities are off by far less
_LEAST = 10  # below this variance sums of discrete Gaussians are not nearly discrete Gaussians


def discrete_gaussians_delta(counts: Mapping[Fraction, int], *, epsilon: Number) -> float:
    """An upper bound on delta for integers that each move by one, with these variances of noise.

    `counts` says how many integers have each variance. The sum of discrete Gaussians of variance at
    least 10 is a discrete Gaussian but for 1e-30; losses of the different variances are rounded up
    to a grid and convolved. Bounds delta by the loss' distribution [CKS20, Prop. 6].
    >>> one = discrete_gaussians_delta({Fraction(400): 16}, epsilon=1)
    >>> from discreet.accounting.gaussian import gaussian_delta
    >>> 0.999 < one / float(gaussian_delta(sigma=5, epsilon=1)) < 1.001
    True
    """
    wanted = float(positive(epsilon, "epsilon"))
    if any(variance < _LEAST for variance in counts):
        raise UnprovableRequest(
            f"a variance of {float(min(counts)):g}; this bound is proved from {_LEAST} on. Price "
            "it by rho. Nothing was released."
        )
    spread = math.sqrt(math.fsum(count / variance for variance, count in counts.items()))
    step = 2 * (_REACH + 2) * max(spread, 1e-9) / _CELLS
    losses, start = np.ones(1), 0
    for variance, count in counts.items():
        first, chances = _losses(float(variance), count, step)
        losses = _convolved(losses, chances)
        start += first
    place = (start + np.arange(len(losses))) * step
    over = place > wanted
    found = float((losses[over] * -np.expm1(wanted - place[over])).sum())
    return min(1.0, found * (1 + 1e-9) + _SLACK)


def _losses(variance: float, count: int, step: float) -> tuple[int, NDArray[np.float64]]:
    """The loss of so many integers on the grid, rounded up: (2 sum + count)/(2 variance)."""
    reach = math.ceil(_REACH * math.sqrt(count * variance))
    sums = np.arange(-reach, reach + 1)
    chances = np.exp(-(sums.astype(np.float64) ** 2) / (2 * count * variance))
    chances /= chances.sum()
    place = np.ceil((sums + count / 2) / (variance * step) + 1e-6).astype(np.int64)
    first = int(place[0])
    held: NDArray[np.float64] = np.bincount(place - first, weights=chances).astype(np.float64)
    return first, held


def _convolved(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    size = len(left) + len(right) - 1
    padded = 1 << (size - 1).bit_length()
    made = np.fft.irfft(np.fft.rfft(left, padded) * np.fft.rfft(right, padded), padded)[:size]
    return np.maximum(made, 0)


def certified(
    domain: Domain, *, order: int, epsilon: Number, delta: Number
) -> tuple[Parities, Approximate]:
    """The parities with the least noise that costs (epsilon, delta) as one release, and that cost.

    For attributes of two values and one row a person: then a row moves every parity by exactly
    one, and the bound is tight.
    Privacy: (epsilon, delta) under add/remove of one row, by `discrete_gaussians_delta`.
    >>> made, cost = certified(Domain.binary(4), order=2, epsilon=1, delta=1e-9)
    >>> by_rho = Parities.of(Domain.binary(4), order=2, rho=zcdp_rho(epsilon=1, delta=1e-9))
    >>> 0.85 < float(made.variances[(0,)] / by_rho.variances[(0,)]) < 0.95
    True
    """
    if set(domain.sizes) - {1, 2}:
        raise InvalidValue("an attribute has more than two values; price its contrasts by rho.")
    room, most = positive(epsilon, "epsilon"), positive(probability(delta, "delta"), "delta")
    known = Parities.of(domain, order=order, rho=zcdp_rho(epsilon=room, delta=most))
    high, low = Fraction(1), Fraction(1, 2)
    for _ in range(12):
        middle = ceil_decimal((low + high) / 2, 9)
        if _delta(_scaled(known, middle), room) <= most:
            high = middle
        else:
            low = middle
    return _scaled(known, high), Approximate(epsilon=room, delta=most)


def _scaled(parities: Parities, factor: Fraction) -> Parities:
    variances = {axes: each * factor for axes, each in parities.variances.items()}
    return Parities(parities.domain, parities.order, variances)


def _delta(parities: Parities, epsilon: Fraction) -> float:
    # An integer parity of k attributes has length 2^(k/2).
    counts = Counter(each * 2 ** len(axes) for axes, each in parities.variances.items())
    return discrete_gaussians_delta(counts, epsilon=ceil_float(epsilon))
