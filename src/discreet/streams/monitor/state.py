"""What a monitor must not forget: its settings, how its run stands, and what it has said.
The noise of the threshold is in here: the bytes are for the vault and nobody else.
"""

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.loss import ZCDP, Price, Pure, Relation
from discreet.plan.results.explain import cost_of
from discreet.streams.monitor.design import Design, Form, Technique
from discreet.streams.service import Service, pad_secret, write_body
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.run import SvtState
from discreet.streams.svt.sparse import Sparse, Thresholds

__all__ = ["Check", "KEPT", "MONITORS", "MonitorState", "Side"]

KEPT = 64
"""How many alarms a monitor remembers word for word; all of them are counted."""


class Side(StrEnum):
    """What a check says."""

    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class Check:
    """What one check said, and of what; `number` comes with an alarm if it was paid for.

    >>> Check(Side.BELOW, None, 1, 1, 3, "SELECT", Fraction(5), "1", "now").above
    False
    """

    said: Side
    number: Fraction | None
    number_of_check: int
    run: int
    alarms_left: int
    question: str
    threshold: Fraction
    data_version: str
    time: str

    @property
    def above(self) -> bool:
        """Whether this is an alarm."""
        return self.said is Side.ABOVE

    def values(self) -> dict[str, Any]:
        """The same for JSON.

        >>> check = Check(Side.ABOVE, Fraction(7), 1, 1, 2, "SELECT", Fraction(1, 2), "1", "now")
        >>> check.values()["number"], check.values()["threshold"]
        (7, 0.5)
        """
        number = None if self.number is None else _plain(self.number)
        return {**_encode_check(self), "number": number, "threshold": _plain(self.threshold)}


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _encode_check(check: Check) -> dict[str, Any]:
    """A check for the vault; exact numbers as text."""
    return {
        "said": check.said.value,
        "number": None if check.number is None else str(check.number),
        "check": check.number_of_check,
        "run": check.run,
        "alarms_left": check.alarms_left,
        "question": check.question,
        "threshold": str(check.threshold),
        "data_version": check.data_version,
        "time": check.time,
    }


def _decode_check(values: dict[str, Any]) -> Check:
    number = values["number"]
    return Check(
        Side(values["said"]),
        None if number is None else Fraction(number),
        values["check"],
        values["run"],
        values["alarms_left"],
        values["question"],
        Fraction(values["threshold"]),
        values["data_version"],
        values["time"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorState:
    """A monitor as it stands. `alarms` are the newest of all runs, `last` is the newest check.

    The standing is secret; the rest is public.
    """

    question: str
    threshold: Fraction
    price: Price
    numbers: Fraction | None
    technique: Technique
    form: Form
    reach: Fraction
    relation: Relation
    population: str
    run: int
    checks: int
    alarms_in_all: int
    standing: SvtState = field(repr=False)
    alarms: tuple[Check, ...] = ()
    last: Check | None = None

    @staticmethod
    def begin(
        design: Design, numbers: Fraction | None, standing: SvtState, run: int = 1
    ) -> "MonitorState":
        """A run that has just begun."""
        watched = design.watched
        return MonitorState(
            question=watched.plan.question,
            threshold=design.threshold,
            price=design.price,
            numbers=numbers,
            technique=design.technique,
            form=watched.form,
            reach=watched.sensitivity.linf,
            relation=watched.relation,
            population=watched.population,
            run=run,
            checks=0,
            alarms_in_all=0,
            standing=standing,
        )

    def record(self, check: Check, standing: SvtState) -> "MonitorState":
        """The same after a check."""
        alarms = (*self.alarms, check)[-KEPT:] if check.above else self.alarms
        return replace(
            self,
            standing=standing,
            checks=check.number_of_check,
            alarms_in_all=self.alarms_in_all + check.above,
            last=check,
            alarms=alarms,
        )

    @property
    def alarms_left(self) -> int:
        """How many alarms the run has left."""
        return self.technique.alarms - self.standing.used

    def values(self) -> dict[str, Any]:
        """What may be shown, for JSON; the price as a decimal, rounded up."""
        return {
            "question": self.question,
            "threshold": _plain(self.threshold),
            "price": cost_of(self.price),
            "population": self.population,
            "neighbours": self.relation.value,
            "form": self.form.value,
            "run": self.run,
            "checks": self.checks,
            "alarms_of_a_run": self.technique.alarms,
            "alarms_left": self.alarms_left,
            "alarms_in_all": self.alarms_in_all,
            "alarms": [check.values() for check in self.alarms],
            "last": None if self.last is None else self.last.values(),
        }

    def to_bytes(self) -> bytes:
        """Everything, for the vault. Secret: it holds the noise of the threshold."""
        sparse = _sparse(self.technique)
        number = None if isinstance(self.technique, Sparse) else str(self.technique.number_scale)
        facts = {
            "question": self.question,
            "threshold": str(self.threshold),
            self.price.currency.value: str(self.price.amount),
            "numbers": None if self.numbers is None else str(self.numbers),
            "threshold_scale": str(sparse.threshold_scale),
            "query_scale": str(sparse.query_scale),
            "number_scale": number,
            "thresholds": sparse.thresholds.value,
            "alarms": sparse.alarms,
            "form": self.form.value,
            "reach": str(self.reach),
            "relation": self.relation.value,
            "population": self.population,
            "run": self.run,
            "checks": self.checks,
            "alarms_in_all": self.alarms_in_all,
            "noise": pad_secret(self.standing.noise),
            "used": self.standing.used,
            "said": [_encode_check(check) for check in self.alarms],
            "last": None if self.last is None else _encode_check(self.last),
        }
        return write_body(facts)

    @staticmethod
    def from_bytes(body: bytes) -> "MonitorState":
        """Read what `to_bytes` wrote."""
        facts: dict[str, Any] = json.loads(body)
        numbers, last = facts["numbers"], facts["last"]
        return MonitorState(
            question=facts["question"],
            threshold=Fraction(facts["threshold"]),
            price=_decode_price(facts),
            numbers=None if numbers is None else Fraction(numbers),
            technique=_decode_technique(facts),
            form=Form(facts["form"]),
            reach=Fraction(facts["reach"]),
            relation=Relation(facts["relation"]),
            population=facts["population"],
            run=facts["run"],
            checks=facts["checks"],
            alarms_in_all=facts["alarms_in_all"],
            standing=SvtState(noise=int(facts["noise"]), used=facts["used"]),
            alarms=tuple(map(_decode_check, facts["said"])),
            last=None if last is None else _decode_check(last),
        )


MONITORS = Service("monitor", MonitorState.from_bytes)
"""Monitors among the states of a vault."""


def _sparse(technique: Technique) -> Sparse:
    return technique if isinstance(technique, Sparse) else technique.sparse


def _decode_price(facts: dict[str, Any]) -> Price:
    if "epsilon" in facts:
        return Pure(epsilon=Fraction(facts["epsilon"]))
    return ZCDP(rho=Fraction(facts["rho"]))


def _decode_technique(facts: dict[str, Any]) -> Technique:
    sparse = Sparse(
        threshold_scale=Fraction(facts["threshold_scale"]),
        query_scale=Fraction(facts["query_scale"]),
        alarms=facts["alarms"],
        thresholds=Thresholds(facts["thresholds"]),
    )
    if facts["number_scale"] is None:
        return sparse
    return NumericSparse(sparse=sparse, number_scale=Fraction(facts["number_scale"]))
