"""Query to Plan, one rule after the other. A Plan is complete: everything is decided before a row
is read. Nothing here touches data.
"""

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction

from discreet.plan.model import GROUP_LIMIT, Draft, Plan, Views
from discreet.plan.parts.patience import ENGINE_SECONDS, GRID_SECONDS
from discreet.plan.results.explain import error_of, explain_plan, summary_of
from discreet.plan.results.notes import notes_of
from discreet.plan.results.suggest import suggestions
from discreet.plan.rules.emit import emit
from discreet.plan.rules.groups import bound_contribution, choose_groups, resolve
from discreet.plan.rules.measure import measure
from discreet.plan.rules.mechanism import choose_mechanism
from discreet.plan.rules.read import read
from discreet.schema.table import Table

__all__ = [
    "Draft",
    "GROUP_LIMIT",
    "Plan",
    "RULES",
    "Rule",
    "apply_until_measures",
    "plan",
    "replan",
]


Rule = Callable[[Draft], Draft]
"""One decision on the way to a plan."""


RULES: tuple[Rule, ...] = (
    read,
    resolve,
    bound_contribution,
    choose_groups,
    measure,
    choose_mechanism,
    emit,
)
"""The way from a question to a plan."""


def apply_until_measures(draft: Draft) -> Draft:
    """Apply the rules up to `measure`: what has to be released is known, its price is not."""
    for rule in RULES[: RULES.index(measure) + 1]:
        draft = rule(draft)
    return draft


def plan(draft: Draft) -> Plan:
    """Apply all rules."""
    for rule in RULES:
        draft = rule(draft)
    decided = {
        field.name: getattr(draft, field.name) for field in fields(Plan) if field.name != "views"
    }
    return Plan(
        **decided, views=Views(error_of, notes_of, suggestions, summary_of, explain_plan, plan)
    )


def replan(
    known: Plan,
    *,
    table: Table,
    relation: str,
    others: tuple[tuple[Table, str], ...] = (),
    integer_units: tuple[str, ...] = (),
    kept: str = "",
    limit: int = GROUP_LIMIT,
    dialect: str = "duckdb",
    engine_seconds: Fraction = ENGINE_SECONDS["prepared"],
    grid_seconds: Fraction = GRID_SECONDS,
) -> Plan:
    """The plan that the same question at the same prices gives for its tables as they are now.

    What differs from it must not be run.
    """
    return plan(
        Draft(
            query=known.query,
            table=table,
            price=known.prices,
            delta=known.delta,
            relation=relation,
            others=others,
            integer_units=integer_units,
            kept=kept,
            limit=limit,
            question=known.question,
            counts_for=known.counts_for,
            ways=known.ways,
            assumed_rows=known.assumed_rows,
            dialect=dialect,
            engine_seconds=engine_seconds,
            grid_seconds=grid_seconds,
        )
    )
