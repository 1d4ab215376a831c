"""One axis of a table, cut ever finer: every level splits each block of the one above into equally
many. Also cuts of several axes at once. Public shapes only; never sees a count.
"""

from dataclasses import dataclass
from itertools import product
from math import prod

from discreet.errors import InvalidValue
from discreet.rationals import whole

__all__ = ["Cut", "Hierarchy", "cells_of", "coarsen", "shape_of"]

Cut = tuple[tuple[int, int], ...]
"""Which axes are told apart and how finely: pairs of an axis and its level, in order of axes."""

_MOST_CELLS = 1 << 31


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """An axis of `cells` values; level 0 is the whole axis, level l splits every block of the
    level above into `branches[l - 1]` parts. Cells beyond `cells` are padding that stays empty.

    >>> Hierarchy(cells=12, branches=(4, 4)).blocks(1), Hierarchy(cells=12, branches=(4, 4)).padded
    (4, 16)
    """

    cells: int
    branches: tuple[int, ...]

    def __post_init__(self) -> None:
        whole(self.cells, "cells")
        for branch in self.branches:
            whole(branch, "a branch", least=2)
        if not self.cells <= self.padded < _MOST_CELLS:
            raise InvalidValue(
                f"branches {self.branches} make {self.padded:,} cells for an axis of "
                f"{self.cells:,}; they must cover it and stay below 2**31."
            )

    @classmethod
    def flat(cls, cells: int) -> "Hierarchy":
        """The whole axis, then every cell: the hierarchy of a category.

        >>> Hierarchy.flat(4).depth, Hierarchy.flat(1).depth
        (1, 0)
        """
        return cls(cells=cells, branches=() if cells == 1 else (cells,))

    @property
    def depth(self) -> int:
        """The number of the finest level.

        >>> Hierarchy(cells=16, branches=(4, 4)).depth
        2
        """
        return len(self.branches)

    @property
    def padded(self) -> int:
        """The blocks of the finest level.

        >>> Hierarchy(cells=5, branches=(2, 3)).padded
        6
        """
        return prod(self.branches)

    def blocks(self, level: int) -> int:
        """How many blocks a level has."""
        return prod(self.branches[:level])


def shape_of(cut: Cut, hierarchies: tuple[Hierarchy, ...]) -> tuple[int, ...]:
    """The shape of the table of a cut.

    >>> shape_of(((1, 1),), (Hierarchy.flat(3), Hierarchy.flat(4)))
    (4,)
    """
    return tuple(hierarchies[axis].blocks(level) for axis, level in cut)


def cells_of(cut: Cut, hierarchies: tuple[Hierarchy, ...]) -> int:
    """How many cells the table of a cut has."""
    return prod(shape_of(cut, hierarchies))


def coarsen(cut: Cut) -> list[Cut]:
    """Every cut that this one refines, itself included.

    >>> coarsen(((0, 1), (2, 1)))
    [(), ((2, 1),), ((0, 1),), ((0, 1), (2, 1))]
    """
    options = [[(), *(((axis, low),) for low in range(1, level + 1))] for axis, level in cut]
    return [tuple(pair for part in parts for pair in part) for parts in product(*options)]
