"""One analyst's session with the curator: questions, prices, answers, and what services need.
Everything that touches data goes through `access`.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from discreet.curator.access import Access
from discreet.curator.answer import Answer
from discreet.curator.bounds import Bounds, Buckets
from discreet.curator.interrupts import STORED, finishing
from discreet.curator.measurement import Measurement, Prepared
from discreet.curator.planning import Planner, find_payer, read_versions
from discreet.curator.pricing import ONE_PRICE, price_in_text, price_of
from discreet.curator.question import Question
from discreet.curator.replay import is_complete, replay
from discreet.curator.results.block_record import release_key
from discreet.curator.runs.pacing import ResponseGrid
from discreet.curator.snapshot import tables_of
from discreet.curator.tables.warehouse import Warehouse
from discreet.errors import (
    DiscreetError,
    InvalidValue,
    Unanswered,
    Unavailable,
    UnprovableRequest,
    UnsafeQuery,
    with_article,
)
from discreet.ledger.account import Account, Holder, Remaining, round_up, takes_nothing
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.history import Charged
from discreet.ledger.releases import Release
from discreet.ledger.requests import Request, unanswered_text
from discreet.ledger.states import Change, OwnStates
from discreet.ledger.vault import Vault
from discreet.loss import Loss, Price
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.parts.patience import GRID_SECONDS
from discreet.plan.pipeline import GROUP_LIMIT, Draft, Plan, plan
from discreet.plan.rules.sources import MOST_ROWS
from discreet.plan.target import COUNTED, assume_count, count_behind, price_for_error, worth_reusing
from discreet.query.literals import refuse_unknown_values
from discreet.rationals import Number
from discreet.schema.described import Tables
from discreet.schema.table import Table
from discreet.upper.plan import StatementPlan
from discreet.upper.reading.split import Statement

__all__ = ["Session"]

_COUNT_EPSILON = Fraction(1, 20)  # what a count bought for an error target costs
_STORING_SECONDS = 1.0  # what keeping an outcome may take, once it can be seen
_Result = TypeVar("_Result")


class Session:
    """One analyst's session with the curator.

    Privacy: every answer is charged to the analyst's and the population's budget.
    """

    __slots__ = ("_access", "_grid", "_planner", "_vault", "_warehouse", "name")

    def __init__(
        self,
        vault: Vault,
        warehouse: Warehouse,
        name: str,
        *,
        grid: ResponseGrid | None = None,
        grid_seconds: Fraction = GRID_SECONDS,
        most_groups: int = GROUP_LIMIT,
    ) -> None:
        self._vault = vault
        self._warehouse = warehouse
        self._grid = grid
        self._planner = Planner(vault, warehouse, name, grid_seconds, most_groups)
        self._access = Access(vault, warehouse, name, grid)
        self.name = name

    @property
    def remaining(self) -> Remaining:
        """What the analyst's own budget still admits."""
        return self._vault.ledger.remaining(Holder.ANALYST, self.name)

    @property
    def tables(self) -> Tables:
        """The tables by name: columns, bounds, keys, notes, what may be asked, budget left."""
        return tables_of(self._vault.ledger, self._warehouse.tables().values(), self.name)

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
        max_groups_contributed: int | None = None,
        max_rows_contributed: int | None = None,
    ) -> Plan | StatementPlan:
        """The plan of a question: cost, error, mechanism and SQL. Costs nothing.

        Give one price: epsilon, rho, or the error wanted; `Question` says what the terms mean.

        Privacy: reads the schema and the accounts, no row.
        """
        question = Question(
            sql=sql,
            epsilon=epsilon,
            rho=rho,
            error=error,
            count=count,
            delta=delta,
            max_groups_contributed=max_groups_contributed,
            max_rows_contributed=max_rows_contributed,
        ).write_limits()
        planned = self._plan(question)
        payers, floor = self._planner.find_payers(planned.tables), self._vault.ledger.floor
        if isinstance(planned, StatementPlan):
            self._warehouse.upper.check(planned)
        try:
            for block in planned.blocks:
                refuse_unknown_values(block.query, block.tables)
            if not takes_nothing(planned.cost):
                floor.check(payers, planned.cost, label="The price of this question")
        except DiscreetError:
            if self._access.find(planned) is None:  # what was released before is free, and is shown
                raise
        return planned

    def _plan(self, question: Question) -> Plan | StatementPlan:
        """The plan at its price, even one below the least of new charges: it may be stored."""
        rho, error, count = question.rho, question.error, question.count
        if error is None or isinstance(self._planner.read(question.sql), Statement):
            return self._planner.plan_question(question)
        draft, analyst, kind = self._planner.draft(question.sql, delta=question.delta)
        options = draft.query.options
        epsilon = price_in_text(options, analyst, epsilon=question.epsilon, rho=rho, error=error)
        if epsilon is not None or rho is not None:
            raise InvalidValue(ONE_PRICE)
        return self._raise_to_least(draft, price_for_error(draft, error, kind, count), kind, count)

    def _raise_to_least(
        self, draft: Draft, planned: Plan, kind: type[Price], count: int | None = None
    ) -> Plan:
        """The plan, or that of the least price of a new charge where it costs less and its answer
        was not released before.
        """
        payers, floor = self._planner.find_payers(planned.tables), self._vault.ledger.floor
        if floor.admits(payers, planned.cost) or self._access.find(planned) is not None:
            return planned
        return plan(replace(draft, price=floor.least(payers, kind), assumed_rows=count))

    def sql(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
        max_groups_contributed: int | None = None,
        max_rows_contributed: int | None = None,
        key: str | None = None,
    ) -> Answer:
        """Ask a question and pay for it; the same question again is free.

        A `key` of your own makes the request safe to send again: what came of it, an answer or a
        failure after the charge, is replayed, whatever has changed, and charged once.
        An error wanted of an average, without an assumed count, takes the most exact noisy count
        that was released before, or buys one first for epsilon 0.05 (`answer.bought`) where that
        may cost less: the low end of its interval in the smallest group that is not too near to
        empty to tell; nearly empty groups show their own wide intervals.
        Privacy: `explain` with the same arguments shows the guarantee and its cost; a bought
        count is a charge of its own.
        """
        question = Question(
            sql=sql,
            epsilon=epsilon,
            rho=rho,
            error=error,
            count=count,
            delta=delta,
            max_groups_contributed=max_groups_contributed,
            max_rows_contributed=max_rows_contributed,
        ).write_limits()
        if key is None:
            return self._ask(question, None)
        request = question.request(key)
        with self._warehouse.turns.of((self.name, request)):
            self._await(request)
            known = self._vault.requests.find(self.name, request)
            if known is None:
                return self._ask(question, request)
            if isinstance(known, Release):
                return replay(known) if is_complete(known) else self._complete(known, question)
            return self._finish(known, question)

    def _ask(self, question: Question, request: Request | None) -> Answer:
        question, bought = self._add_count(question, self._buy)
        try:
            answer = self._run(self._plan(question), request)
        except DiscreetError as refusal:
            earlier = self._find_earlier(question, refusal)
            if earlier is not None:
                return earlier
            if bought is None or bought.free:
                raise
            raise type(refusal)(
                "A noisy count was bought first and stays charged; asked again it is free. About "
                f"the question itself: {refusal}"
            ) from None
        answer.bought = bought
        return answer

    def _buy(self, counted: Plan) -> Answer:
        """The count behind an average: the question itself is not paid for yet."""
        with finishing(words=STORED):
            return self.run(counted)

    def _finish(self, paid: Charge, question: Question) -> Answer:
        """The answer that a charge paid for and that was cut off before anybody saw it; or, where
        that question has another price, table or state of the data by now, its end for good.
        """
        bought = None
        try:
            question, bought = self._add_count(question, _buy_nothing)
            planned = self._plan(question)
            same = self._pays(paid, planned)
        except Unavailable:
            raise  # it may pass: a source that is unreachable, a ledger under repair
        except DiscreetError:
            same = False
        if not same:
            cut = Unavailable("The request was cut off, and tables or accounts have changed since.")
            first = self._vault.requests.fail(paid, cut)
            if first is not None:
                return replay(first)
            raise Unanswered(unanswered_text(paid, str(cut)))
        answer = self._run(planned, paid=paid)
        answer.bought = bought
        return answer

    def _complete(self, known: Release, question: Question) -> Answer:
        """The answer of a statement whose blocks were released and whose upper part failed."""
        planned = self._plan(question)
        stored = self._access.find(planned)
        if stored is None or stored.key != known.key:
            raise Unavailable(
                "the part of this statement above the released numbers failed, and tables or "
                "accounts have changed since. Ask it without the key. Nothing more was charged."
            )
        return self._run(planned)

    def _pays(self, paid: Charge, planned: Plan | StatementPlan) -> bool:
        """Whether a charge is the one that this plan would make now."""
        versions = read_versions(self._warehouse, planned)
        return (
            self._access.is_price(planned, paid)
            and find_payer(planned.tables).population == paid.population
            and ", ".join(map(str, versions)) == paid.memo.get("data_version")
            and not self._vault.requests.was_adopted_since(paid)
        )

    def _find_earlier(self, question: Question, refusal: DiscreetError) -> Answer | None:
        """What was released when joins had no limit, for a question that is refused now."""
        if not isinstance(refusal, UnsafeQuery):
            return None
        try:
            planned = self._planner.plan_question(question, joined_rows=MOST_ROWS)
        except DiscreetError:
            return None
        stored = self._access.find(planned)
        return None if stored is None else replay(stored)

    def _add_count(
        self, question: Question, buy: Callable[[Plan], Answer]
    ) -> tuple[Question, Answer | None]:
        """The question with the count that its error needs, and the answer that released it."""
        error = question.error
        if error is None or not question.needs_count:
            return question, None
        if isinstance(self._planner.read(question.sql), Statement):
            return question, None  # its columns need no count, or have no known error
        bought, intervals = self._find_count(question.sql, error, question.delta, buy)
        if bought is None:
            return question, None
        return replace(question, count=assume_count(intervals)), bought

    def _find_count(
        self,
        sql: str,
        error: Number | Mapping[str, Number],
        delta: Number | None,
        buy: Callable[[Plan], Answer],
    ) -> tuple[Answer | None, list[tuple[float, float]]]:
        """A released count of the values behind an average, or one bought now; None if no need."""
        draft, analyst, kind = self._planner.draft(sql, delta=delta)
        price_in_text(draft.query.options, analyst, epsilon=None, rho=None, error=error)
        counted = count_behind(draft, error)
        if counted is None:
            return None, []
        price = price_of(analyst, kind, epsilon=_COUNT_EPSILON)
        planned = self._raise_to_least(counted, plan(replace(counted, price=price)), kind)
        if planned.selection is not None:
            raise UnprovableRequest(
                "the error of an average depends on how many rows a group has, and which groups "
                "there are is not public. Assume a number with count=, or name a price. "
                "Nothing was run or charged."
            )
        known = self._find_released_count(
            planned, lambda count: price_for_error(draft, error, kind, count)
        )
        if known is not None:
            return known
        refuse_unknown_values(draft.query, planned.tables)
        bought = buy(planned)
        return bought, [row[COUNTED] for row in bought.intervals()]

    def _find_released_count(
        self, wanted: Plan, plan_at: Callable[[int], Plan]
    ) -> tuple[Answer, list[tuple[float, float]]] | None:
        """The most exact released count, if buying one would not make the question cheaper.

        A count whose answer was paid for already comes before all others, so that the same
        question stays the same whatever is released in between. How exact a count is does not
        depend on its value: the largest of several would be too large too often.
        """
        versions = read_versions(self._warehouse, wanted)
        known = [
            (old, intervals)
            for old in self._answers()
            if old.receipt.data_version == ", ".join(map(str, versions))
            and (intervals := old.counted(wanted)) is not None
        ]
        usable: list[tuple[Answer, list[tuple[float, float]], Plan]] = []
        for old, intervals in known:
            with contextlib.suppress(InvalidValue):  # no price reaches it in groups that small
                planned = plan_at(assume_count(intervals))
                usable.append((old, intervals, planned))
        for old, intervals, planned in usable:
            key = release_key(planned, versions)
            if self._vault.releases.find(key, analyst=self.name) is not None:
                return old, intervals
        if not usable:
            return None
        old, intervals, planned = min(usable, key=lambda known: max(b - a for a, b in known[1]))
        return (old, intervals) if worth_reusing(intervals, wanted, planned, plan_at) else None

    def bounds(
        self, table: str, column: str, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> Bounds:
        """Estimate the bounds of a number column from a noisy histogram of powers of two.

        Privacy: the histogram's, one charged question; the bounds are post-processing.
        """
        buckets = Buckets.of(self._warehouse.tables(), table, column)
        return buckets.bounds(self.sql(buckets.question, epsilon=epsilon, rho=rho))

    def run(self, plan: Plan) -> Answer:
        """Run a plan: the stored release if this was asked before, else charge, run, noise.

        The plan's cost; a stored release is post-processing.
        """
        raw: object = plan
        if not isinstance(raw, Plan):
            raise InvalidValue(
                f"run takes what explain made, not {with_article(type(raw).__name__)}; for a "
                "question as text, write session.sql(...). Nothing was run or charged."
            )
        self._planner.check(plan, most_groups=self._planner.most_groups)
        return self._run(plan)

    @property
    def schemas(self) -> dict[str, Table]:
        """The schemas of the tables by name: public facts."""
        return self._warehouse.tables()

    @property
    def account(self) -> Account:
        """The analyst's own account: what was granted, and what is spent."""
        return self._vault.ledger.account(Holder.ANALYST, self.name)

    @property
    def states(self) -> OwnStates:
        """Where this analyst's services keep what they must not forget."""
        return OwnStates(self._vault.states, self.name)

    def prepare(self, sql: str, *, most_groups: int | None = None) -> Plan:
        """The plan of a statement for a measurement: public groups only, sums and counts only.

        `most_groups` lets a measurement that reads cells have more groups than could be listed.
        """
        return self._planner.prepare(sql, most_groups=most_groups)

    def plan_question(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        count: int | None = None,
        ways: tuple[QuantileMethod, ...] = (),
    ) -> Plan:
        """The plan of a question that is a part of a larger charge, or selects its quantiles by
        given methods: it has no least price.

        Privacy: reads the schema and the accounts, no row.
        """
        question = Question(sql=sql, epsilon=epsilon, rho=rho, count=count)
        planned = self._planner.plan_question(question, ways=ways)
        if isinstance(planned, StatementPlan):
            raise UnsafeQuery("a part of a larger charge is one question, without another above.")
        return planned

    def price(
        self, plan: Plan, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> Price:
        """What a price means for the accounts that will pay: Pure, or ZCDP at their conversion.

        Privacy: the rho is rounded down: it converts to at most epsilon [CKS20, Cor. 13].
        """
        _, analyst, kind = self._planner.draft(plan.question)
        return price_of(analyst, kind, epsilon=epsilon, rho=rho)

    def choose_delta(self, plan: Plan, *, delta: Number | None = None) -> Fraction | None:
        """What steps that may fail can cost in delta, by default a tenth of what the accounts keep
        for them; None under a pure budget.
        """
        return self._planner.draft(plan.question, delta=delta)[0].delta

    def read_versions(self, plan: Prepared) -> tuple[int, ...]:
        """The public data versions of the plan's tables, for services that stay with one."""
        return read_versions(self._warehouse, plan)

    def check_room(self) -> None:
        """Refuse an analyst whose account is full, before a state moves on that nothing is charged
        for.
        """
        self._vault.ledger.check_quota(self.name)

    def check_charge(self, plan: Plan, cost: Loss, *, label: str) -> None:
        """Refuse, in a preview, what a charge would refuse whatever is left: a price below the
        least, and constants that a column cannot have.
        """
        refuse_unknown_values(plan.query, plan.tables)
        payers = self._planner.find_payers(plan.tables)
        self._vault.ledger.floor.check(payers, round_up(cost), label=label)

    def prepay(
        self,
        plan: Plan,
        *,
        cost: Loss,
        label: str,
        state: Change | None = None,
        details: Mapping[str, str] | None = None,
    ) -> Charge:
        """Pay ahead, touching no data: a run begins. The state moves on in the same transaction.

        Charges both budgets before anything that `cost` pays for.
        """
        self._planner.check(plan)
        return self._access.prepay(plan, cost=cost, label=label, state=state, details=details)

    def measure(
        self,
        measurement: Measurement[_Result],
        *,
        state: Change | None = None,
        versions: tuple[int, ...] | None = None,
    ) -> tuple[Charge | None, _Result]:
        """Charge, run the statement, release. Nothing exact leaves, whatever fails.

        A `state` moves on with the charge, before a row is read; without a charge, by itself, also
        before. `versions` pins the measurement to a state of the data. The measurement's cost, for
        the privacy unit and neighbouring relation of its table; a failure after the charge keeps
        it.
        """
        self._planner.check(measurement.plan)
        return self._access.measure(measurement, state=state, versions=versions)

    def _await(self, request: Request) -> None:
        """Wait for what comes of a request that was charged a moment ago, here or elsewhere."""
        if self._grid is None:
            return
        clock, step = self._grid.clock, float(self._grid.seconds)
        pending = self._vault.requests.pending(self.name, request)
        until = clock.now() + (pending or 0.0) + _STORING_SECONDS
        while pending is not None and clock.now() < until:
            clock.wait(clock.now() + step)
            pending = self._vault.requests.pending(self.name, request)

    def _run(
        self,
        planned: Plan | StatementPlan,
        request: Request | None = None,
        paid: Charge | None = None,
    ) -> Answer:
        with finishing():
            if isinstance(planned, StatementPlan):
                return self._access.answer_statement(planned, request=request, paid=paid)
            return self._access.answer(planned, request=request, paid=paid)

    def history(self, *, after: int = 0, limit: int | None = None) -> tuple[Charged, ...]:
        """Every charge to this analyst, whatever it paid for, in order; or so many after an entry.

        From the ledger itself: their losses add up to what the analyst has spent.
        """
        return self._vault.history.after(after, analyst=self.name, limit=limit)

    @property
    def transcript(self) -> list[Answer | Charged]:
        """Everything this analyst paid for, in order: the answer where one is kept, or the charge.

        As long as `history`: a service, a release or a failure is there by its charge.
        """
        releases = {one.receipt.id: one for one in self._vault.releases.transcript(self.name)}
        answers = {known: replay(one) for known, one in releases.items() if is_complete(one)}
        return [answers.get(charge.receipt.id, charge) for charge in self.history()]

    def _answers(self) -> list[Answer]:
        releases = self._vault.releases.transcript(self.name)
        return [replay(release) for release in releases if is_complete(release)]


def _buy_nothing(plan: Plan) -> Answer:
    raise InvalidValue(f"{plan.question!r:.200} is not known, and nothing is bought now.")
