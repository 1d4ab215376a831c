"""Brute force over small graphs: every growth of a graph statistic bounds what a neighbour changes
and carries over; projections move no farther than stated; planted variants do.
"""

from fractions import Fraction
from functools import cache
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Relation
from discreet.robust.graph.cuts import has_cut
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.projection import BoundedDegrees, BoundedEdges, NodeTriangles, project
from discreet.robust.graph.spanning import SmoothSpanningTree
from discreet.robust.graph.stars import SmoothStars, count_stars
from discreet.robust.graph.triangles import SmoothTriangles, count_triangles
from discreet.robust.smooth.growth import Growth, smooth_bound
from support.growth_brute import complaints, local_sensitivities

NODES = 5
PAIRS = tuple(combinations(range(NODES), 2))
ALL = tuple(frozenset(chosen) for k in range(11) for chosen in combinations(PAIRS, k))


@cache
def graph(edges):
    return Graph.from_edges(sorted(edges), nodes=range(NODES))


def flipped(edges, count):
    """Graphs reached by adding or removing up to `count` edges."""
    return {edges ^ frozenset(some) for k in range(1, count + 1) for some in combinations(PAIRS, k)}


def moved(edges):
    """Graphs with one edge somewhere else."""
    rest = [pair for pair in PAIRS if pair not in edges]
    return {edges - {old} | {new} for old, new in product(edges, rest)}


def brute_triangles(edges):
    return sum({(a, b), (b, c), (a, c)} <= edges for a, b, c in combinations(range(NODES), 3))


def brute_stars(edges, leaves):
    around = [sum(node in pair for pair in edges) for node in range(NODES)]
    return sum(len(list(combinations(range(degree), leaves))) for degree in around)


STATISTICS = {
    "triangles": (SmoothTriangles, {}),
    "2-stars": (SmoothStars, {"leaves": 2}),
    "3-stars": (SmoothStars, {"leaves": 3}),
}


def growth_of(name, **options):
    kind, given = STATISTICS[name]
    query = kind(nodes=NODES, **given, **options)
    return cache(lambda edges: query.growth(graph(edges)))


def test_counts_are_right_on_every_small_graph():
    for edges in ALL:
        assert count_triangles(graph(edges)) == brute_triangles(edges)
        for leaves in (2, 3):
            assert count_stars(graph(edges), leaves=leaves) == brute_stars(edges, leaves)


@pytest.mark.parametrize("name", STATISTICS)
def test_one_edge_on_every_small_graph(name):
    near = {edges: flipped(edges, 1) for edges in ALL}
    growth = growth_of(name)
    assert complaints(growth, near, distances=10) == []
    truth = local_sensitivities(lambda edges: growth(edges).exact, near, 9)
    for edges, sizes in truth.items():
        found = [growth(edges).at(k) for k in range(10)]
        assert all(bound >= size for bound, size in zip(found, sizes, strict=True))
        if name != "triangles":  # for pairs without a common neighbour it may be more
            assert found == sizes
        else:
            assert found[0] == sizes[0]


@pytest.mark.parametrize("name", STATISTICS)
def test_two_edges_of_a_unit_and_a_replaced_edge(name):
    few = ALL[::29]
    both = {
        edges: [other for other in flipped(edges, 2) if len(edges ^ other) == 2] for edges in few
    }
    check_pairs(growth_of(name, edges_per_unit=2), both)
    check_pairs(growth_of(name, relation=Relation.REPLACE), {e: moved(e) for e in few})


def check_pairs(growth, near):
    known = {data: growth(data) for data in {*near, *chain.from_iterable(near.values())}}
    for data, others in near.items():
        for other in others:
            one, two = known[data], known[other]
            assert abs(one.exact - two.exact) <= min(one.at(0), two.at(0))
            assert all(one.at(k) <= two.at(k + 1) for k in range(6))


def test_one_edge_per_unit_is_caught_where_a_unit_has_two():
    near = {edges: flipped(edges, 2) & set(ALL[:200]) for edges in ALL[:200]}
    assert complaints(growth_of("triangles"), near, distances=5)


def test_triangles_without_room_to_grow_are_caught():
    """Local sensitivity that takes two edges for every further common neighbour."""

    def slow(edges):
        true = growth_of("triangles")(edges)
        first = int(true.at(0))
        return Growth(
            exact=true.exact, rungs=[min(3, first + k // 2) for k in range(8)], limit=NODES - 2
        )

    assert complaints(slow, {edges: flipped(edges, 1) for edges in ALL}, distances=5)


EDGES = st.sets(
    st.tuples(st.integers(0, 19), st.integers(0, 19)).filter(lambda e: e[0] < e[1]), max_size=60
)


@given(EDGES, st.integers(0, 18), st.integers(1, 19), st.fractions(Fraction(1, 20), 2))
@settings(max_examples=60)
def test_larger_graphs_and_one_edge(edges, low, more, smoothing):
    other = edges ^ {(low, min(19, low + more))}
    for query in (SmoothTriangles(nodes=20), SmoothStars(nodes=20, leaves=3)):
        one, two = (
            query.growth(Graph.from_edges(sorted(e), nodes=range(20))) for e in (edges, other)
        )
        assert abs(one.exact - two.exact) <= min(one.at(0), two.at(0))
        assert all(one.at(k) <= two.at(k + 1) for k in range(45))
        assert all(two.at(k) <= one.at(k + 1) for k in range(45))
        first, second = (smooth_bound(g, smoothing=smoothing).bounds(30)[1] for g in (one, two))
        assert abs(np.log(float(first / second))) <= float(smoothing) + 1e-9


# Spanning trees: public edges, private weights.

TOPOLOGIES = {
    "square with a diagonal": (4, ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2))),
    "double edge and a bridge": (3, ((0, 1), (0, 1), (0, 1), (1, 2))),
    "path": (3, ((0, 1), (1, 2))),
}
LEVELS = (0, 2, 3)


def changed(weights, count):
    found = set()
    for places in combinations(range(len(weights)), count):
        for values in product(LEVELS, repeat=count):
            other = list(weights)
            for place, value in zip(places, values, strict=True):
                other[place] = value
            found.add(tuple(other))
    return found - {weights}


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_small_spanning_tree(name, unit):
    nodes, edges = TOPOLOGIES[name]
    query = SmoothSpanningTree(nodes=nodes, edges=edges, upper=3, weights_per_unit=unit)
    near = {w: changed(w, unit) for w in product(LEVELS, repeat=len(edges))}
    assert complaints(query.growth, near, distances=5) == []
    truth = local_sensitivities(lambda w: query.growth(w).exact, near, 3)
    for weights, sizes in truth.items():
        growth = query.growth(weights)
        assert all(growth.at(k) >= size for k, size in enumerate(sizes))
        if unit == 1:
            assert growth.at(0) == sizes[0] == query.local_sensitivity(weights)


def test_a_spanning_tree_costs_the_least():
    nodes, edges = TOPOLOGIES["square with a diagonal"]
    query = SmoothSpanningTree(nodes=nodes, edges=edges, upper=9)
    weights = [5, 1, 4, 2, 3]

    def spans(chosen):
        return not has_cut(np.array([edges[e] for e in chosen]), nodes, 0)

    costs = [sum(weights[e] for e in some) for some in combinations(range(5), 3) if spans(some)]
    assert query.growth(weights).exact == min(costs) == 6


def test_a_spanning_tree_without_the_cuts_is_caught():
    nodes, edges = TOPOLOGIES["square with a diagonal"]
    query = SmoothSpanningTree(nodes=nodes, edges=edges, upper=3)

    def bare(weights):
        size = int(query.local_sensitivity(weights))
        return Growth(exact=query.growth(weights).exact, rungs=[size] * 6, limit=3)

    near = {w: changed(w, 1) for w in product(LEVELS, repeat=len(edges))}
    assert complaints(bare, near, distances=3)


@given(st.integers(2, 8), st.data())
@settings(max_examples=80)
def test_small_cuts_are_found_and_no_others(nodes, data):
    pairs = list(combinations(range(nodes), 2))
    edges = data.draw(st.lists(st.sampled_from(pairs), max_size=24))
    least = min(
        sum((one in side) != (two in side) for one, two in edges)
        for k in range(1, nodes)
        for side in combinations(range(nodes), k)
    )
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    assert [has_cut(ends, nodes, most) for most in range(least + 2)] == [
        most >= least for most in range(least + 2)
    ]


# Node privacy: a node comes or goes with all its edges.

NAMES = (3, 8, 12, 20, 31)


def named_graphs(names=NAMES):
    for k in range(len(names) + 1):
        for nodes in combinations(names, k):
            pairs = list(combinations(nodes, 2))
            for chosen in chain.from_iterable(
                combinations(pairs, m) for m in range(len(pairs) + 1)
            ):
                yield frozenset(nodes), frozenset(chosen)


def without(world, node):
    nodes, edges = world
    return nodes - {node}, frozenset(pair for pair in edges if node not in pair)


@cache
def node_neighbours(names=NAMES):
    near = {world: set() for world in named_graphs(names)}
    for world in near:
        for node in world[0]:
            near[world].add(without(world, node))
            near[without(world, node)].add(world)
    return near


@cache
def named(world):
    return Graph.from_edges(sorted(world[1]), nodes=sorted(world[0]))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_node_moves_projections_no_farther_than_stated(degree):
    edges, degrees = BoundedEdges(degree=degree), BoundedDegrees(degree=degree)
    near = node_neighbours()
    counted = {world: edges.measure(named(world)) for world in near}
    spread = {world: degrees.measure(named(world)) for world in near}
    farthest = [0, 0]
    for world, others in near.items():
        for other in others:
            farthest[0] = max(farthest[0], abs(counted[world] - counted[other]))
            farthest[1] = max(farthest[1], int(np.abs(spread[world] - spread[other]).sum()))
    assert farthest[0] == edges.sensitivity.l1
    assert degrees.sensitivity.l1 - 2 <= farthest[1] <= degrees.sensitivity.l1


def test_a_projection_whose_order_depends_on_the_graph_is_caught():
    """Numbering the edges of each graph anew: the order shifts, and the degrees with it."""

    @cache
    def careless(world):
        exact = named(world)
        order = sorted(
            range(len(exact.edges)), key=lambda place: (place * 7919 + len(exact.edges)) % 5
        )
        room, kept = [1] * len(exact.nodes), 0
        for place in order:
            one, two = exact.edges[place].tolist()
            if room[one] and room[two]:
                room[one] = room[two] = 0
                kept += 1
        counts = np.bincount([1 - left for left in room], minlength=2)
        return counts if len(room) else np.zeros(2, dtype=int)

    near = node_neighbours()
    farthest = max(
        int(np.abs(careless(world) - careless(other)).sum())
        for world, others in near.items()
        for other in others
    )
    assert farthest > BoundedDegrees(degree=1).sensitivity.l1


def test_a_projection_keeps_graphs_of_small_degree():
    for world in named_graphs():
        exact = named(world)
        bounded = project(exact, degree=2)
        assert bounded.degrees.max(initial=0) <= 2
        if exact.degrees.max(initial=0) <= 2:
            assert np.array_equal(bounded.edges, exact.edges)


@pytest.mark.parametrize("degree", [2, 3])
def test_triangles_under_node_privacy(degree):
    query = NodeTriangles(degree=degree, upper=40)
    near = node_neighbours()
    assert complaints(lambda world: query.growth(named(world)), near, distances=8) == []


def test_two_nodes_of_a_unit_and_a_replaced_node():
    near = node_neighbours(NAMES[:4])
    twice = {
        world: {far for other in others for far in near[other]} - {world}
        for world, others in near.items()
    }
    swapped = {
        world: {far for far in others if len(far[0]) == len(world[0])}
        for world, others in twice.items()
    }
    for query, pairs in (
        (NodeTriangles(degree=2, upper=40, nodes_per_unit=2), twice),
        (NodeTriangles(degree=2, upper=40, relation=Relation.REPLACE), swapped),
    ):
        check_pairs(lambda world, query=query: query.growth(named(world)), pairs)


def test_truncation_without_the_nodes_on_the_edge_is_caught():
    def careless(world):
        query = NodeTriangles(degree=3, upper=40)
        rungs = [3 * (1 + k) for k in range(13)]  # as if no node were near the limit
        return Growth(exact=query.growth(named(world)).exact, rungs=rungs, limit=40)

    assert complaints(careless, node_neighbours(), distances=3)
