"""The commands for surveys: write one, see what it can tell, collect reports, read them."""

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json, number_option
from discreet.cli.shared import new_console, print_json, print_refusals, write_page
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.survey.findings import Finding, Pairs
    from discreet.survey.forecast import Expected

__all__ = ["register"]

_HELP = "Surveys whose answers are randomized by the respondents' browsers before they are sent."

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The survey's TOML file.")]
_ReportsFile = Annotated[
    Path | None,
    typer.Option(
        "--reports", metavar="FILE", help="The file of reports; else beside the survey, .db."
    ),
]
_Round = Annotated[
    int,
    typer.Option("--round", metavar="N", help="Which round, of a survey that is asked repeatedly."),
]
_Confidence = Annotated[Decimal, number_option("--confidence", "C", "Of each interval, below 1.")]


def register(app: typer.Typer) -> None:
    """Give the application the group of survey commands."""
    group = typer.Typer(help=_HELP, no_args_is_help=True, pretty_exceptions_enable=False)
    group.command("new", help="Write a survey to start from; no file is overwritten.")(_new)
    group.command("simulate", help="The errors to expect, before anyone is asked.")(_simulate)
    group.command("invite", help="Make links for the people who may report, one each.")(_invite)
    group.command("collect", help="Serve the respondents' page and keep their reports.")(_collect)
    group.command("report", help="What the collected reports say, with intervals.")(_report)
    app.add_typer(group, name="survey")


def _reports_path(file: Path, reports: Path | None, round_number: int) -> Path:
    """Each round has a file of its own: a respondent is in each of them once."""
    if reports is not None:
        return reports
    return file.with_suffix(".db" if round_number == 1 else f".{round_number}.db")


@print_refusals
def _new(file: _File) -> None:
    from discreet.survey.definition import SKELETON

    try:
        with file.open("x", encoding="utf-8") as new_file:
            new_file.write(SKELETON.replace("{name}", file.name))
    except FileExistsError:
        raise InvalidValue(f"{file} is there already; nothing was written.") from None
    typer.echo(f"Wrote {file}. Edit it, then: discreet survey simulate {file} --people 1000")


@print_refusals
def _simulate(
    file: _File,
    people: Annotated[
        int, typer.Option("--people", metavar="N", help="How many are expected to answer.")
    ] = 1000,
    confidence: _Confidence = Decimal("0.95"),
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw errors against people, .svg or .png."),
    ] = None,
    as_json: Json = False,
) -> None:
    from discreet.survey.definition import read_survey
    from discreet.survey.forecast import forecast, people_for
    from discreet.survey.wire import length

    survey = read_survey(file)
    expected = forecast(survey, people=people, confidence=confidence)
    needed = {f"{error}": people_for(survey, error=error) for error in (0.05, 0.02, 0.01)}
    if plot is not None:
        from discreet.drawing.chart import svg
        from discreet.survey.chart import forecast_chart

        svg(forecast_chart(survey), str(plot))
        typer.echo(f"Wrote {plot}.", err=True)
    if as_json:
        print_json(
            {
                "title": survey.title,
                "epsilon": float(survey.epsilon),
                "rounds": survey.rounds,
                "limit": float(survey.limit),
                "report_bytes": length(survey),
                "people": people,
                "questions": [one.to_dict() for one in expected],
                "people_for_error": needed,
            }
        )
        return
    _print_forecast(expected, confidence)
    typer.echo(
        f"Each respondent spends epsilon {float(survey.epsilon):g} and sends "
        f"{length(survey)} bytes."
    )
    if survey.rounds > 1:
        typer.echo(
            f"Asked {survey.rounds} times, with fresh coins each time: at most epsilon "
            f"{float(survey.limit):g} in all, whatever is answered in each round."
        )
    wanted = ", ".join(f"{float(error):.0%}: {count:,}" for error, count in needed.items())
    typer.echo(
        f"People needed for a standard error of every share (of the range, for means): {wanted}."
    )


def _print_forecast(expected: "tuple[Expected, ...]", confidence: Decimal) -> None:
    from rich.table import Table as Grid

    from discreet.survey.question import Choice

    table = Grid(
        "question",
        "epsilon",
        "randomizer",
        "standard error",
        f"{100 * float(confidence):g}% interval",
        "a trusted curator's error",
        "ratio",
    )
    for one in expected:
        form = ".2%" if isinstance(one.question, Choice) else ".4g"
        table.add_row(
            one.question.name,
            f"{float(one.question.loss):g}",
            type(one.question.randomizer).__name__,
            f"at most {one.error:{form}}",
            f"+-{one.half_width:{form}}",
            f"{one.central:{form}}",
            f"{one.ratio:.1f}",
        )
    new_console().print(table)


@print_refusals
def _invite(
    people: Annotated[int, typer.Option("--people", metavar="N", help="How many links.")],
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="A new file, one link a line.")
    ],
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Where respondents will go.")
    ] = "http://127.0.0.1:8650/",
) -> None:
    from discreet.survey.invitations import invite

    links = "".join(f"{address}#{token}\n" for token in invite(people))
    try:
        with open(output, "x", encoding="utf-8", opener=_open_private) as new_file:
            new_file.write(links)
    except FileExistsError:
        raise InvalidValue(f"{output} is there already; nothing was written.") from None
    typer.echo(
        f"Wrote {people:,} links to {output}. Then: discreet survey collect FILE "
        f"--invitations {output}"
    )


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@print_refusals
def _collect(
    file: _File,
    reports: _ReportsFile = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="The port; 0 takes a free one.")
    ] = 8650,
    round_number: _Round = 1,
    invitations: Annotated[
        Path | None,
        typer.Option(
            "--invitations", metavar="FILE", help="Links or tokens of those who may report."
        ),
    ] = None,
) -> None:
    from discreet.survey.definition import read_survey
    from discreet.survey.endpoint import Endpoint
    from discreet.survey.invitations import read_invitations
    from discreet.survey.reports import Reports

    survey = read_survey(file)
    if not 1 <= round_number <= survey.rounds:
        raise InvalidValue(
            f"--round {round_number}: this survey has rounds 1 to {survey.rounds}. Nothing was "
            "collected."
        )
    allowed = None if invitations is None else read_invitations(invitations)
    path = _reports_path(file, reports, round_number)
    store = Reports(path, survey, invited=allowed, round_number=round_number)
    try:
        endpoint = Endpoint(store, host=host, port=port)
        typer.echo(f"Respondents go to {endpoint.address} . Reports: {store.path}. Stop: Ctrl-C.")
        try:
            endpoint.wait()
        except KeyboardInterrupt:
            endpoint.close()
        typer.echo(f"{len(store):,} reports are kept in {store.path}.")
    finally:
        store.close()


@print_refusals
def _report(
    file: _File,
    reports: _ReportsFile = None,
    round_number: _Round = 1,
    confidence: _Confidence = Decimal("0.95"),
    joint: Annotated[
        str | None,
        typer.Option(
            "--joint", metavar="A,B", help="Also how two questions with options go together."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Write a chart, .svg or .png.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with everything.")
    ] = None,
    as_json: Json = False,
) -> None:
    from discreet.survey.definition import read_survey
    from discreet.survey.findings import findings, pairs
    from discreet.survey.reports import Reports
    from discreet.survey.summary import cost_words

    survey = read_survey(file)
    path = _reports_path(file, reports, round_number)
    store = Reports.existing(path, survey, round_number=round_number)
    try:
        piles, said = store.piles(), cost_words(store)
    finally:
        store.close()
    results = findings(survey, piles, confidence=confidence)
    tables = (pairs(survey, piles, *_split_joint(joint)),) if joint is not None else ()
    if as_json:
        print_json(
            {
                "title": survey.title,
                "epsilon": float(survey.epsilon),
                "rounds": survey.rounds,
                "limit": None if store.unmarked else float(survey.limit),
                "cost": said,
                "questions": [finding.to_dict() for finding in results],
                "joint": [table.to_dict() for table in tables],
            }
        )
    else:
        _print_findings(results, tables)
        typer.echo(said)
    if plot is not None:
        from discreet.drawing.chart import svg
        from discreet.survey.chart import findings_chart

        svg(findings_chart(results), str(plot))
        typer.echo(f"Wrote {plot}.", err=as_json)
    if html is not None:
        from discreet.survey.summary import summary_page

        write_page(html, summary_page(survey, results, tables, cost=said))
        typer.echo(f"Wrote {html}.", err=as_json)


def _split_joint(joint: str) -> tuple[str, str]:
    names = [name.strip() for name in joint.split(",")]
    if len(names) != 2:
        raise InvalidValue(f"--joint is {joint!r}; write two questions, as in smokes,diet.")
    return names[0], names[1]


def _print_findings(results: "tuple[Finding, ...]", tables: "tuple[Pairs, ...]") -> None:
    from rich.table import Table as Grid

    from discreet.survey.summary import figure

    console = new_console()
    console.print(f"{results[0].people:,} respondents", markup=False)
    for finding in results:
        title = f"{finding.question.text} (epsilon {float(finding.question.loss):g})"
        level = f"{100 * finding.confidence:g}% interval"
        table = Grid("", "estimate", "standard error", level, title=title, title_justify="left")
        for row in finding.rows:
            table.add_row(
                row.label,
                figure(row.adjusted, finding),
                figure(row.error, finding),
                f"{figure(row.low, finding)} to {figure(row.high, finding)}",
            )
        console.print(table)
    for pair in tables:
        title = f"{pair.first.name} / {pair.second.name}: estimate and standard error"
        table = Grid("", *pair.second.options, title=title, title_justify="left")
        for option, shares, errors in zip(
            pair.first.options, pair.shares, pair.errors, strict=True
        ):
            cells = zip(shares, errors, strict=True)
            table.add_row(option, *(f"{share:.1%} +- {error:.1%}" for share, error in cells))
        console.print(table)
