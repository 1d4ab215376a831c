"""The one door to rows: charge, then the engine, then noise, then the outcome is stored; and what
was stored is replayed. Questions and measurements of services alike go through `Access`, and
exact rows are held by `_read_and_release` alone. Reviewed hardest.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.curator.answer import Answer
from discreet.curator.measurement import Exact, Measurement, Prepared, UnitRows
from discreet.curator.noising import add_noise, add_noises, exact_cells
from discreet.curator.planning import find_payer, read_versions
from discreet.curator.replay import (
    block_keys,
    blocks_in,
    is_complete,
    replay,
    statement_answer,
    statement_body,
    statement_key,
)
from discreet.curator.results.block_record import (
    receipt_of,
    release_body,
    release_key,
    released_from,
)
from discreet.curator.results.block_result import BlockResult
from discreet.curator.runs.lanes import Lane
from discreet.curator.runs.pacing import Late, ResponseGrid
from discreet.curator.runs.payment import Payment
from discreet.curator.runs.together import label_of, names_of, runs_of, with_blocks
from discreet.curator.runs.watched import Watched
from discreet.curator.tables.warehouse import Warehouse
from discreet.engines.protocol import FREE_MESSAGE, MESSAGE, Engine
from discreet.errors import DiscreetError, Unavailable, UnprovableRequest
from discreet.ledger.account import round_up, takes_nothing
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.releases import Release
from discreet.ledger.requests import Request
from discreet.ledger.states import Change
from discreet.ledger.vault import Vault
from discreet.loss import Loss
from discreet.noise.bits import BitSource, system
from discreet.plan.pipeline import Plan
from discreet.plan.results.released import Released, list_groups
from discreet.query.literals import refuse_unknown_values
from discreet.upper.engine import UpperEngine, UpperFailed
from discreet.upper.outcome import Outcome
from discreet.upper.plan import StatementPlan

__all__ = ["Access", "release_rows", "visibility"]

Names = tuple[str, ...]
Versions = tuple[int, ...]
Part = tuple[Engine, Sequence[str]]
"""An engine, and the statements that it runs together."""

_Paid = TypeVar("_Paid")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Access:
    """One analyst's access to the rows of a vault: at once, or on the time grid of a remote
    session.

    On the grid an outcome is seen at a time that is fixed when the charge is durable and before the
    engine runs; nothing of it is stored or shown before. What is not ready by then is never seen.
    Privacy: what it runs is charged before a row is read, and how long the engine took on the grid
    does not show.
    """

    vault: Vault
    warehouse: Warehouse
    analyst: str
    grid: ResponseGrid | None = None

    def answer(
        self,
        plan: Plan,
        *,
        bits: BitSource = system,
        request: Request | None = None,
        paid: Charge | None = None,
    ) -> Answer:
        """Run a plan that was made from the catalogue as it is, or as it was a moment ago.

        The stored release if this was asked before, else charge, run, noise, store. On a grid of
        time a question that is being asked already is waited for, and what came of it is given
        again. `paid` is an earlier charge for this plan of which nothing has come: it is not
        charged again.
        Privacy: the plan's cost; a stored release is post-processing [DR14, Prop. 2.1].
        """
        versions = self._check_record(plan)
        _check_paid(paid, versions)
        key, asker = release_key(plan, versions), self._asker(plan)
        turns = self.warehouse.turns
        with contextlib.nullcontext() if self.grid is None else turns.of((asker, key)):
            stored = self.vault.releases.find(key, analyst=asker)
            if stored is not None and paid is None and self._is_part(stored):
                return self._cite_part(plan, versions, stored, request)
            if stored is not None:
                return self._replay(stored, key, request, paid)
            if paid is None:
                _check_constants(plan)
            measurement = Measurement(
                plan=plan,
                cost=plan.cost,
                label=f"The question about {' and '.join(names_of(plan))}",
                release=lambda exact, fresh: add_noise(plan, exact.rows(), fresh),
            )
            payment = Payment(lambda: self._charge(measurement, versions, request=request), paid)
            self._rehearse(plan)
            try:
                released = self._run(measurement, versions, payment, bits)
            except DiscreetError:
                charged = payment.receipt
                first = None if charged is None else self.vault.releases.paid_by(charged.sequence)
                if first is None:
                    raise
                return replay(first)  # somebody else finished it; that is what came of the charge
            receipt = payment.receipt
            assert receipt is not None
            earlier = self.vault.requests.settle(key, receipt, release_body(released, versions))
            if earlier is not None:
                return replay(earlier)
            return Answer(BlockResult(released), receipt_of(plan, receipt, versions), free=False)

    def answer_statement(
        self,
        plan: StatementPlan,
        *,
        bits: BitSource = system,
        request: Request | None = None,
        paid: Charge | None = None,
    ) -> Answer:
        """Run the blocks of a statement that were not released before, then what stands above.

        All of them are charged together, before any runs, and stored together; a statement whose
        blocks were all released before is an entry that costs nothing. `paid` as in `answer`.
        Privacy: the cost of the blocks that are run; all else is post-processing of releases
        [DR14, Prop. 2.1].
        """
        states = self._check_record(plan)
        _check_paid(paid, states)
        versions = dict(zip(names_of(plan), states, strict=True))
        keys, asker = block_keys(plan, versions), self._asker(plan)
        key, turns = statement_key(plan, keys), self.warehouse.turns
        with contextlib.nullcontext() if self.grid is None else turns.of((asker, key)):
            stored = self.vault.releases.find(key, analyst=asker)
            if stored is not None and is_complete(stored):
                return self._replay(stored, key, request, paid)
            self.warehouse.upper.check(plan)
            known = stored is not None
            if stored is not None and request is not None:
                self.vault.requests.bind(self.analyst, request, stored.receipt)
            with self.warehouse.upper.start() as engine:
                if stored is None:
                    stored = self._release_blocks(plan, key, keys, versions, bits, request, paid)
                blocks = tuple(map(released_from, blocks_in(stored)))
                outcome = self._run_above(engine, plan, blocks)
            body = statement_body(plan, blocks, versions, outcome)
            if stored.receipt.analyst == self.analyst:
                self.vault.releases.store(key, stored.receipt, body)
            answer = statement_answer(plan, blocks, outcome, stored.receipt)
            answer.free = known or takes_nothing(stored.receipt.loss)
            return answer

    def is_price(self, plan: Plan | StatementPlan, paid: Charge) -> bool:
        """Whether a charge is what a plan costs now: of a statement, its own, whichever of its
        blocks it paid for.
        """
        if isinstance(plan, Plan):
            return round_up(plan.cost) == paid.loss
        return paid.memo.get("statement") == self._key(plan, read_versions(self.warehouse, plan))

    def find(self, plan: Plan | StatementPlan) -> Release | None:
        """What a plan released before, to this analyst or to whoever shares with them."""
        self.vault.ledger.check()
        try:
            versions = read_versions(self.warehouse, plan)
        except Unavailable:  # the source has changed or is gone
            return None
        key = self._key(plan, versions)
        return self.vault.releases.find(key, analyst=self._asker(plan))

    def _run_above(
        self, engine: UpperEngine, plan: StatementPlan, blocks: tuple[Released, ...]
    ) -> Outcome:
        """What stands above released blocks; its failure says what was paid and stays."""
        try:
            return self.warehouse.upper.run(engine, plan, blocks)
        except UpperFailed as failure:
            reason = str(failure)
        raise Unavailable(
            f"the part of the statement above the released numbers failed: {reason} The numbers "
            "below it are stored: asking for them again, under any other part, is free."
        )

    def _key(self, plan: Plan | StatementPlan, versions: Versions) -> str:
        if isinstance(plan, Plan):
            return release_key(plan, versions)
        known = dict(zip(names_of(plan), versions, strict=True))
        return statement_key(plan, block_keys(plan, known))

    def _release_blocks(
        self,
        plan: StatementPlan,
        key: str,
        keys: Sequence[str],
        versions: Mapping[str, int],
        bits: BitSource,
        request: Request | None,
        paid: Charge | None,
    ) -> Release:
        """The record of a statement whose blocks are released: those that were not are run now."""
        asker = self._asker(plan)
        known: dict[str, Released] = {}
        for at, block_key in enumerate(keys):
            stored = self.vault.releases.find(block_key, analyst=asker)
            if at in plan.listings:
                known[block_key] = list_groups(plan.blocks[at])
            elif stored is not None:
                known[block_key] = released_from(json.loads(stored.body))
        ran = with_blocks(plan, [at for at, block_key in enumerate(keys) if block_key not in known])
        payment = Payment(lambda: self._charge_blocks(plan, ran, keys, versions, request), paid)
        bodies: dict[str, bytes] = {}
        if ran is None:
            payment.make()
        else:
            for block_key, part in self._run_blocks(ran, versions, payment, bits).items():
                known[block_key] = part
                states = tuple(versions[table.name] for table in part.plan.tables)
                bodies[block_key] = release_body(part, states)
        charged = payment.receipt
        assert charged is not None
        body = statement_body(plan, [known[block_key] for block_key in keys], versions, None)
        earlier = self.vault.requests.settle(key, charged, body, bodies)
        return earlier or Release(key=key, body=body, receipt=charged)

    def _run_blocks(
        self,
        ran: StatementPlan,
        versions: Mapping[str, int],
        payment: Payment,
        bits: BitSource,
    ) -> dict[str, Released]:
        """What each block releases, by its key: of all of them, or of none."""
        for block in ran.blocks:
            _check_constants(block)
            self._rehearse(block)
        places = [place for run in runs_of(ran) for place in run.places]
        in_order = [ran.blocks[place] for place in places]  # as their results come
        measurement = Measurement(
            plan=ran,
            cost=ran.cost,
            label=label_of(ran),
            release=lambda exact, fresh: add_noises(in_order, exact.results(), fresh),
        )
        states = tuple(versions[name] for name in names_of(ran))
        released = self._run(measurement, states, payment, bits)
        keys = block_keys(ran, versions)
        return {keys[place]: part for place, part in zip(places, released, strict=True)}

    def _charge_blocks(
        self,
        plan: StatementPlan,
        ran: StatementPlan | None,
        keys: Sequence[str],
        versions: Mapping[str, int],
        request: Request | None,
    ) -> Charge:
        """One entry for a statement: what its new blocks cost together, or nothing."""
        details = {"statement": statement_key(plan, keys)}
        cost: Loss = plan.cost.share(Fraction(0))
        if ran is not None:
            cost = ran.cost
            details |= visibility(self.grid, ran.working_seconds)
        states = tuple(versions[name] for name in names_of(plan))
        label = label_of(plan)
        return self._write_charge(plan, states, cost, label, details, request=request)

    def prepay(
        self,
        plan: Prepared,
        *,
        cost: Loss,
        label: str,
        state: Change | None = None,
        details: Mapping[str, str] | None = None,
    ) -> Charge:
        """Pay ahead, touching no data; see `Session.prepay`.

        Charges both budgets before anything that `cost` pays for.
        """
        versions = self._check_record(plan)
        _check_constants(plan)
        return self._write_charge(plan, versions, cost, label, details or {}, state=state)

    def measure(
        self,
        measurement: Measurement[_Result],
        *,
        state: Change | None = None,
        versions: tuple[int, ...] | None = None,
    ) -> tuple[Charge | None, _Result]:
        """Run a measurement that was prepared from the catalogue as it is; see `Session.measure`.

        Its cost is charged first; a failure after the charge keeps it.
        """
        plan = measurement.plan
        if measurement.cost is None and isinstance(plan, UnitRows):
            raise UnprovableRequest(
                "single rows are read for a charge of their own only. Nothing was run or charged."
            )
        now = self._check_record(plan)
        if versions is not None and versions != now:
            raise Unavailable(
                f"{plan.tables[0].name} has new data (version {now[0]}) and this stays with "
                f"version {versions[0]}; open a new one. Nothing was run or charged."
            )

        def pay() -> Charge | None:
            if measurement.cost is not None:
                return self._charge(measurement, now, state=state)
            if state is not None:
                self.vault.states.put(state)
            return None

        if measurement.cost is not None:
            _check_constants(plan)
        payment = Payment(pay)
        result = self._run(measurement, now, payment)
        return payment.receipt, result

    def inspect(self, plan: Plan) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
        """The exact cells of a plan, free and uncharged: for the custodian, not for release."""
        part = self.warehouse.engine(names_of(plan)), plan.statements
        return release_rows([part], lambda: None, lambda exact, _: exact_cells(plan, exact[0]))[1]

    def _check_record(self, plan: Prepared) -> tuple[int, ...]:
        """The states of a plan's tables; a ledger that was tampered with answers nothing."""
        self.vault.ledger.check()
        return read_versions(self.warehouse, plan)

    def _asker(self, plan: Plan | StatementPlan) -> str | None:
        """Whose releases answer a plan: the analyst's, or everybody's where they are shared."""
        budget = find_payer(plan.tables).budget
        return None if budget is not None and budget.sharing else self.analyst

    def _replay(
        self, stored: Release, key: str, request: Request | None, paid: Charge | None
    ) -> Answer:
        """A stored release again, tied to the request or to the charge that asks for it."""
        if paid is not None:  # asked anew meanwhile: the same, for good
            settled = self.vault.requests.settle(key, paid, stored.body)
            return replay(settled or replace(stored, receipt=paid))
        if request is not None:
            self.vault.ledger.check_quota(self.analyst)  # a key takes room too
            self.vault.requests.bind(self.analyst, request, stored.receipt)
        return replay(stored)

    def _is_part(self, stored: Release) -> bool:
        """Whether a release is a block of a statement, whose entry stands for the statement."""
        whole = self.vault.releases.paid_by(stored.receipt.sequence)
        return whole is not None and whole.key != stored.key

    def _cite_part(
        self, plan: Plan, versions: Versions, stored: Release, request: Request | None
    ) -> Answer:
        """A block of a statement, asked by itself: it gets an entry of its own, which takes
        nothing, so that its receipt and its key mean this question.
        """
        nothing = plan.cost.share(Fraction(0))
        label = f"The question about {' and '.join(names_of(plan))}"
        own = self._write_charge(plan, versions, nothing, label, {}, request=request)
        earlier = self.vault.requests.settle(stored.key, own, stored.body)
        return replay(earlier or replace(stored, receipt=own))

    def _charge(
        self,
        measurement: Measurement[Any],
        versions: tuple[int, ...],
        *,
        request: Request | None = None,
        state: Change | None = None,
    ) -> Charge:
        assert measurement.cost is not None
        details = {**measurement.details, **visibility(self.grid, measurement.working_seconds)}
        return self._write_charge(
            measurement.plan,
            versions,
            measurement.cost,
            measurement.label,
            details,
            request=request,
            state=state,
        )

    def _write_charge(
        self,
        plan: Prepared,
        versions: tuple[int, ...],
        cost: Loss,
        label: str,
        details: Mapping[str, str],
        *,
        request: Request | None = None,
        state: Change | None = None,
    ) -> Charge:
        return self.vault.ledger.charge(
            population=find_payer(plan.tables).population,
            analyst=self.analyst,
            loss=cost,
            memo={
                **details,
                "label": label,
                "table": ", ".join(names_of(plan)),
                "question": plan.question,
                "data_version": ", ".join(map(str, versions)),
            },
            request=request,
            state=state,
        )

    def _rehearse(self, plan: Plan) -> None:
        """Release made-up emptiness, unseen: what is slow at first is slow before the charge."""
        if self.grid is not None and self.grid.deadline(plan.working_seconds) == self.grid.seconds:
            with contextlib.suppress(Exception):
                add_noise(plan, [], system.fresh())

    @contextlib.contextmanager
    def _local(self, names: Names, versions: Versions, watched: "Watched") -> Iterator[Engine]:
        with self.warehouse.engines.local(names, versions, self.analyst) as engine:
            watched.begin(engine)
            yield engine

    @contextlib.contextmanager
    def _lane(
        self, grid: ResponseGrid, names: Names, versions: Versions, watched: "Watched"
    ) -> Iterator[Lane]:
        with self.warehouse.engines.lane(names, versions, grid, self.analyst) as lane:
            watched.begin(lane.engine, lane)
            yield lane

    def _run(
        self,
        measurement: Measurement[_Result],
        versions: tuple[int, ...],
        payment: Payment,
        bits: BitSource = system,
    ) -> _Result:
        """`release_rows` at once or on the time grid; a failure is stored as the outcome."""
        plan, watched = measurement.plan, Watched()
        known = dict(zip(names_of(plan), versions, strict=True))
        runs = [
            (run.names, tuple(known[name] for name in run.names), run.statements)
            for run in runs_of(plan)
        ]

        def release(exact: list[list[tuple[Any, ...]]], fresh: BitSource) -> _Result:
            return measurement.release(Exact(plan, exact), fresh)

        try:
            with contextlib.ExitStack() as held:
                if self.grid is None:
                    parts = [
                        (held.enter_context(self._local(names, states, watched)), sql)
                        for names, states, sql in runs
                    ]
                    return release_rows(parts, payment.make, release, bits)[1]
                lanes = [
                    held.enter_context(self._lane(self.grid, names, states, watched))
                    for names, states, _ in runs
                ]
                payment.make()
                statements = [sql for *_, sql in runs]
                seconds = measurement.working_seconds
                return _release_on_time(self.grid, seconds, statements, lanes, release, bits)
        except DiscreetError as failure:
            if not payment.made:
                raise
            receipt = payment.receipt
            free = receipt is None and str(failure) == MESSAGE
            told = Unavailable(FREE_MESSAGE) if free else failure
            if receipt is not None:  # it is an output too: shown once it is stored
                self.vault.requests.fail(receipt, failure)
            with contextlib.suppress(Unavailable):
                entry = None if receipt is None else receipt.sequence
                self.vault.causes.add(self.analyst, entry, measurement.label, watched.cause())
        try:
            raise told  # outside the handler, with no context
        finally:
            del told


def release_rows(
    parts: Sequence[Part],
    charge: Callable[[], _Paid],
    release: Callable[[list[list[tuple[Any, ...]]], BitSource], _Result],
    bits: BitSource = system,
) -> tuple[_Paid, _Result]:
    """Charge, run statements on their engines, and release of all their rows what `release` makes
    of them.

    Privacy: that of `release`, charged before a row is read. A failure after the charge keeps
    it. Exact integers live in this function and in `release` only.
    """
    receipt = charge()  # durable before the engine runs
    return receipt, _read_and_release(parts, release, bits)


def _read_and_release(
    parts: Sequence[Part],
    release: Callable[[list[list[tuple[Any, ...]]], BitSource], _Result],
    bits: BitSource,
) -> _Result:
    exact: list[list[tuple[Any, ...]]] = []
    failure = Unavailable(MESSAGE)
    try:
        for engine, statements in parts:
            together = len(statements) > 1
            exact += engine.rows_together(statements) if together else [engine.rows(statements[0])]
    except BaseException:
        exact.clear()
        raise
    try:
        # A copy of this machine made before here draws other bits than the original; one made
        # after it can only finish this answer, from the same rows with the same bits.
        return release(exact, bits.fresh())
    except Exception:  # noqa: BLE001 (whatever it is, it is not for the analyst)
        raise failure from None
    finally:  # the text of an error and the frames behind it may hold exact values
        failure.__context__ = None
        del exact


def _release_on_time(
    grid: ResponseGrid,
    seconds: Fraction,
    statements: Sequence[tuple[str, ...]],
    lanes: Sequence[Lane],
    release: Callable[[list[list[tuple[Any, ...]]], BitSource], _Result],
    bits: BitSource,
) -> _Result:
    parts = [(lane.engine, sql) for lane, sql in zip(lanes, statements, strict=True)]
    try:
        return grid.within(seconds, lambda: _read_and_release(parts, release, bits))
    except Late:
        for lane in lanes:
            lane.lose()
    raise Unavailable(MESSAGE)  # the words of every failure; outside the handler, with no context


def _check_constants(plan: Prepared) -> None:
    """Refuse to charge for constants that a column cannot have."""
    if isinstance(plan, Plan):
        refuse_unknown_values(plan.query, plan.tables)


def _check_paid(paid: Charge | None, versions: tuple[int, ...]) -> None:
    """Refuse to finish from other data than was charged for."""
    if paid is not None and paid.memo.get("data_version") != ", ".join(map(str, versions)):
        raise Unavailable(
            "the data changed while a request was being finished; ask again with its key. Nothing "
            "more was charged."
        )


def visibility(grid: ResponseGrid | None, seconds: Fraction) -> dict[str, str]:
    """What a remote charge records of when its outcome can be seen: so long after its time.

    A public fact, recorded before the engine starts.
    >>> visibility(ResponseGrid(seconds=0.05), Fraction(1, 4)), visibility(None, Fraction(1, 4))
    ({'answer_seconds': '0.25'}, {})
    """
    return {} if grid is None else {"answer_seconds": f"{float(grid.deadline(seconds)):.10g}"}
