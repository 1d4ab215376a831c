"""Degrees of pairs of nodes without the edge between the two: what flipping that edge sees."""

from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.robust.graph.graph import Graph

__all__ = ["check_nodes", "free_degrees"]


def free_degrees(graph: Graph) -> list[tuple[int, int]]:
    """Pairs (larger, smaller) of which every pair of nodes of the graph is at most one.

    A flip of the edge between two nodes changes neither entry, any other flip one entry by one.
    """
    degrees, near = graph.degrees, graph.neighbours()
    order = np.argsort(-degrees, kind="stable")
    best: dict[int, int] = {}
    for place, node in enumerate(order.tolist()):
        later = order[place + 1 :]
        if len(later) == 0:
            break
        own = int(degrees[node])
        # The first later node without an edge to this one is among its degree + 1 nearest.
        window = later[: own + 1]
        joined = np.isin(window, near[node], assume_unique=True)
        apart = window[~joined]
        if len(apart):
            best[own] = max(best.get(own, -1), int(degrees[apart[0]]))
        if joined.any():
            other = int(degrees[window[joined][0]])
            best[own - 1] = max(best.get(own - 1, -1), other - 1)
    front: list[tuple[int, int]] = []
    for larger in sorted(best, reverse=True):
        if not front or best[larger] > front[-1][1]:
            front.append((larger, best[larger]))
    return front or [(0, 0)]


def check_nodes(exact: Any, nodes: int) -> None:
    """Refuse a graph with another number of nodes than is public.

    Privacy: the number of nodes is public under edge neighbours.
    """
    if not isinstance(exact, Graph) or len(exact.nodes) != nodes:
        raise InvalidValue(
            f"the graph must have the {nodes} public nodes of the query; name them all in "
            "Graph.from_edges(..., nodes=...). Nothing was released."
        )
