"""What may refuse, and what needs no bounds, of `discreet.robust`: propose-test-release, stable
values, bounded local sensitivity, keys nobody declared, locations, moments and distances from a
property, with a bug planted beside each. Owns their inputs and sample sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.subject import Subject, make_subject
from discreet.loss import ZCDP
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.robust.moments.coinpress import CoinPress
from discreet.robust.moments.location import BinWidth, Location
from discreet.robust.moments.spectrum import AnalyzeGauss
from discreet.robust.tested.bounding import AgreeingPairs, LocalBound
from discreet.robust.tested.histogram import StabilityHistogram
from discreet.robust.tested.outcome import Outcome, Refused
from discreet.robust.tested.property import (
    PropertyDistance,
    rows_outside_clusters,
    rows_that_contradict,
)
from discreet.robust.tested.propose import ProposeTestRelease, ReachQuery
from discreet.robust.tested.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.tested.stable import StableValue

__all__ = ["robust_audits"]

_subject = partial(make_subject, "robust")
_DELTA = Fraction(1, 50)
_SAMPLES = 2_000


def robust_audits() -> tuple[Subject, ...]:
    """Each followed by the bug planted beside it.

    >>> [one.name for one in robust_audits()][:2]
    ['ProposeTestRelease of a median', 'ProposeTestRelease of a median: no test']
    """
    return (
        *_proposals(),
        *_stable(),
        *_local_bounds(),
        *_distances(),
        *_widths(),
        *_keys(),
        *_locations(),
        *_moments(),
    )


def _outcome_text(outcome: Outcome[Any]) -> str:
    return "refused" if isinstance(outcome, Refused) else str(outcome.value)


_FAR_APART, _TIED = [10] * 12 + [90] * 12, [50] * 15 + [51] * 15
_WIDE = [0] * 9 + [10**6] * 3  # a quarter of the rows far out: one more and the spread is wide
_STEEP = [(0, 0), (0, 0), (4, 4)]  # one more, and there is a slope
_HALF = Fraction(1, 2)


def _proposals() -> Iterator[Subject]:
    cases: tuple[tuple[str, ReachQuery, tuple[tuple[Any, Any], ...]], ...] = (
        (
            "a median",
            QuantileReach(fraction=_HALF, lower=0, upper=100),
            ((_FAR_APART, [*_FAR_APART, 90]), (_TIED, [*_TIED, 51])),
        ),
        ("a spread", SpreadReach(lower=0, upper=10**6), ((_WIDE, [*_WIDE, 10**6]),)),
        (
            "a slope",
            SlopeReach(across=(0, 4), up=(0, 4), step=_HALF, largest=4),
            ((_STEEP, [*_STEEP, (4, 4)]), (_STEEP * 8, [*_STEEP * 8, (4, 0)])),
        ),
    )
    rule = ProposeTestRelease(bound=1, epsilon=1, delta=_DELTA)
    noise = DiscreteLaplace(scale=1 / ((1 - rule.test_share) * rule.epsilon))
    for name, query, pairs in cases:

        def release_tested(rows: Any, query: ReachQuery = query) -> str:
            return _outcome_text(rule.release(list(rows), query))

        def release_untested(rows: Any, query: ReachQuery = query) -> int:
            return noise.release(query.around(list(rows)).reach(0)[0])

        covers = ("DistanceTest", type(query).__name__)
        claim = rule.loss()
        right = _subject(
            f"ProposeTestRelease of {name}", release_tested, claim, pairs, 1_500, *covers
        )
        yield from right.with_bug("no test", release_untested, 600, pairs=pairs[:1])


def _stable() -> Iterator[Subject]:
    stable = StableValue(epsilon=1, delta=_DELTA)

    def count_keys(rows: Sequence[int]) -> list[int]:
        return [list(rows).count(key) for key in range(3)]

    right = _subject(
        "StableValue of a mode",
        lambda rows: _outcome_text(stable.mode(count_keys(rows))),
        stable.loss(),
        (((0, 1), (0, 0, 1)), ((0, 1, 1), (0, 0, 1, 1)), ((0,) * 3, (0,) * 4)),
        _SAMPLES,
    )
    always = lambda rows: str(int(np.argmax(count_keys(rows))))  # noqa: E731
    yield from right.with_bug("no test", always, 400, pairs=(((0, 1, 1), (0, 0, 0, 1, 1)),))


def _local_bounds() -> Iterator[Subject]:
    query = AgreeingPairs()

    def drawn(epsilon: int) -> Callable[[Any], tuple[int, int]]:
        bounded = LocalBound(epsilon=epsilon, delta=_DELTA, drift=query.drift)

        def draw(rows: Any) -> tuple[int, int]:
            released = bounded.release(*query.around(list(rows)))
            return int(released.bound), int(released.noisy)

        return draw

    claim = LocalBound(epsilon=1, delta=_DELTA, drift=query.drift).loss()
    names = ("LocalBound", "AgreeingPairs", "BoundedValue")
    right = _subject("LocalBound", drawn(1), claim, (((0,) * 3, (0,) * 4),), _SAMPLES, *names)
    yield from right.with_bug("a twelfth of the noise", drawn(12), _SAMPLES)


_CLUSTER = [0, 1, 2, 50]
_ZIPS = (("10115", "Berlin"), ("10115", "Berlin"), ("20095", "Hamburg"))


def _distances() -> Iterator[Subject]:
    """A unit of two rows, both of them far out, or both in contradiction to the rest."""
    distance = PropertyDistance(epsilon=1, rows_per_unit=2)
    forgetful = PropertyDistance(epsilon=8, rows_per_unit=2)  # each row paid for four times over

    def draw_clusters(noise: PropertyDistance) -> Callable[[Any], int]:
        return lambda rows: noise.release(rows_outside_clusters(rows, clusters=1, width=3))

    def draw_dependency(noise: PropertyDistance) -> Callable[[Any], int]:
        def draw(rows: Any) -> int:
            keys, values = ([row[place] for row in rows] for place in (0, 1))
            return noise.release(rows_that_contradict(keys, values))

        return draw

    for name, draw, pair in (
        ("clusters", draw_clusters, (_CLUSTER, [*_CLUSTER, 90, 190])),
        ("a dependency", draw_dependency, (_ZIPS, (*_ZIPS, ("20095", "Bonn"), ("10115", "Bonn")))),
    ):
        right = _subject(
            f"PropertyDistance from {name}", draw(distance), distance.loss(), (pair,), _SAMPLES
        )
        yield from right.with_bug("an eighth of the noise", draw(forgetful), 1_000)


def _widths() -> Iterator[Subject]:
    width, bold = BinWidth(epsilon=1), BinWidth(epsilon=64)
    pairs = (((3,) * 3 + (200,) * 3, (3,) * 4 + (200,) * 3),)
    right = _subject("BinWidth", width.release, width.loss(), pairs, 600)
    yield from right.with_bug("a sixty-fourth of the scale", bold.release, 400)


def _keys() -> Iterator[Subject]:
    """A unit of two rows with a key of its own, or one more in a key of several."""
    histogram = StabilityHistogram(epsilon=1, delta=_DELTA, rows_per_unit=2)

    def shown(rows: Sequence[int]) -> tuple[float, float]:
        released = histogram.release(list(rows))
        return float(released.get(7, -1)), float(released.get(8, -1))

    noise = histogram.mechanism.noise

    def show_all(rows: Sequence[int]) -> tuple[float, ...]:
        """Noise on the keys that are there, and no threshold."""
        return tuple(
            float(noise.release(list(rows).count(key))) if key in rows else -99.0 for key in (7, 8)
        )

    pairs = (((7,) * 12, (7,) * 14), ((7,) * 4, (7,) * 4 + (8,) * 2))
    right = _subject("StabilityHistogram", shown, histogram.loss(), pairs, 1_000)
    yield from right.with_bug("no threshold", show_all, 400)


def _locations() -> Iterator[Subject]:
    def drawn(epsilon: int) -> Callable[[Any], tuple[float, ...]]:
        location = Location(epsilon=epsilon, delta=_DELTA)

        def draw(rows: Any) -> tuple[float, ...]:
            released = location.release(list(rows))
            if isinstance(released, Refused):
                return (0.0, 0.0, 0.0)
            return (1.0, float(released.value.count), float(released.value.total))

        return draw

    claim = Location(epsilon=1, delta=_DELTA).loss()
    pairs = (((5,) * 9, (5,) * 10), ((5,) * 60, (5,) * 60 + (10**9,)))
    names = ("Location", "LocationEstimate")
    right = _subject("Location", drawn(1), claim, pairs, 300, *names)
    yield from right.with_bug("a fortieth of the noise", drawn(40), 300, pairs=pairs[:1])


def _moments() -> Iterator[Subject]:
    claim = ZCDP(rho=_HALF)

    def press(rho: Fraction) -> Callable[[Any], float]:
        estimate = CoinPress(columns=1, scale=5, radius=100, rho=rho, rounds=2)
        return lambda rows: float(estimate.release(np.array(rows).reshape(-1, 1)).mean[0])

    names = ("CoinPress", "CoinPressMean")
    far = ((0, 0, 0), (0, 0, 0, 500))
    right = _subject("CoinPress", press(_HALF), claim, (far,), 1_000, *names)
    yield from right.with_bug("a sixteenth of the noise", press(128 * Fraction(1)), 600)

    def analyse(rows: Any) -> tuple[int, ...]:
        return tuple(estimate.release(np.array(rows)).matrix[np.triu_indices(2)].tolist())

    def analyse_unclipped(rows: Any) -> tuple[int, ...]:
        """The noise of the radius on rows that were not held within it."""
        values = np.array(rows)
        exact = (values.T @ values)[np.triu_indices(2)]
        return tuple(np.asarray(estimate.noise.release(exact)).tolist())

    estimate = AnalyzeGauss(columns=2, radius=10, rho=_HALF)
    pair = (((0, 0), (3, 4)), ((0, 0), (3, 4), (90, 90)))
    right = _subject("AnalyzeGauss", analyse, claim, (pair,), _SAMPLES)
    yield from right.with_bug("no clipping", analyse_unclipped, 400)
