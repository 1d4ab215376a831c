"""The rule that says what has to be released: the sums, counts and candidate queries of the
aggregates. Nothing here touches data.
"""

from dataclasses import replace

from discreet.errors import UnsafeQuery
from discreet.plan.model import Draft
from discreet.plan.parts.candidates import CandidateQuery, bound_moves, fraction_of, pick
from discreet.plan.parts.measures import Chosen, Estimator, Measures
from discreet.plan.sql.expressions import bounded, scope
from discreet.query.algebra import Aggregate, Statistic
from discreet.query.expression import aggregates_of

__all__ = ["measure"]

_PICKED = (Statistic.QUANTILE, Statistic.MINIMUM, Statistic.MAXIMUM, Statistic.MODE)


def measure(draft: Draft) -> Draft:
    """The sums and counts that all aggregates need, each once, and the candidate queries."""
    assert draft.contribution is not None
    columns = scope(draft.table, draft.dialect)
    query = draft.query
    order = () if draft.ranking is not None and not draft.ranking.shown else query.order
    aggregates = list(dict.fromkeys(aggregates_of((query.outputs, order, query.having))))
    if not aggregates:
        raise UnsafeQuery("the question has no aggregate; ask for COUNT(*), SUM or AVG.")
    summed = frozenset(
        bounded(aggregate.argument, columns).sql
        for aggregate in aggregates
        if aggregate.statistic is Statistic.SUM and aggregate.argument is not None
    )
    measures = Measures(columns, draft.contribution, summed)
    estimators: dict[Aggregate, Estimator | Chosen] = {
        aggregate: measures.estimator(aggregate)
        for aggregate in aggregates
        if aggregate.statistic not in _PICKED
    }
    picks = _picks(draft, aggregates)
    place = len(measures.found)
    for index, (alike, candidates) in enumerate(picks):
        for aggregate in alike:
            at = candidates.fractions.index(fraction_of(aggregate)) if candidates.fractions else 0
            estimators[aggregate] = Chosen(aggregate.statistic, index, place + at)
        place += candidates.columns
    return replace(
        draft,
        measures=tuple(measures.found),
        estimators=tuple((aggregate, estimators[aggregate]) for aggregate in aggregates),
        picks=tuple(candidates for _, candidates in picks),
    )


def _picks(
    draft: Draft, aggregates: list[Aggregate]
) -> list[tuple[tuple[Aggregate, ...], CandidateQuery]]:
    """Quantiles of one expression are selected together, its mode by itself."""
    assert draft.contribution is not None
    columns = scope(draft.table, draft.dialect)
    alike: dict[object, list[Aggregate]] = {}
    for aggregate in aggregates:
        if aggregate.statistic in _PICKED:
            kind = (aggregate.argument, aggregate.statistic is Statistic.MODE)
            alike.setdefault(kind, []).append(aggregate)
    count = draft.contribution.groups_in_all
    moved = bound_moves(draft.contribution)
    return [
        (tuple(group), pick(tuple(group), columns, groups=count, sensitivity=moved))
        for group in alike.values()
    ]
