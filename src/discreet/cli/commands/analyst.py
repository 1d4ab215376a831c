"""The analyst's commands: tables and describe show what there is, explain shows a question's cost
and error, query asks it and pays.
"""

import importlib.util
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Analyst, Json, Rho, TableName, VaultFolder, number, number_option
from discreet.cli.shared import (
    existing_vault,
    name_vault,
    new_console,
    print_json,
    print_refusals,
    tell_interrupts,
)
from discreet.errors import DiscreetError, InvalidValue, Unavailable

if TYPE_CHECKING:
    from discreet.curator.answer import Answer
    from discreet.curator.curator import Curator
    from discreet.curator.session import Session
    from discreet.ledger.account import Account
    from discreet.schema.described import Tables

__all__ = ["register"]

_Sql = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, in quotes.")]
_Looking = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Also show what is left of this analyst's budget."),
]
_Epsilon = Annotated[
    Decimal | None, number_option("--epsilon", "E", "The price of the whole question.")
]
_Error = Annotated[
    list[str] | None,
    typer.Option(
        "--error",
        metavar="X",
        help="Pay the least whose 95% error is at most X, or COLUMN=X; may be repeated.",
    ),
]
_Delta = Annotated[
    Decimal | None, number_option("--delta", "D", "The most that private keys may cost in delta.")
]
_Count = Annotated[
    int | None,
    typer.Option(
        "--count",
        metavar="N",
        help="Assume that a group has N rows: for averages, and the method of quantiles.",
    ),
]
_MaxGroups = Annotated[
    int | None,
    typer.Option(
        "--max-groups-contributed",
        metavar="N",
        help="Use at most N groups of one unit: less noise where it is in many.",
    ),
]
_MaxRows = Annotated[
    int | None,
    typer.Option(
        "--max-rows-contributed",
        metavar="N",
        help="Use at most N rows of one unit, fewer than the schema allows: less noise.",
    ),
]


def register(app: typer.Typer) -> None:
    """Give the application the analyst's commands."""
    app.command("tables", help="List the tables: what they are about and whom they protect.")(
        _tables
    )
    app.command(
        "describe",
        help="Show a table: columns, bounds, keys, notes, what may be asked, budget left.",
    )(_describe)
    app.command(
        "explain", help="Show what a question would cost and how exact it would be. Costs nothing."
    )(_explain)
    app.command("query", help="Ask a question: noisy answers with intervals, paid from a budget.")(
        _query
    )


def _errors(texts: list[str] | None) -> Decimal | dict[str, Decimal] | None:
    """One error for all columns, or one for each that is named."""
    if not texts:
        return None
    named: dict[str, Decimal] = {}
    for text in texts:
        name, mark, width = text.rpartition("=")
        if not mark and len(texts) > 1:
            raise InvalidValue(f"--error {text}: with several, write COLUMN=X in each.")
        if not mark:
            return number(text)
        named[name] = number(width)
    return named


def _terms(options: dict[str, Any]) -> dict[str, Any]:
    """The terms of a question among the options of a command."""
    from discreet.curator.question import TERMS

    return {name: options[name] for name in TERMS} | {"error": _errors(options["error"])}


def _remaining(population: "Account", analyst: "Account") -> dict[str, Any]:
    from discreet.report.values import account_values

    return {
        "analyst": account_values(analyst)["remaining"],
        "population": account_values(population)["remaining"],
    }


@print_refusals
def _tables(
    analyst: _Looking = None, as_json: Json = False, folder: VaultFolder = Path("vault")
) -> None:
    with existing_vault(folder) as curator:
        tables = _find_tables(curator, analyst)
    if as_json:
        print_json([dict(table) for table in tables.values()])
        return
    typer.echo(repr(tables))
    step = "Next: discreet describe TABLE" if tables else "Next: discreet add SCHEMA"
    typer.echo(name_vault(step, folder))


@print_refusals
def _describe(
    table: TableName,
    analyst: _Looking = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    with existing_vault(folder) as curator:
        described = _find_tables(curator, analyst)[table]
    if as_json:
        print_json(dict(described))
        return
    typer.echo(repr(described))


def _find_tables(curator: "Curator", analyst: str | None) -> "Tables":
    from discreet.curator.snapshot import tables_of

    if analyst is not None:
        return curator.session(analyst).tables
    return tables_of(curator.ledger, curator.tables.values(), None)


@print_refusals
def _explain(
    sql: _Sql,
    analyst: Analyst,
    epsilon: _Epsilon = None,
    rho: Rho = None,
    error: _Error = None,
    count: _Count = None,
    delta: _Delta = None,
    max_groups_contributed: _MaxGroups = None,
    max_rows_contributed: _MaxRows = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.report.tables import plan_table
    from discreet.report.words import left_text, refusal_of

    with existing_vault(folder) as curator:
        plan = curator.session(analyst).explain(sql, **_terms(locals()))
        population, account = curator.ledger.payers(
            population=plan.table.population, analyst=analyst
        )
    refusal = refusal_of(plan.cost, population, account)
    if as_json:
        outlook = {"admitted": refusal is None, "remaining": _remaining(population, account)}
        suggested = [suggestion.values() for suggestion in plan.suggest(count)]
        print_json({**plan.facts(count), "suggestions": suggested, **outlook})
        return
    console = new_console()
    console.print(plan_table(plan, account, count))
    console.print(f"\nBudget left of {analyst}: {left_text(account)}.", markup=False)
    if refusal is not None:
        console.print(f"The question would be refused now. {refusal}", markup=False)
    console.print("Nothing was run or charged.")


@print_refusals
@tell_interrupts
def _query(
    sql: _Sql,
    analyst: Analyst,
    epsilon: _Epsilon = None,
    rho: Rho = None,
    error: _Error = None,
    count: _Count = None,
    delta: _Delta = None,
    max_groups_contributed: _MaxGroups = None,
    max_rows_contributed: _MaxRows = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY", help="A name of your own: asked again, it is charged once."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also draw the answer, as .svg or .png."),
    ] = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.report.values import answer_values

    terms = _terms(locals())
    if plot is not None:
        _check_plot(plot)
    with existing_vault(folder) as curator:
        session = curator.session(analyst)
        if plot is not None:
            _check_bars(session, sql, terms)
        answer = session.sql(sql, key=key, **terms)
        population, account = curator.ledger.payers(
            population=answer.plan.table.population, analyst=analyst
        )
    if as_json:
        print_json({**answer_values(answer), "remaining": _remaining(population, account)})
    else:
        _print_answer(answer, population, account)
    if plot is not None:
        _draw(answer, plot, as_json)


def _check_bars(session: "Session", sql: str, terms: dict[str, Any]) -> None:
    """Refuse, before it is paid for, an answer that is known to have too many rows for a chart."""
    from discreet.drawing.chart import MOST_BARS
    from discreet.plan.pipeline import Plan

    try:
        plan = session.explain(sql, **terms)
    except DiscreetError:
        return  # the question itself says why, or buys what it needs first
    if not isinstance(plan, Plan):
        return  # how many rows stand above is known when it has run
    rows = min(len(plan.groups), plan.query.limit or len(plan.groups))
    if plan.selection is None and plan.query.having is None and rows > MOST_BARS:
        raise InvalidValue(
            f"the answer would have {rows:,} rows and a chart has at most {MOST_BARS:,}. Ask with "
            "ORDER BY and LIMIT, or without --plot. Nothing was run or charged."
        )


def _draw(answer: "Answer", plot: Path, as_json: bool) -> None:
    """Draw the answer, which is paid and printed by now: why there is no chart is no refusal."""
    try:
        answer.plot(str(plot))
    except DiscreetError as refusal:
        typer.echo(f"discreet: no chart was drawn: {refusal}", err=True)
        return
    typer.echo(f"Chart: {plot}", err=as_json)


def _check_plot(plot: Path) -> None:
    """Everything that could keep a chart from being drawn, before the question is paid for."""
    if plot.suffix not in (".svg", ".png"):
        raise InvalidValue(f"{plot}: a chart is written as .svg or .png. Nothing was charged.")
    if not plot.parent.is_dir():
        raise InvalidValue(f"{plot}: there is no folder {plot.parent}. Nothing was charged.")
    if importlib.util.find_spec("vl_convert") is None:
        raise Unavailable(
            "charts need the plots extra; run: pip install 'discreet[plots]'. Nothing was charged."
        )


def _print_answer(answer: "Answer", population: "Account", analyst: "Account") -> None:
    from discreet.ledger.account import takes_nothing
    from discreet.report.tables import answer_table, notes_table
    from discreet.report.words import cost_text, left_text

    console = new_console()
    console.print(answer_table(answer, width=console.width))
    if answer.notes:
        console.print(notes_table(answer))
    cost = cost_text(answer.cost, analyst.conversion_delta)
    receipt = answer.receipt
    said = [f"Cost: {cost}."]
    if answer.free:
        said = [
            f"Free: these numbers were released before, nothing was charged. They had cost {cost}."
        ]
        if takes_nothing(answer.cost):
            said = ["Free: nothing was charged."]
    if answer.bought is not None and not answer.bought.free:
        paid = cost_text(answer.bought.cost, analyst.conversion_delta)
        said.append(f"A noisy count was bought first, to know the error: {paid}.")
    said.append(f"Receipt: {receipt.id} of {receipt.time[:10]}.")
    said += [f"Left of {who.holder} {who.name}: {left_text(who)}." for who in (analyst, population)]
    for line in said:
        console.print(line, markup=False)
