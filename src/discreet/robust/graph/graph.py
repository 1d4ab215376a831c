"""A small typed graph: named nodes and undirected edges, read from pairs, a Parquet file or a
networkx object. Loops, doubled edges and directions vanish by a fixed rule; the repr shows nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, with_article

__all__ = ["Graph", "group_ends"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Graph:
    """Nodes with integer names, and edges as pairs of places in the sorted list of names.

    Under edge privacy the nodes are public: name them all. Under node privacy they are not, and a
    node without edges is still a node. The result is exact; it goes to a query. Its repr shows
    nothing.
    >>> graph = Graph.from_edges([(1, 2), (2, 1), (3, 3), (2, 3)], nodes=range(1, 5))
    >>> graph, len(graph.nodes), len(graph.edges)
    (Graph(...), 4, 2)
    """

    nodes: Integers
    edges: Integers

    def __init__(self, *, nodes: Integers, edges: Integers) -> None:
        if nodes.ndim != 1 or edges.ndim != 2 or edges.shape[1] != 2:
            raise InvalidValue("a graph needs a row of nodes and pairs of places; use from_edges.")
        if np.any(nodes[1:] <= nodes[:-1]):
            raise InvalidValue("the nodes of a graph must be sorted and differ; use from_edges.")
        if len(edges) and (
            edges.min() < 0 or edges.max() >= len(nodes) or np.any(edges[:, 0] >= edges[:, 1])
        ):
            raise InvalidValue("the edges of a graph must be places i < j; use from_edges.")
        object.__setattr__(self, "nodes", nodes.astype(np.int64))
        object.__setattr__(self, "edges", edges.astype(np.int64))

    def __repr__(self) -> str:
        return "Graph(...)"

    @classmethod
    def from_edges(cls, edges: Any, *, nodes: Iterable[int] | None = None) -> "Graph":
        """From pairs of node names; edges to nodes that are not named are dropped.

        Without `nodes` they are those that have an edge, which is private under node privacy and
        wrong under edge privacy, where the nodes are public. The result is exact.
        >>> len(Graph.from_edges([(5, 7)]).nodes)
        2
        """
        pairs = np.array(edges if isinstance(edges, np.ndarray) else list(edges))
        if pairs.size == 0:
            pairs = np.zeros((0, 2), dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise InvalidValue(
                f"the edges are an array of {pairs.dtype} with {pairs.ndim} dimensions; pass pairs "
                "of integer node names. Nothing was released."
            )
        pairs = pairs.astype(np.int64)
        names = np.unique(pairs) if nodes is None else _read_names(nodes)
        if len(names) == 0:
            return cls(nodes=names, edges=np.zeros((0, 2), dtype=np.int64))
        places = np.clip(np.searchsorted(names, pairs), 0, len(names) - 1)
        known = np.all(names[places] == pairs, axis=1) & (pairs[:, 0] != pairs[:, 1])
        ordered = np.sort(places[known], axis=1)
        return cls(nodes=names, edges=np.unique(ordered, axis=0).reshape(-1, 2))

    @classmethod
    def from_parquet(
        cls,
        path: str | PathLike[str],
        *,
        columns: tuple[str, str],
        nodes: Iterable[int] | None = None,
    ) -> "Graph":
        """From two integer columns of a Parquet file; rows with a NULL are dropped.

        The result is exact.
        >>> Graph.from_parquet("edges.parquet", columns=("a",))
        Traceback (most recent call last):
        ...
        discreet.errors.InvalidValue: columns is ('a',); name the two columns of an edge.
        """
        if len(columns) != 2:
            raise InvalidValue(f"columns is {columns!r}; name the two columns of an edge.")
        import duckdb

        first, second = (f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns)
        statement = (
            f"SELECT CAST({first} AS BIGINT) AS one, CAST({second} AS BIGINT) AS two "
            f"FROM read_parquet(?) WHERE {first} IS NOT NULL AND {second} IS NOT NULL"
        )
        with duckdb.connect() as connection:
            try:
                ends = connection.execute(statement, [str(path)]).fetchnumpy()
            except duckdb.Error as error:
                raise InvalidValue(
                    f"{path}: cannot read the columns {columns} as integers "
                    f"({type(error).__name__}). Nothing was released."
                ) from None
        return cls.from_edges(np.stack([ends["one"], ends["two"]], axis=1), nodes=nodes)

    @classmethod
    def from_networkx(cls, graph: Any) -> "Graph":
        """From a networkx graph with integer nodes; weights and keys are ignored.

        The result is exact.
        >>> Graph.from_networkx(3)
        Traceback (most recent call last):
        ...
        discreet.errors.InvalidValue: an int is not a networkx graph: it has no nodes and edges.
        """
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise InvalidValue(
                f"{with_article(type(graph).__name__)} is not a networkx graph: it has no "
                "nodes and edges."
            )
        return cls.from_edges([edge[:2] for edge in graph.edges], nodes=list(graph.nodes))

    @property
    def degrees(self) -> Integers:
        """How many edges each node has. The result is exact.

        >>> Graph.from_edges([(1, 2), (1, 3)]).degrees.tolist()
        [2, 1, 1]
        """
        counted: Integers = np.bincount(self.edges.ravel(), minlength=len(self.nodes))
        return counted

    def neighbours(self) -> list[Integers]:
        """The places of each node's neighbours, in ascending order. The result is exact.

        >>> [near.tolist() for near in Graph.from_edges([(1, 2), (1, 3)]).neighbours()]
        [[1, 2], [0], [0]]
        """
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        return group_ends(both, len(self.nodes))


def group_ends(pairs: Integers, nodes: int) -> list[Integers]:
    """For each node the second ends of the pairs that begin at it, in ascending order."""
    ordered = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    counts = np.bincount(ordered[:, 0], minlength=nodes)
    return np.split(ordered[:, 1], np.cumsum(counts)[:-1]) if nodes else []


def _read_names(nodes: Iterable[int]) -> Integers:
    names = np.array(list(nodes))
    if names.size == 0:
        return np.zeros(0, dtype=np.int64)
    if names.ndim != 1 or names.dtype.kind not in "iu":
        raise InvalidValue(f"nodes are an array of {names.dtype}; pass integer names.")
    return np.unique(names.astype(np.int64))
