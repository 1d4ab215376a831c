"""Junction trees: the cliques over which a graphical model keeps its tables, and their order.
Knows sizes and sets of attributes only; it must never see a count, exact or noisy.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.errors import InvalidValue

__all__ = ["Clique", "JunctionTree", "junction_tree", "tree_cells"]

Clique = tuple[int, ...]
"""Attribute numbers in ascending order."""


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Maximal cliques, each but the first hanging on an earlier one by their shared attributes.

    >>> junction_tree((2, 3, 4), [(0, 1), (1, 2)]).separators
    ((), (1,))
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    """The place of each clique's parent; the first clique is its own."""

    def __post_init__(self) -> None:
        if len(self.cliques) != len(self.parents) or not self.cliques:
            raise InvalidValue(
                f"a junction tree of {len(self.cliques)} cliques and {len(self.parents)} parents; "
                "it needs one parent for each of at least one clique."
            )
        if any(parent > max(0, place - 1) for place, parent in enumerate(self.parents)):
            raise InvalidValue("a clique hangs on a later one; list parents before children.")

    @property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique shares with its parent; nothing for the first.

        >>> junction_tree((2, 2), []).separators
        ((), ())
        """
        shared = (
            tuple(sorted(set(clique) & set(self.cliques[parent]))) if place else ()
            for place, (clique, parent) in enumerate(zip(self.cliques, self.parents, strict=True))
        )
        return tuple(shared)

    @property
    def cells(self) -> int:
        """How many numbers the tables of all cliques hold.

        >>> junction_tree((2, 3, 4), [(0, 1), (1, 2)]).cells
        18
        """
        return sum(math.prod(self.sizes[at] for at in clique) for clique in self.cliques)

    def home(self, attributes: Iterable[int]) -> int | None:
        """The place of the smallest clique that holds all these attributes, or None."""
        wanted = set(attributes)
        homes = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]

        def cells(place: int) -> int:
            return math.prod(self.sizes[at] for at in self.cliques[place])

        return min(homes, key=cells, default=None)


def junction_tree(sizes: Sequence[int], cliques: Iterable[Clique]) -> JunctionTree:
    """A junction tree in which every given clique, and every attribute, has a home.

    The graph is made chordal by eliminating, at each step, the attribute with the smallest table;
    the tree is a maximum spanning tree on the number of shared attributes.
    >>> junction_tree((2, 2, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3)]).cliques
    ((0, 1, 3), (1, 2, 3))
    """
    shape = tuple(sizes)
    masks = _maximal(_eliminate(_logarithms(shape), _neighbours(len(shape), cliques)))
    inside, parents, ordered = [masks[0]], [0], list(masks[1:])
    while ordered:
        # Prim's algorithm: the pair with the largest intersection; ties by order of listing.
        shared, child, parent = max(
            ((mask & member).bit_count(), -at, -place)
            for at, mask in enumerate(ordered)
            for place, member in enumerate(inside)
        )
        del shared
        inside.append(ordered.pop(-child))
        parents.append(-parent)
    return JunctionTree(shape, tuple(_members(mask) for mask in inside), tuple(parents))


def tree_cells(sizes: Sequence[int], cliques: Iterable[Clique]) -> float:
    """About how many cells `junction_tree` would hold, without building it.

    >>> round(tree_cells((2, 3, 4), [(0, 1), (1, 2)]))
    18
    """
    logarithms = _logarithms(tuple(sizes))
    masks = _maximal(_eliminate(logarithms, _neighbours(len(logarithms), cliques)))
    return sum(math.exp(sum(logarithms[at] for at in _members(mask))) for mask in masks)


def _logarithms(sizes: tuple[int, ...]) -> list[float]:
    if not sizes or min(sizes) < 1:
        raise InvalidValue(f"attribute sizes are {sizes}; each must be at least 1.")
    return [math.log(size) for size in sizes]


def _neighbours(count: int, cliques: Iterable[Clique]) -> list[int]:
    """For each attribute the set, as a bit mask, of those it shares a clique with, and itself."""
    masks = [1 << at for at in range(count)]
    for clique in cliques:
        whole = sum(1 << at for at in clique)
        for at in clique:
            masks[at] |= whole
    return masks


def _eliminate(logarithms: list[float], neighbours: list[int]) -> list[int]:
    """The cliques of the chordal graph that greedy elimination makes."""
    around = list(neighbours)
    cost = [sum(logarithms[at] for at in _members(mask)) for mask in around]
    remaining = set(range(len(around)))
    cliques = []
    while remaining:
        first = min(remaining, key=lambda at: (cost[at], at))
        clique = around[first]
        cliques.append(clique)
        remaining.discard(first)
        rest = clique & ~(1 << first)
        for at in _members(rest):
            grown = (around[at] | rest) & ~(1 << first)
            if grown != around[at]:
                around[at] = grown
                cost[at] = sum(logarithms[member] for member in _members(grown))
    return cliques


def _maximal(masks: list[int]) -> list[int]:
    """Without those contained in another one."""
    maximal: list[int] = []
    for mask in sorted(masks, key=lambda mask: (-mask.bit_count(), _members(mask))):
        if not any(mask & other == mask for other in maximal):
            maximal.append(mask)
    return maximal


def _members(mask: int) -> Clique:
    members = []
    while mask:
        low = mask & -mask
        members.append(low.bit_length() - 1)
        mask ^= low
    return tuple(members)
