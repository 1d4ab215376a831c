"""Lower limits on what one unit contributes, where they make a question much more exact: computed
by planning it again, from the schema and the question alone. Never sees data, so it cannot say how
much such a limit leaves out.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any

from discreet.errors import DiscreetError
from discreet.plan.model import Draft, Plan
from discreet.plan.parts.remarks import Suggestion
from discreet.plan.results.explain import error_of

__all__ = ["suggestions"]

_LEVEL = Fraction(95, 100)
_HELPFUL = 0.5  # of the noise; what helps less is not worth what it leaves out


def suggestions(plan: Plan, count: int | None = None) -> tuple[Suggestion, ...]:
    """The limits that halve the noise of a plan at the same price; none where nothing does.

    Each is planned like the question itself; `count` is as in `explain`.
    """
    if plan.table.unit is None or plan.counts_for:
        return ()
    suggested: list[Suggestion] = []
    for option, value, most in _lower_limits(plan):
        other = _replan(plan, option, value)
        if other is None or len(other.measures) != len(plan.measures):
            continue
        share = _share(plan, other)
        if not share:  # nothing to gain: the noise is almost surely none as it is
            continue
        known = any(other.value == value and other.share <= share for other in suggested)
        if share <= _HELPFUL and not known:  # fewer groups leave out less than as many rows
            suggested.append(
                Suggestion(
                    option=option,
                    value=value,
                    unit=plan.table.unit,
                    most=most,
                    share=share,
                    before=error_of(plan, count),
                    error=error_of(other, count),
                )
            )
    return tuple(suggested)


def _lower_limits(plan: Plan) -> Iterator[tuple[str, int, int]]:
    """Limits below those of a plan: one, and about the middle between one and what there is."""
    contribution = plan.contribution
    groups = min(
        contribution.groups_per_unit, contribution.groups_in_all or contribution.groups_per_unit
    )
    limits = {"max_rows_contributed": contribution.rows_per_unit}
    if plan.query.keys:
        limits = {"max_groups_contributed": groups, **limits}
    for option, most in limits.items():
        for value in sorted({1, isqrt(most)}):
            if value < most:
                yield option, value, most


def _replan(plan: Plan, option: str, value: int) -> Plan | None:
    """The question with another limit, at the same price."""
    first, *others = plan.tables
    changed: dict[str, Any] = {option: value}
    options = replace(plan.query.options, **changed)
    try:
        return plan.views.replan(
            Draft(
                query=replace(plan.query, options=options),
                table=first,
                others=tuple((table, f'"{table.name}"') for table in others),
                price=plan.prices[0].total(plan.prices),
                delta=plan.delta,
                limit=plan.limit,
                assumed_rows=plan.assumed_rows,
                joined_rows=plan.joined_rows,
                question=plan.question,
            )
        )
    except DiscreetError:
        return None


def _share(plan: Plan, other: Plan) -> float:
    """How much of the noise is left, in the column or the choice that gains least."""
    pairs = [*zip(plan.noises, other.noises, strict=True)]
    shares = [after.error(_LEVEL) / max(before.error(_LEVEL), 1.0) for before, after in pairs]
    shares += [
        float(after.sensitivity.l1 / before.sensitivity.l1)
        for before, after in zip(plan.picks, other.picks, strict=True)
    ]
    return max(shares, default=1.0)
