"""The custodian's commands: init, add, refresh, grant, inspect."""

import os
import re
import shlex
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Delta, Epsilon, Json, TableName, VaultFolder
from discreet.cli.shared import (
    existing_vault,
    name_vault,
    new_console,
    print_json,
    print_refusals,
    progress_bar,
    vault,
)
from discreet.errors import InvalidValue, SchemaError, counted

if TYPE_CHECKING:
    from discreet.curator.tables.intake import SourceReport
    from discreet.engines.files.preview import Preview

__all__ = ["register"]

_WARNING = (
    "These counts are exact and protect nobody: they are for the custodian, not for release. "
    "Bounds, keys or rows_per_unit chosen after looking at them depend on the data, and the "
    "guarantee does not cover that."
)
_MOST_SHOWN = 20
_WITH_HEADER = ("CSV", "Excel")  # kinds of files that may begin with the names of columns
_FORMAT_ADVICE = re.compile(r"write header = false and columns = \d+ in \[format\]")
_FILES = (
    "A Parquet, CSV (.csv, .tsv, .txt, also .gz or .zst), JSON lines, Excel, Arrow or DuckDB file "
    "(FILE#TABLE), or a pattern of several in quotes."
)


def register(app: typer.Typer) -> None:
    """Give the application the custodian's commands."""
    app.command("init", help="Write a schema file to fill in, from a file's columns and types.")(
        _init
    )
    app.command("add", help="Register a table by its schema file and prepare it for questions.")(
        _add
    )
    app.command(
        "refresh", help="Prepare a table again after its source changed; the budget stays."
    )(_refresh)
    app.command("grant", help="Give an analyst a budget of their own.")(_grant)
    app.command(
        "inspect",
        help="Count what the bounds drop or clamp: exact, NOT FOR RELEASE, custodian only.",
    )(_inspect)


def _source(text: str, schema: Path) -> tuple[str, str]:
    """The name and the source of a table as its schema file should say them."""
    from discreet.engines.files.preview import name_of

    name, mark, table = text.partition("#") if not Path(text).exists() else (text, "", "")
    place = os.path.relpath(name, schema.parent)
    return (table.rpartition(".")[2] or name_of(name)), place + mark + table


def _check_source(text: str) -> Path:
    """The file, or the pattern of files, of a source; a folder or no name at all is refused."""
    name = text if Path(text).exists() else text.partition("#")[0]
    if not name:
        raise InvalidValue(
            f"the file's name is empty in {text!r:.80}; name a file, such as visits.csv, or a "
            "pattern of several in quotes, such as 'data/*.csv'. Nothing was written."
        )
    if Path(name).is_dir():
        pattern = shlex.quote(str(Path(name) / "*.csv"))
        raise InvalidValue(
            f"{name} is a folder; name a file in it, or a pattern of several in quotes, such as "
            f"{pattern}. Nothing was written."
        )
    return Path(name)


def _check_unit(unit: str | None, previewed: "Preview", file: str) -> None:
    """Refuse a unit that is no column, and say which line was taken for the names of columns."""
    from discreet.engines.files.names import source_files
    from discreet.schema.column import nearest

    names = [column for column, _ in previewed.guess.columns]
    if unit is None or unit in names:
        return
    hint, marks = nearest(unit, names), previewed.guess.format
    line = f"line {marks.first_line}" if marks.first_line > 1 else "the first line"
    if source_files(file).kind not in _WITH_HEADER:
        pass
    elif not marks.header:
        hint += (
            f" The names of columns were not found: {line} was taken for a row. If it holds them, "
            "use --header; if another line does, --header --first-line LINE."
        )
    elif hint.startswith("Known"):
        hint += (
            f" The names of columns were taken from {line}. If another line holds them, use "
            "--header --first-line LINE; if none does, --no-header."
        )
    raise SchemaError(f"{file} has no column {unit!r}. {hint} Nothing was written.")


@print_refusals
def _init(
    file: Annotated[str, typer.Argument(metavar="FILE", help=_FILES)],
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="COLUMN", help="Whose row it is; omit if a row is a person."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="SCHEMA", help="The schema file; default: beside FILE."),
    ] = None,
    show_rows: Annotated[
        bool,
        typer.Option("--show-rows", help="Show the first rows themselves: exact, NOT FOR RELEASE."),
    ] = False,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the table begins with the names of its columns; default: a guess.",
        ),
    ] = None,
    first_line: Annotated[
        int | None,
        typer.Option(
            "--first-line",
            metavar="LINE",
            help="The line on which the table begins, below titles; default: a guess.",
        ),
    ] = None,
) -> None:
    from discreet.engines.files.preview import name_of, preview, shape
    from discreet.schema.toml.format_section import read_format
    from discreet.schema.toml.read import FILL_IN, marks_in
    from discreet.schema.toml.skeleton import skeleton

    plain = _check_source(file)
    schema = output or plain.with_name(f"{name_of(str(plain))}.toml")
    if schema.exists():
        raise InvalidValue(f"{schema} is there already; name another file with --output.")
    options = {"header": header, "first_line": first_line}
    declared = {name: value for name, value in options.items() if value is not None}
    # How many columns a table without names has is counted; any number will do for the check.
    read_format(file, declared if header is not False else {**declared, "columns": 1})
    try:
        previewed = preview(file, declared)
    except SchemaError as error:
        raise SchemaError(_FORMAT_ADVICE.sub("use --no-header", str(error))) from None
    columns = previewed.guess.columns
    name, source = _source(file, schema)
    _check_unit(unit, previewed, file)
    text = skeleton(name, source, columns, unit, previewed.guess.format)
    schema.write_text(text, encoding="utf-8")
    marks = [line for line in text.splitlines() if marks_in(line)]
    places = sum(map(marks_in, marks))
    typer.echo(f"Wrote {schema} from the names and types of {counted(len(columns), 'column')}.")
    if previewed.is_text:
        _show(previewed, str if show_rows else shape)
    typer.echo(f"Write a value in place of each {FILL_IN} ({places} of them):")
    for line in marks:
        typer.echo(f"  {line.partition('#')[0].strip()}")
    typer.echo("Choose from what is publicly known, not from the data.")
    typer.echo(f"Then: discreet add {shlex.quote(str(schema))}")


def _show(previewed: "Preview", shown: Callable[[str], str]) -> None:
    """The first rows and how they would be read, column by column; and what to check."""
    from discreet.engines.files.preview import shown_cells
    from discreet.schema.toml.write import format_lines

    guess = previewed.guess
    typer.echo("A text file has no types; these are a guess from its first rows. Check them.")
    for line in format_lines(guess.format)[1:]:
        typer.echo(f"  {line}")
    if not previewed.rows:
        typer.echo("  No row below the header can be read; every column is taken as text.")
    else:
        exact = (
            "exact, for the custodian's eyes only" if shown is str else "9 is a digit, a a letter"
        )
        typer.echo(f"The first rows, as they are written -> as they would be read ({exact}):")
    for place, (column, kind) in enumerate(guess.columns[:_MOST_SHOWN] if previewed.rows else ()):
        cells = shown_cells(previewed, place, shown)
        typer.echo(f"  {column} ({kind}): {', '.join(cells)}")
    if previewed.rows and len(guess.columns) > _MOST_SHOWN:
        typer.echo(f"  and {counted(len(guess.columns) - _MOST_SHOWN, 'more column')}")
    for doubt in guess.doubts:
        typer.echo(f"  Check: {doubt}.")


def _print_report(report: "SourceReport | None") -> None:
    """What could not be read of a source, and a longer time to declare."""
    if report is None:
        return
    said = report.sentences()
    if report.is_empty:
        typer.echo(
            "The source has no rows (exact, for the custodian's eyes only, not for release)."
        )
        said = said[1:]
    if said:
        typer.echo("Not read (exact counts, for the custodian's eyes only, not for release):")
    for sentence in said:
        typer.echo(f"  {sentence}")
    if report.answer_seconds is not None:
        typer.echo(
            "A question over this many rows can take longer than remote answers usually wait. "
            f"Write answer_seconds = {float(report.answer_seconds):g} in [table] and add the "
            "schema again, or answers come late."
        )


@print_refusals
def _add(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The table's schema file.")],
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Leave the data where it is; questions take longer.")
    ] = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.ledger.account import Holder
    from discreet.report.words import left_text
    from discreet.schema.described import protected_text

    if not schema.is_file():
        raise InvalidValue(
            f"{schema} is not a file; `discreet init FILE` writes a schema to fill in."
        )
    start = time.perf_counter()
    with vault(folder) as curator:
        with progress_bar(f"preparing {schema.stem}") as step:
            table = (
                curator.add_in_place(schema)
                if in_place
                else curator.add(schema, on_progress=partial(step, ""))
            )
        seconds = time.perf_counter() - start
        how = "left in place" if in_place else f"prepared in {seconds:.1f} s"
        typer.echo(f"{table.name}: {counted(len(table.columns), 'column')}, {how}. Vault: {folder}")
        _print_report(curator.report(table.name))
        if table.kind == "public":
            typer.echo("Public: it protects nobody, costs nothing, and questions may join it.")
            return
        people = curator.ledger.account(Holder.POPULATION, table.population)
        typer.echo(f"Protected: {protected_text(table)}.")
        typer.echo(f"Budget left of {table.population}: {left_text(people)}.")
        if not curator.ledger.analysts():
            typer.echo(name_vault("Next: discreet grant NAME --epsilon E", folder))


@print_refusals
def _refresh(table: TableName, folder: VaultFolder = Path("vault")) -> None:
    with existing_vault(folder) as curator:
        with progress_bar(f"preparing {table}") as step:
            curator.refresh(table, on_progress=partial(step, ""))
        typer.echo(f"{table}: refreshed. The budget goes on: new data is not new budget.")
        _print_report(curator.report(table))


@print_refusals
def _grant(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The analyst's name.")],
    epsilon: Epsilon,
    delta: Delta = Decimal(0),
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.ledger.account import Holder
    from discreet.report.words import left_text

    with vault(folder) as curator:
        curator.grant(name, epsilon=epsilon, delta=delta)
        account = curator.ledger.account(Holder.ANALYST, name)
        typer.echo(f"{name} has {left_text(account)}. Vault: {folder}")


@print_refusals
def _inspect(table: TableName, as_json: Json = False, folder: VaultFolder = Path("vault")) -> None:
    from discreet.report.tables import inspection_table

    with existing_vault(folder) as curator:
        counts = curator.inspect(table)
    if as_json:
        print_json({"table": table, "not_for_release": True, "warning": _WARNING, "counts": counts})
        return
    console = new_console()
    console.print(inspection_table(counts))
    console.print(_WARNING)
