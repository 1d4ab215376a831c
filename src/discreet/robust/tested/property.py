"""How far data are from having a property: the number of rows to delete or insert. Whatever the
property, one row moves it by one. Owns the mechanism and two worked properties.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, whole
from discreet.robust.rows import count_moved_rows, read_integers

__all__ = ["PropertyDistance", "rows_outside_clusters", "rows_that_contradict"]


@dataclass(frozen=True, slots=True)
class PropertyDistance:
    """Adds noise to the number of rows that keep data from having a property.

    Privacy: epsilon-DP for the relation, with units of up to `rows_per_unit` rows: a distance
    moves by one with each row [DMNS06, Sec. 3.2], [DMNS06, Prop. 3.3].
    >>> PropertyDistance(epsilon=0.5, rows_per_unit=3).noise
    DiscreteLaplace(scale=Fraction(6, 1))
    """

    epsilon: Fraction
    moved: int

    def __init__(
        self, *, epsilon: Number, relation: Relation = Relation.ADD_REMOVE, rows_per_unit: int = 1
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "moved", count_moved_rows(relation, rows_per_unit))

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the distance.

        >>> PropertyDistance(epsilon=1).noise.scale
        Fraction(1, 1)
        """
        return DiscreteLaplace(scale=self.moved / self.epsilon)

    def loss(self) -> Pure:
        """The cost of one release.

        Privacy: epsilon-DP for the relation [DMNS06, Prop. 3.3].
        >>> PropertyDistance(epsilon=0.5).loss()
        Pure(epsilon=Fraction(1, 2))
        """
        return self.noise.loss(Sensitivity.single(self.moved))

    def release(self, exact: int, bits: BitSource = system) -> int:
        """The noisy number of rows; it can be negative.

        Privacy: as `loss` says.
        """
        return self.noise.release(exact, bits)

    def error(self, confidence: Number) -> float:
        """The half-width of the noise.

        >>> PropertyDistance(epsilon=1).error(0.95)
        3.0
        """
        return self.noise.error(confidence)


def rows_outside_clusters(exact: Any, *, clusters: int, width: int) -> int:
    """How many rows must go until the rest lie in this many intervals of this width.

    Intervals hold width + 1 lattice points, both ends included. Inserting rows never helps, so
    this is the distance to being clusterable. Sorts once, then takes clusters * rows steps.
    Privacy: not private by itself: goes to `PropertyDistance.release`.
    >>> rows_outside_clusters([0, 1, 2, 50, 51, 99], clusters=2, width=5)
    1
    """
    ordered = np.sort(read_integers(exact))
    most, reach, rows = whole(clusters, "clusters"), whole(width, "width", least=0), len(ordered)
    # Some best cover has intervals that end at rows, disjoint and in order: for the interval that
    # ends at row i, `first` is where it begins.
    first = np.searchsorted(ordered, ordered - reach, side="left")
    held = np.arange(1, rows + 1) - first
    covered = np.zeros(rows + 1, dtype=np.int64)  # by the intervals so far, among the first i rows
    for _ in range(min(most, rows)):
        ending = covered[first] + held
        wider = np.concatenate(([0], np.maximum.accumulate(ending)))
        if np.array_equal(wider, covered):
            break
        covered = wider
    return rows - int(covered[-1])


def rows_that_contradict(exact_keys: Sequence[Hashable], exact_values: Sequence[Hashable]) -> int:
    """How many rows must go until every key has one value: a broken functional dependency.

    Inserting rows never helps, so this is the distance to the dependency.
    Privacy: not private by itself: goes to `PropertyDistance.release`.
    >>> rows_that_contradict(["10115", "10115", "20095"], ["Berlin", "Bonn", "Hamburg"])
    1
    """
    if len(exact_keys) != len(exact_values):
        raise InvalidValue("keys and values differ in number; pass one value for each key.")
    counts: dict[Hashable, dict[Hashable, int]] = {}
    for key, value in zip(exact_keys, exact_values, strict=True):
        of_key = counts.setdefault(key, {})
        of_key[value] = of_key.get(value, 0) + 1
    return len(exact_keys) - sum(max(of_key.values()) for of_key in counts.values())
