"""A release declared as a whole, priced and previewed before anything is paid for, then run once.
Owns the way from a declaration to published tables; exact values stay inside the measurement.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from discreet.curator.interrupts import handing_over
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.encoding import encode
from discreet.errors import InvalidValue
from discreet.loss import Currency, Loss, Price
from discreet.noise.bits import BitSource
from discreet.plan.results.notes import cuts_of
from discreet.rationals import Number, ceil_decimal, floor_decimal, positive
from discreet.release.composition import batch_cost, statement
from discreet.release.frame import Cells, Frame
from discreet.release.kinds import Declared
from discreet.release.published import Published
from discreet.release.sheets import Part, Preview, Sheet
from discreet.schema.names import any_name, sql_name

__all__ = ["Release", "ReleasePlan", "digest_of"]

_MOST_TABLES = 1000
_SECONDS_PER_PART = Fraction(1, 2)  # what releasing it may take, besides the statement
_STATEMENT_DELTA = Fraction(1, 10**6)  # at which a pure release is also said, for comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Tables to be released together, for one price.

    `columns` names SQL expressions of the table; a column that is not named there is the table's
    own. The price is divided by the tables' weights.
    Privacy: see `ReleasePlan`.
    >>> Release(title="t", table="visits", epsilon=1,
    ...     tables=(Declared("marginals", "by_region", {"columns": ["region"]}),)).epsilon
    Fraction(1, 1)
    """

    title: str
    table: str
    tables: tuple[Declared, ...]
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    where: str = ""
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    description: str = ""
    publisher: str = ""

    def __post_init__(self) -> None:
        any_name(self.table, "a release's table")
        texts: tuple[object, ...] = (self.where, *self.columns.values())
        if not all(isinstance(text, str) for text in texts):
            raise InvalidValue("where and [columns] are SQL expressions, as texts.")
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidValue("a release has one price: epsilon or rho. Nothing was charged.")
        for name in ("epsilon", "rho"):
            price: Number | None = getattr(self, name)
            if price is not None:
                object.__setattr__(self, name, positive(price, name))
        if not 1 <= len(self.tables) <= _MOST_TABLES:
            raise InvalidValue(f"{len(self.tables)} tables; a release has 1 to {_MOST_TABLES}.")
        names = [table.name for table in self.tables]
        if len(set(names)) < len(names):
            raise InvalidValue("two tables of the release have the same name; rename one.")

    def plan(self, session: Session) -> "ReleasePlan":
        """Price every part and compute its error. Costs nothing.

        Privacy: reads the schema and the accounts, no row.
        """
        columns: dict[str, str] = {}
        aggregates: list[str] = []
        for table in self.tables:
            names, needed = table.needs()
            columns |= {name: self.columns.get(name, sql_name(name)) for name in names}
            aggregates += needed
        frame = Frame.of(
            session,
            self.table,
            columns,
            where=self.where,
            aggregates=tuple(dict.fromkeys(aggregates)),
        )
        paid = session.price(frame.plan, epsilon=self.epsilon, rho=self.rho)
        weights = sum((table.weight for table in self.tables), Fraction(0))
        parts = tuple(
            table.part(frame, _share_price(paid, table.weight / weights)) for table in self.tables
        )
        seen: set[str] = set()
        for part in parts:
            tables = {preview.table.casefold() for preview in part.preview()}
            if tables & seen:
                raise InvalidValue(
                    f"two tables would be called {min(tables & seen)!r}; rename {part.name!r}. "
                    "Nothing was charged."
                )
            seen |= tables
        plan = ReleasePlan(self, frame, parts, paid)
        session.check_charge(frame.plan, plan.cost, label=plan.label)
        return plan


def _share_price(paid: Price, part: Fraction) -> Price:
    """A part of a price, as a decimal rounded down."""
    return paid if part == 1 else paid.of(floor_decimal(paid.amount * part, 15))


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """A priced release: its parts, what they cost together, how far off they will be.

    Privacy: `cost` for the table's unit and relation; parameters are fixed before it is run.
    """

    release: Release
    frame: Frame = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    price: Price

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of all mechanisms.

        Privacy: under the table's unit and relation.
        """
        return tuple(loss for part in self.parts for loss in part.losses)

    @property
    def label(self) -> str:
        """What it is called in the record and in refusals."""
        return f"The release {encode(self.release.title):.100}"

    @property
    def cost(self) -> Loss:
        """What is charged: at most the price.

        Privacy: composition of all parts [DR14, Cor. 3.15], [BS16, Lemma 1.7].
        """
        return batch_cost([part.loss for part in self.parts], type(self.price))

    @property
    def delta(self) -> Fraction:
        """The delta at which the release is said as (epsilon, delta)."""
        return self.frame.session.account.conversion_delta or _STATEMENT_DELTA

    def guarantee(self) -> dict[str, str]:
        """The cost and the (epsilon, delta) statement of the whole release, as text.

        By full composition [ZDW22, Thm. 10], [CKS20, Cor. 13].
        """
        approximate, how = statement(self.losses, delta=self.delta)
        charged = self.cost.rho if self.cost.currency is Currency.RHO else self.cost.epsilon
        return {
            f"charged_{self.cost.currency}": _text(charged),
            "epsilon": _text(approximate.epsilon),
            "delta": _text(approximate.delta),
            "composition": how,
        }

    def preview(self) -> list[Preview]:
        """Every table with its size and error."""
        return [preview for part in self.parts for preview in part.preview()]

    @property
    def digest(self) -> str:
        """A hash of all that was decided before data was read; it stands in the ledger."""
        return digest_of(self.facts())

    def facts(self) -> dict[str, Any]:
        """Everything public that the manifest says about this release, without results."""
        table = self.frame.plan.tables[0]
        contribution = self.frame.plan.contribution
        return {
            "title": self.release.title,
            "description": self.release.description,
            "publisher": self.release.publisher,
            "table": {
                "name": table.name,
                "population": table.population,
                "unit": table.unit or "row",
                "rows_per_unit": contribution.rows_per_unit,
                "neighbours": contribution.relation.value,
                "schema_version": table.version,
                "data_version": ", ".join(
                    map(str, self.frame.session.read_versions(self.frame.plan))
                ),
                "where": self.release.where,
            },
            "columns": {
                axis.name: {"sql": axis.sql, "values": axis.cells, "missing": axis.missing}
                for axis in self.frame.axes
            },
            "guarantee": self.guarantee(),
            "parts": {part.name: part.facts() for part in self.parts},
            "notes": [str(note) for note in cuts_of(self.frame.plan)],
        }

    @handing_over
    def run(self) -> Published:
        """Charge, read the table once, release every part. Charges `cost` before a row is read."""
        frame, parts = self.frame, self.parts

        def release(exact: Exact, bits: BitSource) -> list[Sheet]:
            cells = Cells.of(frame, exact)
            return [sheet for part in parts for sheet in part.release(cells, bits)]

        facts = self.facts()
        measurement = Measurement(
            plan=frame.plan,
            cost=self.cost,
            label=self.label,
            release=release,
            details={"release": digest_of(facts)},
            seconds=_SECONDS_PER_PART * len(parts),
        )
        receipt, sheets = frame.session.measure(measurement)
        assert receipt is not None
        return Published(facts, receipt.id, receipt.time, tuple(sheets))


def digest_of(facts: Mapping[str, Any]) -> str:
    """The hash of a release's facts.

    >>> len(digest_of({}))
    64
    """
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: Fraction) -> str:
    return f"{float(ceil_decimal(value, 10)):.10g}"
