"""The rule that says what has to be released: the sums, counts and picks that the aggregates need.
Nothing here touches data.
"""

from dataclasses import replace

from discreet.errors import UnsafeQuery
from discreet.plan.model import Draft
from discreet.plan.parts.aggregates import aggregates_of
from discreet.plan.parts.candidates import CandidateQuery, fraction_of, moved_counts, pick
from discreet.plan.parts.measures import Chosen, Estimator, Measures
from discreet.plan.sql.expressions import bounded, scope
from discreet.query.algebra import Aggregate, Statistic

__all__ = ["measure"]

_PICKED = (Statistic.QUANTILE, Statistic.MINIMUM, Statistic.MAXIMUM, Statistic.MODE)


def measure(draft: Draft) -> Draft:
    """The sums and counts that all aggregates together need, each of them once, and the picks."""
    assert draft.contribution is not None
    columns = scope(draft.table, draft.dialect)
    query = draft.query
    order = () if draft.ranking is not None and not draft.ranking.shown else query.order
    places = [*(each.expression for each in query.outputs), *(each.expression for each in order)]
    if query.having is not None:
        places.append(query.having)
    aggregates = list(dict.fromkeys(found for each in places for found in aggregates_of(each)))
    if not aggregates:
        raise UnsafeQuery("the question has no aggregate; ask for COUNT(*), SUM or AVG.")
    summed = frozenset(
        bounded(aggregate.argument, columns).sql
        for aggregate in aggregates
        if aggregate.statistic is Statistic.SUM and aggregate.argument is not None
    )
    measures = Measures(columns, draft.contribution, summed)
    estimators: dict[Aggregate, Estimator | Chosen] = {
        each: measures.estimator(each) for each in aggregates if each.statistic not in _PICKED
    }
    picks = _picks(draft, aggregates)
    place = len(measures.found)
    for index, (found, made) in enumerate(picks):
        for each in found:
            at = made.fractions.index(fraction_of(each)) if made.fractions else 0
            estimators[each] = Chosen(each.statistic, index, place + at)
        place += made.columns
    return replace(
        draft,
        measures=tuple(measures.found),
        estimators=tuple((each, estimators[each]) for each in aggregates),
        picks=tuple(made for _, made in picks),
    )


def _picks(
    draft: Draft, aggregates: list[Aggregate]
) -> list[tuple[tuple[Aggregate, ...], CandidateQuery]]:
    """Quantiles of one expression are picked together, its mode by itself."""
    assert draft.contribution is not None
    columns = scope(draft.table, draft.dialect)
    alike: dict[object, list[Aggregate]] = {}
    for each in aggregates:
        if each.statistic in _PICKED:
            alike.setdefault((each.argument, each.statistic is Statistic.MODE), []).append(each)
    count = draft.contribution.groups_in_all
    moved = moved_counts(draft.contribution)
    return [
        (tuple(found), pick(tuple(found), columns, groups=count, sensitivity=moved))
        for found in alike.values()
    ]
