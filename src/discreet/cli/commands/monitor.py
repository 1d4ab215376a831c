"""The commands of monitors: new pays and begins, check and run compare, renew pays again, list."""

import contextlib
import json
import shlex
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Analyst, Json, Rho, VaultFolder, number_option
from discreet.cli.pipes import reader_left
from discreet.cli.shared import (
    existing_vault,
    hold_interrupts,
    name_vault,
    new_console,
    print_json,
    print_refusals,
)
from discreet.errors import InvalidValue, Unavailable, UnsafeQuery

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.plan.parts.remarks import Note
    from discreet.streams.monitor.design import Design
    from discreet.streams.monitor.monitor import Monitor
    from discreet.streams.monitor.state import Check

__all__ = ["register"]

_PATIENCE = 3  # failures in a row after which a schedule ends
_CHECKS = 100  # how many checks the error that is printed is for

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The monitor's name.")]
_Question = Annotated[
    str | None,
    typer.Option("--sql", metavar="SQL", help="Another question of the same run, in quotes."),
]
_Limit = Annotated[
    Decimal | None, number_option("--threshold", "T", "Another threshold for this check.")
]
_Refresh = Annotated[
    bool,
    typer.Option("--refresh", help="If a source has changed, refresh its table and check again."),
]


def register(app: typer.Typer) -> None:
    """Give the application the commands of monitors."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Watch a count or a sum: is it above a threshold? Only alarms are paid for.",
    )
    group.command("new", help="Begin a monitor and pay for its first run.")(_new)
    group.command("check", help="Compare now: above, which is an alarm, or below.")(_check)
    group.command("run", help="Check on a schedule until the alarms are used.")(_run)
    group.command("renew", help="Begin the next run, once the alarms are used, and pay for it.")(
        _renew
    )
    group.command("list", help="Show monitors, what they have left, and their alarms.")(_list)
    app.add_typer(group, name="monitor")


@print_refusals
@hold_interrupts
def _new(
    name: _Name,
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="One COUNT or SUM without groups, in quotes.")
    ],
    analyst: Analyst,
    threshold: Annotated[
        Decimal, number_option("--threshold", "T", "At or above this is an alarm; public.")
    ],
    alarms: Annotated[
        int, typer.Option("--alarms", metavar="C", help="How many alarms a run has.")
    ] = 1,
    epsilon: Annotated[
        Decimal | None, number_option("--epsilon", "E", "The price of a whole run.")
    ] = None,
    rho: Rho = None,
    numbers: Annotated[
        Decimal | None,
        number_option(
            "--numbers",
            "SHARE",
            "The share of the price that buys a noisy number with every alarm.",
        ),
    ] = None,
    dry: Annotated[
        bool, typer.Option("--explain", help="Show the cost and the error; run and charge nothing.")
    ] = False,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.plan.results.notes import cuts_of
    from discreet.report.values import note_values
    from discreet.streams.monitor.monitor import Monitor

    words: dict[str, Any] = {
        "threshold": threshold,
        "alarms": alarms,
        "epsilon": epsilon,
        "rho": rho,
        "numbers": numbers,
    }
    with existing_vault(folder) as curator:
        session = curator.session(analyst)
        known = name in Monitor.names(session)
        design = Monitor.explain(session, sql, **words)
        if not dry:
            Monitor.open(session, sql, name=name, **words)
        said = _describe_design(curator, design, analyst)
        notes = cuts_of(design.watched.plan)
    charged = not dry and not known
    if as_json:
        print_json({"name": name, "charged": charged, **said, "notes": note_values(notes)})
        return
    typer.echo(
        f"{name}: alarm when {sql} is at least {threshold}; {alarms} alarm(s) a run, of any "
        f"number of checks."
    )
    typer.echo(
        f"With 95% for {_CHECKS} checks together, no value more than {said['error']:g} below the "
        f"threshold is called above, and none more than {said['error']:g} above is called below."
    )
    if said["number_error"] is not None:
        typer.echo(f"The number of an alarm is within {said['number_error']:g} (95%).")
    for note in notes:
        typer.echo(f"Note: {note}")
    if charged:
        typer.echo(f"Cost: {said['cost']}. Left of analyst {analyst}: {said['left']}.")
    else:
        typer.echo(f"A run costs {said['cost']}. Nothing was run or charged.")


def _describe_design(curator: "Curator", design: "Design", analyst: str) -> dict[str, Any]:
    from discreet.ledger.account import Holder
    from discreet.report.words import cost_text, left_text

    account = curator.ledger.account(Holder.ANALYST, analyst)
    return {
        "cost": cost_text(design.cost, account.conversion_delta),
        "left": left_text(account),
        "error": design.error(checks=_CHECKS),
        "error_checks": _CHECKS,
        "number_error": design.number_error(),
        "form": design.watched.form.value,
    }


def _line(check: "Check") -> str:
    number = "" if check.number is None else f", about {float(check.number):g}"
    remaining = f"; {check.alarms_left} alarm(s) left" if check.above else ""
    return f"{check.time}  check {check.number_of_check}: {check.said}{number}{remaining}"


@print_refusals
@hold_interrupts
def _check(
    name: _Name,
    analyst: Analyst,
    sql: _Question = None,
    threshold: _Limit = None,
    refresh: _Refresh = False,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.report.values import note_values
    from discreet.streams.monitor.monitor import Monitor

    with existing_vault(folder) as curator:
        monitor = Monitor.open(curator.session(analyst), name=name)
        check = _check_with_refresh(curator, monitor, refresh, sql, threshold)
        notes = monitor.notes_of(check.question)
    if as_json:
        print_json({**check.values(), "notes": note_values(notes)})
        return
    typer.echo(_line(check))
    for note in notes:
        typer.echo(f"Note: {note}")


@print_refusals
def _run(
    name: _Name,
    analyst: Analyst,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="The time between two checks.")
    ],
    most: Annotated[
        int | None, typer.Option("--checks", metavar="N", help="Stop after so many checks.")
    ] = None,
    refresh: _Refresh = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line instead of text.")
    ] = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.curator.interrupts import STORED, finishing
    from discreet.streams.monitor.monitor import Monitor

    if not 0 <= every < float("inf"):
        raise InvalidValue(f"--every is {every}; it is a number of seconds, at least 0.")
    with existing_vault(folder) as curator:
        monitor = Monitor.open(curator.session(analyst), name=name)
        failures = done = 0
        while monitor.alarms_left and (most is None or done < most):
            if done or failures:
                time.sleep(every)
            with finishing(words=STORED):
                check = _attempt(curator, monitor, refresh, failures, folder)
                if check is not None:
                    typer.echo(json.dumps(check.values()) if as_json else _line(check))
            if check is None:
                failures += 1
                continue
            failures, done = 0, done + 1
            if reader_left():  # alarms that nobody sees are not spent
                break
        used = not monitor.alarms_left
    if used:
        step = f"discreet monitor renew {shlex.quote(name)} --as {shlex.quote(analyst)}"
        said = f"The alarms of {name} are used. To go on: {step}"
        typer.echo(name_vault(said, folder), err=True)


def _check_with_refresh(
    curator: "Curator",
    monitor: "Monitor",
    refresh: bool,
    sql: str | None = None,
    threshold: Decimal | None = None,
) -> "Check":
    """One check; where it fails and that was asked for, another after a refresh."""
    try:
        return monitor.check(sql, threshold=threshold)
    except Unavailable:
        if not refresh:
            raise
    from discreet.query.parse import parse

    for name in parse(sql or monitor.values()["question"], curator.tables).tables:
        curator.refresh(name)
    return monitor.check(sql, threshold=threshold)


def _attempt(
    curator: "Curator", monitor: "Monitor", refresh: bool, failures: int, folder: Path
) -> "Check | None":
    """One check of a schedule; a failure that may pass is said, and the schedule goes on."""
    try:
        return _check_with_refresh(curator, monitor, refresh)
    except Unavailable as failure:
        if failures + 1 >= _PATIENCE:
            raise
        said = f"discreet: {failure} Trying again at the next time."
        typer.echo(name_vault(said, folder), err=True)
        return None


@print_refusals
@hold_interrupts
def _renew(
    name: _Name, analyst: Analyst, as_json: Json = False, folder: VaultFolder = Path("vault")
) -> None:
    from discreet.ledger.account import Holder
    from discreet.report.words import left_text
    from discreet.streams.monitor.monitor import Monitor

    with existing_vault(folder) as curator:
        monitor = Monitor.open(curator.session(analyst), name=name)
        monitor.renew()
        values = monitor.values()
        remaining = left_text(curator.ledger.account(Holder.ANALYST, analyst))
    if as_json:
        print_json(values)
    else:
        typer.echo(f"{name}: run {values['run']} begins, with {values['alarms_left']} alarm(s).")
        typer.echo(f"Left of analyst {analyst}: {remaining}.")


@print_refusals
def _list(
    analyst: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Only the monitors of this analyst.")
    ] = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.streams.monitor.monitor import Monitor

    monitors: list[dict[str, Any]] = []
    with existing_vault(folder) as curator:
        analysts = [account.name for account in curator.ledger.analysts()]
        for who in analysts if analyst is None else [analyst]:
            session = curator.session(who)
            monitors += [_values(Monitor(session, name), who) for name in Monitor.names(session)]
    if as_json:
        print_json(monitors)
        return
    if not monitors:
        typer.echo(name_vault("There are no monitors; `discreet monitor new` begins one.", folder))
        return
    _print_list(monitors)


def _values(monitor: "Monitor", analyst: str) -> dict[str, Any]:
    """What is known of a monitor; of one that may not go on, why."""
    from discreet.report.values import note_values

    notes: tuple[Note, ...] = ()
    try:
        with contextlib.suppress(InvalidValue, UnsafeQuery):  # refused by now: nothing to say
            notes = monitor.notes
        return {"analyst": analyst, **monitor.values(), "notes": note_values(notes)}
    except Unavailable as problem:
        return {"analyst": analyst, "name": monitor.name, "unavailable": str(problem)}


def _print_list(monitors: list[dict[str, Any]]) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid()
    for heading in ("monitor", "analyst", "question", "at least", "checks", "alarms left", "last"):
        grid.add_column(heading, overflow="fold")
    for monitor in monitors:
        if "unavailable" in monitor:
            grid.add_row(monitor["name"], monitor["analyst"], Text(monitor["unavailable"]))
            continue
        last = monitor["last"]
        words = (
            monitor["name"],
            monitor["analyst"],
            monitor["question"],
            str(monitor["threshold"]),
            str(monitor["checks"]),
            f"{monitor['alarms_left']} of {monitor['alarms_of_a_run']} (run {monitor['run']})",
            "" if last is None else f"{last['said']}, {last['time']}",
        )
        grid.add_row(*map(Text, words))
    new_console().print(grid)
