"""Stored answers, replayed: of one private block, or of a statement above several. And what makes
two statements the same, and what is written down of one. Post-processing only.
"""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.curator.answer import Answer, Receipt
from discreet.curator.results.block_record import list_facts, receipt_of, release_key, released_from
from discreet.curator.results.block_result import BlockResult
from discreet.curator.results.statement_result import StatementResult
from discreet.encoding import digest
from discreet.errors import Unavailable
from discreet.ledger.account import takes_nothing
from discreet.ledger.entry import Receipt as Charge
from discreet.ledger.releases import Release
from discreet.loss import Price
from discreet.plan.results.explain import cost_of
from discreet.plan.results.released import Released
from discreet.upper.dependence import Dependence, Shape
from discreet.upper.outcome import Outcome
from discreet.upper.plan import StatementPlan

__all__ = [
    "block_keys",
    "blocks_in",
    "from_facts",
    "is_complete",
    "public_facts",
    "replay",
    "statement_answer",
    "statement_body",
    "statement_key",
]

Versions = Mapping[str, int]
"""The state of the data of every table, by its name."""


def block_keys(plan: StatementPlan, versions: Versions) -> tuple[str, ...]:
    """What the release of each block is stored under: as if it had been asked by itself."""
    return tuple(
        release_key(block, tuple(versions[table.name] for table in block.tables))
        for block in plan.blocks
    )


def statement_key(plan: StatementPlan, keys: Sequence[str]) -> str:
    """What makes two statements the same: what stands above, and the blocks below it."""
    return digest(("statement", plan.upper_sql, *keys))


def statement_body(
    plan: StatementPlan, blocks: Sequence[Released], versions: Versions, outcome: Outcome | None
) -> bytes:
    """A statement as bytes; without an outcome where what stands above has not run yet."""
    return json.dumps(_list(plan, blocks, versions, outcome)).encode()


def _list(
    plan: StatementPlan, blocks: Sequence[Released], versions: Versions, outcome: Outcome | None
) -> dict[str, Any]:
    return {
        "statement": plan.question,
        "upper": plan.upper_sql,
        "columns": [
            {
                "name": name,
                "noisy": found.noisy,
                "obscure": found.obscure,
                "terms": None
                if found.terms is None
                else [[place, column, str(factor)] for (place, column), factor in found.terms],
            }
            for name, found in plan.shape.columns
        ],
        "noisy_rows": plan.shape.noisy_rows,
        "listings": list(plan.listings),
        "blocks": [
            list_facts(block, tuple(versions[table.name] for table in block.plan.tables))
            for block in blocks
        ],
        "outcome": None if outcome is None else outcome.to_json(),
    }


def public_facts(answer: Answer) -> dict[str, Any]:
    """What `from_facts` makes an answer of: released values and public facts."""
    result = answer.result
    if isinstance(result, BlockResult):
        # From the answer, not from what is stored: earlier versions also say where the data lies.
        stored = answer.receipt.data_version.split(", ")
        return list_facts(result.released, tuple(map(int, stored)))
    assert isinstance(result, StatementResult)
    names = answer.receipt.table.split(", ")
    versions = dict(zip(names, map(int, answer.receipt.data_version.split(", ")), strict=True))
    return _list(result.plan, result.blocks, versions, result.outcome)


def is_complete(release: Release) -> bool:
    """Whether a stored answer can be shown: whether what stands above its blocks has run."""
    body = json.loads(release.body)
    return "statement" not in body or body["outcome"] is not None


def blocks_in(release: Release) -> list[Mapping[str, Any]]:
    """What a stored statement says of each of its blocks."""
    return list(json.loads(release.body)["blocks"])


def replay(release: Release) -> Answer:
    """The answer of a stored release, flagged free."""
    return from_facts(json.loads(release.body), release.receipt)


def from_facts(body: Mapping[str, Any], charge: Charge) -> Answer:
    """The answer of what `public_facts` lists, or of a stored body of any version."""
    if "statement" not in body:
        released = released_from(body)
        receipt = receipt_of(released.plan, charge, tuple(body["data_versions"]))
        return Answer(BlockResult(released), receipt, free=True)
    blocks = tuple(map(released_from, body["blocks"]))
    columns = tuple(
        (
            column["name"],
            Dependence(
                column["noisy"],
                column["obscure"],
                None
                if column["terms"] is None
                else tuple(
                    ((place, name), Fraction(factor)) for place, name, factor in column["terms"]
                ),
            ),
        )
        for column in body["columns"]
    )
    plan = StatementPlan(
        question=body["statement"],
        blocks=tuple(block.plan for block in blocks),
        upper_sql=body["upper"],
        shape=Shape(columns, body["noisy_rows"]),
        listings=tuple(body["listings"]),
    )
    if body["outcome"] is None:
        raise Unavailable(
            "what stands above the released numbers of this statement has not run yet; ask it "
            "again, which is free."
        )
    return statement_answer(plan, blocks, Outcome.from_json(body["outcome"]), charge)


def statement_answer(
    plan: StatementPlan,
    blocks: tuple[Released, ...],
    outcome: Outcome,
    charge: Charge,
) -> Answer:
    """The answer of a statement, flagged free; where its charge took nothing, it shows the price
    of its blocks, which were paid before.
    """
    own = charge.loss if isinstance(charge.loss, Price) else plan.cost
    cost = plan.cost if takes_nothing(own) else own
    result = StatementResult(plan, blocks, outcome)
    return Answer(result, _receipt(plan, charge, cost), free=True, cost=cost)


def _receipt(plan: StatementPlan, charge: Charge, cost: Price) -> Receipt:
    """The citable receipt of a statement: what its own charge took, and the noise of its blocks."""
    versions = {
        name: int(version)
        for name, version in zip(
            charge.memo["table"].split(", "),
            charge.memo["data_version"].split(", "),
            strict=True,
        )
    }
    known = [
        receipt_of(block, charge, tuple(versions[table.name] for table in block.tables))
        for block in plan.charged
    ]
    tables = plan.tables
    return Receipt(
        id=charge.id,
        time=charge.time,
        analyst=charge.analyst,
        question=plan.question,
        table=", ".join(table.name for table in tables),
        population=plan.table.population,
        unit=plan.table.unit or "row",
        neighbours=plan.table.neighbours.value,
        schema_version=", ".join(table.version for table in tables),
        data_version=", ".join(str(versions[table.name]) for table in tables),
        cost=cost_of(cost),
        mechanisms=tuple(mechanism for receipt in known for mechanism in receipt.mechanisms),
    )
