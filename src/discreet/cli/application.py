"""The typer application: every command in its group, the version, the demo.
Exit status: 0 done; 1 refused (budget, policy, no proof, a question that is not safe) or not
available; 2 bad input.
"""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet import __version__
from discreet.cli.commands import (
    analyst,
    attack,
    audit,
    bounds,
    custodian,
    metadata,
    monitor,
    record,
    release,
    serve,
    survey,
    synopsis,
    synth,
)
from discreet.cli.shared import print_refusals

__all__ = ["app"]

_HELP = "A trusted curator for sensitive tables: SQL in, private answers with error bars out."


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """A trusted curator for sensitive tables."""


@print_refusals
def _demo(
    output: Annotated[
        Path, typer.Option("--output", help="Folder for data, vault and chart; made if needed.")
    ] = Path("demo-output"),
    serve_pages: Annotated[
        bool, typer.Option("--serve", help="Show the clinic in a browser, with guided steps.")
    ] = False,
    port: Annotated[int, typer.Option("--port", help="The port to serve on.")] = 8642,
) -> None:
    if serve_pages:
        serve.serve_demo(output, port)
        return
    from discreet.demo import tour  # loads numpy and duckdb; `discreet --version` should not

    tour(output, program=_program())


def _program() -> str:
    """How the reader called this command line, so that the lines it prints can be copied."""
    called = Path(sys.argv[0])
    if called.name != "discreet" or shutil.which("discreet") == str(called):
        return "discreet"
    return str(called)


def _application() -> typer.Typer:
    app = typer.Typer(
        name="discreet",
        help=_HELP,
        no_args_is_help=True,
        # A traceback that prints local variables could print exact data.
        pretty_exceptions_enable=False,
        pretty_exceptions_show_locals=False,
    )
    app.callback(help=_HELP)(_root)
    custodian.register(app)
    analyst.register(app)
    bounds.register(app)
    record.register(app)
    metadata.register(app)
    attack.register(app)
    audit.register(app)
    monitor.register(app)
    survey.register(app)
    synopsis.register(app)
    release.register(app)
    synth.register(app)
    serve.register(app)
    app.command("demo", help="A made-up clinic, five questions, what they cost and what is left.")(
        _demo
    )
    return app


app = _application()
"""The typer application with every command."""
