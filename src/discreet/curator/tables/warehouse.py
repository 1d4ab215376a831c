"""The custodian's side of a vault: sources become prepared tables, and tables get engines.
Exact data passes through here on its way into the vault; nothing of it comes back out.
"""

import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.curator.runs.questions import Questions
from discreet.curator.runs.turns import Turns
from discreet.curator.tables.admission import advise_seconds, check_in_place, check_missing
from discreet.curator.tables.custody import sweep_prepared
from discreet.curator.tables.engine_room import Engines
from discreet.curator.tables.guarantee import check_same_guarantee
from discreet.curator.tables.identity import frame_identity, identity_of, refuse_vaults
from discreet.curator.tables.intake import Intake, SourceReport, take_in, take_in_place
from discreet.curator.tables.joined_tables import Holding, open_together, relations_together
from discreet.curator.tables.units import check_units, has_integer_units, unit_mark
from discreet.engines.duckdb.encryption import ENCRYPTED, DataKey, refuse_frame
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.preparation import TABLE, prepare, write_frame
from discreet.engines.origins import Origin
from discreet.engines.protocol import Engine
from discreet.errors import InvalidValue, SchemaError, Unavailable
from discreet.ledger.catalogue import Identity, Registration
from discreet.ledger.vault import Vault
from discreet.plan.parts.patience import ENGINE_SECONDS
from discreet.plan.rules.rollups import TOTALS, kept_tables
from discreet.plan.sql.preparation.statement import clamp_counts, lattice_rows, prepared_rows
from discreet.rationals import Number
from discreet.schema.table import Table
from discreet.schema.toml.read import read_schema
from discreet.upper.room import UpperRoom

__all__ = ["Warehouse"]

Progress = Callable[[float], None]
Told = Callable[[SourceReport], None]
_WITH_TOTALS = ".kept.duckdb"
_MANY_ROWS = 200_000


class Warehouse:
    """The tables of one vault and the engines that answer for them.

    Holds exact data inside the vault; only `Session` releases, with noise.
    """

    def __init__(self, vault: Vault, *, time_limit_seconds: Number = 60) -> None:
        self._vault = vault
        self._time_limit = time_limit_seconds
        self._folder = vault.folder / "prepared"
        self._key = DataKey.read(vault.folder)
        self._schemas: dict[str, Table] = {}
        self.engines = Engines(vault.catalogue, self._folder, self._open)
        self._relations: dict[str, tuple[int, str]] = {}
        self._reports: dict[str, SourceReport] = {}
        self._glance = threading.local()
        self.questions = Questions()
        self.upper = UpperRoom()
        self.turns = Turns()

    def add(
        self,
        schema: str | Path | Mapping[str, Any] | Table,
        *,
        data: object | None = None,
        on_progress: Progress | None = None,
        on_report: Told | None = None,
    ) -> Table:
        """Register a table: read its schema, prepare its rows, open its population's budget.

        `on_report` gets what could not be read: exact, for the custodian alone. The prepared rows
        stay in the vault.
        """
        table = schema if isinstance(schema, Table) else read_schema(schema)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if data is not None:
            return self._add_frame(table, data, on_progress, on_report)
        origin = _origin(table)
        if origin.dialect != "duckdb":
            return self.add_in_place(table, on_report=on_report)
        refuse_vaults(table.name, origin)
        stamp = origin.stamp()  # before it is read: a change meanwhile is noticed
        with take_in(table, origin, self._folder, self._key) as taken:
            intake = taken.with_codes()
            prepared = self._prepare(table, intake, on_progress)
            self._register(table, intake, prepared, stamp, identity_of)
        self._tell(self._add_advice(table, intake), on_report)
        return table

    def add_in_place(
        self, schema: str | Path | Mapping[str, Any] | Table, *, on_report: Told | None = None
    ) -> Table:
        """Register a table whose rows stay where they are; every question reads its source.

        `on_report` gets what could not be read: exact, for the custodian alone.
        """
        table = schema if isinstance(schema, Table) else read_schema(schema)
        origin = _origin(table)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        origin.check()
        refuse_vaults(table.name, origin)
        stamp = origin.stamp()
        with take_in_place(table, origin, self._folder) as taken:
            check_in_place(table, taken, self._folder)
            intake = taken.with_codes()
        self._register(table, intake, None, stamp, identity_of)
        self._tell(intake.report, on_report)
        return table

    def _add_advice(self, table: Table, intake: Intake) -> SourceReport:
        few = intake.rows <= _MANY_ROWS
        if few or table.answer_seconds is not None or table.unit is None:
            return intake.report
        seconds = advise_seconds(self.engine((table.name,)), ENGINE_SECONDS["prepared"])
        return replace(intake.report, answer_seconds=seconds)

    def _tell(self, report: SourceReport, on_report: Told | None) -> None:
        """Keep a report in memory, for this process alone."""
        self._reports[report.table] = report
        if on_report is not None:
            on_report(report)

    def report(self, name: str) -> SourceReport | None:
        """What could not be read when this curator last added or refreshed a table.

        Exact, for the custodian alone; kept in memory only.
        """
        return self._reports.get(name)

    def _add_frame(
        self, table: Table, data: object, on_progress: Progress | None, on_report: Told | None
    ) -> Table:
        refuse_frame(self._key, table.name)
        file = self._folder / f"{_file_name(table)}-{secrets.token_hex(8)}.parquet"
        try:
            write_frame(data, file, table.format)
            origin = Origin.of(str(file), table.format)
            with take_in(table, origin, self._folder, self._key) as taken:
                intake = taken.with_codes()
                prepared = self._prepare(table, intake, on_progress)
                self._register(table, intake, prepared, "", frame_identity)
        finally:
            file.unlink(missing_ok=True)
        self._tell(self._add_advice(table, intake), on_report)
        return table

    def _register(
        self,
        table: Table,
        intake: Intake,
        prepared: str | None,
        stamp: str,
        look: Callable[[Vault, Intake, Path | None], Identity],
    ) -> None:
        def check(known: tuple[Registration, ...]) -> None:
            check_same_guarantee(table, map(self._schema, known))

        with self._settle(table.name, prepared) as file:
            self._vault.catalogue.register(
                name=table.name,
                population=table.population,
                schema=table.to_json(),
                schema_version=table.version,
                fingerprint=self._vault.catalogue.fingerprint(intake.origin.content()),
                kind=table.kind,
                budget=table.budget,
                source=None if look is frame_identity else intake.origin.place(),
                prepared=prepared,
                stamp=stamp,
                unit=table.unit_column,
                identity=look(self._vault, intake, file),
                check=check,
            )

    @contextmanager
    def _settle(self, name: str, prepared: str | None) -> Iterator[Path | None]:
        """Around a registration: removes what it replaces, or what it was refused with."""
        known = {table.name: table.prepared for table in self._vault.catalogue.tables()}
        file = None if prepared is None else self._folder / prepared
        try:
            yield file
        except BaseException:
            if file is not None:
                file.unlink(missing_ok=True)
            raise
        if (old := known.get(name)) is not None:
            (self._folder / old).unlink(missing_ok=True)
        sweep_prepared(self._folder, {table.prepared for table in self._vault.catalogue.tables()})

    def refresh(
        self, name: str, *, on_progress: Progress | None = None, on_report: Told | None = None
    ) -> Registration:
        """Prepare a table again from its changed source; the budget goes on.

        `on_report` gets what could not be read: exact, for the custodian alone. New data is not new
        budget.
        """
        known = self._vault.catalogue.table(name)
        table = Table.from_json(known.schema)
        if known.source is None or table.source is None:
            raise SchemaError(f"{name} was added from memory; add it again with its new data.")
        origin = _origin(table)
        refuse_vaults(name, origin)
        stamp = origin.stamp()
        if known.prepared is None:
            with take_in_place(table, origin, self._folder) as taken:
                check_in_place(table, taken, self._folder)
                intake = taken.with_codes()
            renewed = self._renew(name, intake, None, stamp)
        else:
            with take_in(table, origin, self._folder, self._key) as taken:
                intake = taken.with_codes()
                prepared = self._prepare(table, intake, on_progress)
                renewed = self._renew(name, intake, prepared, stamp)
            intake = replace(intake, report=self._add_advice(table, intake))
        self._tell(intake.report, on_report)
        return renewed

    def _renew(self, name: str, intake: Intake, prepared: str | None, stamp: str) -> Registration:
        with self._settle(name, prepared) as file:
            return self._vault.catalogue.refresh(
                name,
                fingerprint=self._vault.catalogue.fingerprint(intake.origin.content()),
                prepared=prepared,
                stamp=stamp,
                source=intake.origin.place(),
                identity=identity_of(self._vault, intake, file),
            )

    def _prepare(self, table: Table, intake: Intake, on_progress: Progress | None) -> str:
        origin, types = intake.origin, intake.types
        check_missing(table, origin, types, self._folder)
        mark = f"{ENCRYPTED if self._key is not None else ''}{unit_mark(table, types)}"
        file = f"{_file_name(table)}-{secrets.token_hex(8)}{mark}{_WITH_TOTALS}"
        prepare(
            source=origin.read,
            given=origin.format,
            select_sql=prepared_rows(table, "source", types),
            kept=kept_tables(table, TABLE),
            target=self._folder / file,
            on_progress=on_progress,
            key=self._key,
        )
        return file

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it this thread sees the catalogue as of the beginning, read once.

        What runs compares the states of the data once more.
        """
        try:
            self._glance.seen = {known.name: known for known in self._vault.catalogue.tables()}
            yield
        finally:
            self._glance.seen = None

    def _find(self, name: str) -> Registration:
        seen = getattr(self._glance, "seen", None) or {}
        return seen.get(name) or self._vault.catalogue.table(name)

    def tables(self) -> dict[str, Table]:
        """Every registered table by name."""
        seen = getattr(self._glance, "seen", None)
        listed = seen.values() if seen is not None else self._vault.catalogue.tables()
        return {known.name: self._schema(known) for known in listed}

    def _schema(self, known: Registration) -> Table:
        if known.schema not in self._schemas:
            self._schemas[known.schema] = Table.from_json(known.schema)
        return self._schemas[known.schema]

    def integer_units(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of several tables whose unit their engine holds as an integer; none for one."""
        if len(names) == 1:
            return ()
        tables = self.tables()
        return tuple(name for name in names if has_integer_units(self.current(name), tables[name]))

    def current(self, name: str) -> Registration:
        """A table's registration; refused while its source has changed.

        Looks at the source's size and time only.
        """
        known = self._find(name)
        table = self._schema(known)
        watched = table.source if known.source is not None else None
        if watched is not None and Origin.of(watched).stamp() != known.stamp:
            raise Unavailable(
                f"{name}: the source has changed since it was added; the custodian runs "
                f"`discreet refresh {name}`. Nothing was run or charged."
            )
        return known

    def relation(self, name: str) -> str:
        """The FROM item: the prepared table, or the lattice rows of the source in
        place.
        """
        known = self._find(name)
        if known.prepared is not None:
            return '"prepared"'
        known = self.current(name)  # else a source that is gone would be named
        if self._relations.get(name, (0, ""))[0] != known.data_version:
            shown = self._in_place(known, "source")
            self._relations[name] = (known.data_version, shown)
        return self._relations[name][1]

    def kept(self, name: str) -> str:
        """Which form of totals is kept beside a prepared table; empty if there are none."""
        file = self._find(name).prepared
        return TOTALS if file is not None and file.endswith(_WITH_TOTALS) else ""

    def _in_place(self, known: Registration, view: str) -> str:
        table = self._schema(known)
        origin = _origin(table)
        rows = lattice_rows(table, origin.relation(view), origin.types(), origin.dialect)
        return f"({rows}) AS prepared"

    def relations(self, names: tuple[str, ...]) -> dict[str, str]:
        """The FROM items of several tables that one statement reads."""
        if len(names) == 1:
            return {names[0]: self.relation(names[0])}
        return relations_together(self._holdings(names), self._in_place)

    def _holdings(self, names: tuple[str, ...]) -> list[Holding]:
        """What is known of several tables that one statement reads."""
        entries = [(entry, self._schema(entry)) for entry in map(self.current, names)]
        return [Holding(entry, schema.source, schema.format) for entry, schema in entries]

    def dialect(self, name: str) -> str:
        """The dialect of a table's engine."""
        known = self._find(name)
        return "duckdb" if known.prepared is not None else _origin(self._schema(known)).dialect

    def seconds(self, name: str) -> Fraction:
        """What one reading of a table may take: as its schema declares, or by its engine."""
        declared = self._schema(self._find(name)).answer_seconds
        if declared is not None:
            return declared
        prepared = self._find(name).prepared is not None
        return ENGINE_SECONDS["prepared" if prepared else self.dialect(name)]

    def engine(
        self, names: tuple[str, ...], *, data_versions: tuple[int, ...] | None = None
    ) -> Engine:
        """The engine of tables, one for each state of their data; another than asked is refused.

        An engine's rows are exact and stay with the curator.
        """
        return self.engines.share(names, data_versions)

    def _open(self, names: tuple[str, ...]) -> Engine:
        limit, scratch, key = self._time_limit, self._folder, self._key
        registered = [self._vault.catalogue.table(name) for name in names]
        for table in registered:
            check_units(table, self._schema(table))
        if len(names) > 1:
            return open_together(
                self._holdings(names), folder=scratch, time_limit_seconds=limit, key=key
            )
        known = registered[0]
        if known.prepared is None:
            origin = _origin(self._schema(known))
            return origin.engine(time_limit_seconds=limit, scratch=scratch)
        file = scratch / known.prepared
        engine = DuckDB(file, time_limit_seconds=limit, scratch=scratch, key=key)
        engine.check()
        return engine

    def inspect(self, name: str) -> dict[str, Any]:
        """How many rows and values the bounds drop or clamp: exact, for the custodian only.

        Not for release; bounds chosen after looking depend on data.
        """
        known = self.current(name)
        table = self._schema(known)
        if table.source is None or known.source is None:
            raise InvalidValue(f"{name} was added from memory; its source is gone.")
        count = f"SELECT count(*) FROM {self.relation(name)}"
        lenient = replace(table, unreadable_share=Fraction(1))  # nothing is refused here
        with take_in(lenient, _origin(table), self._folder, self._key) as intake:
            origin = intake.origin
            shown = origin.relation("source")
            labels, statement = clamp_counts(table, shown, intake.types, origin.dialect)
            with closing(origin.engine(time_limit_seconds=self._time_limit)) as engine:
                counts = dict(zip(labels, engine.rows(statement)[0], strict=True))
        return {
            "rows kept": self.engine((name,)).rows(count)[0][0],
            **counts,
            **intake.report.counts(),
        }

    def close(self) -> None:
        """End all engines."""
        self.engines.close()
        self.upper.close()


def _origin(table: Table) -> Origin:
    if table.source is None:
        raise SchemaError(f"{table.name}: no source; name a file in the schema or pass data.")
    return Origin.of(table.source, table.format)


def _file_name(table: Table) -> str:
    """A part of a file's name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9_]", "_", table.name)
