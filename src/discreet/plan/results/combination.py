"""Columns that are sums of aggregates with known factors: what their error is made of.
Public facts only; touches neither data nor released values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.mechanisms.combinations.sums import sum_error
from discreet.plan.model import Plan
from discreet.plan.parts.measures import Chosen
from discreet.query.algebra import Aggregate, Arithmetic, Expression, Literal
from discreet.rationals import Number

__all__ = ["Combination", "combination"]


@dataclass(frozen=True, slots=True)
class Combination:
    """A constant, and factors of noisy measures and of other aggregates such as averages.

    `measures` are factors of the plan's measures in lattice steps; `ratios` of aggregates that are
    made from several.
    """

    constant: Fraction = Fraction(0)
    measures: Mapping[int, Fraction] = field(default_factory=dict)
    ratios: Mapping[Aggregate, Fraction] = field(default_factory=dict)

    def plus(self, other: "Combination", factor: Fraction) -> "Combination":
        """This one and a multiple of another; what cancels is gone.

        >>> one = Combination(Fraction(2), {0: Fraction(1)})
        >>> one.plus(one, Fraction(-1)).measures
        {}
        """
        measures, ratios = dict(self.measures), dict(self.ratios)
        for place, value in other.measures.items():
            measures[place] = measures.get(place, Fraction(0)) + factor * value
        for aggregate, value in other.ratios.items():
            ratios[aggregate] = ratios.get(aggregate, Fraction(0)) + factor * value
        return Combination(
            self.constant + factor * other.constant,
            {place: value for place, value in measures.items() if value},
            {aggregate: value for aggregate, value in ratios.items() if value},
        )

    def error(self, plan: Plan, confidence: Number) -> float | None:
        """The half-width of a sum of measures alone; None where other aggregates are in it.

        That of the distribution of the sum itself: the noises of measures are independent.
        """
        if self.ratios:
            return None
        terms = [(factor, plan.noises[place]) for place, factor in self.measures.items()]
        return sum_error(terms, confidence)


def combination(plan: Plan, expression: Expression) -> Combination | None:
    """The expression as a sum with known factors; None if it is not one.

    Products of noisy values, quotients by them and selected values are none.
    """
    match expression:
        case Literal(value) if isinstance(value, Fraction):
            return Combination(value)
        case Aggregate():
            estimator = dict(plan.estimators)[expression]
            if isinstance(estimator, Chosen):
                return None
            if len(estimator.positions) > 1:
                return Combination(ratios={expression: Fraction(1)})
            place = estimator.positions[0]
            return Combination(measures={place: plan.measures[place].step})
        case Arithmetic("*", Literal(Fraction() as factor), part):
            return _scale(plan, part, factor)
        case Arithmetic("*", part, Literal(Fraction() as factor)):
            return _scale(plan, part, factor)
        case Arithmetic("/", part, Literal(Fraction() as divisor)) if divisor:
            return _scale(plan, part, 1 / divisor)
        case Arithmetic("+" | "-" as operator, before, after):
            left, right = combination(plan, before), combination(plan, after)
            if left is None or right is None:
                return None
            return left.plus(right, Fraction(1 if operator == "+" else -1))
    return None


def _scale(plan: Plan, part: Expression, factor: Fraction) -> Combination | None:
    sums = combination(plan, part)
    return None if sums is None else Combination().plus(sums, factor)
