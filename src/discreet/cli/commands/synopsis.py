"""The commands of synopses: open pays and measures, query asks, download writes the public file."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Analyst, Json, TableName, VaultFolder, number_option
from discreet.cli.shared import (
    existing_vault,
    hold_interrupts,
    new_console,
    print_json,
    print_refusals,
    waiting,
)

if TYPE_CHECKING:
    from discreet.plan.parts.remarks import Note
    from discreet.streams.synopsis.snapshot import Estimate

__all__ = ["register"]

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The synopsis' name.")]


def register(app: typer.Typer) -> None:
    """Give the application the commands of synopses."""
    group = typer.Typer(
        no_args_is_help=True, help="Many counting questions about a few columns for one price."
    )
    group.command("open", help="Begin a synopsis: pay for it and measure.")(_open)
    group.command("query", help="Ask COUNT(*) questions, of the service or of a public file.")(
        _query
    )
    group.command("download", help="Write the public file, to be asked without a vault.")(_download)
    app.add_typer(group, name="synopsis")


@print_refusals
@hold_interrupts
def _open(
    name: _Name,
    table: TableName,
    columns: Annotated[
        str, typer.Argument(metavar="COLUMNS", help="The columns to ask about: a,b,c.")
    ],
    analyst: Analyst,
    epsilon: Annotated[Decimal, number_option("--epsilon", "E", "The whole price.")],
    alpha: Annotated[
        Decimal, number_option("--alpha", "A", "The share of rows that is near enough.")
    ],
    order: Annotated[
        int, typer.Option("--order", help="How many columns at a time are measured ahead.")
    ] = 3,
    vault: VaultFolder = Path("vault"),
    json: Json = False,
) -> None:
    from discreet.report.values import note_values
    from discreet.streams.synopsis.synopsis import Synopsis

    with existing_vault(vault) as curator, waiting(f"measuring {table} and fitting what was found"):
        synopsis = Synopsis.open(
            curator.session(analyst),
            tuple(name.strip() for name in columns.split(",") if name.strip()),
            table=table,
            name=name,
            alpha=alpha,
            epsilon=epsilon,
            order=order,
        )
        facts = {
            "name": name,
            "table": table,
            "columns": [column.name for column in synopsis.snapshot.table.columns],
            "rho": float(synopsis.spent),
            "rounds_left": synopsis.rounds_left,
            "total": synopsis.snapshot.total,
            "notes": note_values(synopsis.snapshot.notes),
        }
    if json:
        print_json(facts)
        return
    new_console().print(
        f"{name}: about {synopsis.snapshot.total:,.0f} rows of {table}; "
        f"{facts['rounds_left']} rounds are left for questions that are not measured ahead."
    )
    for note in synopsis.snapshot.notes:
        typer.echo(f"Note: {note}")


@print_refusals
@hold_interrupts
def _query(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The synopsis' name, or its public file.")
    ],
    sql: Annotated[
        list[str], typer.Argument(metavar="SQL...", help="COUNT(*) questions, each in quotes.")
    ],
    analyst: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Whose synopsis; not for a file.")
    ] = "",
    vault: VaultFolder = Path("vault"),
    json: Json = False,
) -> None:
    from discreet.streams.synopsis.snapshot import Snapshot
    from discreet.streams.synopsis.synopsis import Synopsis

    if not analyst:
        snapshot = Snapshot.load(name)
        _show([(question, snapshot.query(question)) for question in sql], snapshot.notes, json)
        return
    with existing_vault(vault) as curator:
        with waiting(f"fitting {name} again, then asking"):
            synopsis = Synopsis.resume(curator.session(analyst), name)
            estimates = [(question, synopsis.query(question)) for question in sql]
        _show(estimates, synopsis.snapshot.notes, json)


@print_refusals
def _download(
    name: _Name,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    analyst: Analyst,
    vault: VaultFolder = Path("vault"),
    json: Json = False,
) -> None:
    from discreet.streams.synopsis.synopsis import Synopsis

    with existing_vault(vault) as curator, waiting(f"fitting {name} again"):
        synopsis = Synopsis.resume(curator.session(analyst), name)
        synopsis.save(output)
    if json:
        print_json({"name": name, "file": str(output), "bytes": output.stat().st_size})
    else:
        new_console().print(f"{output}: {output.stat().st_size:,} bytes, public.")


def _show(estimates: "list[tuple[str, Estimate]]", notes: "tuple[Note, ...]", json: bool) -> None:
    from discreet.report.values import note_values

    rows: list[dict[str, Any]] = [
        {
            "question": question,
            "value": estimate.value,
            "share": estimate.share,
            "half_width": estimate.half_width,
            "source": estimate.source,
            "notes": note_values(notes),
        }
        for question, estimate in estimates
    ]
    if json:
        print_json(rows)
        return
    for row in rows:
        width = "not checked" if row["half_width"] is None else f"±{row['half_width']:,.1f}"
        new_console().print(f"{row['value']:,.1f} ({width}, {row['source']}): {row['question']}")
    for note in notes:
        typer.echo(f"Note: {note}")
