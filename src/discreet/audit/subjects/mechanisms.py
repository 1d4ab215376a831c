"""Every mechanism of `discreet.mechanisms` with inputs where its claim is nearly used up, and a bug
planted beside each. Owns their inputs and sample sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claims import Claim
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


def _fill(release: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    """Many outputs from one call, for mechanisms that treat the parts of an array alike."""
    return lambda exact, count: release(np.full(count, exact))


def _plant(
    right: Any,
    wrong: Any,
    draw: Callable[[Callable[[Any], Any]], Callable[..., Any]],
    pairs: Sequence[tuple[Any, Any]],
    samples: int,
    bug: str,
    caught: int,
    claim: Claim | None = None,
) -> tuple[Subject, Subject]:
    """A mechanism, and the same with other parameters as the bug beside it."""
    loss = right.loss(_ONE) if claim is None else claim
    subject = _subject(type(right).__name__, draw(right.release), loss, pairs, samples)
    return subject.with_bug(bug, draw(wrong.release), caught)


def _one_by_one(release: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return release


def _additive() -> Iterator[Subject]:
    laplace, half = DiscreteLaplace(scale=1), DiscreteLaplace(scale=0.5)
    yield from _plant(laplace, half, _fill, _NUMBERS, _MANY, "half the noise", 4_000)
    gaussian, narrow = DiscreteGaussian(sigma=1), DiscreteGaussian(sigma=0.5)
    yield from _plant(gaussian, narrow, _fill, _NUMBERS, _MANY, "half the noise", 4_000)
    cut, low = (TruncatedGeometric(scale=scale, lower=0, upper=4) for scale in (1, 0.5))
    yield from _plant(cut, low, _fill, ((0, 1), (3, 4)), _MANY, "half the noise", 6_000)
    lattice = Lattice(step=0.5, lower=0, upper=10)
    real = Rounded(mechanism=DiscreteLaplace(scale=2), lattice=lattice)
    pairs = ((0.0, 1.0), (2.25, 3.25), (2.25, 3.0))
    right = _subject("Rounded", _steps(real.release), real.loss(_ONE), pairs, _FEW)
    yield from right.with_bug("noise before rounding", _release_unrounded, 600)


def _steps(release: Callable[[Any], Any]) -> Callable[[Any], float]:
    return lambda exact: float(release(exact))


def _release_unrounded(exact: float) -> float:
    """Noise on the lattice, added to a value that is not: the last digits are the value's own."""
    return exact + 0.5 * DiscreteLaplace(scale=2).release(0)


def _flipping() -> Iterator[Subject]:
    flips, printed = (HammingNoise(scale=scale, dimension=3) for scale in (1, 0.25))
    yield from _plant(flips, printed, _one_by_one, _BITS, _FEW, "a quarter of the scale", 1_000)

    def measure_distance(one: int, other: int) -> int:
        return abs(one - other)

    places, close = (
        MetricNoise.between([0, 1, 3], measure_distance, scale=scale) for scale in (2, 0.25)
    )
    yield from _plant(places, close, _one_by_one, ((0, 1),), _FEW, "an eighth of the scale", 1_000)
    coin, loaded = (RandomizedResponse(epsilon=epsilon, categories=3) for epsilon in (1, 3))
    yield from _plant(coin, loaded, _fill, ((0, 1),), _MANY, "a coin too honest", 2_000)


def _selecting() -> Iterator[Subject]:
    eighth = "an eighth of the scale"
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        chosen, bold = kind(scale=2), kind(scale=0.25)
        yield from _plant(chosen, bold, _one_by_one, _SCORES, _FEW, eighth, 1_000)
    first, early = (TopK(scale=scale, count=2) for scale in (2, 0.25))
    claim = first.pure_loss(_ONE)
    yield from _plant(first, early, _one_by_one, _SCORES, _FEW, eighth, 1_000, claim)
    for many in (Quantiles, NestedQuantiles):
        right, eager = (
            many(fractions=(0.25, 0.5), scale=scale) for scale in (Fraction(1), Fraction(1, 64))
        )
        bug, claim = "a sixty-fourth of the scale", right.pure_loss(_ONE)
        yield from _plant(right, eager, _histogram, _ROWS, _FEW, bug, 1_000, claim)


def _histogram(release: Callable[[NDArray[Any]], list[int]]) -> Callable[[Any], tuple[int, ...]]:
    return lambda exact: tuple(release(np.array(exact)))


def _keys() -> Iterator[Subject]:
    rule = Partition(epsilon=1, delta=0.05)
    right = _subject(type(rule).__name__, _draw_shown(rule), rule.loss(), _UNITS, _MANY)
    early = _draw_shown(Partition(epsilon=1, delta=0.5))
    yield from right.with_bug("keys of one person half of the time", early, 2_000)
    cut = Threshold(noise=DiscreteLaplace(scale=1), threshold=4)
    right = _subject(type(cut).__name__, _draw_count(cut), cut.loss(_ONE), _UNITS, _MANY)
    low = _draw_count(Threshold(noise=DiscreteLaplace(scale=1), threshold=2))
    yield from right.with_bug("a threshold two too low", low, 2_000)


def _draw_shown(mechanism: Partition) -> Callable[[int, int], NDArray[np.int64]]:
    """Whether a key of this many units is shown; one without units does not exist."""

    def draw(units: int, count: int) -> NDArray[np.int64]:
        shown = np.zeros(count, dtype=np.int64)
        if units:
            shown[mechanism.release(np.full(count, units))] = 1
        return shown

    return draw


def _draw_count(mechanism: Threshold) -> Callable[[int, int], NDArray[np.float64]]:
    """The noisy count of a key, or NaN where it is hidden."""

    def draw(units: int, count: int) -> NDArray[np.float64]:
        shown = np.full(count, np.nan)
        if units:
            above, noisy = mechanism.release(np.full(count, units))
            shown[above] = noisy
        return shown

    return draw
