"""Graphs from pairs, Parquet files and networkx; fixed rules for odd edges; local sensitivities."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.projection import BoundedEdges, NodeTriangles
from discreet.robust.graph.spanning import SmoothSpanningTree
from discreet.robust.graph.stars import SmoothStars, count_stars
from discreet.robust.graph.triangles import SmoothTriangles, count_triangles
from discreet.robust.smooth.lower_bound import Unavoidable, unavoidable_error
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.trimmed import SmoothTrimmedMean
from support.growth_brute import added_or_removed, data_sets, local_sensitivities, replaced


def test_loops_doubles_and_directions_vanish():
    graph = Graph.from_edges([(2, 1), (1, 2), (1, 1), (2, 3), (3, 9)], nodes=[1, 2, 3, 4])
    assert graph.nodes.tolist() == [1, 2, 3, 4]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert repr(graph) == str(graph) == "Graph(...)"


def test_a_parquet_file(tmp_path):
    path = tmp_path / "edges.parquet"
    table = pa.table({"from": [1, 2, None, 7], 'to "x"': [2, 3, 4, 1]})
    pq.write_table(table, path)
    graph = Graph.from_parquet(path, columns=("from", 'to "x"'), nodes=range(1, 9))
    assert len(graph.nodes) == 8
    assert graph.edges.tolist() == [[0, 1], [0, 6], [1, 2]]
    with pytest.raises(InvalidValue, match="cannot read"):
        Graph.from_parquet(path, columns=("from", "elsewhere"))
    pq.write_table(pa.table({"a": ["secret"], "b": ["x"]}), path)
    with pytest.raises(InvalidValue) as refused:
        Graph.from_parquet(path, columns=("a", "b"))
    assert "secret" not in str(refused.value)


class Drawing:
    """What is used of a networkx graph: iterable nodes and edges, keys and weights beyond."""

    nodes = (1, 5, 9)
    edges = ((1, 5, {"weight": 3}), (5, 9, 0))


def test_anything_with_nodes_and_edges():
    graph = Graph.from_networkx(Drawing())
    assert graph.nodes.tolist() == [1, 5, 9]
    assert len(graph.edges) == 2


def test_a_networkx_graph():
    networkx = pytest.importorskip("networkx", reason="networkx is not a dependency")
    ring = networkx.cycle_graph(5)
    assert count_triangles(Graph.from_networkx(ring)) == 0
    assert count_triangles(Graph.from_networkx(networkx.complete_graph(6))) == 20
    assert len(Graph.from_networkx(networkx.MultiDiGraph([(1, 2), (2, 1)])).edges) == 1


@pytest.mark.parametrize("edges", [[(1.5, 2)], [("a", "b")], [(1, 2, 3)], [1, 2]])
def test_edges_that_are_no_pairs_of_integers(edges):
    with pytest.raises(InvalidValue):
        Graph.from_edges(edges)


def test_graphs_made_by_hand_are_checked():
    nodes = np.arange(3)
    for edges in ([[1, 0]], [[0, 3]], [[1, 1]]):
        with pytest.raises(InvalidValue, match="from_edges"):
            Graph(nodes=nodes, edges=np.array(edges))
    with pytest.raises(InvalidValue, match="sorted"):
        Graph(nodes=np.array([2, 1]), edges=np.zeros((0, 2), dtype=int))


def test_empty_graphs():
    graph = Graph.from_edges([])
    assert count_triangles(graph) == count_stars(graph, leaves=2) == 0
    assert BoundedEdges(degree=3).measure(graph) == 0
    assert NodeTriangles(degree=3, upper=9).growth(graph).at(0) == 3
    alone = Graph.from_edges([], nodes=range(4))
    assert SmoothTriangles(nodes=4).growth(alone).at(0) == 0
    assert SmoothStars(nodes=4, leaves=2).growth(alone).at(1) == 1


def test_another_number_of_nodes_than_is_public_is_refused():
    graph = Graph.from_edges([(0, 1), (1, 2)])
    for query in (SmoothTriangles(nodes=4), SmoothStars(nodes=4, leaves=2)):
        with pytest.raises(InvalidValue, match="public nodes"):
            query.growth(graph)


def test_triangles_of_a_random_graph():
    generator = np.random.default_rng(5)
    matrix = np.triu(generator.random((60, 60)) < 0.2, 1)
    graph = Graph.from_edges(np.argwhere(matrix), nodes=range(60))
    both = (matrix | matrix.T).astype(np.int64)
    assert count_triangles(graph) == np.trace(both @ both @ both) // 6
    common = both @ both
    np.fill_diagonal(common, 0)
    assert SmoothTriangles(nodes=60).growth(graph).at(0) == common.max()


def test_trees_need_public_edges_that_span():
    with pytest.raises(InvalidValue, match="do not connect"):
        SmoothSpanningTree(nodes=3, edges=((0, 1),), upper=5)
    with pytest.raises(InvalidValue, match="does not join"):
        SmoothSpanningTree(nodes=2, edges=((0, 2),), upper=5)
    query = SmoothSpanningTree(nodes=2, edges=((0, 1),), upper=5)
    with pytest.raises(InvalidValue, match="2 weights for 1 public edges"):
        query.growth([1, 2])
    assert query.growth([99]).exact == 5  # held within the bounds


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("kind", ["quantile", "trimmed"])
def test_local_sensitivities_are_exact(relation, unit, kind):
    options = {"lower": 0, "upper": 3, "rows_per_unit": unit, "relation": relation}
    query = (
        SmoothQuantile(fraction=0.3, **options)
        if kind == "quantile"
        else SmoothTrimmedMean(share=0.3, **options)
    )
    if relation is Relation.REPLACE:
        near = {rows: replaced(rows, 4, unit) for rows in data_sets(4, 4, 4)}
    else:
        near = {rows: added_or_removed(rows, 4, unit, 4 + unit) for rows in data_sets(4, 4 + unit)}
    truth = local_sensitivities(lambda rows: query.growth(np.array(rows, int)).exact, near, 0)
    for rows, sizes in truth.items():
        if len(rows) <= 4:
            assert query.local_sensitivity(np.array(rows, int)) == sizes[0]


def test_the_unavoidable_error():
    query = SmoothQuantile(fraction=0.5, lower=0, upper=100)
    bound = unavoidable_error(query, [10, 50, 60], epsilon=1, delta=0.01)
    assert bound.exact_error == 20
    e = 2.718281828459045
    assert float(bound.probability) == pytest.approx(1 - 1.01 / (1 + 1 / e), abs=1e-12)
    assert repr(bound) == "Unavoidable(...)"
    assert unavoidable_error(query, [10], epsilon=50, delta=0.5).probability == 0
    assert isinstance(bound, Unavoidable)


def test_the_unavoidable_error_holds_for_noise_that_is_private():
    """Half the local sensitivity is exceeded at least that often, on x or on its neighbour."""
    from discreet.mechanisms.additive.laplace import DiscreteLaplace

    rows, other = [0, 0, 100, 100, 100], [0, 0, 100, 100]
    query = SmoothQuantile(fraction=0.5, lower=0, upper=100)
    bound = unavoidable_error(query, rows, epsilon=1)
    assert query.growth(rows).exact - query.growth(other).exact == 2 * bound.exact_error
    noise = DiscreteLaplace(scale=100)  # global sensitivity over epsilon 1
    half = int(bound.exact_error)
    ratio = float(np.exp(-1 / 100))
    missed = 2 * ratio**half / (1 + ratio)  # P(|X| >= half)
    assert missed >= bound.probability
    assert noise.scale == Fraction(100)
