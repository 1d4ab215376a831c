"""Which event tells two output distributions apart: chosen on one half of the outputs, counted on
the other. The choice may be as greedy as it likes, because it never sees the half that counts.
Owns the choice; the bounds are made elsewhere.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.audit.evidence.outputs import Floats, Labels, Mask, Table
from discreet.loss import Approximate

__all__ = ["Choice", "Direction", "choose"]

_THRESHOLDS = 96  # places where a number is cut
_CELLS = 16  # labels inside which numbers are cut
_BINS = 64
_SURE = 2.0  # standard deviations by which a label leans to one side
_SHOWN = 3  # outputs quoted in a sentence


class Direction(StrEnum):
    """Which input makes the event likely."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An event, the statement it speaks against, and how often it happened in the second half."""

    direction: Direction
    event: str
    statement: Approximate
    promise: float
    """By how much the first half seems to exceed the statement's epsilon; minus infinity: none."""
    likely: int
    """How often it happened for the input that makes it likely."""
    rare: int
    """How often it happened for the other input."""
    trials: int
    """Outputs counted for each of the two inputs."""
    tried: int
    """Events that were compared in the first half."""


def choose(
    table: Table, samples: int, statements: Sequence[Approximate], *, failure: float
) -> tuple[Choice, ...]:
    """The most promising event in each direction.

    The table holds `samples` outputs of the left input, then as many of the right one. The first
    halves choose; the second halves are only counted.
    """
    return _Chooser(table, samples, statements, failure).run()


class _Chooser:
    def __init__(
        self, table: Table, samples: int, statements: Sequence[Approximate], failure: float
    ) -> None:
        self.table, self.samples, self.half = table, samples, samples // 2
        self.statements = statements
        self.spread = math.sqrt(2 * math.log(1 / failure))
        self.left, self.right = slice(0, self.half), slice(samples, samples + self.half)
        self.best = dict.fromkeys(Direction, (-math.inf, 0, "", np.zeros(0, dtype=bool)))
        self.tried = 0

    def run(self) -> tuple[Choice, ...]:
        labels = dict(self.table.labels)
        for name, column in self.table.numbers.items():
            self._cut(name, column, None, "")
            if len(labels) < 8:
                labels[f"the range of {name}"] = self._bin(column)
        for name, codes in labels.items():
            self._collect(name, codes)
        for name, codes in self.table.labels.items():
            self._cut_inside(name, codes)
        return tuple(self._choice(direction) for direction in Direction)

    # Counting.

    def _halves(self, mask: Mask) -> tuple[int, int]:
        """How often it happened in the second halves."""
        left = int(mask[self.half : self.samples].sum())
        return left, int(mask[self.samples + self.half :].sum())

    def _bin(self, column: Floats) -> Labels:
        both = np.concatenate([column[self.left], column[self.right]])
        both = both[np.isfinite(both)]
        if not len(both):
            return np.zeros(len(column), dtype=np.int64)
        edges = np.unique(np.quantile(both, np.linspace(0, 1, _BINS + 1)[1:-1]))
        return np.searchsorted(edges, column).astype(np.int64)

    def _promises(self, likely: Floats, rare: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """For each event the largest apparent excess over a statement, and which statement."""
        low = self._wilson(likely, self.spread)[0]
        high = self._wilson(rare, self.spread)[1]
        best = np.full(len(low), -math.inf)
        which = np.zeros(len(low), dtype=np.int64)
        for place, one in enumerate(self.statements):
            above = low - float(one.delta)
            with np.errstate(divide="ignore", invalid="ignore"):
                excess = np.where(above > 0, np.log(above / high), -math.inf) - float(one.epsilon)
            better = excess > best
            best[better], which[better] = excess[better], place
        return best, which

    def _wilson(self, counts: Floats, spread: float) -> tuple[Floats, Floats]:
        """Rough bounds on the probabilities: good enough to choose by."""
        share, square = counts / self.half, spread**2
        middle = share + square / (2 * self.half)
        width = spread * np.sqrt(share * (1 - share) / self.half + square / (4 * self.half**2))
        scale = 1 + square / self.half
        return np.maximum((middle - width) / scale, 0.0), np.minimum((middle + width) / scale, 1.0)

    def _offers(self, left: Floats, right: Floats) -> Iterator[tuple[Direction, float, int, int]]:
        self.tried += len(left)
        for direction, likely, rare in (
            (Direction.LEFT, left, right),
            (Direction.RIGHT, right, left),
        ):
            promises, which = self._promises(likely, rare)
            place = int(np.argmax(promises))
            if promises[place] > self.best[direction][0]:
                yield direction, float(promises[place]), int(which[place]), place

    # Families of events.

    def _cut(self, name: str, column: Floats, inside: Mask | None, where: str) -> None:
        """Events of the form: the number is at most, or at least, a threshold."""
        left, right = column[self.left], column[self.right]
        if inside is not None:
            left, right = left[inside[self.left]], right[inside[self.right]]
        left, right = np.sort(left[~np.isnan(left)]), np.sort(right[~np.isnan(right)])
        both = np.concatenate([left, right])
        if not len(both):
            return
        both.sort()
        places = np.unique(np.linspace(0, len(both) - 1, _THRESHOLDS).astype(np.int64))
        cuts = np.unique(both[places])
        for sign in ("at most", "at least"):
            counts = [self._count_passing(side, cuts, sign) for side in (left, right)]
            for direction, promise, which, place in self._offers(*counts):
                mask = column <= cuts[place] if sign == "at most" else column >= cuts[place]
                mask = mask if inside is None else mask & inside
                event = f"{name} is {sign} {cuts[place]:.6g}{where}"
                self.best[direction] = (promise, which, event, mask)

    @staticmethod
    def _count_passing(ordered: Floats, cuts: Floats, sign: str) -> Floats:
        if sign == "at most":
            return np.searchsorted(ordered, cuts, side="right").astype(np.float64)
        return (len(ordered) - np.searchsorted(ordered, cuts, side="left")).astype(np.float64)

    def _counts(self, codes: Labels) -> tuple[Floats, Floats]:
        size = int(codes.max(initial=0)) + 1
        left = np.bincount(codes[self.left], minlength=size).astype(np.float64)
        return left, np.bincount(codes[self.right], minlength=size).astype(np.float64)

    def _order(self, likely: Floats, rare: Floats) -> NDArray[np.int64]:
        """Labels from those that surely lean this way to those that lean the other way."""
        ratio = self._wilson(likely, _SURE)[0] / self._wilson(rare, _SURE)[1]
        ranked = np.argsort(-ratio, kind="stable")
        return ranked[(likely + rare)[ranked] > 0]  # labels of the second half alone stay out

    def _collect(self, name: str, codes: Labels) -> None:
        """Events of the form: the label is one, or one of several, picked by their ratio."""
        left, right = self._counts(codes)
        orders = self._order(left, right), self._order(right, left)
        if 2 * len(orders[0]) > self.half:
            return  # hardly any output is seen twice
        for direction, promise, which, place in self._offers(left, right):
            mask = codes == place
            event = f"{name} is {_like(name)}{self._example(mask)}"
            self.best[direction] = (promise, which, event, mask)
        for ranked in orders:
            sums = np.cumsum(left[ranked]), np.cumsum(right[ranked])
            for direction, promise, which, place in self._offers(*sums):
                member = np.zeros(len(left), dtype=bool)
                member[ranked[: place + 1]] = True
                listed = self._name_labels(codes, ranked[: place + 1], len(ranked))
                event = f"{name} is {_like(name)}{listed}"
                self.best[direction] = (promise, which, event, member[codes])

    def _name_labels(self, codes: Labels, members: NDArray[np.int64], seen: int) -> str:
        shown = [self._example(codes == label) for label in members[:_SHOWN]]
        rest = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
        return f"{', '.join(shown)}{rest} ({len(members)} of the {seen} seen)"

    def _example(self, mask: Mask) -> str:
        return self.table.shown(int(np.flatnonzero(mask)[0]))

    def _cut_inside(self, name: str, codes: Labels) -> None:
        left, right = self._counts(codes)
        promises = np.maximum(left, right)
        for label in np.argsort(-promises, kind="stable")[:_CELLS]:
            if promises[label] < 1:
                break
            inside = codes == label
            where = f", and {name} is {_like(name)}{self._example(inside)}"
            for column_name, column in self.table.numbers.items():
                self._cut(column_name, column, inside, where)

    def _choice(self, direction: Direction) -> Choice:
        promise, which, event, mask = self.best[direction]
        left, right = self._halves(mask) if len(mask) else (0, 0)
        likely, rare = (left, right) if direction is Direction.LEFT else (right, left)
        return Choice(
            direction=direction,
            event=event or "nothing that stands out",
            statement=self.statements[which],
            promise=promise,
            likely=likely,
            rare=rare,
            trials=self.samples - self.half,
            tried=self.tried,
        )


def _like(name: str) -> str:
    """Whether an example stands for itself or for outputs that share a part with it."""
    return "" if name == "the whole output" else "as in "
