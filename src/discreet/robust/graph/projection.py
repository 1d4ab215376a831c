"""Node privacy: a projection to graphs of bounded degree that one node can move only so far, the
number of edges and the degrees after it, and triangles after cutting nodes of high degree.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, whole
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.triangles import count_triangles
from discreet.robust.smooth.growth import Growth, per_unit
from discreet.robust.smooth.mechanism import Estimate

__all__ = ["BoundedDegrees", "BoundedEdges", "DegreeCounts", "NodeTriangles", "project"]

Integers = NDArray[np.int64]


def project(exact: Graph, *, degree: int) -> Graph:
    """The graph without the edges that would give a node more than `degree`, in a public order.

    Edges come in an order that depends on the names of their two nodes only, so it is the same in
    every graph that has them; one is kept while both of its ends have room.
    Privacy: not private by itself: exact. One node more moves all other degrees by at most
    `degree` in all [DLL16], docs/proofs/robust.md.
    >>> star = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    >>> len(project(star, degree=2).edges)
    2
    """
    limit = whole(degree, "degree")
    room = [limit] * len(exact.nodes)
    chosen = []
    for place in _public_order(exact).tolist():
        one, two = exact.edges[place].tolist()
        if room[one] and room[two]:
            room[one] -= 1
            room[two] -= 1
            chosen.append(place)
    return Graph(nodes=exact.nodes, edges=exact.edges[sorted(chosen)])


def _public_order(graph: Graph) -> Integers:
    """A fixed shuffle of the edges by the names of their ends, the names themselves last."""
    names = graph.nodes[graph.edges].astype(np.uint64).reshape(-1, 2)
    mixed = _scramble(_scramble(names[:, 0]) ^ names[:, 1])
    order: Integers = np.lexsort((names[:, 1], names[:, 0], mixed))
    return order


def _scramble(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A fixed one-to-one scrambling of 64-bit words; any would do, this spreads them well."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    scrambled: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return scrambled


@dataclass(frozen=True, slots=True)
class BoundedEdges:
    """The number of edges after the projection: exact for graphs of at most this degree.

    Privacy: One node moves it by at most `degree`, two under replace: the restricted sensitivity of
    graphs of bounded degree, for every graph [BBDS13], [DLL16].
    >>> BoundedEdges(degree=10).sensitivity.l1
    Fraction(10, 1)
    """

    degree: int
    relation: Relation

    def __init__(self, *, degree: int, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "degree", whole(degree, "degree"))
        object.__setattr__(self, "relation", Relation(relation))

    @property
    def sensitivity(self) -> Sensitivity:
        """What one node can change.

        >>> BoundedEdges(degree=10, relation=Relation.REPLACE).sensitivity.l1
        Fraction(20, 1)
        """
        return Sensitivity.single(self.degree * self.relation.steps)

    def measure(self, exact: Graph) -> int:
        """The number of edges that the projection keeps.

        Privacy: not private by itself: exact.
        >>> BoundedEdges(degree=1).measure(Graph.from_edges([(0, 1), (0, 2)]))
        1
        """
        return len(project(exact, degree=self.degree).edges)

    def release(self, exact: Graph, *, epsilon: Number, bits: BitSource = system) -> Estimate:
        """A noisy number of edges, at least 0.

        Privacy: epsilon-DP under adding or removing a node with all its edges, or replacing one
        [DMNS06, Prop. 3.3].
        >>> BoundedEdges(degree=3).release(Graph.from_edges([(0, 1)]), epsilon=1).noisy >= 0
        True
        """
        price = positive(epsilon, "epsilon")
        noise = DiscreteLaplace(scale=self.sensitivity.l1 / price)
        noisy = max(0, noise.release(self.measure(exact), bits))
        return Estimate(noisy=noisy, loss=Pure(epsilon=price), relation=self.relation)


@dataclass(frozen=True, slots=True)
class DegreeCounts:
    """How many nodes have degree 0, 1, ..., noisy and possibly negative.

    Privacy: post-processing of the mechanism that made it.
    """

    noisy: tuple[int, ...]
    loss: Pure
    relation: Relation


@dataclass(frozen=True, slots=True)
class BoundedDegrees:
    """How many nodes have each degree after the projection.

    Privacy: One node changes the counts by at most 2 degree + 1 in all: `degree` nodes change
    place, and it is counted itself [DLL16].
    >>> BoundedDegrees(degree=10).sensitivity.l1
    Fraction(21, 1)
    """

    degree: int
    relation: Relation

    def __init__(self, *, degree: int, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "degree", whole(degree, "degree"))
        object.__setattr__(self, "relation", Relation(relation))

    @property
    def sensitivity(self) -> Sensitivity:
        """What one node can change, over all degrees and at one of them.

        >>> BoundedDegrees(degree=10).sensitivity.linf
        Fraction(11, 1)
        """
        steps = self.relation.steps
        return Sensitivity(
            groups=self.degree + 1,
            per_group=steps * (self.degree + 1),
            total=steps * (2 * self.degree + 1),
        )

    def measure(self, exact: Graph) -> Integers:
        """The counts of degrees 0 to `degree` after the projection.

        Privacy: not private by itself: exact.
        >>> BoundedDegrees(degree=2).measure(Graph.from_edges([(0, 1), (0, 2)])).tolist()
        [0, 2, 1]
        """
        degrees = project(exact, degree=self.degree).degrees
        counted: Integers = np.bincount(degrees, minlength=self.degree + 1)
        return counted

    def release(self, exact: Graph, *, epsilon: Number, bits: BitSource = system) -> DegreeCounts:
        """Noisy counts.

        Privacy: epsilon-DP under adding or removing a node with all its edges, or replacing one
        [DMNS06, Prop. 3.3].
        >>> graph = Graph.from_edges([(0, 1)])
        >>> len(BoundedDegrees(degree=3).release(graph, epsilon=1).noisy)
        4
        """
        price = positive(epsilon, "epsilon")
        noise = DiscreteLaplace(scale=self.sensitivity.l1 / price)
        noisy = tuple(int(count) for count in noise.release(self.measure(exact), bits))
        return DegreeCounts(noisy=noisy, loss=Pure(epsilon=price), relation=self.relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTriangles:
    """The triangles among nodes of at most this degree, held at `upper`, under node privacy.

    Nodes of higher degree are taken out before counting, so the number is the true one where no
    node exceeds `degree`. `nodes_per_unit` nodes with all their edges are one unit.
    Privacy: At distance k at most 1 + k + (nodes with degree within [degree - k, degree + k + 1])
    nodes come or go [KNRS13], with C(degree, 2) triangles each.
    >>> query = NodeTriangles(degree=3, upper=1000)
    >>> query.growth(Graph.from_edges([(0, 1), (1, 2), (0, 2)])).exact
    Fraction(1, 1)
    """

    degree: int
    upper: int
    nodes_per_unit: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole(self.degree, "degree", least=2))
        object.__setattr__(self, "upper", whole(self.upper, "upper"))
        object.__setattr__(self, "nodes_per_unit", whole(self.nodes_per_unit, "nodes_per_unit"))
        object.__setattr__(self, "relation", Relation(self.relation))

    def clamp(self, noisy: int) -> int:
        """A released number held between 0 and `upper`.

        >>> NodeTriangles(degree=3, upper=10).clamp(12)
        10
        """
        return max(0, min(noisy, self.upper))

    def growth(self, exact: Graph) -> Growth:
        """The number of triangles, and how far units' nodes can move it.

        Privacy: not private by itself: exact.
        >>> NodeTriangles(degree=2, upper=9).growth(Graph.from_edges([(0, 1)])).at(0)
        Fraction(1, 1)
        """
        degrees = exact.degrees
        most = comb(self.degree, 2)  # triangles of one node
        moves = self.nodes_per_unit * self.relation.steps
        far = np.arange(-(-self.upper // most) + moves + 1)
        sorted_degrees = np.sort(degrees)
        close = np.searchsorted(sorted_degrees, self.degree + far + 1, side="right")
        close = close - np.searchsorted(sorted_degrees, self.degree - far, side="left")
        moved = np.minimum(most * (1 + far + close), self.upper)
        rungs = np.minimum(per_unit(moved, moves=moves), self.upper)
        keep = degrees <= self.degree
        inside = np.all(keep[exact.edges].reshape(-1, 2), axis=1)
        counted = count_triangles(Graph(nodes=exact.nodes, edges=exact.edges[inside]))
        return Growth(
            exact=Fraction(min(self.upper, counted)),
            rungs=rungs[rungs < self.upper],
            limit=self.upper,
        )
