"""Query to Plan, one rule after the other. A Plan is complete: everything is decided before a row
is read. Nothing here touches data.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

from discreet.errors import UnsafeQuery
from discreet.plan.emit import statement
from discreet.plan.expressions import bounded, condition, scope
from discreet.plan.keys import Domain, domain, groups
from discreet.plan.measures import Contribution, Estimator, Measure, Measures
from discreet.plan.price import Noise, Price, choose, paid, shared
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Compare,
    Expression,
    Junction,
    Member,
    Negation,
    Query,
    Statistic,
)
from discreet.schema.table import Table

__all__ = [
    "Draft",
    "GROUP_LIMIT",
    "Plan",
    "RULES",
    "Rule",
    "bound_contribution",
    "choose_mechanism",
    "emit",
    "measure",
    "plan",
    "remade",
    "resolve",
]

GROUP_LIMIT = 100_000
"""How many public groups one question may have."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will happen when a question is asked, and what it costs.

    Privacy: running it and adding the noise costs `cost` for the table's unit and relation.
    >>> from discreet.plan.draft import RULES
    >>> [rule.__name__ for rule in RULES]
    ['resolve', 'bound_contribution', 'measure', 'choose_mechanism', 'emit']
    """

    query: Query
    table: Table
    domains: tuple[Domain, ...]
    contribution: Contribution
    measures: tuple[Measure, ...]
    estimators: tuple[tuple[Aggregate, Estimator], ...]
    prices: tuple[Price, ...]
    noises: tuple[Noise, ...]
    cost: Price
    engine_columns: tuple[str, ...]
    sql: str
    limit: int
    question: str
    behind: str  # the column whose count this is, when a count was bought for another question
    dialect: str = "duckdb"

    @property
    def error(self) -> dict[str, float | None]:
        """The 95% half-width of every column; None where it depends on a secret count.

        Privacy: none (touches no data).
        >>> Plan.error.fget is not None
        True
        """
        from discreet.plan.explain import error_of

        return error_of(self)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The engine codes of every group of the answer, in order.

        Privacy: none (touches no data).
        >>> Plan.groups.fget is not None
        True
        """
        return groups(self.domains, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan in the making: each rule fills in what it decides.

    Privacy: none (touches no data).
    >>> Draft.__name__
    'Draft'
    """

    query: Query
    table: Table
    price: Price | tuple[Price, ...]
    limit: int = GROUP_LIMIT
    relation: str = '"prepared"'
    question: str = ""
    behind: str = ""
    dialect: str = "duckdb"
    domains: tuple[Domain, ...] = ()
    contribution: Contribution | None = None
    measures: tuple[Measure, ...] = ()
    estimators: tuple[tuple[Aggregate, Estimator], ...] = ()
    prices: tuple[Price, ...] = ()
    noises: tuple[Noise, ...] = ()
    cost: Price | None = None
    engine_columns: tuple[str, ...] = ()
    sql: str = ""


Rule = Callable[[Draft], Draft]
"""One decision on the way to a plan."""


def resolve(draft: Draft) -> Draft:
    """Keys become public domains; the condition is checked.

    Privacy: none (touches no data).
    >>> resolve.__name__
    'resolve'
    """
    columns = scope(draft.table, draft.dialect)
    domains = tuple(domain(key, columns, limit=draft.limit) for key in draft.query.keys)
    groups(domains, limit=draft.limit)
    if draft.query.where is not None:
        condition(draft.query.where, columns)
    return replace(draft, domains=domains)


def bound_contribution(draft: Draft) -> Draft:
    """How many rows and groups one unit can touch, from the schema and the question's options.

    Privacy: none (touches no data).
    >>> bound_contribution.__name__
    'bound_contribution'
    """
    rows = draft.table.rows_per_unit
    most = draft.query.options.max_groups_contributed or rows
    contribution = Contribution(
        rows_per_unit=rows,
        groups_per_unit=min(rows, most),
        groups_in_all=prod(len(domain.codes) for domain in draft.domains),
        relation=draft.table.neighbours,
    )
    return replace(draft, contribution=contribution)


def measure(draft: Draft) -> Draft:
    """The sums and counts that all aggregates together need, each of them once.

    Privacy: none (touches no data).
    >>> measure.__name__
    'measure'
    """
    assert draft.contribution is not None
    columns = scope(draft.table, draft.dialect)
    aggregates = list(dict.fromkeys(_aggregates(draft.query)))
    if not aggregates:
        raise UnsafeQuery("the question has no aggregate; ask for COUNT(*), SUM or AVG.")
    summed = frozenset(
        bounded(aggregate.argument, columns).sql
        for aggregate in aggregates
        if aggregate.statistic is Statistic.SUM and aggregate.argument is not None
    )
    measures = Measures(columns, draft.contribution, summed)
    estimators = tuple((each, measures.estimator(each)) for each in aggregates)
    return replace(draft, measures=tuple(measures.found), estimators=estimators)


def choose_mechanism(draft: Draft) -> Draft:
    """The noise of every measure, and what all of it costs.

    Privacy: `cost` is the sum of the losses of the chosen mechanisms.
    >>> choose_mechanism.__name__
    'choose_mechanism'
    """
    price = draft.price
    count = len(draft.measures)
    parts = price if isinstance(price, tuple) else (shared(price, count),) * count
    noises = tuple(map(choose, draft.measures, parts))
    cost = paid(draft.measures, noises, parts[0])
    return replace(draft, prices=parts, noises=noises, cost=cost)


def emit(draft: Draft) -> Draft:
    """The one statement that the engine will run.

    Privacy: none (touches no data).
    >>> emit.__name__
    'emit'
    """
    columns = tuple(dict.fromkeys(sql for each in draft.measures for _, sql in each.terms))
    sql = statement(
        query=draft.query,
        table=draft.table,
        relation=draft.relation,
        domains=draft.domains,
        columns=columns,
        dialect=draft.dialect,
    )
    return replace(draft, engine_columns=columns, sql=sql)


RULES: tuple[Rule, ...] = (resolve, bound_contribution, measure, choose_mechanism, emit)
"""The way from a question to a plan."""


def plan(draft: Draft) -> Plan:
    """Apply all rules.

    Privacy: none (touches no data).
    >>> plan.__name__
    'plan'
    """
    for rule in RULES:
        draft = rule(draft)
    assert draft.contribution is not None
    assert draft.cost is not None
    return Plan(
        query=draft.query,
        table=draft.table,
        domains=draft.domains,
        contribution=draft.contribution,
        measures=draft.measures,
        estimators=draft.estimators,
        prices=draft.prices,
        noises=draft.noises,
        cost=draft.cost,
        engine_columns=draft.engine_columns,
        sql=draft.sql,
        limit=draft.limit,
        question=draft.question,
        behind=draft.behind,
        dialect=draft.dialect,
    )


def remade(made: Plan, *, table: Table, relation: str, dialect: str = "duckdb") -> Plan:
    """The plan that the same question at the same prices gives for a table as it is now.

    Privacy: none (touches no data); what differs from it must not be run.
    >>> remade.__name__
    'remade'
    """
    return plan(
        Draft(
            query=made.query,
            table=table,
            price=made.prices,
            relation=relation,
            question=made.question,
            behind=made.behind,
            dialect=dialect,
        )
    )


def _aggregates(query: Query) -> Iterator[Aggregate]:
    for output in query.outputs:
        yield from _within(output.expression)
    if query.having is not None:
        yield from _within(query.having)
    for order in query.order:
        yield from _within(order.expression)


def _within(expression: Expression) -> Iterator[Aggregate]:
    match expression:
        case Aggregate():
            yield expression
        case Arithmetic(_, left, right) | Compare(_, left, right):
            yield from _within(left)
            yield from _within(right)
        case Junction(_, parts):
            for part in parts:
                yield from _within(part)
        case Negation(operand) | Member(operand, _):
            yield from _within(operand)
