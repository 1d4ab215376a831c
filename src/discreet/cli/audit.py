"""The command that audits the project's own mechanisms, and the bugs planted beside them."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.attack import progress_bar, write_page
from discreet.cli.shared import Json, new_console, print_json, refusing

if TYPE_CHECKING:
    from discreet.audit.catalogue import Examined

__all__ = ["register"]

_FALSE_ALARM = 1e-9  # of each audit of a correct mechanism
_BUG_FALSE_ALARM = 1e-3  # the sample sizes of the bugs are for this one


def register(app: typer.Typer) -> None:
    """Give the application the command that audits.

    Privacy: none (touches no data).
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.name for command in app.registered_commands]
    ['audit']
    """
    app.command(
        "audit",
        help="Try to contradict the claims of every mechanism; catch the bugs planted beside them.",
    )(_audit)


@refusing
def _audit(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[MECHANISM]", help="Audit this one only; left out: everything."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write the audit page, with charts."),
    ] = None,
    as_json: Json = False,
) -> None:
    from discreet.audit.report import audit_page, examined_values, summary

    start = time.process_time()
    examined = _examined(name)
    seconds = time.process_time() - start
    if html is not None:
        write_page(html, audit_page(examined))
    if as_json:
        print_json(
            {
                "audits": [examined_values(one) for one in examined],
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


def _examined(name: str | None) -> "list[Examined]":
    from contextlib import ExitStack

    from discreet.audit.catalogue import bugs, examine, find, local_subjects, mechanism_subjects
    from discreet.audit.services import curator_subjects

    with ExitStack() as stack, progress_bar("auditing:") as step:
        subjects = (*mechanism_subjects(), *local_subjects())
        if name is None or "curator" in name.casefold():
            subjects += stack.enter_context(curator_subjects())
        subjects += bugs()
        chosen = subjects if name is None else find(name, subjects)
        found = []
        for place, one in enumerate(chosen):
            step(one.name, place / len(chosen))
            risk = _BUG_FALSE_ALARM if one.bug else _FALSE_ALARM
            found.append(examine(one, false_alarm=risk))
    return found


def _print(examined: "list[Examined]") -> None:
    from rich.table import Table

    table = Table("mechanism", "claimed", "at delta", "at least", "samples", "verdict")
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
    if len(examined) == 1:
        console.print(str(examined[0].verdict), markup=False)
