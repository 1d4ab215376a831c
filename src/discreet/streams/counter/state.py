"""What a counter keeps in the vault: what it has read of which version, with the noise.
The noise is secret: with the points it gives the exact counts.
"""

import json
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.errors import Unavailable
from discreet.streams.counter.design import Design, Reach
from discreet.streams.counter.running_sums import Track
from discreet.streams.service import Service, pad_secret, write_body

__all__ = ["COUNTERS", "CounterState", "Point", "Stretch"]


@dataclass(frozen=True, slots=True)
class Point:
    """A running count or sum: all buckets up to the one that starts on this day."""

    start: date
    value: float
    half_width: float  # at 95%, for this point by itself


@dataclass(frozen=True, slots=True)
class Stretch:
    """The buckets that were read from one version, from the place `first` on.

    The track hides its noise.
    >>> Stretch((1,), 0, Track()).end
    0
    """

    versions: tuple[int, ...]
    first: int
    track: Track

    @property
    def end(self) -> int:
        """The place after the last bucket that was read.

        >>> Stretch((1,), 4, Track((7,), (0,))).end
        5
        """
        return self.first + len(self.track.noisy)


@dataclass(frozen=True, slots=True)
class CounterState:
    """A counter as it stands. The stretches hide their noise.

    >>> CounterState("SELECT", "v", Fraction(1), Reach(), ()).done
    0
    """

    question: str
    schema_version: str
    variance: Fraction
    reach: Reach
    stretches: tuple[Stretch, ...]

    @property
    def done(self) -> int:
        """How many buckets have a point."""
        return self.stretches[-1].end if self.stretches else 0

    def stretch(self, versions: tuple[int, ...], name: str) -> Stretch:
        """The stretch that the next bucket belongs to: the last one, or a new one.

        Decided by versions and numbers of buckets.
        >>> CounterState("SELECT", "v", Fraction(1), Reach(), ()).stretch((1,), "c")
        Stretch(versions=(1,), first=0, track=Track(noisy=()))
        """
        declared = self.reach.versions
        last = self.stretches[-1] if self.stretches else None
        if last is not None and (declared is None or last.versions == versions):
            return last
        if last is not None and len(self.stretches) == declared:
            raise Unavailable(
                f"the counter {name!r} has read {declared} versions of the data, as many as were "
                "declared; open a new one. Nothing was run or charged."
            )
        return Stretch(versions, self.done, Track())

    def with_stretch(self, stretch: Stretch) -> "CounterState":
        """The counter after a stretch has grown or begun.

        >>> stretch = Stretch((1,), 0, Track())
        >>> counter = CounterState("SELECT", "v", Fraction(1), Reach(), ())
        >>> counter.with_stretch(stretch).stretches == (stretch,)
        True
        """
        known = self.stretches
        if known and known[-1].first == stretch.first:
            known = known[:-1]
        return replace(self, stretches=(*known, stretch))

    def points(self, design: Design) -> tuple[Point, ...]:
        """Everything the counter has said."""
        step, errors, points = float(design.plan.measures[0].step), design.errors, []
        for stretch in self.stretches:
            starts = design.buckets[stretch.first : stretch.end]
            sums = design.running.sums(stretch.track)
            for start, value, width in zip(starts, sums, errors, strict=False):
                points.append(Point(start, step * float(value), width))
        return tuple(points)

    def to_bytes(self) -> bytes:
        """The text that the vault keeps. Secret: it holds the noise."""
        facts = {
            "question": self.question,
            "schema_version": self.schema_version,
            "variance": str(self.variance),
            "versions": self.reach.versions,
            "buckets": self.reach.buckets,
            "stretches": [
                {
                    "versions": stretch.versions,
                    "first": stretch.first,
                    "noisy": [str(value) for value in stretch.track.noisy],
                    "noise": [pad_secret(value) for value in stretch.track.noise],
                }
                for stretch in self.stretches
            ],
        }
        return write_body(facts)

    @staticmethod
    def from_bytes(body: bytes) -> "CounterState":
        """Read what `to_bytes` wrote."""
        facts: dict[str, Any] = json.loads(body)
        return CounterState(
            facts["question"],
            facts["schema_version"],
            Fraction(facts["variance"]),
            Reach(facts["versions"], facts["buckets"]),
            tuple(map(_decode_stretch, facts["stretches"])),
        )


COUNTERS = Service("counter", CounterState.from_bytes)
"""Counters among the states of a vault."""


def _decode_stretch(facts: dict[str, Any]) -> Stretch:
    noisy, noise = (tuple(map(int, facts[name])) for name in ("noisy", "noise"))
    return Stretch(tuple(facts["versions"]), facts["first"], Track(noisy, noise))
