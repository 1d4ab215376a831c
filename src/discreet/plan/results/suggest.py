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


def suggestions(made: Plan, count: int | None = None) -> tuple[Suggestion, ...]:
    """The limits that halve the noise of a plan at the same price; none where nothing does.

    Each is planned like the question itself; `count` is as in `explain`.
    """
    if made.table.unit is None or made.counts_for:
        return ()
    found: list[Suggestion] = []
    for option, value, most in _lower(made):
        other = _planned(made, option, value)
        if other is None or len(other.measures) != len(made.measures):
            continue
        share = _share(made, other)
        if not share:  # nothing to gain: the noise is almost surely none as it is
            continue
        known = any(each.value == value and each.share <= share for each in found)
        if share <= _HELPFUL and not known:  # fewer groups leave out less than as many rows
            found.append(
                Suggestion(
                    option=option,
                    value=value,
                    unit=made.table.unit,
                    most=most,
                    share=share,
                    before=error_of(made, count),
                    error=error_of(other, count),
                )
            )
    return tuple(found)


def _lower(made: Plan) -> Iterator[tuple[str, int, int]]:
    """Limits below those of a plan: one, and about the middle between one and what there is."""
    contribution = made.contribution
    groups = min(
        contribution.groups_per_unit, contribution.groups_in_all or contribution.groups_per_unit
    )
    limits = {"max_rows_contributed": contribution.rows_per_unit}
    if made.query.keys:
        limits = {"max_groups_contributed": groups, **limits}
    for option, most in limits.items():
        for value in sorted({1, isqrt(most)}):
            if value < most:
                yield option, value, most


def _planned(made: Plan, option: str, value: int) -> Plan | None:
    """The question with another limit, at the same price."""
    first, *others = made.tables
    changed: dict[str, Any] = {option: value}
    options = replace(made.query.options, **changed)
    try:
        return made.views.replan(
            Draft(
                query=replace(made.query, options=options),
                table=first,
                others=tuple((table, f'"{table.name}"') for table in others),
                price=made.prices[0].total(made.prices),
                delta=made.delta,
                limit=made.limit,
                assumed_rows=made.assumed_rows,
                joined_rows=made.joined_rows,
                question=made.question,
            )
        )
    except DiscreetError:
        return None


def _share(made: Plan, other: Plan) -> float:
    """How much of the noise is left, in the column or the choice that gains least."""
    pairs = [*zip(made.noises, other.noises, strict=True)]
    shares = [after.error(_LEVEL) / max(before.error(_LEVEL), 1.0) for before, after in pairs]
    shares += [
        float(after.sensitivity.l1 / before.sensitivity.l1)
        for before, after in zip(made.picks, other.picks, strict=True)
    ]
    return max(shares, default=1.0)
