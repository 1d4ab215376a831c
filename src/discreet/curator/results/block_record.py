"""A private block as it is stored: what makes two the same, what is written down when its numbers
go out, and how they are read again. Post-processing only: a body holds noisy integers and public
facts.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.curator.answer import Receipt
from discreet.encoding import digest
from discreet.ledger.entry import Receipt as Charge
from discreet.loss import Currency
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.parts.keys import KeyDomain
from discreet.plan.pipeline import GROUP_LIMIT, Draft, Plan, plan
from discreet.plan.results.explain import cost_of, noise_of
from discreet.plan.results.released import Released
from discreet.plan.rules.sources import MOST_ROWS
from discreet.plan.sql import calendar
from discreet.plan.sql.expressions import bounded, scope
from discreet.plan.target import ask_count
from discreet.query.algebra import DateTrunc
from discreet.query.identity import QUERY_FORMS
from discreet.query.parse import parse
from discreet.schema.table import Table

__all__ = [
    "list_facts",
    "receipt_of",
    "release_body",
    "release_key",
    "released_from",
]

_DAY = 86_400  # seconds: a step for which the mistake made no difference
_PERIODS = "periods of datetimes"


def release_key(plan: Plan, data_versions: tuple[int, ...]) -> str:
    """What makes two questions the same: the canonical query, its prices, schema and data version.

    And the methods of quantiles, where they are not the usual one; and a mark where
    an earlier version would have answered by the wrong groups, so that its answer is not given.
    """
    versions = tuple(table.version for table in plan.tables)
    parts: tuple[object, ...] = (plan.query, plan.prices, plan.delta, versions, data_versions)
    if any(way is not QuantileMethod.RANKED for way in plan.ways):
        parts = (*parts, [way.value for way in plan.ways])
    if _find_mistaken(plan):
        parts = (*parts, _PERIODS)
    return digest(parts, QUERY_FORMS)


def receipt_of(plan: Plan, charge: Charge, data_versions: tuple[int, ...]) -> Receipt:
    """The citable receipt of a charged answer."""
    chosen = () if plan.selection is None else (plan.selection,)
    return Receipt(
        id=charge.id,
        time=charge.time,
        analyst=charge.analyst,
        question=plan.question,
        table=", ".join(table.name for table in plan.tables),
        population=plan.table.population,
        unit=plan.table.unit or "row",
        neighbours=plan.table.neighbours.value,
        schema_version=", ".join(table.version for table in plan.tables),
        data_version=", ".join(map(str, data_versions)),
        cost=cost_of(plan.cost),
        mechanisms=tuple(map(noise_of, (*plan.noises, *plan.choices, *chosen))),
    )


def release_body(released: Released, data_versions: tuple[int, ...]) -> bytes:
    """A release as bytes, complete enough to rebuild its answer; of tables, public facts only.

    Noisy integers, and the keys that were released.
    """
    return json.dumps(list_facts(released, data_versions)).encode()


def list_facts(released: Released, data_versions: tuple[int, ...]) -> dict[str, Any]:
    """A released block, field by field: released values and public facts."""
    plan = released.plan
    facts: dict[str, Any] = {
        "question": plan.question,
        "behind": plan.counts_for,
        "schemas": [table.public.to_json() for table in plan.tables],
        "prices": [[price.currency.value, str(price.amount)] for price in plan.prices],
        "delta": None if plan.delta is None else str(plan.delta),
        "limit": plan.limit,
        "joined_rows": plan.joined_rows,
        "ways": [way.value for way in plan.ways],
        "supposed": plan.assumed_rows,
        "groups": None if plan.selection is None else released.groups,
        "noisy": [column.tolist() for column in released.noisy],
        "data_versions": list(data_versions),
    }
    return {**facts, "periods": _PERIODS} if _find_mistaken(plan) else facts


def released_from(body: Mapping[str, Any]) -> Released:
    """What `list_facts` listed, or a stored body of any version holds."""
    first, *others = (Table.from_json(schema).public for schema in body["schemas"])
    draft = Draft(
        query=parse(body["question"], {table.name: table for table in (first, *others)}),
        table=first,
        price=tuple(Currency(name).price(Fraction(amount)) for name, amount in body["prices"]),
        delta=None if body["delta"] is None else Fraction(body["delta"]),
        limit=body.get("limit", GROUP_LIMIT),
        ways=tuple(
            map(QuantileMethod, body.get("ways", ()))
        ),  # releases of old were all chosen by rank
        assumed_rows=body.get("supposed"),
        others=tuple((table, f'"{table.name}"') for table in others),
        joined_rows=body.get("joined_rows", MOST_ROWS),  # joins of old had no other limit
        question=body["question"],
    )
    replanned = plan(ask_count(draft, body["behind"]) if body["behind"] else draft)
    if "periods" not in body:
        replanned = replace(replanned, domains=_find_mistaken(replanned) or replanned.domains)
    noisy = tuple(
        np.array(column, dtype=np.int64 if _fits(column) else object) for column in body["noisy"]
    )
    listed = body["groups"]
    groups = replanned.groups if listed is None else tuple(tuple(group) for group in listed)
    return Released(replanned, groups, noisy)


def _find_mistaken(plan: Plan) -> tuple[KeyDomain, ...]:
    """The groups of an earlier version, where it took the steps of a datetime for days; else none.

    It grouped by DATE_TRUNC of a datetime so. Its releases are shown as they went out.
    """
    columns = scope(plan.table)
    domains = list(plan.domains)
    for place, key in enumerate(plan.query.keys):
        if isinstance(key.expression, DateTrunc) and key.expression.unit in calendar.UNITS:
            value = bounded(key.expression.operand, columns)
            bounds = key.expression.unit, value.lower, value.upper
            if value.kind != "datetime" or value.step == _DAY:
                continue
            with suppress(ValueError, OverflowError):  # a traceback then, and no release
                if calendar.units_between(*bounds) <= plan.limit:
                    codes = tuple(calendar.starts(*bounds))
                    labels = tuple(map(calendar.day_of, codes))
                    domains[place] = replace(domains[place], codes=codes, labels=labels)
    return tuple(domains) if domains != list(plan.domains) else ()


def _fits(column: list[int]) -> bool:
    return all(-(1 << 63) <= value < 1 << 63 for value in column)
