"""Smooth sensitivity, ladders and graphs of `discreet.robust`, each noise end to end with one
estimate at least, and a bug planted beside each: most often noise in proportion to the local
sensitivity itself. Owns their inputs and sample sizes.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from discreet.audit.subject import Subject, make_subject
from discreet.loss import Relation
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.projection import BoundedDegrees, BoundedEdges, NodeTriangles
from discreet.robust.graph.spanning import SmoothSpanningTree
from discreet.robust.graph.stars import SmoothStars
from discreet.robust.graph.triangles import SmoothTriangles
from discreet.robust.smooth.growth import Growth, Query
from discreet.robust.smooth.ladder import LadderMechanism
from discreet.robust.smooth.laplace_noise import LaplaceShape, LogNormalShape
from discreet.robust.smooth.mechanism import GrowthMechanism, estimate
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.student_noise import CauchyShape, StudentShape
from discreet.robust.smooth.trimmed import SmoothTrimmedMean
from discreet.robust.tested.outcome import Refused
from discreet.robust.tested.proposals import GrowthProposal

__all__ = ["smooth_audits"]

_subject = partial(make_subject, "robust")
_SAMPLES, _CAUGHT = 1_500, 500
_BARE = "noise by local sensitivity"


def smooth_audits() -> tuple[Subject, ...]:
    """Every smooth estimate and every graph statistic, each followed by the bug beside it.

    >>> [one.name for one in smooth_audits()][:2]
    ['SmoothQuantile', 'SmoothQuantile: noise by local sensitivity']
    """
    return (*_columns(), *_graphs(), *_nodes(), *_proposals())


def _draw_smooth(query: Query, noise: GrowthMechanism) -> Callable[[Any], float]:
    return lambda exact: float(estimate(query, exact, noise).noisy)


def _draw_bare(query: Query, noise: GrowthMechanism) -> Callable[[Any], float]:
    """Noise in proportion to local sensitivity: what smoothing is there to prevent."""

    def draw(exact: Any) -> float:
        growth = query.growth(exact)
        size = max(1, int(growth.at(0) * 1000))
        same = Growth(exact=growth.exact, rungs=[], limit=size, resolution=1000)
        return float(noise.release(same))

    return draw


def _plant(
    query: Query, noise: GrowthMechanism, pair: tuple[Any, Any], *also: str
) -> Iterator[Subject]:
    right = _subject(
        type(query).__name__,
        _draw_smooth(query, noise),
        noise.loss,
        (pair,),
        _SAMPLES,
        *also,
        "estimate",
    )
    yield from right.with_bug(_BARE, _draw_bare(query, noise), _CAUGHT)


def _columns() -> Iterator[Subject]:
    yield from _plant(
        SmoothQuantile(fraction=0.5, lower=0, upper=100),
        CauchyShape.priced(epsilon=0.5),
        ([0, 50, 50, 50, 100], [0, 50, 50, 100]),
        "CauchyShape",
        "SmoothNoise",
    )
    yield from _plant(
        SmoothTrimmedMean(share=0.4, lower=0, upper=100, relation=Relation.REPLACE),
        StudentShape.priced(epsilon=0.5),
        ([0, 50, 50, 50, 100], [0, 50, 50, 100, 100]),
        "StudentShape",
    )
    yield from _plant(
        SmoothSpanningTree(nodes=3, edges=((0, 1), (1, 2), (0, 2)), upper=50),
        LaplaceShape.priced(epsilon=0.5, delta=1e-3),
        ([0, 0, 0], [0, 0, 50]),
        "LaplaceShape",
    )


def _edges(nodes: int, *pairs: tuple[int, int]) -> Graph:
    return Graph.from_edges(np.array(pairs, dtype=np.int64).reshape(-1, 2), nodes=range(nodes))


def _graphs() -> Iterator[Subject]:
    yield from _plant(
        SmoothStars(nodes=6, leaves=2),
        LogNormalShape.priced(rho=0.02),
        (_edges(6), _edges(6, (0, 1))),
        "LogNormalShape",
    )
    # One edge closes forty triangles.
    wedges = [(end, node) for end in (0, 1) for node in range(2, 42)]
    pair = (_edges(42, *wedges), _edges(42, *wedges, (0, 1)))
    query, ladder = SmoothTriangles(nodes=42), LadderMechanism(epsilon=0.5)
    right = _subject(
        "SmoothTriangles by the ladder",
        _draw_smooth(query, ladder),
        ladder.loss,
        (pair,),
        600,
        "LadderMechanism",
    )

    def for_one(graph: Graph) -> float:
        exact = query.growth(graph).exact
        return float(ladder.release(Growth(exact=exact, rungs=[], limit=1)))

    yield from right.with_bug("a ladder that allows for one triangle", for_one, 500)


_HUB = [(0, node) for node in range(1, 60)] + [(1, 2), (3, 4), (5, 6)]


def _nodes() -> Iterator[Subject]:
    """Node privacy: a hub leaves no trace, and a node that pushes others over the limit neither."""
    pair = (Graph.from_edges(_HUB), Graph.from_edges(_HUB[59:], nodes=range(1, 60)))
    edges, degrees, bare = (
        BoundedEdges(degree=4),
        BoundedDegrees(degree=4),
        DiscreteLaplace(scale=4),
    )
    claim = edges.release(pair[0], epsilon=1).loss
    right = _subject(
        "BoundedEdges",
        lambda graph: float(edges.release(graph, epsilon=1).noisy),
        claim,
        (pair,),
        _SAMPLES,
    )
    yield from right.with_bug(
        "no projection", lambda graph: bare.release(len(graph.edges)), _CAUGHT
    )
    right = _subject(
        "BoundedDegrees",
        lambda graph: float(degrees.release(graph, epsilon=1).noisy[1]),
        claim,
        (pair,),
        _SAMPLES,
        "DegreeCounts",
    )
    alone = lambda graph: bare.release(int((graph.degrees == 0).sum()))  # noqa: E731
    yield from right.with_bug("no projection", alone, _CAUGHT)
    query, noise = NodeTriangles(degree=8, upper=1000), CauchyShape.priced(epsilon=1)
    right = _subject(
        "NodeTriangles",
        _draw_smooth(query, noise),
        noise.loss,
        ((_clique(9, 0), _clique(9, 1)),),
        400,
    )

    def as_if_edges(graph: Graph) -> float:
        exact = query.growth(graph).exact
        return float(noise.release(Growth(exact=exact, rungs=[], limit=1)))

    yield from right.with_bug("noise for one edge", as_if_edges, 400)


def _clique(nodes: int, extra: int) -> Graph:
    joined = [(nodes, node) for node in range(nodes)] if extra else []
    return Graph.from_edges([*combinations(range(nodes), 2), *joined], nodes=range(nodes + extra))


def _proposals() -> Iterator[Subject]:
    query = SmoothQuantile(fraction=Fraction(1, 2), lower=0, upper=100)
    tied = [50] * 15 + [51] * 15

    def drawn(epsilon: int) -> tuple[GrowthProposal, Callable[[Any], float | str]]:
        proposal = GrowthProposal(query=query, bound=1, epsilon=epsilon, delta=Fraction(1, 50))

        def draw(rows: Any) -> float | str:
            outcome = proposal.release(rows)
            return "refused" if isinstance(outcome, Refused) else str(outcome.value)

        return proposal, draw

    proposal, draw = drawn(1)
    right = _subject("GrowthProposal", draw, proposal.loss(), ((tied, [*tied, 51]),), _SAMPLES)
    yield from right.with_bug("a twelfth of the noise", drawn(12)[1], 1_500)
