"""The command that makes synthetic data: charged to the table, with progress and two reports."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Json, TableName, VaultFolder, number_option
from discreet.cli.shared import (
    existing_vault,
    new_console,
    print_json,
    print_refusals,
    progress_bar,
    publishing_session,
    tell_interrupts,
)
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.session import Session
    from discreet.release.synth.aim import Progress
    from discreet.release.synth.result import Synthesis

__all__ = ["register"]

_KEPT = (
    "interrupted: the synthesis is paid for, finished and stored. The same command again is free."
)

_Epsilon = Annotated[Decimal, number_option("--epsilon", "E", "The price of it all.")]
_Rows = Annotated[int, typer.Option("--rows", metavar="N", min=1, help="How many rows to draw.")]
_Output = Annotated[
    Path, typer.Option("--output", metavar="FILE", help="A file that ends in .csv or .parquet.")
]
_Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME", help="Only these columns; may be repeated."),
]
_Method = Annotated[
    str, typer.Option("--method", help="marginals, or mwem for few columns and pure budgets.")
]
_Name = Annotated[
    str | None,
    typer.Option("--name", help="Tells two syntheses of the same thing apart; the same goes on."),
]
_Analyst = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Whose budget pays beside the table's; else a publisher's."
    ),
]
_Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FOLDER", help="Write public.html and custodian.html there."),
]
_Target = Annotated[
    str | None,
    typer.Option("--target", metavar="COLUMN", help="What the report's classifier predicts."),
]


def register(app: typer.Typer) -> None:
    """Give the application the command of synthetic data."""
    app.command(
        "synth",
        help="Make synthetic rows of a table. The same command again goes on where it stopped.",
    )(_synth)


@print_refusals
@tell_interrupts
def _synth(
    table: TableName,
    epsilon: _Epsilon,
    rows: _Rows,
    output: _Output,
    columns: _Columns = None,
    method: _Method = "marginals",
    name: _Name = None,
    analyst: _Analyst = None,
    report: _Report = None,
    target: _Target = None,
    as_json: Json = False,
    vault: VaultFolder = Path("vault"),
) -> None:
    from discreet.curator.interrupts import keeping

    if output.suffix not in (".csv", ".parquet"):
        raise InvalidValue(f"{output}: name a file that ends in .csv or .parquet.")
    with existing_vault(vault) as curator:
        session = publishing_session(curator, table, analyst)
        synthesis = _make(session, table, epsilon, columns, method, name)
        keeping(_KEPT)
        synthesis.write(output, rows)
        pages = [] if report is None else _pages(curator, synthesis, rows, report, target)
    values = _values(synthesis, rows, output, pages)
    if as_json:
        print_json(values)
        return
    console = new_console()
    console.print(
        f"{rows:,} rows in {output}; {synthesis.cost}, receipt {synthesis.receipt}.", markup=False
    )
    for mark in synthesis.model.marks:
        console.print(
            f"{mark.order}-way tables differ by {mark.distance:.4f} "
            f"(+-{mark.error:.4f}) in total variation, on average (95%).",
            markup=False,
        )
    for note in synthesis.notes:
        console.print(f"Note: {note}", markup=False)
    for page in pages:
        console.print(f"wrote {page}", markup=False)


def _make(
    session: "Session",
    table: str,
    epsilon: Decimal,
    columns: list[str] | None,
    method: str,
    name: str | None,
) -> "Synthesis":
    from discreet.release.synth.service import synthesize

    with progress_bar(f"synthesizing {table}:") as step:

        def show(now: "Progress") -> None:
            step(
                f"round {now.round}, {now.spent:.0%} of the budget, error {now.error:.3f}",
                now.spent,
            )

        return synthesize(
            session,
            table,
            epsilon=epsilon,
            columns=columns or None,
            method=method,
            name=name,
            on_progress=show,
        )


def _pages(
    curator: "Curator", synthesis: "Synthesis", rows: int, folder: Path, target: str | None
) -> list[Path]:
    from discreet.release.synth.report import custodian_page, public_page
    from discreet.release.synth.service import exact_codes

    if target is not None and target not in synthesis.columns:
        raise InvalidValue(f"--target {target}: write one of {', '.join(synthesis.columns)}.")
    folder.mkdir(parents=True, exist_ok=True)
    public, private = folder / "public.html", folder / "custodian.html"
    public.write_text(public_page(synthesis, rows), encoding="utf-8")
    private.touch(mode=0o600)
    private.chmod(0o600)
    exact = exact_codes(curator, synthesis)
    private.write_text(custodian_page(synthesis, rows, exact, target), encoding="utf-8")
    return [public, private]


def _values(synthesis: "Synthesis", rows: int, output: Path, pages: list[Path]) -> dict[str, Any]:
    return {
        "table": synthesis.table,
        "rows": rows,
        "output": str(output),
        "columns": list(synthesis.columns),
        "method": synthesis.method,
        "cost": synthesis.cost,
        "receipt": synthesis.receipt,
        "total": synthesis.model.total,
        "marks": [
            {
                "order": mark.order,
                "distance": mark.distance,
                "deviation": mark.deviation,
                "error": mark.error,
            }
            for mark in synthesis.model.marks
        ],
        "notes": [str(note) for note in synthesis.notes],
        "pages": [str(page) for page in pages],
    }
