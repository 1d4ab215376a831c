"""Every mechanism of `discreet.mechanisms` with inputs where its claim is nearly used up, and a bug
planted beside each. Owns their inputs and sample sizes.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.subject import Subject, make_subject
from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.additive.lattice import Lattice, Rounded
from discreet.mechanisms.additive.truncated_geometric import TruncatedGeometric
from discreet.mechanisms.hamming import HammingNoise
from discreet.mechanisms.keys.partition import Partition
from discreet.mechanisms.keys.threshold import Threshold
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.metric import MetricNoise
from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from discreet.mechanisms.selection.noisy_max import NoisyMax
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.mechanisms.selection.top_k import TopK

__all__ = ["mechanism_audits"]

_subject = partial(make_subject, "mechanisms")
_ONE = Sensitivity.single(1)
_MANY, _FEW = 20_000, 3_000  # samples where outputs come in arrays, and where one by one
_NUMBERS = ((0, 1), (-1, 0), (1 << 40, (1 << 40) + 1))
_SCORES = (([0, 1, 0, 0], [1, 0, 1, 1]), ([0, 0, 0, 0], [1, 1, -1, -1]))
_ROWS = (((3, 0, 0, 3), (4, 0, 0, 3)), ((0, 4, 0, 0), (1, 4, 0, 0)))
_UNITS = ((0, 1), (2, 3))  # of one key
_BITS = (([0, 0, 0], [1, 0, 0]),)


def mechanism_audits() -> tuple[Subject, ...]:
    """Every mechanism, each followed by the bug planted beside it.

    >>> [one.name for one in mechanism_audits()][:2]
    ['DiscreteLaplace', 'DiscreteLaplace: half the noise']
    """
    return (*_additive(), *_flipping(), *_selecting(), *_keys())


def _filled(release: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    """Many outputs from one call, for mechanisms that treat the parts of an array alike."""
    return lambda exact, count: release(np.full(count, exact))


def _additive() -> Iterator[Subject]:
    laplace, gaussian = DiscreteLaplace(scale=1), DiscreteGaussian(sigma=1)
    right = _subject(
        type(laplace).__name__, _filled(laplace.release), laplace.loss(_ONE), _NUMBERS, _MANY
    )
    yield right
    half = _filled(DiscreteLaplace(scale=0.5).release)
    yield right.planted("half the noise", half, 4_000)
    right = _subject(
        type(gaussian).__name__, _filled(gaussian.release), gaussian.loss(_ONE), _NUMBERS, _MANY
    )
    yield right
    half = _filled(DiscreteGaussian(sigma=0.5).release)
    yield right.planted("half the noise", half, 4_000)
    cut = TruncatedGeometric(scale=1, lower=0, upper=4)
    right = _subject(
        type(cut).__name__, _filled(cut.release), cut.loss(_ONE), ((0, 1), (3, 4)), _MANY
    )
    yield right
    half = _filled(TruncatedGeometric(scale=0.5, lower=0, upper=4).release)
    yield right.planted("half the noise", half, 6_000)
    lattice = Lattice(step=0.5, lower=0, upper=10)
    real = Rounded(mechanism=DiscreteLaplace(scale=2), lattice=lattice)
    pairs = ((0.0, 1.0), (2.25, 3.25), (2.25, 3.0))
    right = _subject(type(real).__name__, _steps(real.release), real.loss(_ONE), pairs, _FEW)
    yield right
    yield right.planted("noise before rounding", _unrounded, 600)


def _steps(release: Callable[[Any], Any]) -> Callable[[Any], float]:
    return lambda exact: float(release(exact))


def _unrounded(exact: float) -> float:
    """Noise on the lattice, added to a value that is not: the last digits are the value's own."""
    return exact + 0.5 * DiscreteLaplace(scale=2).release(0)


def _flipping() -> Iterator[Subject]:
    flips = HammingNoise(scale=1, dimension=3)
    right = _subject(type(flips).__name__, flips.release, flips.loss(_ONE), _BITS, _FEW)
    yield right
    printed = HammingNoise(scale=0.25, dimension=3)
    yield right.planted("a quarter of the scale", printed.release, 1_000)

    def apart(one: int, other: int) -> int:
        return abs(one - other)

    places = MetricNoise.between([0, 1, 3], apart, scale=2)
    right = _subject(type(places).__name__, places.release, places.loss(_ONE), ((0, 1),), _FEW)
    yield right
    close = MetricNoise.between([0, 1, 3], apart, scale=0.25)
    yield right.planted("an eighth of the scale", close.release, 1_000)
    coin = RandomizedResponse(epsilon=1, categories=3)
    right = _subject(type(coin).__name__, _filled(coin.release), coin.loss(_ONE), ((0, 1),), _MANY)
    yield right
    loaded = RandomizedResponse(epsilon=3, categories=3)
    yield right.planted("a coin too honest", _filled(loaded.release), 2_000)


def _selecting() -> Iterator[Subject]:
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        chosen = kind(scale=2)
        right = _subject(type(chosen).__name__, chosen.release, chosen.loss(_ONE), _SCORES, _FEW)
        yield right
        bold = kind(scale=0.25)
        yield right.planted("an eighth of the scale", bold.release, 1_000)
    first = TopK(scale=2, count=2)
    right = _subject(type(first).__name__, first.release, first.pure_loss(_ONE), _SCORES, _FEW)
    yield right
    yield right.planted("an eighth of the scale", TopK(scale=0.25, count=2).release, 1_000)
    for many in (Quantiles, NestedQuantiles):
        made = many(fractions=(0.25, 0.5), scale=1)
        right = _subject(
            type(made).__name__, _histogram(made.release), made.pure_loss(_ONE), _ROWS, _FEW
        )
        yield right
        eager = _histogram(many(fractions=(0.25, 0.5), scale=Fraction(1, 64)).release)
        yield right.planted("a sixty-fourth of the scale", eager, 1_000)


def _histogram(release: Callable[[NDArray[Any]], list[int]]) -> Callable[[Any], tuple[int, ...]]:
    return lambda exact: tuple(release(np.array(exact)))


def _keys() -> Iterator[Subject]:
    rule = Partition(epsilon=1, delta=0.05)
    right = _subject(type(rule).__name__, _shown(rule), rule.loss(), _UNITS, _MANY)
    yield right
    early = _shown(Partition(epsilon=1, delta=0.5))
    yield right.planted("keys of one person half of the time", early, 2_000)
    cut = Threshold(noise=DiscreteLaplace(scale=1), threshold=4)
    right = _subject(type(cut).__name__, _counted(cut), cut.loss(_ONE), _UNITS, _MANY)
    yield right
    low = _counted(Threshold(noise=DiscreteLaplace(scale=1), threshold=2))
    yield right.planted("a threshold two too low", low, 2_000)


def _shown(mechanism: Partition) -> Callable[[int, int], NDArray[np.int64]]:
    """Whether a key of this many units is shown; one without units does not exist."""

    def draw(units: int, count: int) -> NDArray[np.int64]:
        shown = np.zeros(count, dtype=np.int64)
        if units:
            shown[mechanism.release(np.full(count, units))] = 1
        return shown

    return draw


def _counted(mechanism: Threshold) -> Callable[[int, int], NDArray[np.float64]]:
    """The noisy count of a key, or NaN where it is hidden."""

    def draw(units: int, count: int) -> NDArray[np.float64]:
        shown = np.full(count, np.nan)
        if units:
            kept, noisy = mechanism.release(np.full(count, units))
            shown[kept] = noisy
        return shown

    return draw
