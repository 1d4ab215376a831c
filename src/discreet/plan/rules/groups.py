"""The rules of groups: keys become public domains, and what one unit contributes is bounded.
Public facts alone decide; nothing here touches data.
"""

from dataclasses import replace
from math import prod

from discreet.plan.model import Draft
from discreet.plan.parts.keys import check_groups, domain
from discreet.plan.parts.measures import Contribution
from discreet.plan.parts.selection import ordering, ranking
from discreet.plan.sql.expressions import condition, scope
from discreet.query.algebra import Statistic
from discreet.query.expression import aggregates_of

__all__ = ["bound_contribution", "choose_groups", "resolve"]


def resolve(draft: Draft) -> Draft:
    """Keys become public domains; the condition is checked."""
    columns = scope(draft.table, draft.dialect)
    domains = tuple(domain(key, columns, limit=draft.limit) for key in draft.query.keys)
    check_groups(domains, limit=draft.limit)
    if draft.query.where is not None:
        condition(draft.query.where, columns)
    private = any(domain.private for domain in domains)
    return replace(draft, domains=domains, delta=draft.delta if private else None)


def bound_contribution(draft: Draft) -> Draft:
    """How many rows and groups one unit can touch, from the schema and the question's options."""
    rows = draft.table.rows_per_unit
    most = draft.query.options.max_groups_contributed or rows
    in_all = prod(len(domain.codes) for domain in draft.domains)
    contribution = Contribution(
        rows_per_unit=rows,
        groups_per_unit=min(rows, most),
        groups_in_all=None if draft.private else in_all,
        relation=draft.table.neighbours,
    )
    return replace(draft, contribution=contribution)


def choose_groups(draft: Draft) -> Draft:
    """Whether the leading groups are chosen first, which leaves fewer groups to add noise to."""
    assert draft.contribution is not None
    wanted = ordering(draft.query)
    first = draft.price[0] if isinstance(draft.price, tuple) else draft.price
    if wanted is None or draft.private or not draft.query.limit:
        return draft
    chosen = ranking(
        draft.contribution,
        wanted,
        list(aggregates_of(draft.query.outputs)),
        count=draft.query.limit,
        kind=type(first),
        counted=draft.counted if wanted.statistic is Statistic.UNITS else "COUNT(*)",
    )
    if chosen is None:
        return draft
    narrowed = replace(draft.contribution, groups_in_all=chosen.count)
    return replace(draft, ranking=chosen, contribution=narrowed)
