"""Answers, accounts and entries as plain values that JSON can carry. Released and public only."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from typing import Any

from discreet.curator.answer import Answer, Receipt
from discreet.ledger.account import Account
from discreet.ledger.entry import Act, Entry
from discreet.plan.notes import Note

__all__ = ["account_values", "answer_values", "entry_values", "note_values"]


def _plain(value: Any) -> Any:
    """Dates as text, and no NaN or infinity, which JSON does not know."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def answer_values(answer: Answer) -> dict[str, Any]:
    """An answer with its intervals and its receipt; an end that is not finite is null.

    The intervals of the columns `in_ranks` are how many ranks or rows a value may be off; null
    where the column is in `buckets`, one value of which is off by at most so many ranks.
    `notes` say what is left out and bounded; `ask` is a question for how much, or null.
    Privacy: post-processing.
    >>> answer_values.__name__
    'answer_values'
    """
    return {
        "columns": list(answer.columns),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in answer],
        "intervals": [
            {name: [_plain(end) for end in ends] for name, ends in row.items()}
            for row in answer.intervals()
        ],
        "in_ranks": list(answer.in_ranks),
        "buckets": [
            {
                name: {key: _plain(end) for key, end in asdict(each).items()}
                for name, each in row.items()
            }
            for row in answer.buckets()
        ],
        "confidence": 0.95,
        "notes": note_values(answer.notes),
        "free": answer.free,
        "receipt": {name: getattr(answer.receipt, name) for name in Receipt.__slots__},
    }


def note_values(notes: Iterable[Note]) -> list[dict[str, str | None]]:
    """The notes of an answer or a service; `ask` is null where there is nothing to ask.

    Privacy: none (touches no data).
    >>> note_values([Note("At most 2 rows count.")])
    [{'text': 'At most 2 rows count.', 'ask': None}]
    """
    return [{"text": each.text, "ask": each.ask or None} for each in notes]


def account_values(account: Account) -> dict[str, Any]:
    """An account: its budget and what it still admits, with exact fractions beside the floats.

    Privacy: none (touches no data).
    >>> from discreet.ledger.account import Holder
    >>> from discreet.schema.table import Budget
    >>> ana = Account.open(Holder.ANALYST, "ana", Budget(epsilon=0.1))
    >>> account_values(ana)["remaining"]["epsilon"]
    0.1
    """
    left = account.remaining
    return {
        "holder": account.holder.value,
        "name": account.name,
        "epsilon": float(account.epsilon),
        "delta": float(account.delta),
        "currency": "epsilon" if account.pure else "rho",
        "spent": float(account.spent),
        "limit": float(account.limit),
        "exact": {"spent": str(account.spent), "limit": str(account.limit)},
        "remaining": {
            "epsilon": float(left.epsilon),
            "delta": float(left.delta),
            "rho": None if left.rho is None else float(left.rho),
        },
    }


def entry_values(entry: Entry) -> dict[str, Any]:
    """An entry of the ledger; a charge has its loss and what was asked.

    Privacy: public parameters only.
    >>> entry_values(Entry(1, "", Act.OPEN, None, "ana", "{}", "{}", ""))["act"]
    'open'
    """
    return {
        "sequence": entry.sequence,
        "id": entry.hash[:20],
        "time": entry.time,
        "visible_from": entry.visible_from,
        "act": Act(entry.act).value,
        "population": entry.population,
        "analyst": entry.analyst,
        "event": json.loads(entry.event),
        "memo": entry.said,
    }
