"""The publisher's commands: release prices, previews and writes tables; verify-release checks a
folder. No privacy logic here.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Json, VaultFolder
from discreet.cli.shared import (
    existing_vault,
    hold_interrupts,
    new_console,
    print_json,
    print_refusals,
    publishing_session,
)
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.release.declared import ReleasePlan

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Give the application the publisher's commands."""
    app.command(
        "release", help="Publish tables once: price them, preview their errors, write a folder."
    )(_release)
    app.command(
        "verify-release", help="Check a release's folder against its manifest, and the ledger."
    )(_verify_release)


@print_refusals
@hold_interrupts
def _release(
    specification: Annotated[
        Path, typer.Argument(metavar="SPEC", help="The declared tables, as a TOML file.")
    ],
    analyst: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Whose budget pays too; else a publisher's."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FOLDER", help="A new folder; else only a preview."),
    ] = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.release.published import empty_folder
    from discreet.release.specification import read_release

    declared = read_release(specification)
    with existing_vault(folder) as curator:
        plan = declared.plan(publishing_session(curator, declared.table, analyst))
        if output is None:
            _show(plan, as_json=as_json)
            return
        empty_folder(output)
        published = plan.run()
        published.write(output)
        if as_json:
            written = {"folder": str(output), "receipt": published.receipt, **plan.guarantee()}
            print_json({**written, "tables": list(published.tables)})
            return
        _print_preview(plan)
    typer.echo(f"{len(published.sheets)} tables in {output}, receipt {published.receipt}.")
    typer.echo(f"Read {output / 'index.html'}; check it with: discreet verify-release {output}")


def _values(plan: "ReleasePlan") -> dict[str, Any]:
    return {
        **plan.guarantee(),
        "tables": [
            {"table": part.table, "cells": part.cells, "measure": part.measure, "error": part.error}
            for part in plan.preview()
        ],
    }


def _show(plan: "ReleasePlan", *, as_json: bool) -> None:
    if as_json:
        print_json(_values(plan))
        return
    _print_preview(plan)
    typer.echo("A preview: nothing was run or charged. Name a folder with --output to release.")


def _print_preview(plan: "ReleasePlan") -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid()
    for name in ("table", "cells", "what", "error"):
        grid.add_column(name, justify="right" if name in ("cells", "error") else "left")
    for part in plan.preview():
        error = "with the data" if part.error is None else f"{part.error:,.4g}"
        grid.add_row(Text(part.table), f"{part.cells:,}", Text(part.measure), error)
    console = new_console()
    console.print(grid)
    said = plan.guarantee()
    charged = ", ".join(
        f"{name.removeprefix('charged_')} {value}"
        for name, value in said.items()
        if name.startswith("charged_")
    )
    console.print(
        f"Cost: {charged}. All of it together: epsilon {said['epsilon']} at delta "
        f"{said['delta']} ({said['composition']}).",
        markup=False,
    )


@print_refusals
def _verify_release(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that release wrote.")],
    vault: Annotated[
        Path | None,
        typer.Option("--vault", metavar="VAULT", help="Also look for its charge in this ledger."),
    ] = None,
    as_json: Json = False,
) -> None:
    from discreet.release.verification import check_entries, check_folder, read_manifest

    problems = check_folder(folder)
    if vault is not None:
        with existing_vault(vault) as curator:
            problems += check_entries(read_manifest(folder), list(curator.ledger.entries()))
    if as_json:
        print_json({"folder": str(folder), "problems": problems})
    for problem in [] if as_json else problems:
        typer.echo(problem)
    if problems:
        raise InvalidValue(f"{folder}: {len(problems)} problems. Do not use this release.")
    if not as_json:
        typer.echo(f"{folder}: every file is as the manifest says.")
