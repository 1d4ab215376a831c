"""Options and arguments that several commands take, each declared once."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Analyst",
    "Delta",
    "Epsilon",
    "Json",
    "Rho",
    "TableName",
    "VAULT",
    "VaultFolder",
    "Why",
    "number",
    "number_option",
]

VAULT = "DISCREET_VAULT"
"""The variable that names the vault where --vault does not."""


def number(text: str | Decimal) -> Decimal:
    """The exact decimal that was typed.

    >>> number("0.1")
    Decimal('0.1')
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        raise typer.BadParameter(f"{text!r} is not a number; write one such as 0.5.") from None


def number_option(flag: str, metavar: str, words: str) -> Any:
    """An option whose value is an exact number."""
    return typer.Option(flag, parser=number, metavar=metavar, help=words)


VaultFolder = Annotated[
    Path, typer.Option("--vault", envvar=VAULT, help="The vault's folder.", metavar="FOLDER")
]
"""Where the vault is: --vault, the variable DISCREET_VAULT, or ./vault."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
"""Whether a reading command prints JSON."""
Analyst = Annotated[
    str, typer.Option("--as", metavar="NAME", help="Whose budget pays, as made by grant.")
]
"""Whose budget pays."""
Epsilon = Annotated[Decimal, number_option("--epsilon", "E", "The most epsilon.")]
"""A budget's epsilon."""
Delta = Annotated[
    Decimal,
    number_option(
        "--delta",
        "D",
        "The most delta; without it epsilons add up, with it many small questions cost less.",
    ),
]
"""A budget's delta."""
Rho = Annotated[
    Decimal | None, number_option("--rho", "R", "The price as rho; for budgets with a delta.")
]
"""A price as rho."""
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="A table's name.")]
"""A table."""
Why = Annotated[
    str, typer.Option("--why", metavar="TEXT", help="The reason; it is written in the ledger.")
]
"""A reason for the ledger."""
