"""The command that attacks made-up people: exact answers, common protections, a curator."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json, number_option
from discreet.cli.shared import new_console, print_json, print_refusals, progress_bar, write_page
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.attacks.catalogue import Setting
    from discreet.attacks.outcome import Study
    from discreet.schema.table import Table

__all__ = ["register"]

_LIMITS = "limits"
_CURVED = ("law", "parities")
_INTRODUCTION = (
    "Nobody in these tables exists. Each attack is made on exact answers, on protections that "
    "are common and fail, and on a curator whose whole budget is the epsilon named.",
    "A secret is a fair coin, so half of the guesses are right without any answer. A curator of "
    "budget epsilon admits at most e^(2 epsilon)/(1 + e^(2 epsilon)) of them in expectation, "
    "because another value is two steps of adding and removing; a test of membership with 5% "
    "false alarms finds at most e^epsilon times 5% of the members.",
)


def register(app: typer.Typer) -> None:
    """Give the application the command that attacks."""
    app.command(
        "attack", help="Attack made-up people: exact answers, protections that fail, and a curator."
    )(_attack)


@print_refusals
def _attack(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Which attack, or limits; left out: list them."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Make every attack, one after the other.")
    ] = False,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--table",
            metavar="SCHEMA",
            help="Your own schema file: the people are made up to fit it; no data is read.",
        ),
    ] = None,
    people: Annotated[
        int, typer.Option("--people", metavar="N", help="How many people to make up, to 2000.")
    ] = 100,
    epsilon: Annotated[
        Decimal, number_option("--epsilon", "E", "The curator's whole budget.")
    ] = Decimal(1),
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write one page with all charts."),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FOLDER", help="Also write each chart as an SVG file."),
    ] = None,
    as_json: Json = False,
) -> None:
    from discreet.attacks.catalogue import ATTACKS, Setting

    if name is not None and everything:
        raise InvalidValue(f"give a name or --all, not both: {name}.")
    if name is None and not everything:
        if html is not None:
            raise InvalidValue("name an attack, or write --all, for the page to show.")
        _list(as_json)
        return
    setting = Setting(people=people, epsilon=epsilon, table=_table(schema))
    chosen = tuple(ATTACKS) if everything else (str(name),)
    studies = _studies(chosen, setting)
    if as_json:
        print_json({"attacks": [study.to_dict() for study in studies]})
    else:
        _print_all(studies, name)
    if pictures is not None:
        _draw(studies, pictures)
    if html is not None:
        _write_html(html, studies, setting, name)
        typer.echo(f"Wrote {html}.", err=as_json)


def _print_all(studies: "list[Study]", name: str | None) -> None:
    from discreet.attacks.limits import HARDNESS

    console = new_console()
    for study in studies:
        _print(study, console)
    if name == _LIMITS:
        console.print("\nSynthetic data", style="bold", markup=False)
        for sentence in HARDNESS:
            console.print(sentence, markup=False)


def _write_html(html: Path, studies: "list[Study]", setting: "Setting", name: str | None) -> None:
    from discreet.attacks.chart import study_section
    from discreet.attacks.limits import HARDNESS
    from discreet.drawing.page import Section, page

    about = "made-up people" if setting.table is None else f"the schema of {setting.table.name}"
    sections = [study_section(study) for study in studies]
    if name == _LIMITS:
        sections.append(Section(title="Synthetic data", words=HARDNESS))
    write_page(html, page(f"Attacks on {about}", _INTRODUCTION, sections))


def _draw(studies: "list[Study]", folder: Path) -> None:
    from discreet.attacks.chart import bar_chart, line_chart
    from discreet.drawing.chart import svg

    folder.mkdir(parents=True, exist_ok=True)
    for study in studies:
        svg(bar_chart(study), str(folder / f"{study.name}.svg"))
        if study.curve:
            svg(line_chart(study), str(folder / f"{study.name}_curve.svg"))


def _table(schema: Path | None) -> "Table | None":
    from discreet.schema.toml.read import read_schema

    if schema is None:
        return None
    if not schema.is_file():
        raise InvalidValue(f"{schema} is not a file; name a schema file, as for discreet add.")
    return read_schema(schema)


def _list(as_json: bool) -> None:
    from discreet.attacks.catalogue import ATTACKS

    names = [*ATTACKS, _LIMITS]
    if as_json:
        print_json({"attacks": names})
        return
    typer.echo(f"Attacks: {', '.join(names)}.")
    typer.echo("Make one: discreet attack NAME. Make all of them: discreet attack --all")


def _studies(chosen: tuple[str, ...], setting: "Setting") -> "list[Study]":
    from discreet.attacks.catalogue import study

    studies: list[Study] = []
    with progress_bar("attacking:") as step:
        for place, name in enumerate(chosen):

            def share(done: float, place: int = place, name: str = name) -> None:
                step(name, (place + done) / len(chosen))

            share(0.0)
            studies += _limits(share) if name == _LIMITS else [study(name, setting, share)]
    return studies


def _limits(share: Callable[[float], None]) -> "list[Study]":
    from discreet.attacks.limits import law, parities

    return [
        law(on_progress=lambda done: share(done / 2)),
        parities(on_progress=lambda done: share((1 + done) / 2)),
    ]


def _print(study: "Study", console: "Console") -> None:
    from rich.table import Table as Grid

    console.print(f"\n{study.title}", style="bold", markup=False)
    console.print(study.words, markup=False)
    table = Grid("attack", "interface", study.measure, "guessing", "privacy admits")
    for one in study.outcomes:
        table.add_row(
            one.attack,
            one.interface,
            f"{one.accuracy:.1%}" + (f" at {one.at:g}" if study.name in _CURVED else ""),
            f"{one.baseline:.0%}",
            one.admitted,
        )
    console.print(table)
    if study.curve and study.name not in _CURVED:
        _print_curve(study, console)
    console.print(study.lesson, markup=False)


def _print_curve(study: "Study", console: "Console") -> None:
    """The points of the curve: a row for each place, a column for each interface."""
    from rich.table import Table as Grid

    points = {(one.at, f"{one.attack}, {one.interface}"): one for one in study.curve}
    places = sorted({at for at, _ in points if at is not None})
    lines = list(dict.fromkeys(line for _, line in points))
    table = Grid(study.curve_title or "at", *lines)
    for at in places:
        heights = (points.get((at, line)) for line in lines)
        table.add_row(f"{at:g}", *("" if one is None else f"{one.accuracy:.1%}" for one in heights))
    console.print(table)
