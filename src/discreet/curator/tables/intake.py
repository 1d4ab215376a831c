"""What a source holds that its schema cannot read: found, told to the custodian, and refused above
the declared share. Everything counted here is exact: it is shown to the custodian and kept nowhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.engines.duckdb.encryption import DataKey
from discreet.engines.duckdb.scratch import Scratch
from discreet.engines.files.names import SourceFiles, source_files
from discreet.engines.files.sources import number_rows
from discreet.engines.files.texts import lines_of
from discreet.engines.files.tidying import Tidied, needs_tidying, tidy
from discreet.engines.origins import Origin
from discreet.engines.process.child import quote
from discreet.engines.protocol import Engine
from discreet.errors import SchemaError, Unavailable, counted
from discreet.plan.sql.preparation.readable import (
    FILE_STEP,
    MOST_LINES,
    Fault,
    counts_of_faults,
    faults_of,
    lines_of_faults,
)
from discreet.plan.sql.preparation.statement import LONGEST_TEXT, source_column
from discreet.schema.format import PLAIN
from discreet.schema.table import Table

__all__ = ["Finding", "Intake", "SourceReport", "refuse_unreadable", "take_in", "take_in_place"]

_LIMIT_SECONDS = 3600
_NUMBERS = (
    'Say in [format] how they are written (decimal = ",", thousands = "." or missing = ["n/a"]); '
    "where they have other signs, as in 24%, (120) or 39 \u20ac, take the signs out of the source, "
    'or declare type = "category" with keys'
)
_WAYS = {
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "date": 'Say in [format] how they are written (date = "%d.%m.%Y" or missing = ["n/a"]; times '
    "with an offset are of type datetime)",
    "datetime": "Say in [format] how they are written "
    '(datetime = "%d.%m.%Y %H:%M" or missing = ["n/a"])',
    "boolean": "Read are true, false, t, f, yes, no, y, n, 1 and 0; for other words declare "
    'type = "category" with the words as keys, keys = ["ja", "nein"] say, or name them in [format] '
    'if they mean missing, missing = ["n/a"]',
}
_SAID = {
    "unreadable": "{count} of {cells} cells cannot be read{where} and count as missing",
    "undeclared": "{count} of {cells} cells hold no declared key{where} and count as missing",
    "rounded": "{count} of {cells} cells have decimals{where} and are rounded: to keep them "
    'declare type = "number" with a step',
    "long": f"{{texts}} longer than {LONGEST_TEXT} characters{{where}} and {{are}} left out",
    "no unit": "{count} of {cells} rows have no value{where} and are left out",
}
_COUNTED = {
    "unreadable": "cannot be read",
    "undeclared": "no declared key",
    "long": "longer than is read",
    "rounded": "have decimals and are rounded",
}


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """Cells of one column that are not read: how many, of how many, and where the first are.

    Exact, for the custodian alone; its repr tells nothing.
    >>> Finding("age", "unreadable", 10, 2, ("line 3", "line 5"))
    <Finding>
    """

    column: str
    kind: str
    cells: int
    count: int
    places: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "<Finding>"

    def sentence(self) -> str:
        """The finding in words. Exact, for the custodian alone.

        >>> Finding("age", "unreadable", 10, 2, ("line 3", "line 5")).sentence()
        'age: 2 of 10 cells cannot be read (lines 3, 5) and count as missing.'
        """
        are = "is" if self.count == 1 else "are"
        said = _SAID[self.kind].format(
            count=self.count,
            cells=self.cells,
            where=_places_text(self.places, self.count),
            texts=f"{counted(self.count, 'text')} {are}",
            are=are,
        )
        return f"{self.column}: {said}."


def _places_text(places: tuple[str, ...], count: int) -> str:
    if not places:
        return ""
    words = {place.rpartition(" ")[0] for place in places}
    listed = ", ".join(places)
    if len(places) > 1 and len(words) == 1:
        listed = f"{words.pop()}s " + ", ".join(place.rpartition(" ")[2] for place in places)
    return f" ({listed}{', ...' if count > len(places) else ''})"


@dataclass(frozen=True, slots=True, repr=False)
class SourceReport:
    """What was not read when a table was added or refreshed.

    `left_out` counts the lines that are no records; `is_empty` says that no row is left;
    `answer_seconds` is a longer time to declare, where the usual one is too short for so many rows.
    Exact, for the custodian alone; its repr tells nothing.
    >>> SourceReport("visits", left_out=1, lines=("line 4",)).sentences()
    ['1 line is no record and is left out (line 4).']
    """

    table: str
    left_out: int = 0
    lines: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    answer_seconds: Fraction | None = None
    is_empty: bool = False

    def __repr__(self) -> str:
        return f"<SourceReport of {self.table}>"

    def sentences(self) -> list[str]:
        """Everything in words, a sentence each; empty if all was read.

        Exact, for the custodian alone.
        """
        said = ["The source has no rows."] if self.is_empty else []
        if self.left_out:
            are = (
                "line is no record and is" if self.left_out == 1 else "lines are no records and are"
            )
            said.append(f"{self.left_out} {are} left out{_places_text(self.lines, self.left_out)}.")
        return said + [finding.sentence() for finding in self.findings]

    def counts(self) -> dict[str, int]:
        """The counts by what they count, for `inspect`. Exact, for the custodian alone.

        >>> SourceReport("visits", 1).counts()
        {'lines that are no records': 1}
        """
        counts = {"lines that are no records": self.left_out} if self.left_out else {}
        for finding in self.findings:
            if finding.kind in _COUNTED:
                counts[f"{finding.column}: {_COUNTED[finding.kind]}"] = finding.count
        return counts

    def values(self) -> dict[str, Any]:
        """Everything as JSON, marked as not for release. Exact, for the custodian alone."""
        return {
            "not_for_release": True,
            "is_empty": self.is_empty,
            "lines_left_out": self.left_out,
            "places": list(self.lines),
            "columns": [
                {
                    "column": finding.column,
                    "fault": finding.kind,
                    "cells": finding.cells,
                    "count": finding.count,
                    "places": list(finding.places),
                }
                for finding in self.findings
            ],
            "answer_seconds": None if self.answer_seconds is None else float(self.answer_seconds),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Intake:
    """A source as the engine reads it as a whole, what of it is not read, the engine while it is
    open, and codes of the values by which a copy of the rows is known.

    Exact, for the custodian alone.
    """

    origin: Origin
    types: Mapping[str, str]
    report: SourceReport
    rows: int = 0
    codes: Sequence[bytes] = ()
    engine: Engine | None = None

    def with_codes(self) -> "Intake":
        """The same with the codes, for a registration; nothing is read by its engine afterwards."""
        if self.engine is None:
            return self
        codes = self.origin.codes(self.engine, self.types)
        self.engine.close()
        return replace(self, codes=codes, engine=None)


@contextmanager
def take_in(table: Table, origin: Origin, folder: Path, key: DataKey | None) -> Iterator[Intake]:
    """Within it the source can be read, from a copy in `folder` if it has to be rewritten.

    Refuses a source of which more than the declared share cannot be read. Exact, for the custodian
    alone.
    """
    if origin.dialect != "duckdb":
        with take_in_place(table, origin, folder) as intake:
            yield intake
        return
    files = source_files(origin.source)
    _refuse_marks(table, files)
    with Scratch(folder) as scratch, ExitStack() as engines:
        copy = counted = None
        if not needs_tidying(files, origin.format):
            engine = engines.enter_context(_open(origin, scratch.path))
            counted = _count_faults(table, origin, engine)
        if counted is None and files.kind in ("CSV", "Arrow", "Excel", "JSON lines"):
            _refuse_encrypted(table, files, key)
            copy = tidy(files, origin.format, scratch.path, _source_names(table))
            origin = replace(origin, copy=str(copy.path))
            engines.close()
            engine = engines.enter_context(_open(origin, scratch.path))
            counted = _count_faults(table, origin, engine)
        if counted is None:
            raise files.unreadable()
        yield replace(_accept(table, origin, files, copy, counted, scratch.path), engine=engine)


@contextmanager
def take_in_place(table: Table, origin: Origin, folder: Path) -> Iterator[Intake]:
    """The same for a source that is read where it is, as it is. Exact, for the custodian alone."""
    files = None
    if origin.dialect == "duckdb":
        files = source_files(origin.source)
        _refuse_marks(table, files)
        if needs_tidying(files, origin.format):
            raise _refuse_in_place(files)
    with _open(origin, folder) as engine:
        counted = _count_faults(table, origin, engine)
        if counted is None:
            assert files is not None
            raise _refuse_in_place(files) if files.kind == "CSV" else files.unreadable()
        yield replace(_accept(table, origin, files, None, counted, folder), engine=engine)


def _open(origin: Origin, scratch: Path) -> AbstractContextManager[Engine]:
    return closing(origin.engine(time_limit_seconds=_LIMIT_SECONDS, scratch=scratch))


def _refuse_in_place(files: SourceFiles) -> SchemaError:
    return SchemaError(
        f"source {files.given!r} cannot be read in place: that takes Parquet, DuckDB, or CSV in "
        "UTF-8 whose lines are all records. Add it without in-place, so that its rows are "
        "prepared. Nothing was added."
    )


def _refuse_marks(table: Table, files: SourceFiles) -> None:
    """Refuse what a format says of text files where the source is none, and a word that is both a
    key and missing.
    """
    marks = table.format
    for column in table.columns:
        both = [key for key in column.keys if key in marks.missing]
        if both:
            raise SchemaError(
                f"{table.name}.{column.name}: the key {both[0]!r:.80} is also a word for missing "
                "in [format], so that its group would be empty. Take it out of missing, or out of "
                "keys. Nothing was added."
            )
    for name, kinds in (
        ("delimiter", ("CSV",)),
        ("quote", ("CSV",)),
        ("encoding", ("CSV", "JSON lines")),
        ("header", ("CSV", "Excel")),
        ("first_line", ("CSV", "Excel")),
        ("columns", ("CSV", "Excel")),
    ):
        if getattr(marks, name) != getattr(PLAIN, name) and files.kind not in kinds:
            raise SchemaError(
                f"{table.name}: [format] has {name}, which a source of the kind {files.kind} does "
                f"not have. Leave {name} out. Nothing was added."
            )


def _refuse_encrypted(table: Table, files: SourceFiles, key: DataKey | None) -> None:
    if key is not None:
        raise SchemaError(
            f"{table.name}: a data key is set, and {files.given!r} would have to be rewritten to a "
            "file that is not encrypted before it can be read. Name a Parquet file, or CSV in "
            "UTF-8 whose lines are all records. Nothing was added."
        )


def _source_names(table: Table) -> tuple[str, ...]:
    names = [column.source_name or column.name for column in table.columns]
    if table.unit is not None:
        names.append(table.unit_source_name or table.unit)
    return tuple(names)


_Counted = tuple[Mapping[str, str], list[Fault], tuple[Any, ...]]


def _count_faults(table: Table, origin: Origin, engine: Engine) -> _Counted | None:
    """Types, what can go wrong, and how often it does; None where the engine cannot read it."""
    is_file = origin.dialect == "duckdb"
    is_text = is_file and source_files(origin.read).kind in ("CSV", "tidy")
    types = origin.types(engine)
    if is_text:
        _check_names(table, types)
    faults = faults_of(table, types, origin.dialect)
    # Of a text file every column is read, so that a line that is no record is noticed now.
    names = [quote(name) for name in types] if is_text else []
    statement = counts_of_faults(faults, names, origin.relation("source"))
    try:
        row = engine.rows(statement)[0]
    except Unavailable:
        if not is_file:
            raise
        return None
    return types, faults, (row[0], *row[1 + len(names) :])


def _check_names(table: Table, types: Mapping[str, str]) -> None:
    """Refuse a text file that lacks a column, with a word on where names may stand."""
    try:
        for name in _source_names(table):
            source_column(name, types, table.name)
    except SchemaError as error:
        raise SchemaError(
            f"{error} If the names of columns stand below a title, write first_line and the "
            "number of their line in [format]; if there are none, header = false, "
            f'columns = {len(types)} and the delimiter, and source_name = "column_1" and so on. '
            "Nothing was added or changed."
        ) from None


def _accept(
    table: Table,
    origin: Origin,
    files: SourceFiles | None,
    copy: Tidied | None,
    counted: _Counted,
    scratch: Path,
) -> Intake:
    """The source with its report, refused where too much of it cannot be read."""
    types, faults, counts = counted
    cells, wrong = counts[1::2], counts[2::2]
    bad = [place for place in range(len(faults)) if wrong[place]]
    places = _places(origin, files, [faults[place] for place in bad], scratch)
    findings = tuple(
        Finding(faults[place].column, faults[place].kind, cells[place], wrong[place], where)
        for place, where in zip(bad, places, strict=True)
    )
    report = SourceReport(table.name, findings=findings, is_empty=counts[0] == 0)
    if copy is not None and files is not None:
        lines = tuple(_place(files, file, line) for file, line in copy.lines)
        report = replace(report, left_out=copy.left_out, lines=lines)
    refuse_unreadable(table, report, counts[0])
    return Intake(origin, types, report, counts[0])


def _places(
    origin: Origin, files: SourceFiles | None, faults: list[Fault], scratch: Path
) -> list[tuple[str, ...]]:
    """Where the first of each fault are; nowhere on a server, whose rows have no order."""
    if not faults or files is None:
        return [()] * len(faults)
    statement = lines_of_faults(faults, number_rows(origin.read, origin.format))
    with closing(origin.engine(time_limit_seconds=_LIMIT_SECONDS, scratch=scratch)) as engine:
        row = engine.rows(statement)[0]
    places = [
        [divmod(int(key), FILE_STEP) for key in row[start : start + MOST_LINES] if key is not None]
        for start in range(0, len(row), MOST_LINES)
    ]
    if origin.copy is None and files.kind == "CSV":
        wanted = {line for keys in places for _, line in keys}
        known = lines_of(files.paths, origin.format, files.given, wanted)
        places = [[known.get(line, (0, line)) for _, line in keys] for keys in places]
    return [tuple(_place(files, file, line) for file, line in keys) for keys in places]


def _place(files: SourceFiles, file: int, line: int) -> str:
    word = "line" if files.kind in ("CSV", "JSON lines") else "row"
    name = f"{Path(files.paths[file]).name} " if len(files.paths) > 1 else ""
    return f"{name}{word} {line}"


def refuse_unreadable(table: Table, report: SourceReport, rows: int) -> None:
    """Refuse a source of which more than the declared share cannot be read.

    The counts are exact, for the custodian alone.
    >>> refuse_unreadable(Table("t"), SourceReport("t", left_out=2), 98)
    Traceback (most recent call last):
    discreet.errors.SchemaError: t: 2 of 100 lines are no records. That is 2% of them, and at most \
1% may be. Say in [format] how they are written (delimiter, quote, encoding; first_line where the \
names of columns stand below a title; multiline = true where cells hold ends of lines), correct \
the source, or raise unreadable_share in [table]. Nothing was added or changed.
    """
    if report.left_out > table.unreadable_share * (rows + report.left_out):
        lines = rows + report.left_out
        what = f"{report.left_out} of {lines} lines are no records"
        what += _places_text(report.lines, report.left_out)
        way = (
            "Say in [format] how they are written (delimiter, quote, encoding; first_line where "
            "the names of columns stand below a title; multiline = true where cells hold ends of "
            "lines)"
        )
        raise _refusal(table, what, Fraction(report.left_out, lines), way)
    kinds = {column.name: column.kind for column in table.columns}
    for finding in report.findings:
        if finding.kind == "unreadable" and finding.count > table.unreadable_share * finding.cells:
            kind = kinds[finding.column]
            what = f"{finding.count} of {finding.cells} cells of the column {finding.column!r} "
            what += f"cannot be read as type {kind}{_places_text(finding.places, finding.count)}"
            raise _refusal(table, what, Fraction(finding.count, finding.cells), _WAYS[kind])


def _refusal(table: Table, what: str, share: Fraction, way: str) -> SchemaError:
    return SchemaError(
        f"{table.name}: {what}. That is {_percent(share)} of them, and at most "
        f"{_percent(table.unreadable_share)} may be. {way}, correct the source, or raise "
        "unreadable_share in [table]. Nothing was added or changed."
    )


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:.3g}%"
