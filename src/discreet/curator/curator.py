"""The facade: catalogue, accounts and sessions of a vault. What is released, sessions release."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.access import Access
from discreet.curator.measurement import UnitRows
from discreet.curator.planning import prepare_rows
from discreet.curator.runs.pacing import Clock, ResponseGrid
from discreet.curator.session import Session
from discreet.curator.tables.custody import refuse_readable
from discreet.curator.tables.intake import SourceReport
from discreet.curator.tables.warehouse import Warehouse
from discreet.errors import InvalidValue, with_article
from discreet.ledger.account import Holder
from discreet.ledger.floor import DEFAULT_FLOOR, PriceFloor
from discreet.ledger.ledger import Ledger
from discreet.ledger.vault import Vault, folder_of
from discreet.plan.parts.patience import GRID_SECONDS
from discreet.plan.pipeline import GROUP_LIMIT, Plan
from discreet.rationals import Number
from discreet.schema.column import whole
from discreet.schema.names import spelt_as
from discreet.schema.table import Budget, Table
from discreet.upper.plan import StatementPlan

__all__ = ["Curator"]

_MOST_GROUPS = 10**7


class Curator:
    """Holds the tables of a vault, grants budgets and opens sessions.

    What leaves it goes through `Session`; everything else here is the custodian's.
    """

    __slots__ = ("_grid", "_most_groups", "_vault", "_warehouse")

    def __init__(
        self,
        vault: Vault,
        *,
        time_limit_seconds: Number = 60,
        grid_seconds: Number = GRID_SECONDS,
        most_groups: int = GROUP_LIMIT,
        clock: Clock | None = None,
    ) -> None:
        raw: object = vault
        if not isinstance(raw, Vault):
            raise InvalidValue(
                f"a curator is made of an open vault, not of {raw!r:.80}; write "
                "Curator.open(folder)."
            )
        self._grid = ResponseGrid(seconds=grid_seconds, clock=clock)
        self._most_groups = whole(most_groups, "most_groups", 1, _MOST_GROUPS)
        self._vault = vault
        self._warehouse = Warehouse(vault, time_limit_seconds=time_limit_seconds)

    @classmethod
    def open(
        cls,
        vault: str | Path,
        *,
        folder: str | Path | None = None,
        time_limit_seconds: Number = 60,
        grid_seconds: Number = GRID_SECONDS,
        most_groups: int = GROUP_LIMIT,
        price_floor: Number = DEFAULT_FLOOR.share,
        clock: Clock | None = None,
    ) -> "Curator":
        """Open the vault in a folder, or make one.

        A postgresql:// URL instead keeps the ledger on a server, for several curators; then
        `folder`, or the variable DISCREET_VAULT, is for what stays here.
        A folder that others can reach into is refused.
        `grid_seconds` is the step of time at which outcomes of remote sessions can be seen;
        `most_groups` is how many public groups one question may have; `price_floor` is the share
        of the smaller of two budgets that every new charge takes at least; `clock` is for tests.
        """
        refuse_readable(folder_of(vault, folder))
        return cls(
            Vault.open(vault, folder=folder, floor=PriceFloor(share=price_floor)),
            time_limit_seconds=time_limit_seconds,
            grid_seconds=grid_seconds,
            most_groups=most_groups,
            clock=clock,
        )

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the vault and end its engines."""
        self._warehouse.close()
        self._vault.close()

    @property
    def tables(self) -> dict[str, Table]:
        """The registered tables by name: public facts."""
        return self._warehouse.tables()

    @property
    def ledger(self) -> Ledger:
        """The durable record of every charge."""
        return self._vault.ledger

    @property
    def vault(self) -> Vault:
        """The vault itself, for surfaces that keep accounts and replay answers.

        What is in it is for the custodian.
        """
        return self._vault

    def add(
        self,
        schema: str | Path | Mapping[str, Any] | Table,
        *,
        data: object | None = None,
        on_progress: Callable[[float], None] | None = None,
        on_report: Callable[[SourceReport], None] | None = None,
    ) -> Table:
        """Register a table by its schema file; `data` takes a pandas, polars or Arrow table.

        `on_report` gets what could not be read of the source, for the custodian alone; `report`
        replays it. Opens the population's budget once.
        """
        _check_schema(schema)
        return self._warehouse.add(schema, data=data, on_progress=on_progress, on_report=on_report)

    def add_in_place(
        self,
        schema: str | Path | Mapping[str, Any] | Table,
        *,
        on_report: Callable[[SourceReport], None] | None = None,
    ) -> Table:
        """Register a table whose rows stay where they are; every question reads its source.

        `on_report` gets what could not be read of the source, for the custodian alone. Opens the
        population's budget once.
        """
        _check_schema(schema)
        return self._warehouse.add_in_place(schema, on_report=on_report)

    def refresh(
        self,
        name: str,
        *,
        on_progress: Callable[[float], None] | None = None,
        on_report: Callable[[SourceReport], None] | None = None,
    ) -> None:
        """Prepare a table again from its changed source; the budget goes on.

        `on_report` gets what could not be read of the source, for the custodian alone. New data is
        not new budget.
        """
        self._warehouse.refresh(self._spell(name), on_progress=on_progress, on_report=on_report)

    def report(self, name: str) -> SourceReport | None:
        """What could not be read when this curator last added or refreshed a table.

        None if it did neither. Exact, for the custodian alone; kept in memory only.
        """
        return self._warehouse.report(self._spell(name))

    def inspect(self, name: str) -> dict[str, Any]:
        """What the bounds drop and clamp: exact, for the custodian, not for release.

        Bounds chosen after looking depend on data.
        """
        return self._warehouse.inspect(self._spell(name))

    def inspect_cells(self, plan: Plan) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
        """The exact cells of a plan, uncharged: for the custodian, not for release.

        What is chosen after looking depends on data.
        """
        return Access(self._vault, self._warehouse, "").inspect(plan)

    def prepare_rows(self, table: str, columns: Iterable[str], *, question: str) -> UnitRows:
        """The statement that reads columns of a table row by row; the ledger has `question`.

        For functions of the custodian's own: analysts have no way to single rows.
        """
        return prepare_rows(self._warehouse, table, tuple(columns), question)

    def _spell(self, name: str) -> str:
        """The table's own name; an unknown one is refused further on."""
        return spelt_as(name, self._warehouse.tables()) or name

    def grant(self, name: str, *, epsilon: Number, delta: Number = 0) -> None:
        """Give an analyst a budget: pure, or (epsilon, delta) kept by a zCDP filter."""
        self._vault.ledger.add_account(Holder.ANALYST, name, Budget(epsilon=epsilon, delta=delta))

    def session(self, name: str) -> Session:
        """The session of an analyst who has a grant, on the custodian's own machine.

        Answers leave when they are ready, see `remote_session`.
        """
        return self._open_session(name)

    def remote_session(self, name: str) -> Session:
        """The same for an analyst whom nobody watches: public facts decide when an outcome is seen.

        How long the engine took does not show.
        """
        return self._open_session(name, self._grid)

    def _open_session(self, name: str, grid: ResponseGrid | None = None) -> Session:
        self._vault.ledger.account(Holder.ANALYST, name)
        return Session(
            self._vault,
            self._warehouse,
            name,
            grid=grid,
            grid_seconds=self._grid.seconds,
            most_groups=self._most_groups,
        )

    def visible_after(self, plan: Plan | StatementPlan) -> Fraction:
        """The seconds after its charge at which a plan's outcome in a remote session can be
        seen.
        """
        return self._grid.deadline(plan.working_seconds)


def _check_schema(raw: object) -> None:
    if not isinstance(raw, str | Path | Mapping | Table):
        raise InvalidValue(
            f"the schema is {with_article(type(raw).__name__)}; write its file, "
            "add('visits.toml'), and hand over a data frame beside it, "
            "add('visits.toml', data=frame)."
        )
