"""How an analyst's question becomes a plan: catalogue, accounts and price put together.
Reads no row and charges nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.curator.measurement import Prepared, UnitRows
from discreet.curator.pricing import ONE_PRICE, delta_of, price_in_text, price_of
from discreet.curator.question import Question
from discreet.curator.tables.warehouse import Warehouse
from discreet.errors import InvalidValue, UnsafeQuery
from discreet.ledger.account import Account, Holder
from discreet.ledger.vault import Vault
from discreet.loss import ZCDP, Price, Pure
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.parts.patience import GRID_SECONDS
from discreet.plan.pipeline import GROUP_LIMIT, Draft, Plan, plan, replan
from discreet.plan.target import check_count, price_for_error
from discreet.query.algebra import Query, scans
from discreet.query.parse import parse
from discreet.rationals import Number
from discreet.schema.table import Table, table_named
from discreet.upper.plan import StatementPlan, share_errors
from discreet.upper.reading.split import Statement

__all__ = ["Planner", "find_payer", "prepare_rows", "read_versions"]


def find_payer(tables: Iterable[Table]) -> Table:
    """The table whose population pays; all private tables of one question share it.

    >>> find_payer([Table("codes", kind="public"), Table("visits")]).name
    'visits'
    """
    return next(table for table in tables if table.kind != "public")


def read_versions(warehouse: Warehouse, plan: Prepared) -> tuple[int, ...]:
    """The states of the plan's tables; refused if one has another schema than the plan knows."""
    known = [warehouse.current(table.name) for table in plan.tables]
    for registration, table in zip(known, plan.tables, strict=True):
        if registration.schema_version != table.version:
            raise InvalidValue(
                f"{table.name} has another schema now; explain the question again. "
                "Nothing was run or charged."
            )
    return tuple(registration.data_version for registration in known)


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans for one analyst from the catalogue as it is, and checks plans against it.

    Privacy: reads the schema and the accounts, no row.
    """

    vault: Vault
    warehouse: Warehouse
    analyst: str
    grid_seconds: Fraction = GRID_SECONDS
    most_groups: int = GROUP_LIMIT

    def find_payers(self, tables: Iterable[Table]) -> tuple[Account, Account]:
        """The accounts of the population and of the analyst, which both pay."""
        population = find_payer(tables).population
        return self.vault.ledger.payers(population=population, analyst=self.analyst)

    def read(self, sql: str) -> Query | Statement:
        """What a text means: one question, or a statement above several."""
        return self.warehouse.questions.read(sql, self.warehouse.tables(), analyst=self.analyst)

    def draft(self, sql: str, *, delta: Number | None = None) -> tuple[Draft, Account, type[Price]]:
        """The question without a price, the account that pays, and the terms it pays in.

        Privacy: reads the schema and the accounts, no row.
        """
        with self.warehouse.snapshot():
            query = self.read(sql)
            if isinstance(query, Statement):
                query = parse(sql, self.warehouse.tables())  # refused: it is not one question
            return self._draft(query, sql, delta)

    def _draft(
        self, query: Query, text: str, delta: Number | None
    ) -> tuple[Draft, Account, type[Price]]:
        (table, relation), *others = self._read_tables(query.tables)
        kept_tables = self.warehouse.kept(table.name)
        integers = self.warehouse.integer_units(query.tables)
        dialect = self.warehouse.dialect(query.tables[0])
        seconds = self._seconds(query)
        analyst = self.vault.ledger.account(Holder.ANALYST, self.analyst)
        payer = find_payer((table, *(other for other, _ in others)))
        population = self.vault.ledger.account(Holder.POPULATION, payer.population)
        pure = analyst.pure or population.pure
        draft = Draft(
            query=query,
            table=table,
            price=Pure(epsilon=1) if pure else ZCDP(rho=1),
            delta=delta_of(analyst, population, delta=delta),
            limit=self.most_groups,
            relation=relation,
            kept=kept_tables,
            others=tuple(others),
            integer_units=integers,
            question=text,
            dialect=dialect,
            engine_seconds=seconds,
            grid_seconds=self.grid_seconds,
        )
        return draft, analyst, Pure if pure else ZCDP

    def plan_question(
        self,
        question: Question,
        *,
        ways: tuple[QuantileMethod, ...] = (),
        joined_rows: int | None = None,
    ) -> Plan | StatementPlan:
        """The plan at its epsilon or rho, even below the least of new charges: it may be stored."""
        with self.warehouse.snapshot():
            asked = self.read(question.sql)
            if isinstance(asked, Statement):
                return self._plan_statement(question, asked)
            draft, analyst, kind = self._draft(asked, question.sql, question.delta)
        options, rho = draft.query.options, question.rho
        epsilon = price_in_text(options, analyst, epsilon=question.epsilon, rho=rho, error=None)
        price = price_of(analyst, kind, epsilon=epsilon, rho=rho)
        assumed_rows = check_count(question.count)
        return plan(
            replace(
                draft, price=price, ways=ways, assumed_rows=assumed_rows, joined_rows=joined_rows
            )
        )

    def _plan_statement(self, question: Question, statement: Statement) -> StatementPlan:
        """The plan of a statement: its price in equal shares for its blocks, or for each block the
        price of the error that is wanted.
        """
        _refuse_other_people(self.warehouse, statement)
        drafts = [
            self._draft(block.query, block.text, question.delta) for block in statement.blocks
        ]
        _, analyst, kind = drafts[0]
        epsilon = price_in_text(
            statement.options,
            analyst,
            epsilon=question.epsilon,
            rho=question.rho,
            error=question.error,
        )
        count = check_count(question.count)
        unpriced = [plan(draft) for draft, _, _ in drafts]
        listings = tuple(
            at
            for at, (block, first) in enumerate(zip(statement.blocks, unpriced, strict=True))
            if block.lists_keys and first.selection is None
        )
        shared = Fraction(1, max(1, len(drafts) - len(listings)))
        plans = []
        if question.error is not None:
            if epsilon is not None or question.rho is not None:
                raise InvalidValue(ONE_PRICE)
            known = StatementPlan.of(question.sql, tuple(unpriced), statement.upper, listings)
            for at, (draft, _, _) in enumerate(drafts):
                if at in listings:
                    plans.append(unpriced[at])
                    continue
                wanted = share_errors(known, at, question.error)
                plans.append(price_for_error(_share_delta(draft, shared), wanted, kind, count))
        else:
            price: Price = kind.of(1)  # for a list of public keys, which takes nothing
            if len(listings) < len(drafts):
                price = price_of(analyst, kind, epsilon=epsilon, rho=question.rho).share(shared)
            for draft, _, _ in drafts:
                priced = replace(_share_delta(draft, shared), price=price, assumed_rows=count)
                plans.append(plan(priced))
        return StatementPlan.of(question.sql, tuple(plans), statement.upper, listings)

    def prepare(self, sql: str, *, most_groups: int | None = None) -> Plan:
        """The plan of a statement for a measurement: public groups only, sums and counts only."""
        draft, _, _ = self.draft(sql)
        prepared = plan(draft if most_groups is None else replace(draft, limit=most_groups))
        shortened = prepared.query.having is not None or prepared.query.limit is not None
        if prepared.selection is not None or prepared.picks or shortened:
            raise InvalidValue(
                f"{sql!r:.200}: a service needs sums and counts over public groups; leave out "
                "quantiles, modes, keys that are not public, HAVING and LIMIT. Nothing was run or "
                "charged."
            )
        return prepared

    def check(self, given: Prepared, *, most_groups: int | None = None) -> None:
        """Refuse a plan that is not the one its tables give now, by default at its own limit."""
        read_versions(self.warehouse, given)
        if given != self._prepare_again(given, most_groups):
            raise InvalidValue(
                f"this is not the plan that {given.tables[0].name} gives now; explain the question "
                "again. Nothing was run or charged."
            )

    def _prepare_again(self, given: Prepared, most_groups: int | None) -> Prepared:
        names = tuple(table.name for table in given.tables)
        assert not isinstance(given, StatementPlan)  # no service measures a statement
        if isinstance(given, UnitRows):
            return prepare_rows(self.warehouse, names[0], given.columns, given.question)
        (table, relation), *others = self._read_tables(names)
        return replan(
            given,
            table=table,
            relation=relation,
            kept=self.warehouse.kept(table.name),
            limit=given.limit if most_groups is None else most_groups,
            others=tuple(others),
            integer_units=self.warehouse.integer_units(names),
            dialect=self.warehouse.dialect(table.name),
            engine_seconds=self._seconds(given.query),
            grid_seconds=self.grid_seconds,
        )

    def _read_tables(self, names: tuple[str, ...]) -> list[tuple[Table, str]]:
        """The tables a question reads, each with its FROM item."""
        relations = self.warehouse.relations(names)
        tables = self.warehouse.tables()
        return [(tables[name], relations[name]) for name in names]

    def _seconds(self, query: Query) -> Fraction:
        """What reading the tables of a question may take, each as often as it is read."""
        return sum(map(self.warehouse.seconds, scans(query.source)), Fraction(0))


def _share_delta(draft: Draft, share: Fraction) -> Draft:
    return draft if draft.delta is None else replace(draft, delta=draft.delta * share)


def _refuse_other_people(warehouse: Warehouse, statement: Statement) -> None:
    """Refuse blocks about different people: one statement has one price, which one account pays."""
    tables = warehouse.tables()
    populations = [
        find_payer(tables[name] for name in block.query.tables).population
        for block in statement.blocks
    ]
    if len(set(populations)) > 1:
        first, second = sorted(set(populations))[:2]
        raise UnsafeQuery(
            f"the statement asks about the populations {first!r} and {second!r}, whose budgets "
            "differ. Ask about each by itself. Nothing was run or charged."
        )


def prepare_rows(
    warehouse: Warehouse, table: str, columns: tuple[str, ...], question: str
) -> UnitRows:
    """The statement that reads declared columns of a private table row by row."""
    known = table_named(warehouse.tables(), table)
    if known.kind == "public":
        raise InvalidValue(f"{table} is public; read it as it is. Nothing was run or charged.")
    return UnitRows.of(
        known,
        tuple(known.column(name).name for name in columns),
        relation=warehouse.relation(known.name),
        dialect=warehouse.dialect(known.name),
        question=question,
        seconds=warehouse.seconds(known.name),
    )
