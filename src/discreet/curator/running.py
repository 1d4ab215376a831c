"""How a plan is run: charge, then the engine, then noise, then the release is stored.
It is the only place where exact integers and noise meet; reviewed hardest.
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from discreet.curator.answer import Answer
from discreet.curator.lanes import Lane
from discreet.curator.noising import noised
from discreet.curator.pacing import Grid, Late
from discreet.curator.recall import recall, receipt_of, release_body, release_key
from discreet.curator.warehouse import Warehouse
from discreet.engines.protocol import MESSAGE, Engine
from discreet.errors import DiscreetError, InvalidValue, Unavailable
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.requests import Request
from discreet.ledger.vault import Vault
from discreet.noise.bits import BitSource, system
from discreet.plan.draft import Plan
from discreet.plan.released import Released
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
    >>> answer.__name__
    'answer'
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
    >>> release_rows.__name__
    'release_rows'
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
    """One emitted statement, the tables it reads in which state, and what it may take.

    Privacy: none (touches no data): `seconds` are public.
    >>> Statement("SELECT 1", ("visits",), (1,), Fraction(1, 20)).names
    ('visits',)
    """

    sql: str
    names: tuple[str, ...]
    versions: tuple[int, ...]
    seconds: Fraction


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
    >>> run_statement.__name__
    'run_statement'
    """
    paid: list[Charge | None] = []

    def pay() -> Charge | None:
        paid.append(charge())
        return paid[0]

    try:
        if grid is None:
            engine = warehouse.engine(statement.names, data_versions=statement.versions)
            return release_rows(statement.sql, engine, pay, release, bits)
        with warehouse.engines.lane(statement.names, statement.versions, grid) as lane:
            receipt = pay()
            return receipt, _on_time(grid, statement, lane, release, bits)
    except DiscreetError as failure:
        if paid and paid[0] is not None:  # it is an output too, and is given again
            with contextlib.suppress(Unavailable):
                vault.requests.fail(paid[0], failure)
        raise


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
    """The tables a question reads, each with what stands after FROM.

    Privacy: none (touches no data).
    >>> read_tables.__name__
    'read_tables'
    """
    relations = warehouse.relations(names)
    tables = warehouse.tables()
    return [(tables[name], relations[name]) for name in names]


def paying(tables: Iterable[Table]) -> Table:
    """The table whose population pays; all private tables of one question share it.

    Privacy: none (touches no data).
    >>> paying([Table("codes", kind="public"), Table("visits")]).name
    'visits'
    """
    return next(table for table in tables if table.kind != "public")


def data_versions(warehouse: Warehouse, plan: Plan) -> tuple[int, ...]:
    """The states of the plan's tables; refused if one has another schema than the plan knows.

    Privacy: none (touches no data).
    >>> data_versions.__name__
    'data_versions'
    """
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
) -> Answer:
    """Run a plan that was made from the catalogue as it is, or as it was a moment ago.

    The stored release if this was asked before, else charge, run, noise, store. On a grid of time
    a question that is being asked already is waited for, and what came of it is given again.
    Privacy: the plan's cost; a stored release is post-processing [DR14, Prop. 2.1].
    >>> run_plan.__name__
    'run_plan'
    """
    vault.ledger.check()  # a record that was tampered with answers nothing
    versions = data_versions(warehouse, plan)
    key = release_key(plan, versions)
    payer = paying(plan.tables)
    sharing = payer.budget is not None and payer.budget.sharing
    asker = None if sharing else analyst
    with contextlib.nullcontext() if grid is None else warehouse.turns.of((asker, key)):
        stored = vault.releases.find(key, analyst=asker)
        if stored is not None:
            if request is not None:
                vault.requests.bind(analyst, request, stored.receipt)
            return recall(stored)
        refuse_unknown_values(plan.query, plan.tables)
        names = tuple(table.name for table in plan.tables)
        memo = {
            "label": f"The question about {' and '.join(names)}",
            "table": ", ".join(names),
            "question": plan.question,
            "data_version": ", ".join(map(str, versions)),
            **visibility(grid, plan.working_seconds),
        }

        def charge() -> Charge:
            return vault.ledger.charge(
                population=payer.population,
                analyst=analyst,
                loss=plan.cost,
                memo=memo,
                request=request,
            )

        _rehearse(plan, grid)
        receipt, released = run_statement(
            vault,
            warehouse,
            grid,
            Statement(plan.sql, names, versions, plan.working_seconds),
            charge,
            lambda rows, fresh: noised(plan, rows, fresh),
            bits,
        )
        assert receipt is not None
        vault.releases.store(key, receipt, release_body(released, versions))
        return Answer(released, receipt_of(plan, receipt, versions), free=False)


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
