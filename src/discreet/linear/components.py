"""Tables taken apart into uncorrelated components and put together again: the orthogonal basis in
which least squares has a closed form. Works on released numbers; the integer contrasts of exact
counts are here too, because they are the same basis.
"""

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.linear.hierarchy import Cut, Hierarchy, cells_of, coarsen

__all__ = ["Components", "contrast", "scale_of", "share"]

Floats = NDArray[np.float64]


def scale_of(cut: Cut, hierarchies: tuple[Hierarchy, ...]) -> int:
    """The factor that turns the component of integer counts into integers.

    >>> scale_of(((0, 1), (1, 1)), (Hierarchy.flat(3), Hierarchy.flat(4)))
    12
    """
    return prod(hierarchies[axis].branches[level - 1] for axis, level in cut)


def contrast(exact: NDArray[Any], cut: Cut, hierarchies: tuple[Hierarchy, ...]) -> NDArray[Any]:
    """Each cell times its number of siblings, less their sum, along every axis: integers.

    Privacy: none: the result is exact.
    >>> contrast(np.array([5, 1, 0]), ((0, 1),), (Hierarchy.flat(3),)).tolist()
    [9, -3, -6]
    """
    for place, (axis, level) in enumerate(cut):
        branch = hierarchies[axis].branches[level - 1]
        split = _split(exact, place, branch)
        exact = (branch * split - split.sum(axis=place + 1, keepdims=True)).reshape(exact.shape)
    return exact


def _split(table: NDArray[Any], place: int, branch: int) -> NDArray[Any]:
    shape = table.shape
    return table.reshape(*shape[:place], shape[place] // branch, branch, *shape[place + 1 :])


def _centre(table: Floats, place: int, branch: int) -> tuple[Floats, Floats]:
    """Each cell less the mean of its siblings, and the sums of siblings."""
    split = _split(table, place, branch)
    above = split.sum(axis=place + 1, keepdims=True)
    return (split - above / branch).reshape(table.shape), above.squeeze(axis=place + 1)


def _invert(variance: float) -> float:
    return 1 / max(variance, 1e-100)  # noise that is never seen has a variance of zero


@dataclass(slots=True)
class Components:
    """Noisy estimates of components, each with the variance its cells had before centring.

    What is added about one component is averaged with weights one over variance, which is least
    squares because components of different cuts are uncorrelated.
    >>> parts = Components((Hierarchy.flat(2),))
    >>> parts.add_table(((0, 1),), np.array([3.0, 5.0]), variance=1.0)
    >>> parts.table(((0, 1),)).tolist(), parts.variance(((0, 1),))
    ([3.0, 5.0], 1.0)
    """

    hierarchies: tuple[Hierarchy, ...]
    _values: dict[Cut, Floats] = field(default_factory=dict)  # sums weighted by precision
    _precision: dict[Cut, float] = field(default_factory=dict)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts about whose components something is known."""
        return tuple(self._precision)

    def precision(self, cut: Cut) -> float:
        """One over the variance of a component's cells before centring; 0 where nothing is
        known.
        """
        return self._precision.get(cut, 0.0)

    def add_table(self, cut: Cut, noisy: Floats, *, variance: float) -> None:
        """Add a table of counts whose cells have independent noise of this variance."""
        weights = self._weights(cut, variance)
        for part, value in self._take_apart(cut, np.asarray(noisy, dtype=np.float64)):
            self._add_component(part, value, weights[part])

    def know_table(self, cut: Cut, *, variance: float) -> None:
        """Count a table of this variance in, without its values: for what is planned."""
        for part, precision in self._weights(cut, variance).items():
            self._precision[part] = self.precision(part) + precision

    def _weights(self, cut: Cut, variance: float) -> dict[Cut, float]:
        cells = cells_of(cut, self.hierarchies)
        merged = {part: cells // cells_of(part, self.hierarchies) for part in coarsen(cut)}
        return {part: _invert(variance * count) for part, count in merged.items()}

    def add_contrast(self, cut: Cut, noisy: Floats, *, variance: float) -> None:
        """Add a noisy contrast as `contrast` makes it; the noise of its cells has this variance.

        >>> parts = Components((Hierarchy.flat(2),))
        >>> parts.add_contrast(((0, 1),), np.array([-2.0, 2.0]), variance=4.0)
        >>> parts.precision(((0, 1),))
        1.0
        """
        scale = scale_of(cut, self.hierarchies)
        centred = np.asarray(noisy, dtype=np.float64) / scale
        for place, (axis, level) in enumerate(cut):
            branch = self.hierarchies[axis].branches[level - 1]
            centred, _ = _centre(centred, place, branch)
        self._add_component(cut, centred, scale**2 * _invert(variance))

    def know_contrast(self, cut: Cut, *, variance: float) -> None:
        """Count a contrast of this variance in, without its values: for what is planned."""
        precision = scale_of(cut, self.hierarchies) ** 2 * _invert(variance)
        self._precision[cut] = self.precision(cut) + precision

    def fix_total(self, total: float) -> None:
        """Take this total for certain, whatever tables say."""
        self._values[()], self._precision[()] = np.array(total), 1.0

    def _add_component(self, cut: Cut, value: Floats, precision: float) -> None:
        known = self._values.get(cut)
        weighted = value * precision
        self._values[cut] = weighted if known is None else known + weighted
        self._precision[cut] = self.precision(cut) + precision

    def _take_apart(self, cut: Cut, table: Floats) -> list[tuple[Cut, Floats]]:
        """Every component of a table, axis by axis from the last to the first."""
        parts: list[tuple[Cut, Floats]] = [((), table)]
        for place in range(len(cut) - 1, -1, -1):
            axis, level = cut[place]
            finer_parts = []
            for done, value in parts:
                for low in range(level, 0, -1):
                    branch = self.hierarchies[axis].branches[low - 1]
                    centred, value = _centre(value, place, branch)
                    finer_parts.append((((axis, low), *done), centred))
                finer_parts.append((done, value.squeeze(axis=place)))
            parts = finer_parts
        return parts

    def table(self, cut: Cut) -> Floats:
        """The least-squares estimate of the table of a cut."""
        return self._put_together(cut, ())

    def _put_together(self, rest: Cut, chosen: Cut) -> Floats:
        if not rest:
            return self._values[chosen] / self._precision[chosen]
        (axis, level), *others = rest
        place = len(chosen)
        value = np.expand_dims(self._put_together(tuple(others), chosen), place)
        for low in range(1, level + 1):
            branch = self.hierarchies[axis].branches[low - 1]
            finer = self._put_together(tuple(others), (*chosen, (axis, low)))
            split = _split(finer, place, branch) + np.expand_dims(value / branch, place + 1)
            value = split.reshape(finer.shape)
        return value

    def variance(self, cut: Cut) -> float:
        """The variance of every cell of the table of a cut, from those of its components."""
        return sum(
            share(part, cut, self.hierarchies) / self._precision[part] for part in coarsen(cut)
        )


def share(part: Cut, cut: Cut, hierarchies: tuple[Hierarchy, ...]) -> float:
    """How much of a component's variance a cell of a finer table has.

    Centring leaves 1 - 1/b along an axis; spreading a block over k cells divides by k^2.
    >>> axes = (Hierarchy.flat(4),)
    >>> share((), ((0, 1),), axes), share(((0, 1),), ((0, 1),), axes)
    (0.0625, 0.75)
    """
    centred = prod(1 - 1 / hierarchies[axis].branches[level - 1] for axis, level in part)
    spread = cells_of(cut, hierarchies) // cells_of(part, hierarchies)
    return centred / spread**2
