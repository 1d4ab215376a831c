"""The one door to rows: charge, then the engine, then noise, then the outcome is stored; and what
was stored is replayed. Questions and measurements of services alike go through `Access`, and
exact rows are held by `_read_and_release` alone. Reviewed hardest.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.curator.answer import Answer
from discreet.curator.interrupts import charging
from discreet.curator.measurement import Exact, Measurement, Prepared, UnitRows
from discreet.curator.noising import add_noise, exact_cells
from discreet.curator.planning import find_payer, read_versions
from discreet.curator.replay import receipt_of, release_body, release_key, replay
from discreet.curator.runs.lanes import Lane
from discreet.curator.runs.pacing import Late, ResponseGrid
from discreet.curator.tables.warehouse import Warehouse
from discreet.engines.protocol import FREE_MESSAGE, MESSAGE, Engine, cause_of
from discreet.errors import DiscreetError, Unavailable, UnprovableRequest
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.releases import Release
from discreet.ledger.requests import Request
from discreet.ledger.states import Change
from discreet.ledger.vault import Vault
from discreet.loss import Loss
from discreet.noise.bits import BitSource, system
from discreet.plan.pipeline import Plan
from discreet.query.literals import refuse_unknown_values

__all__ = ["Access", "release_rows", "visibility"]

_LATE = (
    "the answer was not ready at its time; give the engine more cores or memory, or raise "
    "grid_seconds"
)
_UNUSABLE = "the result could not be used; read the source again with discreet refresh"
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
            if stored is not None:
                return self._replay(stored, key, request, paid)
            if paid is None:
                _check_constants(plan)
            measurement = Measurement(
                plan=plan,
                cost=plan.cost,
                label=f"The question about {' and '.join(_names(plan))}",
                release=lambda exact, fresh: add_noise(plan, exact.rows(), fresh),
            )
            payment = _Payment(lambda: self._charge(measurement, versions, request=request), paid)
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
            return Answer(released, receipt_of(plan, receipt, versions), free=False)

    def find(self, plan: Plan) -> Release | None:
        """What a plan released before, to this analyst or to whoever shares with them."""
        self.vault.ledger.check()
        try:
            versions = read_versions(self.warehouse, plan)
        except Unavailable:  # the source has changed or is gone
            return None
        return self.vault.releases.find(release_key(plan, versions), analyst=self._asker(plan))

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
        payment = _Payment(pay)
        result = self._run(measurement, now, payment)
        return payment.receipt, result

    def inspect(self, plan: Plan) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
        """The exact cells of a plan, free and uncharged: for the custodian, not for release."""
        engine = self.warehouse.engine(_names(plan))
        return release_rows(
            plan.sql, engine, lambda: None, lambda rows, _: exact_cells(plan, rows)
        )[1]

    def _check_record(self, plan: Prepared) -> tuple[int, ...]:
        """The states of a plan's tables; a ledger that was tampered with answers nothing."""
        self.vault.ledger.check()
        return read_versions(self.warehouse, plan)

    def _asker(self, plan: Plan) -> str | None:
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
                "table": ", ".join(_names(plan)),
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

    def _run(
        self,
        measurement: Measurement[_Result],
        versions: tuple[int, ...],
        payment: "_Payment",
        bits: BitSource = system,
    ) -> _Result:
        """`release_rows` at once or on the time grid; a failure is stored as the outcome."""
        plan, names = measurement.plan, _names(measurement.plan)
        engines, watched = self.warehouse.engines, _Watched()

        def release(rows: list[tuple[Any, ...]], fresh: BitSource) -> _Result:
            return measurement.release(Exact(plan, rows), fresh)

        try:
            if self.grid is None:
                with engines.local(names, versions, self.analyst) as engine:
                    watched.begin(engine)
                    return release_rows(plan.sql, engine, payment.make, release, bits)[1]
            with engines.lane(names, versions, self.grid, self.analyst) as lane:
                watched.begin(lane.engine, lane)
                payment.make()
                seconds = measurement.working_seconds
                return _release_on_time(self.grid, seconds, plan.sql, lane, release, bits)
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


class _Payment:
    """What a run is paid with: an earlier charge, one that is made before the engine runs, or none
    where something else was paid ahead.
    """

    __slots__ = ("_pay", "made", "receipt")

    def __init__(self, pay: Callable[[], Charge | None], paid: Charge | None = None) -> None:
        self._pay = pay
        self.receipt = paid
        self.made = False

    def make(self) -> Charge | None:
        charging()
        if self.receipt is None:
            self.receipt = self._pay()
        self.made = True
        return self.receipt


def release_rows(
    sql: str,
    engine: Engine,
    charge: Callable[[], _Paid],
    release: Callable[[list[tuple[Any, ...]], BitSource], _Result],
    bits: BitSource = system,
) -> tuple[_Paid, _Result]:
    """Charge, run one statement, and release of its rows what `release` makes of them.

    Privacy: that of `release`, charged before a row is read. A failure after the charge keeps
    it. Exact integers live in this function and in `release` only.
    """
    receipt = charge()  # durable before the engine runs
    return receipt, _read_and_release(sql, engine, release, bits)


def _read_and_release(
    sql: str,
    engine: Engine,
    release: Callable[[list[tuple[Any, ...]], BitSource], _Result],
    bits: BitSource,
) -> _Result:
    rows, failure = engine.rows(sql), Unavailable(MESSAGE)
    try:
        # A copy of this machine made before here draws other bits than the original; one made
        # after it can only finish this answer, from the same rows with the same bits.
        return release(rows, bits.fresh())
    except Exception:  # noqa: BLE001 (whatever it is, it is not for the analyst)
        raise failure from None
    finally:  # the text of an error and the frames behind it may hold exact values
        failure.__context__ = None
        del rows


class _Watched:
    """Why a run failed, for the custodian: by what its engine said last, if that is new."""

    __slots__ = ("_before", "_engine", "_lane")

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lane: Lane | None = None
        self._before: str | None = None

    def begin(self, engine: Engine, lane: Lane | None = None) -> None:
        self._engine, self._lane, self._before = engine, lane, self._own_reason(engine)

    def cause(self) -> str:
        if self._lane is not None and self._lane.lost:
            return _LATE
        said = self._own_reason(self._engine)
        return _UNUSABLE if said is None or said is self._before else cause_of(said)

    def _own_reason(self, engine: Engine | None) -> str | None:
        said: str | None = getattr(engine, "last_failure", None)
        return said


def _release_on_time(
    grid: ResponseGrid,
    seconds: Fraction,
    sql: str,
    lane: Lane,
    release: Callable[[list[tuple[Any, ...]], BitSource], _Result],
    bits: BitSource,
) -> _Result:
    try:
        return grid.within(seconds, lambda: _read_and_release(sql, lane.engine, release, bits))
    except Late:
        lane.lose()
    raise Unavailable(MESSAGE)  # the words of every failure; outside the handler, with no context


def _names(plan: Prepared) -> tuple[str, ...]:
    return tuple(table.name for table in plan.tables)


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
