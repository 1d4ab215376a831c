"""What an analyst may look at before asking: every table's public facts, and the budgets left.
Functions of schemas and accounts alone; nothing here opens a source or a prepared table.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from discreet.ledger.account import Account, Holder
from discreet.ledger.ledger import Ledger
from discreet.rationals import floor_decimal
from discreet.schema.described import Tables, table_values
from discreet.schema.table import Table

__all__ = ["tables_of"]

_DIGITS = 4


def tables_of(ledger: Ledger, tables: Iterable[Table], analyst: str | None) -> Tables:
    """Tables with what is left of their populations' budgets, and of an analyst's."""
    accounts = {(account.holder, account.name): account for account in ledger.accounts()}
    own = None if analyst is None else accounts.get((Holder.ANALYST, analyst))
    described = []
    for table in tables:
        paying = accounts.get((Holder.POPULATION, table.population))
        values = table_values(table)
        if table.kind != "public":
            values["remaining"] = {"population": _describe(paying), "analyst": _describe(own)}
        described.append(values)
    return Tables(described)


def _describe(account: Account | None) -> dict[str, Any] | None:
    if account is None:
        return None
    remaining = account.remaining
    words = f"epsilon {_round_down(remaining.epsilon):g} of {_round_down(account.epsilon):g}"
    if remaining.rho is not None:
        words += f" at delta {float(account.delta):g}"
    return {
        "name": f"{account.holder.value} {account.name}",
        "epsilon": _round_down(remaining.epsilon),
        "delta": _round_down(remaining.delta),
        "rho": None if remaining.rho is None else _round_down(remaining.rho),
        "words": words,
    }


def _round_down(value: Fraction) -> float:
    return float(floor_decimal(value, _DIGITS))
