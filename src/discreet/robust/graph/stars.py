"""The number of k-stars under edge privacy, with how far edges can move it. A k-star is a node with
k of its edges; their number is a sum over degrees. Exact integers of any size.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import whole
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.pairs import check_nodes, free_degrees
from discreet.robust.rows import count_moved_rows
from discreet.robust.smooth.growth import Growth, per_unit

__all__ = ["SmoothStars", "count_stars"]


def count_stars(exact: Graph, *, leaves: int) -> int:
    """How many stars with this many leaves a graph has.

    Privacy: not private by itself: exact.
    >>> count_stars(Graph.from_edges([(1, 2), (1, 3), (1, 4)]), leaves=2)
    3
    """
    values, counts = np.unique(exact.degrees, return_counts=True)
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return sum(comb(degree, leaves) * count for degree, count in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothStars:
    """The number of stars with `leaves` leaves, in a graph of public nodes, under edge privacy.

    Neighbours differ by one unit's edges: `edges_per_unit` of them added or removed; under replace
    as many are added as are removed.
    Privacy: the growth is the true local sensitivity at each distance [KRSY11].
    >>> SmoothStars(nodes=4, leaves=2).growth(
    ...     Graph.from_edges([(0, 1), (0, 2)], nodes=range(4))).at(0)
    Fraction(2, 1)
    """

    nodes: int
    leaves: int
    edges_per_unit: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", whole(self.nodes, "nodes", least=2))
        object.__setattr__(self, "leaves", whole(self.leaves, "leaves", least=2))
        if self.leaves > 12:
            raise InvalidValue(f"leaves is {self.leaves}; the largest is 12.")
        object.__setattr__(self, "edges_per_unit", whole(self.edges_per_unit, "edges_per_unit"))
        object.__setattr__(self, "relation", Relation(self.relation))

    def clamp(self, noisy: int) -> int:
        """A released number held between 0 and that of the complete graph.

        >>> SmoothStars(nodes=4, leaves=2).clamp(-5)
        0
        """
        return max(0, min(noisy, self.nodes * comb(self.nodes - 1, self.leaves)))

    def local_sensitivity(self, exact: Graph) -> Fraction:
        """How far one edge can move the number, exactly; a unit of several edges at least as far.

        Privacy: not private by itself: for the custodian.
        >>> graph = Graph.from_edges([(0, 1)], nodes=range(3))
        >>> SmoothStars(nodes=3, leaves=2).local_sensitivity(graph)
        Fraction(1, 1)
        """
        return SmoothStars(nodes=self.nodes, leaves=self.leaves).growth(exact).at(0)

    def growth(self, exact: Graph) -> Growth:
        """The number of stars, and how far units' edges can move it.

        Privacy: not private by itself: exact.
        >>> SmoothStars(nodes=3, leaves=2).growth(
        ...     Graph.from_edges([], nodes=range(3))).exact
        Fraction(0, 1)
        """
        check_nodes(exact, self.nodes)
        moves = count_moved_rows(self.relation, self.edges_per_unit)
        most = 2 * comb(self.nodes - 2, self.leaves - 1)
        front = free_degrees(exact)
        sizes = np.zeros(2 * self.nodes, dtype=object)
        for distance in range(len(sizes)):
            sizes[distance] = max(self._count_through_edge(pair, distance) for pair in front)
            if sizes[distance] == most:
                sizes = sizes[:distance]
                break
        rungs = per_unit(sizes, moves=moves)
        return Growth(
            exact=count_stars(exact, leaves=self.leaves),
            rungs=rungs[rungs < moves * most],
            limit=moves * most,
        )

    def _count_through_edge(self, pair: tuple[int, int], distance: int) -> int:
        """What an edge between two such nodes adds after `distance` more edges at them.

        The number of stars through it is convex in each degree, so the larger is filled first.
        """
        most = self.nodes - 2
        larger = min(most, pair[0] + distance)
        smaller = min(most, pair[1] + distance - (larger - pair[0]))
        return comb(larger, self.leaves - 1) + comb(smaller, self.leaves - 1)
