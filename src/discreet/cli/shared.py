"""What all commands share: the vault, output, progress, and how a refusal is said.
A refusal is one or two sentences on standard error, never a traceback.
"""

import contextlib
import functools
import inspect
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer

from discreet.cli.options import VAULT, VaultFolder
from discreet.errors import DiscreetError, InvalidValue

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

    from discreet.curator.curator import Curator
    from discreet.curator.session import Session

__all__ = [
    "GRID_SECONDS",
    "existing_vault",
    "hold_interrupts",
    "name_vault",
    "new_console",
    "print_json",
    "print_refusals",
    "progress_bar",
    "publishing_session",
    "tell_interrupts",
    "vault",
    "waiting",
    "write_page",
]

GRID_SECONDS = Decimal("0.05")
"""The step of remote sessions where --grid-seconds sets no other."""

_FLOOR = "DISCREET_PRICE_FLOOR"
_WITHOUT_VAULT = ("attack", "audit", "demo", "import", "init", "survey")  # take no --vault
_ADVICE = re.compile(r"(?<=`)discreet ([a-z-]+)[^`]*(?=`)|(?<=: )discreet ([a-z-]+)[^`\n]*$")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def new_console() -> "Console":
    """A console on standard output that adds no colour of its own to numbers.

    >>> new_console().no_color in (True, False)
    True
    """
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def _progress(*columns: "ProgressColumn") -> "Progress":
    """Progress on standard error while something long runs; nothing where nobody looks."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextlib.contextmanager
def waiting(words: str) -> Iterator[None]:
    """What is being done and for how long, on standard error while it lasts; only to a terminal."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}")
    with _progress(SpinnerColumn(), text, TimeElapsedColumn()) as progress:
        progress.add_task(words, total=None)
        yield


@contextlib.contextmanager
def progress_bar(words: str) -> Iterator[Callable[[str, float], None]]:
    """A bar on standard error; it takes what is being done and the share that is done."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}")
    with _progress(text, BarColumn(), TimeElapsedColumn()) as progress:
        task = progress.add_task(words, total=1.0)
        yield lambda what, share: progress.update(
            task, description=f"{words} {what}".rstrip(), completed=share
        )


def write_page(path: Path, text: str) -> None:
    """Write an HTML page whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def print_json(values: Any) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False))


def vault(folder: Path, *, grid_seconds: Decimal = GRID_SECONDS) -> "Curator":
    """Open the vault in a folder, or make one; DISCREET_PRICE_FLOOR is its least price."""
    from discreet.curator.curator import Curator
    from discreet.ledger.floor import DEFAULT_FLOOR

    floor = os.environ.get(_FLOOR)
    try:
        share = DEFAULT_FLOOR.share if floor is None else Fraction(floor)
    except (ValueError, ZeroDivisionError):
        raise InvalidValue(
            f"{_FLOOR} is {floor!r:.40}; write a share of a budget, such as 0.0001."
        ) from None
    return Curator.open(folder, grid_seconds=grid_seconds, price_floor=share)


def existing_vault(folder: Path, *, grid_seconds: Decimal = GRID_SECONDS) -> "Curator":
    """Open a vault that is there; a mistyped folder does not become an empty vault.

    >>> existing_vault(Path("no-such-folder"))
    Traceback (most recent call last):
    discreet.errors.InvalidValue: there is no vault in no-such-folder. Name its folder with \
--vault or DISCREET_VAULT; `discreet add SCHEMA` makes one.
    """
    from discreet.ledger.vault import is_vault, seal_beside

    if not is_vault(folder):
        beside = seal_beside(folder)
        if beside is not None:
            raise InvalidValue(
                f"there is no vault in {folder}, but {beside} holds the seal of one. Put that "
                "vault back, or name its folder with --vault or DISCREET_VAULT. If it was deleted "
                "on purpose and its charges may be forgotten: `discreet add SCHEMA` makes an empty "
                "vault and is refused, `discreet ledger adopt --why TEXT` then starts anew, and "
                "`discreet add SCHEMA` works again."
            )
        raise InvalidValue(
            f"there is no vault in {folder}. Name its folder with --vault or DISCREET_VAULT; "
            "`discreet add SCHEMA` makes one."
        )
    return vault(folder, grid_seconds=grid_seconds)


def name_vault(text: str, folder: Path | None) -> str:
    """The text, whose commands name the vault in use where they would take another without.

    >>> name_vault("Next: discreet grant NAME --epsilon E", Path("my vault"))
    "Next: discreet grant NAME --epsilon E --vault 'my vault'"
    >>> name_vault("`discreet init FILE` writes one.", Path("my vault"))
    '`discreet init FILE` writes one.'
    """
    if folder is None or folder == Path(os.environ.get(VAULT) or "vault"):
        return text

    def add_option(command: re.Match[str]) -> str:
        without = (command[1] or command[2]) in _WITHOUT_VAULT or "--vault" in command[0]
        return command[0] if without else f"{command[0]} --vault {shlex.quote(str(folder))}"

    return _ADVICE.sub(add_option, text)


def hold_interrupts(command: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The command, with Ctrl-C held back once it has charged something: what is paid is stored.

    >>> hold_interrupts(lambda: 3)()
    3
    """

    @functools.wraps(command)
    def to_its_end(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        from discreet.curator.interrupts import STORED, finishing

        with finishing(words=STORED):
            return command(*arguments, **options)

    return to_its_end


def tell_interrupts(command: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The command, which stops at once on Ctrl-C and says whether what it has paid for is kept.

    >>> tell_interrupts(lambda: 3)()
    3
    """

    @functools.wraps(command)
    def run_told(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        from discreet.curator import interrupts

        with interrupts.telling():
            return command(*arguments, **options)

    return run_told


def _options(command: Callable[..., Any]) -> dict[str, str]:
    """How a command spells what Python calls by a name: by that of its option, or of its own."""
    spellings: dict[str, str] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        for option in getattr(parameter.annotation, "__metadata__", ()):
            flag = getattr(option, "default", None)  # in Annotated, the first word is the option's
            if isinstance(flag, str) and flag.startswith("--"):
                spelt = f"{flag} {{}}"
                spellings |= {name: spelt, flag.removeprefix("--").replace("-", "_"): spelt}
    return spellings


def _folder(command: Callable[..., Any], options: dict[str, Any]) -> Path | None:
    """The vault that a command was told to use; None for one that takes none."""
    for name, parameter in inspect.signature(command).parameters.items():
        if parameter.annotation == VaultFolder:
            return options.get(name)
    return None


def print_refusals(command: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The command, with refusals said in a line and a status: 1 refused, 2 bad input.

    Messages of this package carry no data, and others are not shown.
    >>> def command() -> None:
    ...     raise InvalidValue("epsilon is -1; it must be above 0.")
    >>> try:
    ...     print_refusals(command)()
    ... except typer.Exit as stop:
    ...     print(stop.exit_code)
    2
    """

    @functools.wraps(command)
    def run_guarded(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        try:
            return command(*arguments, **options)
        except DiscreetError as refusal:
            from discreet.report.words import refusal_text, respell

            words = respell(refusal_text(refusal), _options(command))
            typer.echo(f"discreet: {name_vault(words, _folder(command, options))}", err=True)
            raise typer.Exit(2 if isinstance(refusal, InvalidValue) else 1) from None
        except KeyboardInterrupt as stop:
            typer.echo(f"discreet: {str(stop) or 'interrupted.'}", err=True)
            raise typer.Exit(130) from None
        except OSError as failure:
            where = failure.filename or "a file"
            reason = failure.strerror or type(failure).__name__
            typer.echo(f"discreet: {where}: {reason}.", err=True)
            raise typer.Exit(2) from None

    return run_guarded


def publishing_session(curator: "Curator", table: str, analyst: str | None) -> "Session":
    """The analyst's session; without one, that of a publisher, who is granted all there is.

    Every charge also goes to the population's budget.
    """
    from discreet.ledger.account import Holder
    from discreet.schema.table import table_named

    population = table_named(curator.tables, table).population
    if analyst is not None:
        return curator.session(analyst)
    publisher = f"publisher-{population}"
    known = {(account.holder, account.name) for account in curator.ledger.accounts()}
    if (Holder.ANALYST, publisher) not in known:
        budget = curator.ledger.account(Holder.POPULATION, population).budget
        curator.grant(publisher, epsilon=budget.epsilon, delta=budget.delta)
    return curator.session(publisher)
