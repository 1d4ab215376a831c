"""How a plan is run: charge, then the engine, then noise, then the release is stored.
It is the only place where exact integers and noise meet; reviewed hardest.
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from discreet.curator.answer import Answer
from discreet.curator.interrupts import charging
from discreet.curator.noising import noised
from discreet.curator.replay import recall, receipt_of, release_body, release_key
from discreet.curator.runs.lanes import Lane
from discreet.curator.runs.pacing import Grid, Late
from discreet.curator.tables.warehouse import Warehouse
from discreet.engines.protocol import FREE_MESSAGE, MESSAGE, Engine, cause_of
from discreet.errors import DiscreetError, InvalidValue, Unavailable
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.requests import Request
from discreet.ledger.vault import Vault
from discreet.noise.bits import BitSource, system
from discreet.plan.pipeline import Plan
from discreet.plan.results.released import Released
from discreet.query.literals import refuse_unknown_values
from discreet.schema.table import Table

__all__ = [
    "Statement",
    "answer",
    "data_versions",
    "paying",
    "read_tables",
    "release_rows",
    "run_plan",
    "run_statement",
    "visibility",
]

_LATE = (
    "the answer was not ready at its time; give the engine more cores or memory, or raise "
    "grid_seconds"
)
_UNUSABLE = "the result could not be used; read the source again with discreet refresh"
_Paid = TypeVar("_Paid")
_Result = TypeVar("_Result")


def answer(
    plan: Plan,
    engine: Engine,
    charge: Callable[[], Charge],
    bits: BitSource = system,
) -> tuple[Charge, Released]:
    """Charge, run one statement, add noise: the receipt and what is released.

    Privacy: the plan's cost for its table's unit and relation, charged before a row is read.
    A failure after the charge keeps it.
    """
    return release_rows(
        plan.sql, engine, charge, lambda rows, fresh: noised(plan, rows, fresh), bits
    )


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
    return receipt, _released(sql, engine, release, bits)


def _released(
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One emitted statement, the tables it reads in which state, what it may take, and whose it is.

    `analyst` and `label` say whose it is and what for, where it fails.
    Privacy: none (touches no data): `seconds` are public.
    >>> Statement("SELECT 1", ("visits",), (1,), Fraction(1, 20), "ana").names
    ('visits',)
    """

    sql: str
    names: tuple[str, ...]
    versions: tuple[int, ...]
    seconds: Fraction
    analyst: str
    label: str = ""


def run_statement(
    vault: Vault,
    warehouse: Warehouse,
    grid: Grid | None,
    statement: Statement,
    charge: Callable[[], Charge | None],
    release: Callable[[list[tuple[Any, ...]], BitSource], _Result],
    bits: BitSource = system,
) -> tuple[Charge | None, _Result]:
    """`release_rows` as sessions do it: at once, or on the grid of time of a remote session.

    On the grid it returns, or fails, at a time that is fixed when the charge is durable and before
    the engine runs; nothing of the outcome is stored or told before. What is not ready by then is
    never seen. A failure is kept as what came of the charge.
    Privacy: as `release_rows`; how long the engine took does not show.
    """
    paid: list[Charge | None] = []
    watched = _Watched()

    def pay() -> Charge | None:
        charging()
        paid.append(charge())
        return paid[0]

    try:
        if grid is None:
            with warehouse.engines.local(
                statement.names, statement.versions, statement.analyst
            ) as engine:
                watched.begin(engine)
                return release_rows(statement.sql, engine, pay, release, bits)
        with warehouse.engines.lane(
            statement.names, statement.versions, grid, statement.analyst
        ) as lane:
            watched.begin(lane.engine, lane)
            receipt = pay()
            return receipt, _on_time(grid, statement, lane, release, bits)
    except DiscreetError as failure:
        if not paid:
            raise
        free = paid[0] is None and str(failure) == MESSAGE
        told = Unavailable(FREE_MESSAGE) if free else failure
        if paid[0] is not None:  # it is an output too: told once it is kept
            vault.requests.fail(paid[0], failure)
        with contextlib.suppress(Unavailable):
            entry = None if paid[0] is None else paid[0].sequence
            vault.causes.add(statement.analyst, entry, statement.label, watched.cause())
    try:
        raise told  # outside the handler, with no context
    finally:
        del told


class _Watched:
    """Why a run failed, for the custodian: by what its engine said last, if that is new."""

    __slots__ = ("_before", "_engine", "_lane")

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lane: Lane | None = None
        self._before: str | None = None

    def begin(self, engine: Engine, lane: Lane | None = None) -> None:
        self._engine, self._lane, self._before = engine, lane, self._said(engine)

    def cause(self) -> str:
        if self._lane is not None and self._lane.lost:
            return _LATE
        said = self._said(self._engine)
        return _UNUSABLE if said is None or said is self._before else cause_of(said)

    def _said(self, engine: Engine | None) -> str | None:
        said: str | None = getattr(engine, "last_failure", None)
        return said


def _on_time(
    grid: Grid,
    statement: Statement,
    lane: Lane,
    release: Callable[[list[tuple[Any, ...]], BitSource], _Result],
    bits: BitSource,
) -> _Result:
    try:
        return grid.within(
            statement.seconds, lambda: _released(statement.sql, lane.engine, release, bits)
        )
    except Late:
        lane.lose()
    raise Unavailable(MESSAGE)  # the words of every failure; outside the handler, with no context


def read_tables(warehouse: Warehouse, names: tuple[str, ...]) -> list[tuple[Table, str]]:
    """The tables a question reads, each with what stands after FROM."""
    relations = warehouse.relations(names)
    tables = warehouse.tables()
    return [(tables[name], relations[name]) for name in names]


def paying(tables: Iterable[Table]) -> Table:
    """The table whose population pays; all private tables of one question share it.

    >>> paying([Table("codes", kind="public"), Table("visits")]).name
    'visits'
    """
    return next(table for table in tables if table.kind != "public")


def data_versions(warehouse: Warehouse, plan: Plan) -> tuple[int, ...]:
    """The states of the plan's tables; refused if one has another schema than the plan knows."""
    known = [warehouse.current(table.name) for table in plan.tables]
    for each, table in zip(known, plan.tables, strict=True):
        if each.schema_version != table.version:
            raise InvalidValue(
                f"{table.name} has another schema now; explain the question again. "
                "Nothing was run or charged."
            )
    return tuple(each.data_version for each in known)


def run_plan(
    vault: Vault,
    warehouse: Warehouse,
    analyst: str,
    plan: Plan,
    bits: BitSource,
    request: Request | None = None,
    grid: Grid | None = None,
    paid: Charge | None = None,
) -> Answer:
    """Run a plan that was made from the catalogue as it is, or as it was a moment ago.

    The stored release if this was asked before, else charge, run, noise, store. On a grid of time
    a question that is being asked already is waited for, and what came of it is given again.
    `paid` is an earlier charge for this plan of which nothing has come: it is not charged again.
    Privacy: the plan's cost; a stored release is post-processing [DR14, Prop. 2.1].
    """
    vault.ledger.check()  # a record that was tampered with answers nothing
    versions = data_versions(warehouse, plan)
    _check_paid(paid, versions)
    key = release_key(plan, versions)
    payer = paying(plan.tables)
    sharing = payer.budget is not None and payer.budget.sharing
    asker = None if sharing else analyst
    with contextlib.nullcontext() if grid is None else warehouse.turns.of((asker, key)):
        stored = vault.releases.find(key, analyst=asker)
        if stored is not None and paid is not None:  # asked anew meanwhile: the same, for good
            settled = vault.requests.settle(key, paid, stored.body)
            return recall(settled or replace(stored, receipt=paid))
        if stored is not None:
            if request is not None:
                vault.ledger.check_quota(analyst)  # a key takes room too
                vault.requests.bind(analyst, request, stored.receipt)
            return recall(stored)
        if paid is None:
            refuse_unknown_values(plan.query, plan.tables)
        names = tuple(table.name for table in plan.tables)
        memo = {
            "label": f"The question about {' and '.join(names)}",
            "table": ", ".join(names),
            "question": plan.question,
            "data_version": ", ".join(map(str, versions)),
            **visibility(grid, plan.working_seconds),
        }

        charges = [] if paid is None else [paid]

        def charge() -> Charge:
            if not charges:
                receipt = vault.ledger.charge(
                    population=payer.population,
                    analyst=analyst,
                    loss=plan.cost,
                    memo=memo,
                    request=request,
                )
                charges.append(receipt)
            return charges[0]

        _rehearse(plan, grid)
        try:
            receipt, released = run_statement(
                vault,
                warehouse,
                grid,
                Statement(plan.sql, names, versions, plan.working_seconds, analyst, memo["label"]),
                charge,
                lambda rows, fresh: noised(plan, rows, fresh),
                bits,
            )
        except DiscreetError:
            first = vault.releases.paid_by(charges[0].sequence) if charges else None
            if first is None:
                raise
            return recall(first)  # somebody else finished it; that is what came of the charge
        assert receipt is not None
        earlier = vault.requests.settle(key, receipt, release_body(released, versions))
        if earlier is not None:
            return recall(earlier)
        return Answer(released, receipt_of(plan, receipt, versions), free=False)


def _check_paid(paid: Charge | None, versions: tuple[int, ...]) -> None:
    """Refuse to finish from other data than was charged for."""
    if paid is not None and paid.memo.get("data_version") != ", ".join(map(str, versions)):
        raise Unavailable(
            "the data changed while a request was being finished; ask again with its key. Nothing "
            "more was charged."
        )


def _rehearse(plan: Plan, grid: Grid | None) -> None:
    """Release made-up emptiness, unseen: what is slow the first time is slow before the charge."""
    if grid is not None and grid.deadline(plan.working_seconds) == grid.seconds:
        with contextlib.suppress(Exception):
            noised(plan, [], system.fresh())


def visibility(grid: Grid | None, seconds: Fraction) -> dict[str, str]:
    """What a remote charge records of when its outcome can be seen: so long after its time.

    Privacy: none (touches no data): a public fact, recorded before the engine starts.
    >>> visibility(Grid(seconds=0.05), Fraction(1, 4)), visibility(None, Fraction(1, 4))
    ({'answer_seconds': '0.25'}, {})
    """
    return {} if grid is None else {"answer_seconds": f"{float(grid.deadline(seconds)):.10g}"}
