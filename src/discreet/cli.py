"""The command line: reads arguments, prints, sets the exit status. Holds no privacy logic.
Exit status: 0 done, 1 refused (budget, policy, no proof), 2 bad input.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet import __version__
from discreet.errors import DiscreetError, InvalidValue

__all__ = ["app", "main"]

app = typer.Typer(
    name="discreet",
    help="Exact noise, tight accounting and durable budgets for sensitive tables.",
    no_args_is_help=True,
    add_completion=False,
    # A traceback that prints local variables could print exact data.
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
"""The typer application with every command."""


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Exact noise, tight accounting and durable budgets for sensitive tables."""


@app.command("demo", help="Release noisy counts of a made-up clinic and show what they cost.")
def _demo(
    output: Annotated[
        Path, typer.Option("--output", help="Folder for the chart; made if it is not there.")
    ] = Path("demo-output"),
) -> None:
    from discreet.demo import tour  # loads numpy and rich; `discreet --version` should not

    tour(output)


def main() -> None:
    """Run the command line of this process and set its exit status.

    Privacy: none (touches no data).
    >>> import sys, unittest.mock
    >>> with unittest.mock.patch.object(sys, "argv", ["discreet", "--version"]):
    ...     try:
    ...         main()
    ...     except SystemExit as done:
    ...         print(done.code)
    discreet 0.1.0
    0
    """
    try:
        app()
    except DiscreetError as refusal:
        typer.echo(f"discreet: {refusal}", err=True)
        sys.exit(2 if isinstance(refusal, InvalidValue) else 1)
