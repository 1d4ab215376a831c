"""How services reach data: a program is priced ahead, runs one planned statement, releases once.
Monitors, synopses, releases and robust estimates go this way; charge, engine and fresh bits are
in `running`, as for every question. What a program releases is its own proof's business.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.curator.noising import exact_cells, exact_measures
from discreet.curator.pricing import price_of
from discreet.curator.question import Question
from discreet.curator.running import (
    Statement,
    data_versions,
    paying,
    run_statement,
    visibility,
)
from discreet.curator.session import Session
from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.account import rounded_up
from discreet.ledger.entry import Receipt
from discreet.ledger.states import Change, States
from discreet.loss import Loss, Pure
from discreet.noise.bits import BitSource
from discreet.plan.parts.price import Price
from discreet.plan.pipeline import Plan, plan
from discreet.query.literals import refuse_unknown_values
from discreet.rationals import Number

__all__ = [
    "Exact",
    "Program",
    "begin",
    "check_charge",
    "check_room",
    "perform",
    "planned",
    "price",
    "priced",
    "states_of",
    "versions_of",
]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact result of a statement. It is seen by a program's `release` and nothing else.

    Privacy: NONE; neither it nor what it returns may leave a program.
    """

    _plan: Plan = field(repr=False)
    _rows: list[tuple[Any, ...]] = field(repr=False)

    def measures(self) -> tuple[NDArray[Any], ...]:
        """Each of `plan.measures`, with one value for each of `plan.groups`, empty ones included.

        Privacy: NONE; it must not leave a program.
        """
        return exact_measures(self._plan, self._rows)

    def cells(self) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
        """Only the groups that have rows: the place of each key in its domain, and the measures.

        For domains too large to list. How many there are depends on data.
        Privacy: NONE; it must not leave a program.
        """
        return exact_cells(self._plan, self._rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program(Generic[_Result]):
    """One planned statement, its price, and what is released of its exact result.

    `plan` is from `planned`: its statement, groups, measures and their sensitivities hold; its
    own price and noise are not used. `cost` is charged before the engine runs; None says that an
    earlier charge has paid for this run. `label` begins refusals and stands in the ledger, as do
    `details`: public words only. `seconds` is what `release` may take besides the statement: a
    public fact, which says with the plan's own when a remote outcome can be seen.
    Privacy: `release` must cost at most `cost`, or what was paid earlier, for the plan's
    sensitivities; its proof is its author's.
    """

    plan: Plan
    cost: Loss | None
    label: str
    release: Callable[[Exact, BitSource], _Result]
    details: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    seconds: Fraction = Fraction(0)


def planned(session: Session, sql: str, *, most_groups: int | None = None) -> Plan:
    """The plan of a statement for a program: public groups only, sums and counts only.

    `most_groups` lets a program that reads cells have more groups than could be listed.
    """
    draft, _, _ = session._draft(sql, None)
    if most_groups is not None:
        draft = replace(draft, limit=most_groups)
    made = plan(draft)
    shortened = made.query.having is not None or made.query.limit is not None
    if made.selection is not None or made.picks or shortened:
        raise InvalidValue(
            f"{sql!r:.200}: a service needs sums and counts over public groups; leave out "
            "quantiles, modes, keys that are not public, HAVING and LIMIT. Nothing was run or "
            "charged."
        )
    return made


def priced(session: Session, sql: str, price: Price) -> Plan:
    """The plan of a statement that is a part of a larger charge: it has no least price."""
    epsilon = price.epsilon if isinstance(price, Pure) else None
    rho = None if isinstance(price, Pure) else price.rho
    return session._planned(Question(sql=sql, epsilon=epsilon, rho=rho))


def price(
    session: Session, plan: Plan, *, epsilon: Number | None = None, rho: Number | None = None
) -> Price:
    """What a price means for the accounts that will pay: Pure, or ZCDP at their conversion."""
    _, analyst, kind = session._draft(plan.question, None)
    return price_of(analyst, kind, epsilon=epsilon, rho=rho)


def versions_of(session: Session, plan: Plan) -> tuple[int, ...]:
    """The public data versions of the plan's tables, for services that stay with one."""
    return data_versions(session._warehouse, plan)


def states_of(session: Session) -> States:
    """Where services keep what they must not forget."""
    return session._vault.states


def check_room(session: Session) -> None:
    """Refuse an analyst whose account is full, before a state moves on that nothing is charged for.

    Privacy: none (touches no data): depends on what is stored for the analyst.
    """
    session._vault.ledger.check_quota(session.name)


def check_charge(session: Session, plan: Plan, cost: Loss, *, label: str) -> None:
    """Refuse, in a preview, what a charge would refuse whatever is left: a price below the least,
    and constants that a column cannot have.

    Privacy: none (touches no data): from budgets, the price and the question alone.
    """
    refuse_unknown_values(plan.query, plan.tables)
    floor, payers = session._vault.ledger.floor, session._payers(plan.tables)
    floor.check(payers, rounded_up(cost), label=label)


def begin(
    session: Session,
    plan: Plan,
    *,
    cost: Loss,
    label: str,
    state: Change | None = None,
    details: Mapping[str, str] | None = None,
) -> Receipt:
    """Pay ahead, touching no data: a run begins. The state moves on in the same transaction.

    Privacy: charges both budgets before anything that `cost` pays for.
    """
    versions = _checked(session, plan, None)
    return _charge(session, plan, versions, cost, label, details or {}, state)


def perform(
    session: Session,
    program: Program[_Result],
    *,
    state: Change | None = None,
    versions: tuple[int, ...] | None = None,
) -> tuple[Receipt | None, _Result]:
    """Charge, run the statement, release. Nothing exact leaves, whatever fails.

    A `state` moves on with the charge, before a row is read; without a charge, by itself, also
    before. `versions` pins the program to a state of the data.
    Privacy: the program's cost, for the unit and relation of its table; a failure after the
    charge keeps it.
    """
    made = program.plan
    now = _checked(session, made, versions)
    seconds = made.working_seconds + program.seconds

    def paid() -> Receipt | None:
        if program.cost is not None:
            details = {**program.details, **visibility(session._grid, seconds)}
            return _charge(session, made, now, program.cost, program.label, details, state)
        if state is not None:
            session._vault.states.put(state)
        return None

    def release(rows: list[tuple[Any, ...]], bits: BitSource) -> _Result:
        return program.release(Exact(made, rows), bits)

    names = tuple(table.name for table in made.tables)
    statement = Statement(made.sql, names, now, seconds, session.name, program.label)
    return run_statement(
        session._vault, session._warehouse, session._grid, statement, paid, release
    )


def _checked(session: Session, made: Plan, versions: tuple[int, ...] | None) -> tuple[int, ...]:
    session._vault.ledger.check()  # a record that was tampered with answers nothing
    session._check_plan(made, made.limit)
    now = data_versions(session._warehouse, made)
    if versions is not None and versions != now:
        raise Unavailable(
            f"{made.tables[0].name} has new data (version {now[0]}) and this stays with version "
            f"{versions[0]}; open a new one. Nothing was run or charged."
        )
    return now


def _charge(
    session: Session,
    made: Plan,
    versions: tuple[int, ...],
    cost: Loss,
    label: str,
    details: Mapping[str, str],
    state: Change | None,
) -> Receipt:
    refuse_unknown_values(made.query, made.tables)
    memo = {
        **details,
        "label": label,
        "table": ", ".join(table.name for table in made.tables),
        "question": made.question,
        "data_version": ", ".join(map(str, versions)),
    }
    return session._vault.ledger.charge(
        population=paying(made.tables).population,
        analyst=session.name,
        loss=cost,
        memo=memo,
        state=state,
    )
