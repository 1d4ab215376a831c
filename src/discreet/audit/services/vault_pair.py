"""Two vaults whose tables differ in one person, for services that need a curator to be drawn from.
Made in a temporary folder when first asked for, gone when the audit ends. The people are made up;
what a service does in them goes through a session as any analyst's would.
"""

import csv
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from discreet.audit.claims import Claim
from discreet.audit.subject import Subject
from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.rationals import Number
from discreet.schema.column import Column
from discreet.schema.table import Budget, Table

__all__ = ["VaultPair", "service_with_bug", "visits"]

_ANALYST = "auditor"
_PLENTY = 10**6
_FIRST_DAY, _LAST_DAY = 19723, 20088  # of 2024, in days since 1970
_HEADER = ("person", "age", "region", "day", "bill", "smokes", "coughs")
Row = tuple[Any, ...]


class VaultPair:
    """A pair of curators: `session(0)` sees the table without the person, `session(1)` with.

    Budgets without end: nobody in there exists.
    >>> with ExitStack() as stack:
    ...     vaults = visits(stack, delta=0)
    ...     vaults.session(0).sql("SELECT COUNT(*) AS n FROM visits", epsilon=1).columns
    ('n',)
    """

    __slots__ = ("_delta", "_names", "_rows", "_sessions", "_stack", "_table")

    def __init__(
        self,
        stack: ExitStack,
        table: Table,
        rows: tuple[Sequence[Row], Sequence[Row]],
        *,
        delta: Number,
    ) -> None:
        self._stack, self._table, self._rows = stack, table, rows
        self._delta = delta
        self._sessions: list[Session] = []
        self._names = count()

    def session(self, side: int) -> Session:
        """The auditor's session with one of the two. What is asked there is charged there."""
        if not self._sessions:
            self._sessions = [self._open(rows) for rows in self._rows]
        return self._sessions[side]

    def name(self) -> str:
        """A name that no service had before."""
        return f"audited{next(self._names)}"

    def _open(self, rows: Sequence[Row]) -> Session:
        folder = Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-audit-"))
        )
        path = folder / f"{self._table.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        budget = Budget(epsilon=_PLENTY, delta=self._delta)
        curator = self._stack.enter_context(Curator.open(folder / "vault", price_floor=0))
        curator.add(replace(self._table, source=str(path), budget=budget))
        curator.grant(_ANALYST, epsilon=_PLENTY, delta=self._delta)
        return curator.session(_ANALYST)


def visits(stack: ExitStack, *, delta: Number) -> VaultPair:
    """People with two visits each, and one who came twice on one day, smokes and does not cough.

    Of the others those cough who smoke. With a delta the account holds rho, without it epsilon.
    Nobody in there exists.
    >>> with ExitStack() as stack:
    ...     visits(stack, delta=0).name()
    'audited0'
    """
    regions = ("north", "south", "east")
    table = Table(
        "visits",
        unit="person",
        rows_per_unit=2,
        columns=(
            Column("age", "integer", upper=110),
            Column("region", "category", upper=2, keys=regions),
            Column("day", "date", lower=_FIRST_DAY, upper=_LAST_DAY),
            Column("bill", "integer", upper=10),
            Column("smokes", "boolean"),
            Column("coughs", "boolean"),
        ),
    )
    others = [
        (
            n // 2,
            (7 * n) % 90,
            regions[n % 3],
            f"2024-{1 + n % 12:02d}-15",
            n % 5,
            *["true" if n % 2 else "false"] * 2,
        )
        for n in range(80)
    ]
    person = [(1000, 30, "north", "2024-01-15", 10, "true", "false")] * 2
    return VaultPair(stack, table, ((_HEADER, *others), (_HEADER, *others, *person)), delta=delta)


def service_with_bug(
    part: str,
    name: str,
    prepare: Callable[[Fraction], Callable[..., Any]],
    claim: Claim,
    price: Fraction,
    samples: int,
    *covers: str,
    caught: int = 100,
    factor: int = 1000,
) -> tuple[Subject, Subject]:
    """A service drawn from at its price, and the bug beside it: a higher price than is claimed."""
    right = Subject(
        name=name,
        mechanism=prepare(price),
        claim=claim,
        pairs=((0, 1),),
        samples=samples,
        part=part,
        covers=covers,
    )
    bug = "far less noise than is charged for"
    return right.with_bug(bug, prepare(factor * price), caught)
