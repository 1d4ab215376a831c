"""What a monitor watches and what that costs: one sum or count, its threshold, its noise.
Everything here follows from public facts; nothing is run or charged.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.curator.session import Session
from discreet.errors import InvalidValue
from discreet.loss import Price, Relation, Sensitivity
from discreet.plan.parts.measures import Estimator, at_least_one_step
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import simple_measure
from discreet.query.algebra import Statistic
from discreet.rationals import Number, ceil_float, rational
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.sparse import Sparse

__all__ = ["Design", "Form", "Technique", "Watched", "rises"]

Technique = Sparse | NumericSparse
"""What a monitor compares with: with numbers or without."""


class Form(StrEnum):
    """Whether one unit moves everything that is compared the same way."""

    MONOTONE = "monotone"
    GENERAL = "general"


@dataclass(frozen=True, slots=True)
class Watched:
    """One question of a monitor: its plan, and what one unit can do to its value.

    Privacy: holds the plan, no row.
    """

    plan: Plan
    form: Form

    @staticmethod
    def of(session: Session, sql: str) -> "Watched":
        """Read a question: one COUNT or SUM over all rows that it selects, without groups.

        A sum of values that are never negative only grows with every unit that is added, as a
        count does; under add/remove that needs half the noise.

        Privacy: reads the schema and the accounts, no row.
        """
        plan = session.prepare(sql)
        outputs = plan.query.outputs
        place = simple_measure(plan, outputs[0].expression) if len(outputs) == 1 else None
        options = plan.query.options
        if options.epsilon is not None or options.delta is not None:
            raise InvalidValue(
                "the price of a monitor is that of a whole run; name it beside the question, not "
                "in its OPTIONS. Nothing was run or charged."
            )
        if plan.domains or len(plan.measures) != 1 or place is None:
            raise InvalidValue(
                f"{sql!r:.200}: a monitor compares one number with its threshold: ask for one "
                "COUNT or SUM, without GROUP BY. Nothing was run or charged."
            )
        relation = plan.contribution.relation
        rising = relation is Relation.ADD_REMOVE and rises(_estimator(plan))
        return Watched(plan, Form.MONOTONE if rising else Form.GENERAL)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one unit moves the value, in lattice steps."""
        return at_least_one_step(self.plan.measures[0].sensitivity)

    @property
    def relation(self) -> Relation:
        """The neighbours of the table."""
        return self.plan.contribution.relation

    @property
    def population(self) -> str:
        """Whose budget pays."""
        return self.plan.table.population

    @property
    def step(self) -> Fraction:
        """How much one lattice step is worth."""
        return self.plan.measures[0].step

    def level(self, threshold: Fraction) -> int:
        """The first lattice value at or above a threshold."""
        return math.ceil(threshold / self.step)


def rises(estimator: Estimator) -> bool:
    """Whether every unit that is added can only raise the value: counts, sums of what is not
    negative.

    The monotone form of [LSL17, Thm. 5] relies on it.
    >>> rises(Estimator(Statistic.ROWS, (0,)))
    True
    >>> rises(Estimator(Statistic.SUM, (0,), Fraction(1), 0, lower=-1, upper=5))
    False
    """
    if estimator.statistic is Statistic.SUM:
        return estimator.lower >= 0
    return estimator.statistic in (Statistic.ROWS, Statistic.UNITS, Statistic.VALUES)


def _estimator(plan: Plan) -> Estimator:
    ((_, estimator),) = plan.estimators
    assert isinstance(estimator, Estimator)
    return estimator


@dataclass(frozen=True, slots=True)
class Design:
    """A run of a monitor before it starts: what it costs and how far off it may be.

    Privacy: a run costs `cost` for the unit and relation of its table, and rows of one unit in all
    versions of the data that are checked [LSL17, Thm. 4 and 5].
    """

    watched: Watched
    threshold: Fraction
    technique: Technique
    price: Price

    @staticmethod
    def of(
        session: Session,
        sql: str,
        *,
        threshold: Number,
        alarms: int,
        epsilon: Number | None = None,
        rho: Number | None = None,
        numbers: Number | None = None,
    ) -> "Design":
        """The run with the least noise at a price, which pays for all checks up to the last
        alarm.

        Privacy: reads the schema and the accounts, no row.
        """
        watched = Watched.of(session, sql)
        paid = session.price(watched.plan, epsilon=epsilon, rho=rho)
        return Design.at_price(watched, rational(threshold, "threshold"), alarms, paid, numbers)

    @staticmethod
    def at_price(
        watched: Watched, threshold: Fraction, alarms: int, price: Price, numbers: Number | None
    ) -> "Design":
        """The same for a price that is known already."""
        words: dict[str, Any] = {"alarms": alarms, "sensitivity": watched.sensitivity}
        words[price.currency.value] = price.amount
        technique: type[Sparse | NumericSparse] = Sparse
        if numbers is not None:
            technique, words["numbers"] = NumericSparse, numbers
        if watched.form is Form.MONOTONE:
            run = technique.monotone(**words, relation=watched.relation)
        else:
            run = technique.of(**words)
        return Design(watched, threshold, run, price)

    @property
    def cost(self) -> Price:
        """What a run costs, in the terms of the accounts that pay.

        Privacy: epsilons add [DR14, Thm. 3.16], or rho adds [BS16, Prop. 1.4 and Lemma 1.7].
        """
        if self.watched.form is Form.MONOTONE:
            relation = self.watched.relation
            parts = self.technique.monotone_losses(self.watched.sensitivity, relation=relation)
        else:
            parts = self.technique.losses(self.watched.sensitivity)
        return self.price.total(parts)

    def error(self, *, checks: int, confidence: Number = Fraction(95, 100)) -> float:
        """How far beyond the threshold a value may be and still be on the wrong side.

        With this confidence for that many checks together, in the units of the question.
        """
        steps = self.technique.error(confidence, queries=checks)
        return ceil_float(Fraction(steps) * self.watched.step)

    def number_error(self, confidence: Number = Fraction(95, 100)) -> float | None:
        """The half-width of the number that comes with an alarm; None where none comes."""
        if isinstance(self.technique, Sparse):
            return None
        steps = self.technique.number_error(confidence)
        return ceil_float(Fraction(steps) * self.watched.step)
