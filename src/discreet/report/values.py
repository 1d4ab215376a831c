"""Answers, accounts and entries as plain values that JSON can carry. Released and public only."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from typing import Any

from discreet.accounting.filters import price
from discreet.curator.answer import Answer, Receipt
from discreet.ledger.account import Account
from discreet.ledger.entry import Act, Entry, describe_loss
from discreet.ledger.history import Adopted, Charged
from discreet.loss import Loss, Price
from discreet.plan.parts.remarks import Note
from discreet.plan.results.explain import cost_of

__all__ = [
    "account_values",
    "adoption_values",
    "answer_values",
    "charge_values",
    "entry_values",
    "loss_values",
    "note_values",
]


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
    `simulated` names the columns whose intervals are, if there are any.
    `notes` say what is left out and bounded; `ask` is a question for how much, or null.
    """
    simulated = {"simulated": list(answer.simulated)} if answer.simulated else {}
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
                name: {key: _plain(end) for key, end in asdict(bucket).items()}
                for name, bucket in row.items()
            }
            for row in answer.buckets()
        ],
        **simulated,
        "confidence": 0.95,
        "notes": note_values(answer.notes),
        "free": answer.free,
        "receipt": {name: getattr(answer.receipt, name) for name in Receipt.__slots__},
    }


def note_values(notes: Iterable[Note]) -> list[dict[str, str | None]]:
    """The notes of an answer or a service; `ask` is null where there is nothing to ask.

    >>> note_values([Note("At most 2 rows count.")])
    [{'text': 'At most 2 rows count.', 'ask': None}]
    """
    return [{"text": note.text, "ask": note.ask or None} for note in notes]


def account_values(account: Account) -> dict[str, Any]:
    """An account: its budget and what it still admits, with exact fractions beside the floats.

    >>> from discreet.ledger.account import Holder
    >>> from discreet.schema.table import Budget
    >>> ana = Account.open(Holder.ANALYST, "ana", Budget(epsilon=0.1))
    >>> account_values(ana)["remaining"]["epsilon"]
    0.1
    """
    remaining = account.remaining
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
            "epsilon": float(remaining.epsilon),
            "delta": float(remaining.delta),
            "rho": None if remaining.rho is None else float(remaining.rho),
        },
    }


def entry_values(entry: Entry) -> dict[str, Any]:
    """An entry of the ledger; a charge has its loss and what was asked.

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


def adoption_values(adopted: Adopted | None) -> dict[str, Any] | None:
    """What an adoption of the ledger took over; None without one."""
    if adopted is None:
        return None
    return {"entry": adopted.entry, "spent": str(adopted.spent), "delta": str(adopted.spent_delta)}


def loss_values(loss: Loss) -> dict[str, str]:
    """What was charged, by the names of its parameters, in at most ten digits where it has few.

    >>> from discreet.loss import Pure
    >>> loss_values(Pure(epsilon=0.5))
    {'epsilon': '0.5'}
    """
    if isinstance(loss, Price):
        return cost_of(loss)
    return {name: str(value) for name, value in json.loads(describe_loss(loss)).items()}


def charge_values(charged: Charged, account: Account) -> dict[str, Any]:
    """One charge of an analyst's history.

    `spent` is what it took from the account, exactly and in the account's own terms: these add up
    to what the account has spent.
    >>> from discreet.loss import Pure
    >>> from discreet.ledger.account import Holder
    >>> from discreet.ledger.entry import Receipt
    >>> from discreet.ledger.history import Outcome
    >>> from discreet.schema.table import Budget
    >>> paid = Receipt(3, "7f", "", "people", "ana", Pure(epsilon=0.1), {"label": "The holdout h"})
    >>> ana = Account.open(Holder.ANALYST, "ana", Budget(epsilon=1))
    >>> values = charge_values(Charged(paid, Outcome.ELSEWHERE, None), ana)
    >>> values["kind"], values["spent"]
    ('holdout', {'epsilon': '1/10', 'delta': '0'})
    """
    receipt, currency = charged.receipt, account.currency
    cost, delta = price(receipt.loss, currency)
    return {
        "number": receipt.sequence,
        "id": receipt.id,
        "time": receipt.time,
        "kind": charged.kind,
        "label": receipt.memo.get("label", ""),
        "question": receipt.memo.get("question", ""),
        "table": receipt.memo.get("table", ""),
        "cost": loss_values(receipt.loss),
        "spent": {currency.value: str(cost), "delta": str(delta)},
        "outcome": charged.outcome.value,
        "visible_from": charged.visible_from,
    }
