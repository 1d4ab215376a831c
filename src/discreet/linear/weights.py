"""The hypothesis of a synopsis: one weight for every cell of a domain, and sums over parts of it.
Holds released numbers only. Predicates are never written out over all cells: sums and updates go
by slices, and tables of few attributes are kept until the next update.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.arrays import (
    load_kernels,
    make_uniform,
    put_on_device,
    scale,
    to_numpy,
    total,
    view_box,
)
from discreet.linear.boxes import Box
from discreet.linear.domain import Domain
from discreet.linear.marginals import Axes, expand, sum_to
from discreet.linear.predicates import Predicate

__all__ = ["Weights", "multiply_weights"]

_BLOCK = 32  # cells of neighbouring attributes that tables keep together
_KEPT = 1 << 22  # cells of all tables that are kept
_FARTHEST = 2.0**90  # factors beyond would leave the range of 32-bit floats
_SMALL = 2.0**-40  # sums outside this and its inverse are brought back to one
_UNSEEN = 32  # updates, each by a factor of at most two, between two looks at the sum
_LARGE = 1 << 22  # cells from which a table is made only for questions that are no slices


class Weights:
    """A distribution over the cells of a domain, up to a factor.

    The array is numpy's, or a torch tensor on the device that is named. Holds nothing that was not
    released.
    >>> weights = Weights.uniform(Domain.binary(3))
    >>> weights.share(Predicate.where({0: 1, 2: 0}, weights.domain))
    0.25
    """

    __slots__ = ("_cells", "_kernels", "_last_sum", "_scaled", "_tables", "_total", "domain")

    def __init__(self, domain: Domain, cells: Any) -> None:
        if math.prod(cells.shape) != domain.cells:
            raise InvalidValue(
                f"{math.prod(cells.shape)} weights for {domain.cells} cells; give one for each."
            )
        self.domain = domain
        self._cells = cells.reshape(-1)
        self._tables: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self._last_sum: tuple[Predicate, Any] | None = None  # the slice that was summed last
        self._scaled = 0  # updates since the sum was last looked at
        self._kernels = load_kernels(self._cells)
        self._total = self._sum_cells()  # where the cells are, so that updates need not wait
        if not 0 < float(self._total) < math.inf:
            raise InvalidValue("the weights' sum is not a number above 0; give other weights.")

    @classmethod
    def uniform(cls, domain: Domain, *, device: str = "cpu") -> "Weights":
        """All cells alike; on a device other than the CPU, 32-bit floats.

        >>> Weights.uniform(Domain.binary(2)).cells().tolist()
        [[0.25, 0.25], [0.25, 0.25]]
        """
        return cls(domain, make_uniform(domain.cells, device))

    @classmethod
    def of(cls, domain: Domain, cells: NDArray[Any], *, device: str = "cpu") -> "Weights":
        """Weights that are given, none below zero.

        >>> Weights.of(Domain.binary(1), np.array([1, 3])).cells().tolist()
        [0.25, 0.75]
        """
        weights = np.array(cells, dtype=np.float64)
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InvalidValue("a weight is negative or not finite; give weights of at least 0.")
        return cls(domain, put_on_device(weights, device))

    def cells(self) -> NDArray[np.float64]:
        """The share of every cell, one axis for each attribute.

        >>> Weights.uniform(Domain.binary(1)).cells().tolist()
        [0.5, 0.5]
        """
        shares: NDArray[np.float64] = to_numpy(self._cells) / float(self._total)
        return shares.reshape(self.domain.sizes)

    def share(self, predicate: Predicate) -> float:
        """The share of the cells that a predicate counts, between 0 and 1.

        >>> weights = Weights.of(Domain.binary(1), np.array([1, 3]))
        >>> weights.share(Predicate.where({0: 1}, weights.domain))
        0.75
        """
        return self.shares([predicate])[0]

    def shares(self, predicates: Sequence[Predicate]) -> list[float]:
        """The shares of several predicates; a device is waited for once.

        >>> weights = Weights.of(Domain.binary(1), np.array([1, 3]))
        >>> weights.shares([Predicate.where({0: value}, weights.domain) for value in (0, 1)])
        [0.25, 0.75]
        """
        if self._kernels:
            sums = self._count_boxes(predicates)
        else:
            sums = [self._count(predicate) for predicate in predicates]
        whole = float(self._total)
        return [min(1.0, max(0.0, float(part) / whole)) for part in sums]

    def table(self, axes: tuple[int, ...]) -> NDArray[np.float64]:
        """The shares of all combinations of some attributes.

        >>> Weights.uniform(Domain.binary(3)).table((0, 2)).tolist()
        [[0.25, 0.25], [0.25, 0.25]]
        """
        return self._table(axes) / float(self._total)

    def scale(self, predicate: Predicate, factor: float) -> None:
        """Multiply what a predicate counts by a factor: one pass over that slice, if it is one.

        >>> weights = Weights.uniform(Domain.binary(1))
        >>> weights.scale(Predicate.where({0: 1}, weights.domain), 3)
        >>> weights.cells().tolist()
        [0.25, 0.75]
        """
        if not _FARTHEST**-1 <= factor <= _FARTHEST:
            raise InvalidValue(f"the factor is {factor}; it must lie between 2^-90 and 2^90.")
        if not predicate.axes:
            return  # all cells, or none: their shares stay as they are
        box = predicate.box(self.domain)
        if box is not None and self._kernels and len(box.shape) <= self._kernels.DIMENSIONS:
            self._kernels.scale_box(self._cells, box, factor, self._total)
        else:
            before = self._count(predicate)
            if box is not None:
                scale(view_box(self._cells, box), factor)
            elif predicate.mask.any():
                self._scale_by_table(np.where(predicate.mask, factor, 1.0), predicate.axes)
            self._total = self._total + (factor - 1) * before
        self._tables.clear()
        self._last_sum = None
        self._scaled += 1
        if abs(math.log2(factor)) > 1 or self._scaled >= _UNSEEN:
            self._renormalise()

    def move(self, predicate: Predicate, share: float) -> None:
        """Scale so that a predicate counts this share: a step as large as the residual.

        Of all distributions with that share it is the nearest in relative entropy.
        >>> weights = Weights.uniform(Domain.binary(2))
        >>> weights.move(Predicate.where({0: 1}, weights.domain), 0.8)
        >>> round(weights.share(Predicate.where({0: 1}, weights.domain)), 9)
        0.8
        """
        now = self.share(predicate)
        least = 1e-12  # nothing is ever said to be impossible
        wanted = min(1 - least, max(least, share))
        if least < now < 1 - least:
            self.scale(predicate, wanted * (1 - now) / (now * (1 - wanted)))

    def _renormalise(self) -> None:
        """Bring the sum back to one before it leaves the range of its floats."""
        self._scaled = 0
        if not _SMALL < float(self._total) < 1 / _SMALL:
            self._last_sum = None
            self._cells *= 1 / float(self._total)
            self._total = self._sum_cells()

    def _sum_cells(self) -> Any:
        if self._kernels:
            return self._kernels.sum_boxes(self._cells, [Box(0, (self.domain.cells,), (1,))])[0]
        return total(self._cells)

    def _count_boxes(self, predicates: Sequence[Predicate]) -> list[Any]:
        """What they count: boxes that lie alike are read in one start."""
        counts: list[Any] = [None] * len(predicates)
        alike: dict[Any, list[tuple[int, Box]]] = {}
        for place, predicate in enumerate(predicates):
            box = None if predicate.axes in self._tables else predicate.box(self.domain)
            if box is None or len(box.shape) > self._kernels.DIMENSIONS:
                counts[place] = self._count(predicate)
            else:
                alike.setdefault(box[1:], []).append((place, box))
        started = [
            (group, self._kernels.sum_boxes(self._cells, [box for _, box in group]))
            for group in alike.values()
        ]
        for group, sums in started:  # nothing is waited for before all are started
            for (place, _), value in zip(group, sums.tolist(), strict=True):
                counts[place] = value
        return counts

    def _count(self, predicate: Predicate) -> Any:
        if not predicate.axes:
            return self._total if predicate.mask else 0.0
        if self._last_sum is not None and self._last_sum[0] is predicate:
            return self._last_sum[1]
        if self.domain.cells > _LARGE and predicate.axes not in self._tables:
            box = predicate.box(self.domain)  # reads only what is counted
            if box is not None:
                self._last_sum = (predicate, total(view_box(self._cells, box)))
                return self._last_sum[1]
        return float(self._table(predicate.axes)[predicate.mask].sum())

    def _cover(self, axes: tuple[int, ...]) -> tuple[int, ...] | None:
        """The attributes with which a table is kept, so that it serves others too."""
        cover: list[int] = []
        size = start = 0
        while start < len(self.domain.sizes):
            end, size = start, 1
            while end < len(self.domain.sizes) and size * self.domain.sizes[end] <= _BLOCK:
                size *= self.domain.sizes[end]
                end += 1
            end = max(end, start + 1)
            if any(start <= axis < end for axis in axes):
                cover += range(start, end)
            start = end
        if self.domain.size_of(cover) <= _KEPT // 16:
            return tuple(cover)
        return axes if self.domain.size_of(axes) <= _KEPT // 4 else None

    def _table(self, axes: tuple[int, ...]) -> NDArray[np.float64]:
        if axes in self._tables:
            return self._tables[axes]
        cover = self._cover(axes)
        if cover is None:
            raise InvalidValue(
                f"the attributes of one question have {self.domain.size_of(axes):,} "
                f"combinations; the limit is {_KEPT // 4:,}. Ask about fewer at a time."
            )
        if sum(table.size for table in self._tables.values()) > _KEPT:
            self._tables.clear()
        if cover not in self._tables:
            sums = _sum_other_axes(self._cells.reshape(self.domain.blocks(cover)))
            self._tables[cover] = to_numpy(sums).reshape(
                tuple(self.domain.sizes[axis] for axis in cover)
            )
        dropped = tuple(place for place, axis in enumerate(cover) if axis not in axes)
        self._tables[axes] = self._tables[cover].sum(axis=dropped)
        return self._tables[axes]

    def _scale_by_table(self, factors: NDArray[np.float64], axes: tuple[int, ...]) -> None:
        """Multiply by a factor for every combination of some attributes, in long rows."""
        sizes = self.domain.sizes
        start = len(sizes)  # the last attributes are written out, so that rows are long
        while start > 0 and math.prod(sizes[start:]) < _BLOCK**2:
            start -= 1
        head = tuple(axis for axis in axes if axis < start)
        shape = [sizes[axis] for axis in head]
        shape += [sizes[axis] if axis in axes else 1 for axis in range(start, len(sizes))]
        written = np.broadcast_to(factors.reshape(shape), [*shape[: len(head)], *sizes[start:]])
        blocks = Domain(self.domain.names[:start], sizes[:start]).blocks(head) if start else ()
        rows = [1 if place % 2 == 0 else size for place, size in enumerate(blocks)]
        tail = math.prod(sizes[start:])
        by = put_on_device(np.ascontiguousarray(written), "like", like=self._cells)
        target = self._cells.reshape((*blocks, tail))
        target *= by.reshape((*rows, tail))


def _sum_other_axes(parts: Any) -> Any:
    """The sums over every other axis, the long ones first."""
    for axis in sorted(range(0, len(parts.shape), 2), key=lambda place: -parts.shape[place]):
        if parts.shape[axis] > 1:
            parts = parts.sum(axis=axis, keepdims=True)
    return parts


def multiply_weights(
    weights: NDArray[np.float64], shares: Sequence[tuple[Axes, NDArray[np.float64]]], *, passes: int
) -> NDArray[np.float64]:
    """A table of weights moved towards noisy marginals: the update of [HLM12, Fig. 1] for each.

    >>> moved = multiply_weights(np.full((2, 2), 0.25), [((0,), np.array([0.1, 0.9]))], passes=200)
    >>> moved.round(6).tolist()
    [[0.05, 0.05], [0.45, 0.45]]
    """
    whole = tuple(range(weights.ndim))
    for _ in range(passes):
        for axes, noisy in shares:
            # Shares differ by 1 at most; more is noise, and its exponential would be infinite.
            residual = np.clip(noisy - sum_to(weights, whole, axes), -1, 1)
            weights = weights * np.exp(expand(residual / 2, axes, whole))
            weights /= weights.sum()
    return weights
