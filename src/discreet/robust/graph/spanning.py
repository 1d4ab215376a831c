"""The cost of a minimum spanning tree whose topology is public and whose edge weights are private,
with how far weights can move it: the lightest edges of every cut. Exact integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import whole
from discreet.robust.graph.cuts import components, has_cut
from discreet.robust.rows import read_integers
from discreet.robust.smooth.growth import Growth, per_unit

__all__ = ["SmoothSpanningTree"]

Integers = NDArray[np.int64]
_LARGEST = 1 << 40


@dataclass(frozen=True, slots=True)
class SmoothSpanningTree:
    """The least total weight that connects all nodes, along public edges with private weights.

    Weights are lattice steps held within 0 and `upper`; an edge that is absent counts as one of
    weight `upper`, so adding or removing a unit is a change of its `weights_per_unit` weights, and
    both relations have the same growth. Meant for up to about a thousand nodes.
    Privacy: After j changes no weight matters beyond the (j+2)-th lightest of some cut [NRS07, Sec.
    3], docs/proofs/robust.md.
    >>> query = SmoothSpanningTree(nodes=3, edges=((0, 1), (1, 2), (0, 2)), upper=9)
    >>> growth = query.growth([1, 2, 5])
    >>> growth.exact, growth.at(0)
    (Fraction(3, 1), Fraction(4, 1))
    """

    nodes: int
    edges: tuple[tuple[int, int], ...]
    upper: int
    weights_per_unit: int
    relation: Relation

    def __init__(
        self,
        *,
        nodes: int,
        edges: Sequence[tuple[int, int]],
        upper: int,
        weights_per_unit: int = 1,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "nodes", whole(nodes, "nodes", least=2))
        object.__setattr__(self, "edges", tuple((int(one), int(two)) for one, two in edges))
        object.__setattr__(self, "upper", whole(upper, "upper"))
        object.__setattr__(self, "weights_per_unit", whole(weights_per_unit, "weights_per_unit"))
        object.__setattr__(self, "relation", Relation(relation))
        if upper > _LARGEST:
            raise InvalidValue(f"upper is {upper}; the limit is 2**40 steps.")
        outside = [pair for pair in self.edges if not 0 <= min(pair) < max(pair) < nodes]
        if outside:
            raise InvalidValue(
                f"the edge {outside[0]} does not join two of the nodes 0 to {nodes - 1}."
            )
        if len(np.unique(components(self._ends, nodes))) > 1:
            raise InvalidValue("the public edges do not connect all nodes: no tree spans them.")

    @property
    def _ends(self) -> Integers:
        return np.array(self.edges, dtype=np.int64).reshape(-1, 2)

    def clamp(self, noisy: int) -> int:
        """A released cost held between 0 and that of a tree of the heaviest edges.

        >>> SmoothSpanningTree(nodes=2, edges=((0, 1),), upper=9).clamp(12)
        9
        """
        return max(0, min(noisy, self.upper * (self.nodes - 1)))

    def growth(self, exact: Any) -> Growth:
        """The cost for weights in the order of `edges`, and how far units can move it.

        Privacy: not private by itself: exact.
        >>> SmoothSpanningTree(nodes=2, edges=((0, 1),), upper=9).growth([4]).at(0)
        Fraction(5, 1)
        """
        weights = self._read(exact)
        tree = _find_tree(self._ends, weights, self.nodes)
        moved = [self._largest_move(weights, tree), *self._find_cut_weights(weights)]
        rungs = per_unit(np.array(moved, dtype=np.int64), moves=self.weights_per_unit)
        most = self.upper * min(self.weights_per_unit, self.nodes - 1)
        rungs = np.minimum(rungs, most)
        return Growth(exact=int(weights[tree].sum()), rungs=rungs[rungs < most], limit=most)

    def local_sensitivity(self, exact: Any) -> Fraction:
        """How far one weight can move the cost, exactly; a unit of several at least as far.

        Privacy: not private by itself: for the custodian.
        >>> SmoothSpanningTree(nodes=2, edges=((0, 1),), upper=9).local_sensitivity([2])
        Fraction(7, 1)
        """
        weights = self._read(exact)
        return Fraction(self._largest_move(weights, _find_tree(self._ends, weights, self.nodes)))

    def _read(self, exact: Any) -> Integers:
        weights = np.clip(read_integers(exact, "the exact weights"), 0, self.upper)
        if len(weights) != len(self.edges):
            raise InvalidValue(
                f"there are {len(weights)} weights for {len(self.edges)} public edges; pass one "
                "for each, `upper` where an edge is absent. Nothing was released."
            )
        return weights

    def _largest_move(self, weights: Integers, tree: Integers) -> int:
        """The local sensitivity: a tree edge becomes free, or so heavy that another replaces it."""
        most = int(weights[tree].max())
        for edge in tree.tolist():
            rest = tree[tree != edge]
            side = components(self._ends[rest], self.nodes)
            crossing = side[self._ends[:, 0]] != side[self._ends[:, 1]]
            crossing[edge] = False
            other = int(weights[crossing].min(initial=self.upper))
            most = max(most, other - int(weights[edge]))
        return most

    def _find_cut_weights(self, weights: Integers) -> list[int]:
        """For j = 2, 3, ...: the largest (j+1)-th lightest weight of a cut, until it is `upper`."""
        levels = np.unique(np.append(weights, self.upper))

        def cut(place: int, most: int) -> bool:
            """Whether some cut has at most this many edges below the level."""
            return has_cut(self._ends[weights < levels[place]], self.nodes, most)

        heaviest: list[int] = []
        start = 0
        while True:
            allowed = len(heaviest) + 2
            low, high = start, len(levels) - 1
            while low < high:  # the last level that some cut reaches with `allowed` lighter edges
                middle = (low + high + 1) // 2
                low, high = (middle, high) if cut(middle, allowed) else (low, middle - 1)
            if low == len(levels) - 1:
                return heaviest
            heaviest.append(int(levels[low]))
            start = low


def _find_tree(ends: Integers, weights: Integers, nodes: int) -> Integers:
    """The places of the edges of a minimum spanning tree, by Kruskal's rule."""
    root = list(range(nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    chosen = []
    for edge in np.argsort(weights, kind="stable").tolist():
        one, two = find(int(ends[edge, 0])), find(int(ends[edge, 1]))
        if one != two:
            root[one] = two
            chosen.append(edge)
    return np.array(chosen, dtype=np.int64)
