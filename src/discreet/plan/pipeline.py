"""Query to Plan, one rule after the other. A Plan is complete: everything is decided before a row
is read. Nothing here touches data.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from math import prod

from discreet.errors import UnsafeQuery
from discreet.loss import Loss, Pure
from discreet.plan.model import GROUP_LIMIT, Draft, Plan
from discreet.plan.rules.aggregates import aggregates_of, ordering
from discreet.plan.rules.candidates import Pick, choice_loss, fraction_of, moved_counts, pick
from discreet.plan.rules.keys import check_groups, domain
from discreet.plan.rules.measures import Chosen, Contribution, Estimator, Measures, noticeable
from discreet.plan.rules.patience import ENGINE_SECONDS, GRID_SECONDS
from discreet.plan.rules.price import Price, choose, paid, shared
from discreet.plan.rules.quantile_method import decided
from discreet.plan.rules.selection import (
    Selection,
    kept_keys,
    leading,
    ranking,
    selection_loss,
    shown_keys,
)
from discreet.plan.rules.sources import MOST_ROWS, limited_rows, rowset
from discreet.plan.rules.split import Errors, least_product
from discreet.plan.sql.dialect import dialect_of
from discreet.plan.sql.emit import statement
from discreet.plan.sql.expressions import bounded, condition, scope
from discreet.query.algebra import Aggregate, Scan, Statistic
from discreet.query.readers.naming import free_name
from discreet.schema.table import JOINED_ROWS, Table

__all__ = [
    "Draft",
    "GROUP_LIMIT",
    "Plan",
    "RULES",
    "Rule",
    "bound_contribution",
    "choose_groups",
    "choose_mechanism",
    "emit",
    "errors_at_price",
    "measure",
    "measured",
    "plan",
    "read",
    "remade",
    "resolve",
]

_PICKED = (Statistic.QUANTILE, Statistic.MINIMUM, Statistic.MAXIMUM, Statistic.MODE)


Rule = Callable[[Draft], Draft]
"""One decision on the way to a plan."""


def read(draft: Draft) -> Draft:
    """The rows that are aggregated: one table, or what joins and subqueries make of several."""
    tables = (draft.table, *(table for table, _ in draft.others))
    if tuple(each.name for each in tables) != draft.query.tables:  # the first private one pays
        raise UnsafeQuery("the tables are not those of the question. Nothing was run or charged.")
    source, most = draft.query.source, draft.query.options.max_rows_contributed
    plain = isinstance(source, Scan) and not source.names
    limits = [each.joined_rows_per_unit for each in tables if each.kind != "public"]
    limit = draft.joined_rows or min(limits, default=JOINED_ROWS)
    draft = replace(draft, tables=tables, joined_rows=limit)
    if plain and (most is None or most >= draft.table.rows_per_unit):
        return replace(draft, work=draft.table.rows_per_unit)
    relations = (draft.relation, *(relation for _, relation in draft.others))
    known = {each.name: (each, text) for each, text in zip(tables, relations, strict=True)}
    rows = rowset(
        source,
        known,
        draft.dialect,
        draft.integer_units,
        joined_rows=limit,
        most_rows=most,
    )
    if most is not None:
        rows = limited_rows(rows, most, draft.dialect)
    if rows.rows_per_unit is None or rows.rows_per_unit > MOST_ROWS:
        raise UnsafeQuery(
            "nothing bounds how many rows one person has after the join. Join on the declared key "
            "of a public table. Nothing was charged."
        )
    private = next(each for each in tables if each.kind != "public")
    made = replace(
        private,
        source=None,
        unit=rows.unit and free_name(rows.unit, (column.name for column in rows.columns)),
        rows_per_unit=rows.rows_per_unit,
        columns=rows.columns,
    )
    relation = dialect_of(draft.dialect).derived(rows.select, "source")
    return replace(draft, tables=tables, table=made, relation=relation, kept="", work=rows.work)


def resolve(draft: Draft) -> Draft:
    """Keys become public domains; the condition is checked."""
    columns = scope(draft.table, draft.dialect)
    domains = tuple(domain(key, columns, limit=draft.limit) for key in draft.query.keys)
    check_groups(domains, limit=draft.limit)
    if draft.query.where is not None:
        condition(draft.query.where, columns)
    private = any(each.private for each in domains)
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
    """Whether the leading groups are chosen first, which leaves fewer groups to add noise to.

    Privacy: none (touches no data); public facts alone decide.
    """
    assert draft.contribution is not None
    wanted = ordering(draft.query)
    first = draft.price[0] if isinstance(draft.price, tuple) else draft.price
    if wanted is None or draft.private or not draft.query.limit:
        return draft
    found = ranking(
        draft.contribution,
        wanted,
        [found for each in draft.query.outputs for found in aggregates_of(each.expression)],
        count=draft.query.limit,
        kind=type(first),
        counted=draft.counted if wanted.statistic is Statistic.UNITS else "COUNT(*)",
    )
    if found is None:
        return draft
    narrowed = replace(draft.contribution, groups_in_all=found.count)
    return replace(draft, ranking=found, contribution=narrowed)


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


def _picks(draft: Draft, aggregates: list[Aggregate]) -> list[tuple[tuple[Aggregate, ...], Pick]]:
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


def errors_at_price(draft: Draft, kind: type[Price]) -> tuple[Errors, int]:
    """How the statistics of a question depend on the prices of its parts, and how many parts."""
    count = len(draft.measures) + len(draft.picks)
    parts: list[dict[int, float]] = []
    for _, estimator in draft.estimators:
        if isinstance(estimator, Chosen):
            parts.append({len(draft.measures) + estimator.pick: 1.0})
            continue
        shares: dict[int, float] = {}
        for place, factor in zip(estimator.positions, estimator.influence(), strict=True):
            shares[place] = shares.get(place, 0.0) + factor * draft.measures[place].size
        parts.append(shares)
    if draft.ranking is not None or (draft.private and _thresholded(draft) is None):
        parts.append({count: 1.0})
        count += 1
    return Errors(parts, power=1.0 if kind is Pure else 0.5), count


def _thresholded(draft: Draft) -> int | None:
    """The measure whose noisy number of units decides which keys are shown, if it is asked for."""
    single = draft.table.rows_per_unit == 1  # then rows are units
    counted = (draft.counted, "COUNT(*)") if single else (draft.counted,)
    for place, each in enumerate(draft.measures):
        if each.terms in [((1, sql),) for sql in counted]:
            return place
    return None


def choose_mechanism(draft: Draft) -> Draft:
    """The noise of every measure, how values and groups are chosen, and what all of it costs.

    Privacy: `cost` is the sum of the losses of the chosen mechanisms [DR14, Cor. 3.15],
    [BS16, Lemma 1.7].
    """
    price = draft.price
    if not isinstance(price, tuple):
        errors, count = errors_at_price(draft, type(price))
        price = tuple(shared(price, share) for share in least_product(errors, count))
    measured, picked = len(draft.measures), len(draft.picks)
    noises = tuple(map(choose, draft.measures, price[:measured]))
    draft = decided(draft, price[measured : measured + picked])
    draft = replace(draft, prices=price, noises=noises)
    selection = _selection(draft, price[-1])
    losses: list[Loss] = [
        noise.loss(noticeable(each.sensitivity))
        for noise, each in zip(noises, draft.measures, strict=True)
    ]
    pairs = zip(draft.picks, draft.choices, strict=True)
    losses += [choice_loss(*pair, price[0]) for pair in pairs]
    if selection is not None:
        losses.append(selection_loss(selection, draft.measures, price[0]))
    return replace(draft, selection=selection, cost=paid(losses, price[0]))


def _selection(draft: Draft, price: Price) -> Selection | None:
    if draft.ranking is not None:
        return leading(draft.ranking, price)
    if not draft.private:
        return None
    assert draft.contribution is not None
    place = _thresholded(draft)
    if place is None:
        return kept_keys(draft.contribution, price, counted=draft.counted, delta=draft.delta)
    return shown_keys(
        draft.measures[place],
        place,
        draft.noises[place],
        counted=draft.measures[place].terms[0][1],
        delta=draft.delta,
    )


def emit(draft: Draft) -> Draft:
    """The one statement that the engine will run."""
    needed = [sql for each in draft.measures for _, sql in each.terms]
    if draft.selection is not None:
        needed.append(draft.selection.counted)
    columns = tuple(dict.fromkeys(needed))
    sql = statement(
        query=draft.query,
        table=draft.table,
        relation=draft.relation,
        domains=draft.domains,
        columns=columns,
        picks=draft.picks,
        kept=draft.kept,
        dialect=draft.dialect,
    )
    return replace(draft, engine_columns=columns, sql=sql)


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


def measured(draft: Draft) -> Draft:
    """Apply the rules up to `measure`: what has to be released is known, its price is not."""
    for rule in RULES[: RULES.index(measure) + 1]:
        draft = rule(draft)
    return draft


def plan(draft: Draft) -> Plan:
    """Apply all rules."""
    for rule in RULES:
        draft = rule(draft)
    return Plan(**{each.name: getattr(draft, each.name) for each in fields(Plan)})


def remade(
    made: Plan,
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

    Privacy: none (touches no data); what differs from it must not be run.
    """
    return plan(
        Draft(
            query=made.query,
            table=table,
            price=made.prices,
            delta=made.delta,
            relation=relation,
            others=others,
            integer_units=integer_units,
            kept=kept,
            limit=limit,
            question=made.question,
            behind=made.behind,
            ways=made.ways,
            supposed=made.supposed,
            dialect=dialect,
            engine_seconds=engine_seconds,
            grid_seconds=grid_seconds,
        )
    )
