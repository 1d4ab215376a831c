"""Guided registration: choose the data, say what is publicly known, read it back, try it on made-up
rows, publish. Reads names and types of columns only until the table is published.
"""

import csv
import os
import tempfile
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.accounting.meaning import explain
from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.engines.files.names import path_of, source_files
from discreet.engines.files.preview import preview, shape, shown_cells
from discreet.engines.files.tidying import sheets_of
from discreet.engines.origins import Origin
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.vault import vault_around
from discreet.report.words import cost_text, refusal_text
from discreet.schema.column import KINDS, Column
from discreet.schema.described import examples_of, protected_text
from discreet.schema.format import PLAIN, Format
from discreet.schema.table import Table
from discreet.schema.toml.read import read_schema
from discreet.schema.toml.write import format_lines
from discreet.server.pages.format_forms import CHOICES, read_declared, typed_fields
from discreet.server.pages.shared import Custodian, Form, Here, form_of
from discreet.server.settings import Settings

__all__ = ["document_of", "dry_run", "files_of", "register_pages", "words_of"]

_ENDINGS = (
    ".parquet",
    ".csv",
    ".tsv",
    ".csv.gz",
    ".jsonl",
    ".ndjson",
    ".xlsx",
    ".feather",
    ".arrow",
)
_MOST_FILES = 200
_MOST_COLUMNS = 300
_MADE_UP = 200
_KINDS = {  # by the names that DuckDB and PostgreSQL give to types
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "uinteger"), "integer"),
    **dict.fromkeys(("double", "double precision", "real", "float", "decimal"), "number"),
    **dict.fromkeys(("varchar", "text", "character varying", "character"), "category"),
    "numeric": "number",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    "timestamp": "datetime",
    "timestamp without time zone": "datetime",
}


def register_pages() -> APIRouter:
    """The pages that register a table.

    Nothing is registered until it is published; then as `Curator.add`.
    """
    routes = APIRouter(prefix="/custodian", include_in_schema=False)
    routes.add_api_route("/register", _pick, methods=["GET"])
    routes.add_api_route("/register", _step, methods=["POST"])
    return routes


def files_of(settings: Settings) -> list[str]:
    """The files that may be registered, relative to their roots.

    >>> files_of(Settings())
    []
    """
    files: list[str] = []
    for root in settings.roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            if vault_around(Path(folder)) is not None:
                folders[:], names = [], []  # nothing in a vault is a source
            for name in sorted(names):
                if name.endswith(_ENDINGS) and len(files) < _MOST_FILES:
                    files.append(str((Path(folder) / name).relative_to(root)))
    return files


async def _pick(here: Custodian) -> Response:
    return await _show_first(here)


async def _show_first(here: Here, refusal: str = "", picked: str = "") -> Response:
    settings = here.server.settings
    return await here.page(
        "register.html",
        title="Register a table",
        status=400 if refusal else 200,
        step=1,
        refusal=refusal,
        files=await here.run(lambda: files_of(settings)),
        databases=sorted(settings.databases),
        picked=picked,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """What the page knows of a source before anything is declared: forms of cells, no cell."""

    source: str
    columns: tuple[tuple[str, str], ...]
    cells: tuple[str, ...] = ()
    format: Format = PLAIN
    is_text: bool = False
    doubts: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    sheet: str = ""


async def _step(request: Request, here: Custodian) -> Response:
    form = _drop_other_sheets(await form_of(request, here))
    source = form.text("other") or form.text("source")
    try:
        look = await here.run(lambda: _look(here.server.settings, source, form))
    except DiscreetError as refusal:
        typed = _look_at_form(form, source)
        if not typed.columns:
            return await _show_first(here, refusal_text(refusal), source)
        return await _show_second(here, form, typed, refusal_text(refusal))
    if form.text("step") == "2" or form.text("again"):
        return await _show_second(here, form, look)
    try:
        document = document_of(form, _place(here.server.settings, source, look.sheet))
        if look.format.facts():
            document["format"] = look.format.facts()
        table = read_schema(document)
        if form.text("step") == "4":
            await here.run(lambda: here.server.curator.add(document))
            return RedirectResponse(f"/custodian/tables/{quote(table.name, safe='')}", 303)
        dry = await here.run(lambda: dry_run(table))
    except DiscreetError as refusal:
        return await _show_second(here, form, look, refusal_text(refusal))
    return await here.page(
        "register.html",
        title="Register a table",
        step=3,
        refusal="",
        words=words_of(table),
        dry=dry,
        fields=[item for item in form.fields.items() if item[0] not in ("csrf", "step", "again")],
    )


def _drop_other_sheets(form: Form) -> Form:
    """A form without the format of another sheet than the one that is chosen now."""
    if form.text("sheet") == form.text("sheet-seen"):
        return form
    return Form({name: text for name, text in form.fields.items() if "format-" not in name})


def _place(settings: Settings, source: str, sheet: str) -> str:
    return settings.source(f"{source}#{sheet}" if sheet else source)


def _look(settings: Settings, source: str, form: Form) -> _Look:
    """Names, types and forms of columns, and how a file seems to be written."""
    place = settings.source(source)
    if "://" in place:
        columns = tuple(Origin.of(place).types().items())[:_MOST_COLUMNS]
        return _Look(source, columns)
    declared = read_declared(form)
    sheets = () if "#" in source else sheets_of(source_files(place))
    sheet = form.text("sheet") or (sheets[0] if sheets else "")
    previewed = preview(_place(settings, source, sheet), declared)
    columns = previewed.guess.columns[:_MOST_COLUMNS]
    cells = tuple(", ".join(shown_cells(previewed, at, shape)) for at in range(len(columns)))
    guess = previewed.guess
    return _Look(
        source, columns, cells, guess.format, previewed.is_text, guess.doubts, sheets, sheet
    )


def _look_at_form(form: Form, source: str) -> _Look:
    """The same from the page itself, where the source cannot be read as it says."""
    columns = []
    for place in range(_MOST_COLUMNS):
        if f"column-{place}" not in form.fields:
            break
        columns.append((form.fields[f"column-{place}"], form.text(f"seen-{place}")))
    return _Look(
        source,
        tuple(columns),
        is_text="format-given" in form.fields,
        sheets=tuple(form.fields.get("sheets", "").split("\n")) if "sheets" in form.fields else (),
        sheet=form.text("sheet"),
    )


async def _show_second(here: Here, form: Form, look: _Look, refusal: str = "") -> Response:
    stem = Path(path_of(look.source)).stem
    name = "".join(character if character.isalnum() else "_" for character in stem)
    values = {"name": name, "population": "", "unit": "", "rows_per_unit": "1"}
    values |= {"epsilon": "1", "delta": "0"}
    values |= {
        key: form.text(key) for key in values if key in form.fields and form.text("step") != "2"
    }
    rows = []
    for place, (column, kind) in enumerate(look.columns):
        row = {"name": column, "type": kind, "kind": _kind(kind)}
        row |= {"lower": "", "upper": "", "step": "", "keys": ""}
        row["cells"] = look.cells[place] if look.cells else ""
        if form.text(f"column-{place}") == column:
            seen = form.text(f"seen-{place}")
            if not seen or form.text(f"type-{place}") != _kind(seen) or seen == kind:
                row["kind"] = form.text(f"type-{place}")
            row |= {key: form.text(f"{key}-{place}") for key in ("lower", "upper", "step", "keys")}
        rows.append(row)
    return await here.page(
        "register.html",
        title="Register a table",
        status=400 if refusal else 200,
        step=2,
        refusal=refusal,
        source=look.source,
        values=values,
        columns=rows,
        kinds=("leave out", *KINDS),
        look=look,
        written=typed_fields(form, look.format),
        choices=CHOICES,
    )


def _kind(type_name: str) -> str:
    first = type_name.lower().partition("(")[0].strip()
    return _KINDS.get(first, "leave out")


def document_of(form: Form, source: str) -> dict[str, Any]:
    """The schema that a form describes, as a schema file would.

    >>> form = {"name": "visits", "epsilon": "1", "column-0": "age", "type-0": "integer"}
    >>> form |= {"lower-0": "0", "upper-0": "99"}
    >>> document_of(Form(form), "visits.csv")["columns"]
    {'age': {'type': 'integer', 'lower': Decimal('0'), 'upper': Decimal('99')}}
    """
    table: dict[str, Any] = {"name": form.text("name"), "source": source}
    if form.text("population"):
        table["population"] = form.text("population")
    if form.text("unit"):
        table["unit"] = form.text("unit")
        table["rows_per_unit"] = _whole(form.text("rows_per_unit"), "rows that one person may have")
    columns: dict[str, Any] = {}
    for place in range(_MOST_COLUMNS):
        name, kind = form.fields.get(f"column-{place}"), form.text(f"type-{place}")
        if name is None or kind in ("", "leave out") or name == form.text("unit"):
            continue
        columns[name] = _column(form, place, kind)
    budget: dict[str, Any] = {"epsilon": _decimal(form.text("epsilon"), "epsilon")}
    if _decimal(form.text("delta") or "0", "delta"):
        budget["delta"] = _decimal(form.text("delta"), "delta")
    return {"table": table, "columns": columns, "budget": budget}


def _column(form: Form, place: int, kind: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": kind}
    if kind == "category":
        entry["keys"] = [
            key.strip() for key in form.text(f"keys-{place}").split(",") if key.strip()
        ]
        return entry
    for end in ("lower", "upper", "step"):
        text = form.text(f"{end}-{place}")
        if not text or kind == "boolean" or (end == "step" and kind not in ("number", "datetime")):
            continue
        if end != "step" and kind in ("date", "datetime"):
            entry[end] = _day(text) if kind == "date" else _moment(text)
        else:
            entry[end] = _decimal(text, end)
    return entry


def _decimal(text: str, what: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidValue(f"{what} is {text!r:.80}; write a number.") from None


def _whole(text: str, what: str) -> int:
    if not text.isdigit():
        raise InvalidValue(f"{what}: {text!r:.80} is not a whole number.")
    return int(text)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidValue(f"{text!r:.80} is not a day; write it as 2025-01-31.") from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue(f"{text!r:.80} is not a time; write it as 2025-01-31 14:30.") from None


def words_of(table: Table) -> list[str]:
    """What registering a table promises, in plain words.

    >>> words_of(read_schema({"table": {"name": "t"}, "columns": {}, "budget": {"epsilon": 1}}))[0]
    'Protected: every row, neighbours: add-remove.'
    """
    said = [f"Protected: {protected_text(table)}."]
    if table.budget is not None:
        budget = table.budget
        meaning = explain(epsilon=budget.epsilon, delta=budget.delta, relation=table.neighbours)
        said += [line.strip() for line in meaning.sentences()]
    said += [f"How the file is read: {line}." for line in format_lines(table.format)[1:]]
    for column in table.columns:
        if column.kind not in ("category", "boolean"):
            low, high = column.decode(column.lower), column.decode(column.upper)
            said.append(
                f"Values of {column.name} below {low} count as {low}, above {high} as {high}."
            )
    return said


def dry_run(table: Table) -> list[tuple[str, str]]:
    """What an analyst would see, on rows that were invented from the schema alone.

    Nobody in them exists.
    >>> columns = {"age": {"type": "integer", "lower": 0, "upper": 99}}
    >>> schema = read_schema({"table": {"name": "t"}, "columns": columns, "budget": {"epsilon": 1}})
    >>> dry_run(schema)[0][0]
    'SELECT COUNT(*) AS n FROM t'
    """
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made_up.csv"
        _write_made_up(table, file)
        with Curator.open(Path(folder) / "vault") as curator:
            curator.add(replace(table, source=str(file), format=PLAIN))
            curator.grant("dry-run", epsilon=10, delta=table.budget.delta if table.budget else 0)
            session = curator.session("dry-run")
            for question in examples_of([table])[:3]:
                problems.append((question, _try_question(session, question)))
    return problems


def _try_question(session: Session, question: str) -> str:
    try:
        answer = session.sql(question, epsilon=0.2)
    except DiscreetError as refusal:
        return refusal_text(refusal)
    shown = "; ".join(", ".join(map(str, row.values())) for row in answer.to_dicts()[:4])
    return f"{shown} ({cost_text(answer.cost)})"


def _write_made_up(table: Table, file: Path) -> None:
    names = [column.source_name or column.name for column in table.columns]
    if table.unit:
        names.insert(0, table.unit_source_name or table.unit)
    with file.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(names)
        for row in range(_MADE_UP):
            invented = [
                _invent(column, 7919 * row + 104729 * place)
                for place, column in enumerate(table.columns)
            ]
            writer.writerow([*([row] if table.unit else []), *invented])


def _invent(column: Column, number: int) -> Any:
    code = column.lower + number % (column.upper - column.lower + 1)
    if column.kind == "category":
        return column.keys[number % len(column.keys)] if column.keys else f"key {number % 5}"
    if column.kind == "date":
        return date(1970, 1, 1) + timedelta(days=code)
    return column.decode(code)
