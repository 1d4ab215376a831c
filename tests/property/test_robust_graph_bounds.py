"""Triangles by the other two ways: a private bound on their local sensitivity, and proposals."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.robust.graph.graph import Graph
from discreet.robust.graph.triangles import SmoothTriangles, count_triangles
from discreet.robust.tested.bounding import LocalBound
from discreet.robust.tested.outcome import Refused
from discreet.robust.tested.proposals import GrowthProposal, growth_distance

NODES = 6
PAIRS = list(combinations(range(NODES), 2))
QUERY = SmoothTriangles(nodes=NODES)
edges_of = st.sets(st.sampled_from(PAIRS))


def graph(edges):
    return Graph.from_edges(sorted(edges), nodes=range(NODES))


@given(edges=edges_of, pair=st.sampled_from(PAIRS))
@settings(max_examples=200)
def test_an_edge_moves_triangles_by_the_bound_and_the_bound_by_one(edges, pair):
    before, after = graph(edges), graph(edges ^ {pair})
    bounds = [QUERY.local_sensitivity(one) for one in (before, after)]
    assert abs(count_triangles(before) - count_triangles(after)) <= min(bounds)
    assert abs(bounds[0] - bounds[1]) <= 1  # so the drift is 1


@given(edges=edges_of, pair=st.sampled_from(PAIRS), bound=st.integers(0, 4))
@settings(max_examples=200)
def test_the_distance_of_a_proposal_moves_by_one_with_an_edge(edges, pair, bound):
    here, there = (
        growth_distance(QUERY.growth(graph(each)), bound=bound) for each in (edges, edges ^ {pair})
    )
    assert abs(here - there) <= 1
    if here > 0:
        changed = count_triangles(graph(edges)) - count_triangles(graph(edges ^ {pair}))
        assert abs(changed) <= bound


@pytest.fixture(scope="module")
def ring():
    """Two hundred nodes on a ring, each joined to the next four: no pair has many in common."""
    edges = [(node, (node + step) % 200) for node in range(200) for step in range(1, 5)]
    return Graph.from_edges(edges, nodes=range(200))


def test_a_private_bound_counts_the_triangles_of_a_ring(ring):
    query, exact = SmoothTriangles(nodes=200), count_triangles(ring)
    mechanism = LocalBound(epsilon=2, delta=1e-6, drift=1)
    found = mechanism.release(exact, int(query.local_sensitivity(ring)))
    assert abs(found.noisy - exact) < 25 * found.scale


def test_proposals_show_the_ring_and_refuse_a_star(ring):
    query = SmoothTriangles(nodes=200)
    proposal = GrowthProposal(query=query, bound=60, epsilon=2, delta=1e-12)
    assert abs(proposal.release(ring).value - count_triangles(ring)) < 25 * 60
    hubs = [(hub, node) for hub in (0, 1) for node in range(2, 200)]  # an edge makes 198 triangles
    star = Graph.from_edges(hubs, nodes=range(200))
    assert isinstance(proposal.release(star), Refused)
