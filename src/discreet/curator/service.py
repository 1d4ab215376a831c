"""The facade: catalogue, accounts, sessions. Every answer goes through `answer`: charge, then run,
then noise. It is the only place where exact integers and noise meet; reviewed hardest.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.curator.answer import Answer
from discreet.curator.noising import noised
from discreet.curator.pricing import delta_of, price_in_text, price_of
from discreet.curator.recall import recall, receipt_of, release_body, release_key
from discreet.curator.warehouse import Warehouse
from discreet.engines.protocol import Engine
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.account import Account, Holder, Remaining
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.sqlite import Ledger
from discreet.ledger.vault import Vault
from discreet.loss import ZCDP, Pure
from discreet.noise.bits import BitSource, system
from discreet.plan.draft import Draft, Plan, plan, remade
from discreet.plan.price import Price
from discreet.plan.released import Released
from discreet.plan.target import COUNTED, count_behind, priced_for_error, supposed_count
from discreet.query.parse import parse
from discreet.rationals import Number
from discreet.schema.table import Budget, Table

__all__ = ["Curator", "Session", "answer"]

_COUNT_EPSILON = Fraction(1, 20)  # what a count bought for an error target costs


def answer(
    plan: Plan,
    engine: Engine,
    charge: Callable[[], Charge],
    bits: BitSource = system,
) -> tuple[Charge, Released]:
    """Charge, run one statement, add noise: the receipt and what is released.

    Privacy: the plan's cost for its table's unit and relation, charged before a row is read.
    A failure after the charge keeps it. Exact integers live in this function only.
    >>> answer.__name__
    'answer'
    """
    receipt = charge()  # durable before the engine runs
    return receipt, noised(plan, engine.rows(plan.sql), bits)


class Session:
    """One analyst's conversation with the curator.

    Privacy: every answer is charged to the analyst's and the population's budget.
    >>> Session.__name__
    'Session'
    """

    __slots__ = ("_vault", "_warehouse", "name")

    def __init__(self, vault: Vault, warehouse: Warehouse, name: str) -> None:
        self._vault = vault
        self._warehouse = warehouse
        self.name = name

    @property
    def remaining(self) -> Remaining:
        """What the analyst's own budget still admits.

        Privacy: none (touches no data).
        >>> Session.remaining.fget is not None
        True
        """
        return self._vault.ledger.remaining(Holder.ANALYST, self.name)

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
    ) -> Plan:
        """The plan of a question: cost, error, mechanism and SQL. Costs nothing.

        Give one price: epsilon, rho, or the error wanted (a 95% half-width, or one for each
        column); `count` supposes how many rows a group has, for averages; `delta` is what keys
        that are not public may cost, a tenth of what the accounts keep for such steps by default.
        Privacy: none (touches no data).
        >>> Session.explain.__name__
        'explain'
        """
        draft, analyst, kind = self._draft(sql, delta)
        epsilon = price_in_text(draft.query.options, analyst, epsilon=epsilon, rho=rho, error=error)
        if error is not None:
            if epsilon is not None or rho is not None:
                raise InvalidValue("give one price: epsilon=, rho= or error=. Nothing was charged.")
            return priced_for_error(draft, error, kind, count)
        return plan(replace(draft, price=price_of(analyst, kind, epsilon=epsilon, rho=rho)))

    def _draft(self, sql: str, delta: Number | None) -> tuple[Draft, Account, type[Price]]:
        """The question without a price, the account that pays, and the terms it pays in."""
        query = parse(sql, self._warehouse.tables())
        (table, relation), *others = _read(self._warehouse, query.tables)
        analyst = self._vault.ledger.account(Holder.ANALYST, self.name)
        paying = _private((table, *(each for each, _ in others)))
        population = self._vault.ledger.account(Holder.POPULATION, paying.population)
        pure = analyst.pure or population.pure
        draft = Draft(
            query=query,
            table=table,
            price=Pure(epsilon=1) if pure else ZCDP(rho=1),
            delta=delta_of(analyst, population, delta=delta),
            relation=relation,
            rolled=self._warehouse.rolled(table.name),
            others=tuple(others),
            question=sql,
            dialect=self._warehouse.dialect(query.tables[0]),
        )
        return draft, analyst, Pure if pure else ZCDP

    def sql(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
    ) -> Answer:
        """Ask a question and pay for it; the same question again is free.

        An error wanted of an average, without a supposed count, buys a noisy count first for
        epsilon 0.05 (`answer.bought`) and takes the low end of its interval in the smallest group
        that is not too near to empty to tell; nearly empty groups show their own wide intervals.
        Privacy: `explain` with the same arguments shows the guarantee and its cost; a bought
        count is a charge of its own.
        >>> Session.sql.__name__
        'sql'
        """
        bought = None
        if error is not None and count is epsilon is rho is None:
            bought = self._bought_count(sql, error, delta)
            if bought is not None:
                count = supposed_count([row[COUNTED] for row in bought.intervals()])
        try:
            made = self.explain(
                sql, epsilon=epsilon, rho=rho, error=error, count=count, delta=delta
            )
            found = _run(self._vault, self._warehouse, self.name, made, system)
        except DiscreetError as refusal:
            if bought is None or bought.free:
                raise
            raise type(refusal)(
                f"A noisy count was bought first, for epsilon {float(_COUNT_EPSILON):g}, and stays "
                f"charged; asked again it is free. Then: {refusal}"
            ) from None
        found.bought = bought
        return found

    def _bought_count(
        self, sql: str, error: Number | Mapping[str, Number], delta: Number | None
    ) -> Answer | None:
        draft, analyst, kind = self._draft(sql, delta)
        price_in_text(draft.query.options, analyst, epsilon=None, rho=None, error=error)
        counted = count_behind(draft, error)
        if counted is None:
            return None
        price = price_of(analyst, kind, epsilon=_COUNT_EPSILON)
        return self.run(plan(replace(counted, price=price)))

    def run(self, plan: Plan) -> Answer:
        """Run a plan: the stored release if this was asked before, else charge, run, noise.

        Privacy: the plan's cost; a stored release is post-processing.
        >>> Session.run.__name__
        'run'
        """
        _data_versions(self._warehouse, plan)
        names = tuple(table.name for table in plan.tables)
        (table, relation), *others = _read(self._warehouse, names)
        now = remade(
            plan,
            table=table,
            relation=relation,
            rolled=self._warehouse.rolled(table.name),
            others=tuple(others),
            dialect=self._warehouse.dialect(table.name),
        )
        if plan != now:
            raise InvalidValue(
                f"this is not the plan that {table.name} gives now; explain the question again. "
                "Nothing was run or charged."
            )
        return _run(self._vault, self._warehouse, self.name, plan, system)

    @property
    def transcript(self) -> list[Answer]:
        """Everything this analyst paid for, in order.

        Privacy: post-processing.
        >>> Session.transcript.fget is not None
        True
        """
        return [recall(release) for release in self._vault.releases.transcript(self.name)]


def _read(warehouse: Warehouse, names: tuple[str, ...]) -> list[tuple[Table, str]]:
    """The tables a question reads, each with what stands after FROM."""
    relations = warehouse.relations(names)
    tables = warehouse.tables()
    return [(tables[name], relations[name]) for name in names]


def _private(tables: Iterable[Table]) -> Table:
    """The table whose population pays; all private tables of one question share it."""
    return next(table for table in tables if table.kind != "public")


def _data_versions(warehouse: Warehouse, plan: Plan) -> tuple[int, ...]:
    """The states of the plan's tables; refused if one has another schema than the plan knows."""
    known = [warehouse.current(table.name) for table in plan.tables]
    for each, table in zip(known, plan.tables, strict=True):
        if each.schema_version != table.version:
            raise InvalidValue(
                f"{table.name} has another schema now; explain the question again. "
                "Nothing was run or charged."
            )
    return tuple(each.data_version for each in known)


def _run(vault: Vault, warehouse: Warehouse, analyst: str, plan: Plan, bits: BitSource) -> Answer:
    """Run a plan that was made from the catalogue as it is, or as it was a moment ago."""
    versions = _data_versions(warehouse, plan)
    key = release_key(plan, versions)
    paying = _private(plan.tables)
    sharing = paying.budget is not None and paying.budget.sharing
    stored = vault.releases.find(key, analyst=None if sharing else analyst)
    if stored is not None:
        return recall(stored)
    names = tuple(table.name for table in plan.tables)
    memo = {
        "label": f"The question about {' and '.join(names)}",
        "table": ", ".join(names),
        "question": plan.question,
        "data_version": ", ".join(map(str, versions)),
    }

    def charge() -> Charge:
        return vault.ledger.charge(
            population=paying.population, analyst=analyst, loss=plan.cost, memo=memo
        )

    engine = warehouse.engine(names, data_versions=versions)
    receipt, released = answer(plan, engine, charge, bits)
    vault.releases.store(key, receipt, release_body(released, versions))
    return Answer(released, receipt_of(plan, receipt, versions), free=False)


class Curator:
    """Holds the tables of a vault, grants budgets and opens sessions.

    Privacy: what leaves it goes through `Session`; everything else here is the custodian's.
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Curator.open(folder) as curator:
    ...     curator.tables
    {}
    """

    __slots__ = ("_vault", "_warehouse")

    def __init__(self, vault: Vault, *, time_limit_seconds: Number = 60) -> None:
        self._vault = vault
        self._warehouse = Warehouse(vault, time_limit_seconds=time_limit_seconds)

    @classmethod
    def open(cls, folder: str | Path, *, time_limit_seconds: Number = 60) -> "Curator":
        """Open the vault in a folder, or make one.

        Privacy: none (touches no data).
        >>> Curator.open("")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the vault's folder is empty; name one.
        """
        return cls(Vault.open(folder), time_limit_seconds=time_limit_seconds)

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the vault and end its engines.

        Privacy: none (touches no data).
        >>> Curator.close.__name__
        'close'
        """
        self._warehouse.close()
        self._vault.close()

    @property
    def tables(self) -> dict[str, Table]:
        """The registered tables by name: public facts.

        Privacy: none (touches no data).
        >>> Curator.tables.fget is not None
        True
        """
        return self._warehouse.tables()

    @property
    def ledger(self) -> Ledger:
        """The durable record of every charge.

        Privacy: public parameters only.
        >>> Curator.ledger.fget is not None
        True
        """
        return self._vault.ledger

    def add(
        self,
        schema: str | Path | Mapping[str, Any] | Table,
        *,
        data: object | None = None,
        on_progress: Callable[[float], None] | None = None,
    ) -> Table:
        """Register a table by its schema file; `data` takes a pandas, polars or Arrow table.

        Privacy: none; opens the population's budget once.
        >>> Curator.add.__name__
        'add'
        """
        return self._warehouse.add(schema, data=data, on_progress=on_progress)

    def add_in_place(self, schema: str | Path | Mapping[str, Any] | Table) -> Table:
        """Register a table whose rows stay where they are; every question reads its source.

        Privacy: none; opens the population's budget once.
        >>> Curator.add_in_place.__name__
        'add_in_place'
        """
        return self._warehouse.add_in_place(schema)

    def refresh(self, name: str, *, on_progress: Callable[[float], None] | None = None) -> None:
        """Prepare a table again from its changed source; the budget goes on.

        Privacy: none; new data is not new budget.
        >>> Curator.refresh.__name__
        'refresh'
        """
        self._warehouse.refresh(name, on_progress=on_progress)

    def inspect(self, name: str) -> dict[str, Any]:
        """What the bounds drop and clamp: exact, for the custodian, not for release.

        Privacy: NONE. Bounds chosen after looking depend on data.
        >>> Curator.inspect.__name__
        'inspect'
        """
        return self._warehouse.inspect(name)

    def grant(self, name: str, *, epsilon: Number, delta: Number = 0) -> None:
        """Give an analyst a budget: pure, or (epsilon, delta) kept by a zCDP filter.

        Privacy: none (touches no data).
        >>> Curator.grant.__name__
        'grant'
        """
        self._vault.ledger.add_account(Holder.ANALYST, name, Budget(epsilon=epsilon, delta=delta))

    def session(self, name: str) -> Session:
        """The conversation of an analyst who has a grant.

        Privacy: none (touches no data).
        >>> Curator.session.__name__
        'session'
        """
        self._vault.ledger.account(Holder.ANALYST, name)
        return Session(self._vault, self._warehouse, name)
