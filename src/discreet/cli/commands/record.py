"""The commands about the ledger: ledger shows it, transcript what one analyst paid for, verify
checks it, ledger amend changes a budget, ledger adopt goes on with a ledger that is not sound.
"""

from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Epsilon, Json, VaultFolder, Why, number_option
from discreet.cli.shared import existing_vault, name_vault, new_console, print_json, print_refusals
from discreet.errors import InvalidValue

__all__ = ["register"]

_After = Annotated[
    int, typer.Option("--after", min=0, metavar="N", help="Begin after entry number N.")
]
_Limit = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Show at most N of them.")
]
_ALL = (1 << 63) - 1
_FAILURES = 20


def register(app: typer.Typer) -> None:
    """Give the application the commands that read the ledger."""
    ledger = typer.Typer(invoke_without_command=True)
    ledger.callback(
        help="Show every budget, what is left of it, every charge so far, and why questions "
        "failed lately (for the custodian, not for release)."
    )(_ledger)
    ledger.command(
        "adopt", help="Go on with a ledger that is not sound, as it stands; this is recorded."
    )(_adopt)
    ledger.command(
        "amend", help="Give an account another budget; what was spent stays; this is recorded."
    )(_amend)
    app.add_typer(ledger, name="ledger")
    app.command(
        "transcript", help="Show everything that an analyst paid for; it adds up to what was spent."
    )(_transcript)
    app.command("verify", help="Check that the ledger is sound and that its totals are right.")(
        _verify
    )


@print_refusals
def _ledger(
    context: typer.Context,
    after: _After = 0,
    limit: _Limit = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    if context.invoked_subcommand is not None:
        return
    from discreet.report.tables import account_table, cause_table, entry_table
    from discreet.report.values import account_values, entry_values

    with existing_vault(folder) as curator:
        accounts = curator.ledger.accounts()
        entries = curator.ledger.entries_after(after, limit=limit or _ALL)
        failures = curator.vault.causes.newest(limit=_FAILURES)
    if as_json:
        print_json(
            {
                "accounts": [account_values(account) for account in accounts],
                "entries": [entry_values(entry) for entry in entries],
                "failures": [{"not_for_release": True, **asdict(failure)} for failure in failures],
            }
        )
        return
    console = new_console()
    console.print(account_table(accounts))
    console.print(entry_table(entries))
    if failures:
        console.print(cause_table(failures))


@print_refusals
def _transcript(
    analyst: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Whose charges, as made by grant.")
    ],
    after: _After = 0,
    limit: _Limit = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.ledger.account import Holder
    from discreet.report.tables import charge_table
    from discreet.report.values import account_values, adoption_values, charge_values
    from discreet.report.words import left_text, spent_text

    with existing_vault(folder) as curator:
        account = curator.ledger.account(Holder.ANALYST, analyst)
        charges = curator.session(analyst).history(after=after, limit=limit)
        adopted = curator.vault.history.find_adoption(analyst)
    if as_json:
        shown = {
            "account": account_values(account),
            "adopted": adoption_values(adopted),
            "charges": [charge_values(charge, account) for charge in charges],
        }
        print_json(shown)
        return
    new_console().print(charge_table(charges))
    if adopted is not None:
        typer.echo(
            f"What was spent up to entry {adopted.entry} was adopted with the ledger: "
            f"{float(adopted.spent):.6g}. The charges after it are added to that."
        )
    typer.echo(f"Spent so far: {spent_text(account)}. Left: {left_text(account)}.")


@print_refusals
def _adopt(why: Why, folder: VaultFolder = Path("vault")) -> None:
    from discreet.report.tables import account_table

    with existing_vault(folder) as curator:
        verification = curator.ledger.verify()
        if verification.sound:
            raise InvalidValue("the ledger is sound; there is nothing to adopt.")
        curator.ledger.adopt({"why": why, "problem": verification.problem or ""})
        accounts, entry = curator.ledger.accounts(), curator.ledger.entries_before(None, limit=1)[0]
    typer.echo(f"What was wrong: {verification.problem}")
    typer.echo(
        f"Adopted as it stands, in entry {entry.sequence}. Charges that are no longer in the"
    )
    typer.echo("ledger are forgotten: lower the budgets if some are missing. What is left now:")
    new_console().print(account_table(accounts))


@print_refusals
def _amend(
    holder: Annotated[
        str, typer.Argument(metavar="HOLDER", help="Whose account: analyst or population.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")],
    epsilon: Epsilon,
    why: Why,
    delta: Annotated[
        Decimal | None,
        number_option("--delta", "D", "The most delta; without it the account keeps its own."),
    ] = None,
    share: Annotated[
        Decimal | None,
        number_option(
            "--delta-for-conversion",
            "S",
            "The share of delta that turning rho into epsilon takes; without it the account "
            "keeps its own.",
        ),
    ] = None,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.report.words import left_text
    from discreet.schema.table import Budget

    with existing_vault(folder) as curator:
        known = curator.ledger.account(holder, name)
        budget = Budget(
            epsilon=epsilon,
            delta=known.budget.delta if delta is None else delta,
            delta_for_conversion=known.budget.delta_for_conversion if share is None else share,
            sharing=known.budget.sharing,
        )
        curator.ledger.amend(holder, name, budget, {"why": why})
        account = curator.ledger.account(holder, name)
    typer.echo(f"{account.holder} {name} has {left_text(account)}. Recorded: {why}")


@print_refusals
def _verify(as_json: Json = False, folder: VaultFolder = Path("vault")) -> None:
    with existing_vault(folder) as curator:
        verification = curator.ledger.verify()
    if as_json:
        print_json({"sound": verification.sound, **asdict(verification)})
    elif verification.sound:
        typer.echo(f"The ledger is sound: {verification.entries} entries, chain and totals agree.")
        typer.echo(f"Newest entry: {verification.head}")
        typer.echo("Keep that line elsewhere: it shows later that nothing before it was rewritten.")
    else:
        where = "" if verification.bad is None else f" at entry {verification.bad}"
        typer.echo(f"discreet: the ledger is not sound{where}: {verification.problem}", err=True)
        step = "discreet ledger adopt --why TEXT"
        said = f"Nothing is answered until it is put back or adopted: {step}"
        typer.echo(name_vault(said, folder), err=True)
    if not verification.sound:
        raise typer.Exit(1)
