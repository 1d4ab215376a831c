"""The command that audits the project's own mechanisms and services, and the bugs planted beside
them. Owns the words; what is audited is in `discreet.audit.catalogue`.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.shared import new_console, print_json, print_refusals, progress_bar, write_page

if TYPE_CHECKING:
    from discreet.audit.catalogue import Examined

__all__ = ["register"]

_FALSE_ALARM = 1e-9  # of each audit of a correct mechanism
_BUG_FALSE_ALARM = 1e-3  # the sample sizes of the bugs are for this one
_QUICK = 1_000
_MOST_PROCESSES = 4
_FEW = 3  # audits whose verdicts are printed in full


def register(app: typer.Typer) -> None:
    """Give the application the command that audits."""
    app.command(
        "audit",
        help="Try to contradict the claims of every mechanism and service; catch planted bugs.",
    )(_audit)


@print_refusals
def _audit(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Audit this one and the bugs beside it; left out: everything."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="At most 1,000 samples of what is correct: gross bugs only."),
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what can be audited, and audit nothing.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write the audit page, with charts."),
    ] = None,
    as_json: Json = False,
) -> None:
    from discreet.audit.report import audit_page, examination_values, summary

    if listed:
        _print_names(as_json)
        return
    start = time.process_time()
    examined, elsewhere = _run_audits(name, _QUICK if quick else None)
    seconds = time.process_time() - start + elsewhere
    if html is not None:
        write_page(html, audit_page(examined))
    if as_json:
        print_json(
            {
                "audits": [examination_values(one) for one in examined],
                "summary": summary(examined),
                "processor_seconds": round(seconds, 1),
            }
        )
    else:
        _print(examined)
        typer.echo(f"{summary(examined)} {seconds:.0f} s of processor time.")
        if html is not None:
            typer.echo(f"Wrote {html}.")
    if not all(one.as_expected for one in examined):
        raise typer.Exit(1)


def _run_audits(name: str | None, most: int | None) -> "tuple[list[Examined], float]":
    """What was found, and the processor seconds that other processes took."""
    import os
    from contextlib import ExitStack

    from discreet.audit.catalogue import everything, find
    from discreet.audit.parallel import Rates, examine_all, examine_each

    rates = Rates(right=_FALSE_ALARM, wrong=_BUG_FALSE_ALARM, most=most)
    with ExitStack() as stack, progress_bar("auditing:") as step:
        if name is not None:
            return examine_each(find(name, everything(stack)), rates, step), 0.0
        processes = min(_MOST_PROCESSES, os.cpu_count() or 1)
        return examine_all(rates, step, processes=processes)


def _print_names(as_json: bool) -> None:
    from contextlib import ExitStack

    from rich.table import Table

    from discreet.audit.catalogue import everything

    with ExitStack() as stack:  # nothing is drawn from, so no vault is made
        subjects = [one for one in everything(stack) if not one.beside]
    if as_json:
        print_json([{"name": one.name, "part": one.part} for one in subjects])
        return
    table = Table("part", "name")
    for one in subjects:
        table.add_row(one.part, one.name)
    new_console().print(table)


def _print(examined: "list[Examined]") -> None:
    from rich.table import Table

    table = Table("audited", "claimed", "at delta", "at least", "samples", "verdict")
    for one in examined:
        statement = one.verdict.strongest.statement
        said = "false" if one.verdict.violated else "nothing found"
        if one.subject.bug:
            said = "caught" if one.verdict.violated else "MISSED"
        elif one.verdict.violated:
            said = "CLAIM IS FALSE"
        table.add_row(
            f"bug: {one.subject.name}" if one.subject.bug else one.subject.name,
            f"{float(statement.epsilon):.4g}",
            f"{float(statement.delta):.3g}",
            f"{one.verdict.epsilon:.3f}",
            f"{one.subject.samples:,}",
            said,
        )
    console = new_console()
    console.print(table)
    if len(examined) <= _FEW:
        for one in examined:
            console.print(f"\n{one.subject.name}\n{one.verdict}", markup=False)
