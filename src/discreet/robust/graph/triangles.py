"""The number of triangles under edge privacy, with how far edges can move it: common neighbours of
every pair, and how fast more can be made. Counts exactly; needs no matrix of all pairs.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Relation
from discreet.rationals import whole
from discreet.robust.graph.graph import Graph, group_ends
from discreet.robust.graph.pairs import check_nodes, free_degrees
from discreet.robust.rows import count_moved_rows
from discreet.robust.smooth.growth import Growth, per_unit

__all__ = ["SmoothTriangles", "count_triangles"]

Integers = NDArray[np.int64]


def count_triangles(exact: Graph) -> int:
    """How many triangles a graph has.

    Privacy: not private by itself: exact.
    >>> count_triangles(Graph.from_edges([(1, 2), (2, 3), (1, 3), (3, 4)]))
    1
    """
    rank = np.argsort(np.argsort(exact.degrees, kind="stable"), kind="stable")
    # Every edge points to the node of higher degree, so no node has many successors.
    ends = rank[exact.edges]
    directed = Graph(nodes=exact.nodes, edges=np.sort(ends, axis=1)) if len(ends) else exact
    near = group_ends(directed.edges, len(directed.nodes))
    mark = np.zeros(len(exact.nodes), dtype=bool)
    triangles = 0
    for after in near:
        if len(after) > 1:
            mark[after] = True
            triangles += sum(int(np.count_nonzero(mark[near[node]])) for node in after)
            mark[after] = False
    return triangles


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothTriangles:
    """The number of triangles of a graph with this many public nodes, under edge privacy.

    Neighbours differ by one unit's edges: `edges_per_unit` of them added or removed; under replace
    as many are added as are removed.
    Privacy: the growth is the true local sensitivity at each distance but for pairs without a
    common neighbour, where it is at least that [NRS07, Sec. 3].
    >>> SmoothTriangles(nodes=4).growth(Graph.from_edges([(0, 1), (1, 2)], nodes=range(4))).at(0)
    Fraction(1, 1)
    """

    nodes: int
    edges_per_unit: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", whole(self.nodes, "nodes", least=3))
        object.__setattr__(self, "edges_per_unit", whole(self.edges_per_unit, "edges_per_unit"))
        object.__setattr__(self, "relation", Relation(self.relation))

    def clamp(self, noisy: int) -> int:
        """A released number held between 0 and all triples.

        >>> SmoothTriangles(nodes=4).clamp(7)
        4
        """
        return max(0, min(noisy, self.nodes * (self.nodes - 1) * (self.nodes - 2) // 6))

    def local_sensitivity(self, exact: Graph) -> Fraction:
        """How far one edge can move the number, exactly; a unit of several edges at least as far.

        Privacy: not private by itself: for the custodian.
        >>> SmoothTriangles(nodes=3).local_sensitivity(Graph.from_edges([(0, 1)], nodes=range(3)))
        Fraction(0, 1)
        """
        return SmoothTriangles(nodes=self.nodes).growth(exact).at(0)

    def growth(self, exact: Graph) -> Growth:
        """The number of triangles, and how far units' edges can move it.

        Privacy: not private by itself: exact.
        >>> SmoothTriangles(nodes=3).growth(Graph.from_edges([], nodes=range(3))).exact
        Fraction(0, 1)
        """
        check_nodes(exact, self.nodes)
        most, moves = self.nodes - 2, count_moved_rows(self.relation, self.edges_per_unit)
        common, either = _find_front(exact)
        distances = np.arange(2 * most + 2)
        sizes = np.zeros(len(distances), dtype=np.int64)
        for shared, apart in zip(common.tolist(), either.tolist(), strict=True):
            # Nodes next to one end take one edge more, all others two [NRS07, Sec. 3].
            reached = shared + (distances + np.minimum(distances, apart)) // 2
            np.maximum(sizes, reached, out=sizes)
        rungs = per_unit(np.minimum(sizes, most), moves=moves)
        return Growth(
            exact=count_triangles(exact), rungs=rungs[rungs < moves * most], limit=moves * most
        )


def _find_front(graph: Graph) -> tuple[Integers, Integers]:
    """For each number of common neighbours, the most nodes next to one end only, of any pair.

    Pairs without a common neighbour count as if one existed with the largest such number.
    """
    degrees = graph.degrees
    near = graph.neighbours()
    best = np.full(int(degrees.max(initial=0)) + 1, -1, dtype=np.int64)
    best[0] = max(int(one + two) for one, two in free_degrees(graph))
    for node, around in enumerate(near):
        if len(around) == 0:
            continue
        shared = np.bincount(np.concatenate([near[other] for other in around]))
        ends = np.flatnonzero(shared)
        ends = ends[ends > node]  # each pair once
        if len(ends):
            joined = np.isin(ends, around, assume_unique=True)
            apart = degrees[node] + degrees[ends] - 2 * shared[ends] - 2 * joined
            np.maximum.at(best, shared[ends], apart)
    shown = np.flatnonzero(best >= 0)
    # A pair with no more common neighbours and no more others than another never matters.
    front = [place for place in shown if best[place] > best[place + 1 :].max(initial=-1)]
    return np.array(front, dtype=np.int64), best[front]
