"""The commands that read the record: ledger shows it, verify checks it."""

from dataclasses import asdict
from pathlib import Path

import typer

from discreet.cli.shared import (
    Json,
    VaultFolder,
    existing_vault,
    new_console,
    print_json,
    refusing,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Give the application the commands that read the record.

    Privacy: none (touches no data).
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.name for command in app.registered_commands]
    ['ledger', 'verify']
    """
    app.command("ledger", help="Show every budget, what is left of it, and every charge so far.")(
        _ledger
    )
    app.command("verify", help="Check that the record is whole and that its totals are right.")(
        _verify
    )


@refusing
def _ledger(as_json: Json = False, folder: VaultFolder = Path("vault")) -> None:
    from discreet.display.tables import account_table, entry_table
    from discreet.display.values import account_values, entry_values

    with existing_vault(folder) as curator:
        accounts, entries = curator.ledger.accounts(), curator.ledger.entries()
    if as_json:
        shown = [account_values(account) for account in accounts]
        print_json({"accounts": shown, "entries": [entry_values(entry) for entry in entries]})
        return
    console = new_console()
    console.print(account_table(accounts))
    console.print(entry_table(entries))


@refusing
def _verify(as_json: Json = False, folder: VaultFolder = Path("vault")) -> None:
    with existing_vault(folder) as curator:
        found = curator.ledger.verify()
    if as_json:
        print_json({"sound": found.sound, **asdict(found)})
    elif found.sound:
        typer.echo(f"The record is sound: {found.entries} entries, chain and totals agree.")
        typer.echo(f"Newest entry: {found.head}")
        typer.echo("Keep that line elsewhere: it shows later that nothing before it was rewritten.")
    else:
        typer.echo(f"discreet: the record is not sound: {found.problem}", err=True)
    if not found.sound:
        raise typer.Exit(1)
