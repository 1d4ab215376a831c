"""What the rules fill in, and what comes out: a draft, and a plan without gaps.
Two types, so that a plan without a mechanism cannot exist. Nothing here touches data.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.loss import Price
from discreet.mechanisms.priced import Noise
from discreet.plan.parts.candidates import CandidateQuery, Choice, QuantileMethod
from discreet.plan.parts.keys import KeyDomain, groups
from discreet.plan.parts.measures import Chosen, Contribution, Estimator, Measure
from discreet.plan.parts.patience import ENGINE_SECONDS, GRID_SECONDS, whole_steps, working_seconds
from discreet.plan.parts.remarks import Note, Suggestion
from discreet.plan.parts.selection import Ranking, Selection
from discreet.query.algebra import Aggregate, Query
from discreet.schema.table import Table

__all__ = ["Draft", "GROUP_LIMIT", "Plan", "Views"]

GROUP_LIMIT = 100_000
"""How many public groups one question may have."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """Everything that will happen when a question is asked, and what it costs.

    `table` describes the rows that are aggregated: a registered table, or what joins and subqueries
    make of the registered `tables`. Prices belong to the measures, then the candidate queries, then
    the selection if it has one of its own. `assumed_rows` is how many rows the analyst takes a
    group to have; with it, `ways` holds the quantile method of each candidate query. A join gives
    one unit at most `joined_rows`, or as many as a side has; `work` is the most rows of one unit
    that all steps of the statement together read and make; `engine_seconds` is what reading the
    tables may take, by declared facts, and `grid_seconds` the step of remote sessions.
    Privacy: running it and adding the noise costs `cost` for the table's privacy unit and
    neighbouring relation.
    """

    query: Query
    tables: tuple[Table, ...]
    table: Table
    domains: tuple[KeyDomain, ...]
    contribution: Contribution
    ranking: Ranking | None
    measures: tuple[Measure, ...]
    estimators: tuple[tuple[Aggregate, Estimator | Chosen], ...]
    picks: tuple[CandidateQuery, ...]
    prices: tuple[Price, ...]
    noises: tuple[Noise, ...]
    choices: tuple[Choice, ...]
    ways: tuple[QuantileMethod, ...]
    assumed_rows: int | None
    selection: Selection | None
    cost: Price
    delta: Fraction | None
    engine_columns: tuple[str, ...]
    sql: str
    limit: int
    question: str
    counts_for: str  # the column whose count this is, when a count was bought for another question
    dialect: str
    joined_rows: int
    work: int
    engine_seconds: Fraction = ENGINE_SECONDS["prepared"]
    grid_seconds: Fraction = GRID_SECONDS
    views: "Views" = field(compare=False)

    def __repr__(self) -> str:
        return self.views.summary(self)

    @property
    def blocks(self) -> "tuple[Plan, ...]":
        """The private blocks of the question: this one alone."""
        return (self,)

    @property
    def statements(self) -> tuple[str, ...]:
        """What the engine runs on exact rows."""
        return (self.sql,)

    def facts(self, count: int | None = None) -> dict[str, Any]:
        """Everything public about it, ready for JSON; `count` assumes the rows of a group."""
        return self.views.facts(self, count)

    @property
    def error(self) -> dict[str, float | None]:
        """The 95% half-width of every column; None where it depends on a secret count."""
        return self.views.error(self)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the answer will leave out and bound, and what its intervals will be about."""
        return self.views.notes(self)

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """Lower limits on what one unit contributes that would at least halve the noise."""
        return self.views.suggestions(self, None)

    def suggest(self, count: int | None) -> tuple[Suggestion, ...]:
        """The same, with the errors of averages where a group has so many rows."""
        return self.views.suggestions(self, count)

    @property
    def working_seconds(self) -> Fraction:
        """How long the engine and the noise may take, before it becomes whole steps of time."""
        return working_seconds(
            query=self.query,
            tables=self.tables,
            domains=self.domains,
            measures=len(self.measures),
            picks=self.picks,
            sql=self.sql,
            work=self.work,
            engine_seconds=self.engine_seconds,
        )

    @property
    def answer_seconds(self) -> Fraction:
        """How long after the charge a remote answer can be seen, in whole steps of time."""
        return whole_steps(self.working_seconds, self.grid_seconds)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The engine codes of every public group, in order; none while keys are private."""
        return groups(self.domains, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Views:
    """What follows from a plan's fields, and how its question is planned with another limit.

    The pipeline hands these functions to every plan, so that they may know plans.
    """

    error: Callable[[Plan], dict[str, float | None]]
    notes: Callable[[Plan], tuple[Note, ...]]
    suggestions: Callable[[Plan, int | None], tuple[Suggestion, ...]]
    summary: Callable[[Plan], str]
    facts: Callable[[Plan, int | None], dict[str, Any]]
    replan: "Callable[[Draft], Plan]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A plan in the making: each rule fills in what it decides.

    `table` and `relation` are those of the first table the question reads, `kept` says whether
    totals are kept beside it; `others` are those of the rest. `integer_units` names the tables
    whose unit is an integer in the engine. `delta` is what private keys may cost. Given methods in
    `ways` are used where they are proved; without them `assumed_rows` rows of a group decide.
    `joined_rows` stands for the tables' own limits of joins, where a stored release is read again.

    Privacy: `cost` is what running the plan will cost, for the table's privacy unit and
    neighbouring relation.
    """

    query: Query
    table: Table
    price: Price | tuple[Price, ...]
    delta: Fraction | None = None
    limit: int = GROUP_LIMIT
    relation: str = '"prepared"'
    kept: str = ""
    others: tuple[tuple[Table, str], ...] = ()
    integer_units: tuple[str, ...] = ()
    question: str = ""
    counts_for: str = ""
    dialect: str = "duckdb"
    joined_rows: int | None = None
    work: int = 0
    engine_seconds: Fraction = ENGINE_SECONDS["prepared"]
    grid_seconds: Fraction = GRID_SECONDS
    tables: tuple[Table, ...] = ()
    domains: tuple[KeyDomain, ...] = ()
    contribution: Contribution | None = None
    ranking: Ranking | None = None
    measures: tuple[Measure, ...] = ()
    estimators: tuple[tuple[Aggregate, Estimator | Chosen], ...] = ()
    picks: tuple[CandidateQuery, ...] = ()
    prices: tuple[Price, ...] = ()
    noises: tuple[Noise, ...] = ()
    choices: tuple[Choice, ...] = ()
    ways: tuple[QuantileMethod, ...] = ()
    assumed_rows: int | None = None
    selection: Selection | None = None
    cost: Price | None = None
    engine_columns: tuple[str, ...] = ()
    sql: str = ""

    @property
    def counted(self) -> str:
        """The engine's number of distinct units in a group."""
        return "COUNT(*)" if self.table.unit is None else 'COUNT(DISTINCT "$unit")'

    @property
    def private(self) -> bool:
        """Whether some keys are not known in advance."""
        return any(domain.private for domain in self.domains)
