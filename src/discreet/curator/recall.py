"""Stored releases: what is written down when an answer goes out, and how it is given again.
Post-processing only: a body holds noisy integers and public facts.
"""

import json
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.answer import Answer, Receipt
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.releases import Release
from discreet.loss import ZCDP, Pure
from discreet.plan.draft import Draft, Plan, plan
from discreet.plan.explain import cost_of, noise_of
from discreet.plan.price import Price
from discreet.plan.target import counting
from discreet.query.parse import parse
from discreet.schema.table import Table

__all__ = ["recall", "receipt_of", "release_body", "release_key"]


def release_key(plan: Plan, data_version: int) -> str:
    """What makes two questions the same: the canonical query, its prices, schema and data version.

    Privacy: none (touches no data).
    >>> release_key.__name__
    'release_key'
    """
    parts = (plan.query, plan.prices, plan.table.version, data_version)
    return sha256(repr(parts).encode()).hexdigest()


def receipt_of(plan: Plan, charge: Charge, data_version: int) -> Receipt:
    """The citable receipt of a charged answer.

    Privacy: none (touches no data).
    >>> receipt_of.__name__
    'receipt_of'
    """
    return Receipt(
        id=charge.id,
        time=charge.time,
        analyst=charge.analyst,
        question=plan.question,
        table=plan.table.name,
        population=plan.table.population,
        unit=plan.table.unit or "row",
        neighbours=plan.table.neighbours.value,
        schema_version=plan.table.version,
        data_version=data_version,
        cost=cost_of(plan.cost),
        mechanisms=tuple(noise_of(noise) for noise in plan.noises),
    )


def release_body(plan: Plan, noisy: tuple[NDArray[Any], ...], data_version: int) -> bytes:
    """A release as bytes, complete enough to rebuild its answer.

    Privacy: post-processing: noisy integers only.
    >>> release_body.__name__
    'release_body'
    """
    body = {
        "question": plan.question,
        "behind": plan.behind,
        "schema": plan.table.to_json(),
        "prices": [_written(price) for price in plan.prices],
        "noisy": [column.tolist() for column in noisy],
        "data_version": data_version,
    }
    return json.dumps(body).encode()


def recall(release: Release) -> Answer:
    """The answer of a stored release, flagged free.

    Privacy: post-processing [DR14, Prop. 2.1].
    >>> recall.__name__
    'recall'
    """
    body = json.loads(release.body)
    table = Table.from_json(body["schema"])
    draft = Draft(
        query=parse(body["question"], {table.name: table}),
        table=table,
        price=tuple(_read(price) for price in body["prices"]),
        question=body["question"],
    )
    made = plan(counting(draft, body["behind"]) if body.get("behind") else draft)
    noisy = tuple(
        np.array(column, dtype=np.int64 if _fits(column) else object) for column in body["noisy"]
    )
    receipt = receipt_of(made, release.receipt, body["data_version"])
    return Answer(made, noisy, receipt, free=True)


def _fits(column: list[int]) -> bool:
    return all(-(1 << 63) <= value < 1 << 63 for value in column)


def _written(price: Price) -> list[str]:
    if isinstance(price, Pure):
        return ["epsilon", str(price.epsilon)]
    return ["rho", str(price.rho)]


def _read(price: list[str]) -> Price:
    number = Fraction(price[1])
    return Pure(epsilon=number) if price[0] == "epsilon" else ZCDP(rho=number)
