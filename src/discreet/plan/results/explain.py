"""The cost of a plan and the errors of its answers, stated before anything is run.
The same value is shown by Python, the command line and every other surface.
"""

import math
from fractions import Fraction
from textwrap import shorten
from typing import Any

from discreet.loss import Currency, Price
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.priced import Noise
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.plan.model import Plan
from discreet.plan.parts.candidates import CandidateQuery, Choice, QuantileMethod
from discreet.plan.parts.measures import Estimator, Measure
from discreet.plan.parts.pairs import VARYING, error_of_pair
from discreet.plan.parts.selection import OptimalKeys, Selection, ThresholdKeys, TopGroups, ordering
from discreet.plan.parts.smoothed import Smoothed
from discreet.plan.results.combination import Combination, combination
from discreet.plan.results.evaluate import find_picked, find_ranked, ranks_off, simple_measure
from discreet.plan.results.notes import notes_of
from discreet.plan.rules.quantile_method import expected_error, forms
from discreet.query.algebra import Expression, Statistic
from discreet.rationals import ceil_decimal

__all__ = ["cost_of", "error_of", "explain_plan", "noise_of", "summary_of", "warnings_of"]

_LEVEL = Fraction(95, 100)
_SHOWN = 6  # columns in a summary
_WIDE = 160  # characters of a question in a summary


def error_of(plan: Plan, count: int | None = None) -> dict[str, float | None]:
    """The 95% half-width of every output column; of quantiles in rows by which the rank is off.

    The error of an average, a variance or a covariance depends on how many rows a group has, which
    is secret: it is given for an assumed `count` of rows, and None without one. It is the worst
    case over all values the bounds allow. That of a correlation, a line, or a quantile with smooth
    noise or among buckets is not known. Sums, differences and multiples of what has an error have
    one; of counts and sums it is that of their noises together.
    """
    return {
        output.name: _half_width(plan, output.expression, count) for output in plan.query.outputs
    }


def _half_width(plan: Plan, expression: Expression, count: int | None) -> float | None:
    if find_picked(plan, expression) is not None:
        chosen = find_ranked(plan, expression)
        off = math.inf if chosen is None else ranks_off(plan, chosen, _LEVEL)
        return off if math.isfinite(off) else None
    place = simple_measure(plan, expression)
    if place is not None:
        return plan.noises[place].error(_LEVEL) * float(plan.measures[place].step)
    combined = combination(plan, expression)
    if combined is None or not combined.ratios:
        return None if combined is None else combined.error(plan, _LEVEL)
    return None if count is None else _ratios_error(plan, combined, count)


def _ratios_error(plan: Plan, combined: Combination, count: int) -> float | None:
    """Every measure at a level that adds up to the whole (Bonferroni)."""
    estimators = dict(plan.estimators)
    factors = [(estimators[aggregate], factor) for aggregate, factor in combined.ratios.items()]
    ratios = [(ratio, factor) for ratio, factor in factors if isinstance(ratio, Estimator)]
    used = {*combined.measures, *(place for ratio, _ in ratios for place in ratio.positions)}
    level = 1 - (1 - _LEVEL) / len(used)
    errors = [
        plan.noises[place].error(level) * float(abs(factor))
        for place, factor in combined.measures.items()
    ]
    for ratio, factor in ratios:
        error = _ratio_error(plan, ratio, count, level)
        if error is None:
            return None
        errors.append(error * float(abs(factor)))
    return sum(errors)


def _ratio_error(plan: Plan, estimator: Estimator, count: int, level: Fraction) -> float | None:
    widths = [
        plan.noises[place].error(level) * float(plan.measures[place].step)
        for place in estimator.positions
    ]
    if estimator.second is not None:
        axes = estimator.axis, estimator.second
        return error_of_pair(estimator.statistic, widths, *axes, count=count)
    step = float(estimator.step)
    spread = (estimator.upper - estimator.lower) * step
    reach = step * max(estimator.upper - estimator.centre, estimator.centre - estimator.lower)
    least = max(count - widths[0], 1.0)
    mean = (widths[1] + reach * widths[0]) / least
    if estimator.statistic is Statistic.AVERAGE:
        return min(mean, spread)
    squares = (widths[2] + reach**2 * widths[0]) / least
    variance = min(squares + 2 * reach * mean + mean**2, spread**2 / 4)
    if estimator.statistic in (Statistic.DEVIATION_SAMPLE, Statistic.VARIANCE_SAMPLE):
        few, many = max(least, 2.0), max(count + widths[0], 2.0)
        factor, change = few / (few - 1), few / (few - 1) - many / (many - 1)
        variance = min(factor * variance + change * spread**2 / 4, spread**2 / 2)
    if estimator.statistic in (Statistic.DEVIATION_SAMPLE, Statistic.DEVIATION_POPULATION):
        return float(variance**0.5)
    return variance


def cost_of(price: Price) -> dict[str, str]:
    """A price as text of at most ten digits, rounded up, by the names of its parameters.

    >>> from discreet.loss import Pure
    >>> cost_of(Pure(epsilon=0.5)), cost_of(Pure(epsilon=Fraction(1, 3)))
    ({'epsilon': '0.5'}, {'epsilon': '0.3333333334'})
    """
    cost = {price.currency.value: _digits(price.amount)}
    if price.currency is Currency.RHO and price.delta:
        cost["delta"] = _digits(price.delta)
    return cost


def _digits(value: Fraction) -> str:
    return f"{float(ceil_decimal(value, 10)):.10g}"


def noise_of(noise: Noise | Choice | Selection) -> str:
    """A mechanism in a few words.

    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> noise_of(DiscreteLaplace(scale=2))
    'discrete Laplace, scale 2'
    """
    match noise:
        case DiscreteLaplace():
            return f"discrete Laplace, scale {float(noise.scale):.6g}"
        case DiscreteGaussian():
            return f"discrete Gaussian, sigma {float(noise.sigma_squared) ** 0.5:.6g}"
        case Quantiles():
            return f"exponential mechanism on rank distances, scale {float(noise.scale):.6g}"
        case NestedQuantiles():
            return f"nested choices on rank distances, scale {float(noise.scale):.6g}"
        case Smoothed():
            return f"smooth sensitivity, {noise.words}"
        case Exponential():
            return f"exponential mechanism on counts, scale {float(noise.scale):.6g}"
        case PermuteAndFlip():
            return f"permute-and-flip on counts, scale {float(noise.scale):.6g}"
        case ThresholdKeys() | OptimalKeys() | TopGroups():
            return _selection_words(noise)


def _selection_words(selection: Selection) -> str:
    match selection:
        case ThresholdKeys(threshold):
            return f"keys from a noisy number of units of {threshold.threshold} on"
        case OptimalKeys(rule):
            return f"optimal key selection, epsilon {float(rule.epsilon):.6g}"
        case TopGroups(ranking):
            return f"one-shot top {ranking.count}, scale {float(ranking.scale):.6g}"


def warnings_of(plan: Plan, count: int | None = None) -> list[str]:
    """What an analyst should know before paying: the answer's notes, and what decides its error."""
    said = [str(note) for note in notes_of(plan)]
    measured = [estimator for _, estimator in plan.estimators if isinstance(estimator, Estimator)]
    ratios = {estimator.statistic for estimator in measured if len(estimator.positions) > 1}
    if ratios - set(VARYING) and count is None:
        said.append(
            "The error of an average, a variance or a covariance depends on the number of rows, "
            "which is secret; assume one with count= to see it."
        )
    if ratios & set(VARYING):
        said.append(
            "The error of a correlation or a regression depends on how much the values vary, "
            "which is secret; the answer's interval shows it."
        )
    ways = [
        _about_way(plan, at) for at, way in enumerate(plan.ways) if way is not QuantileMethod.RANKED
    ]
    return [*said, *_about_groups(plan), *dict.fromkeys(ways)]


def _about_groups(plan: Plan) -> list[str]:
    if isinstance(plan.selection, TopGroups) and plan.ranking is not None:
        ranking = plan.ranking
        return [
            f"The {ranking.count} leading of {ranking.groups:,} groups are chosen first: on public "
            f"facts alone that ranks them {ranking.noising / ranking.choosing:.3g} times as well "
            "as noise on every group."
        ]
    most = plan.query.limit
    if plan.selection is None and ordering(plan.query) and most and most < len(plan.groups):
        return [
            f"Each of the {len(plan.groups):,} groups gets noise and the {most} largest are shown: "
            "on public facts alone that is at least as exact as choosing them first."
        ]
    return []


def _about_way(plan: Plan, place: int) -> str:
    """Why a quantile is not chosen by rank from the usual list."""
    means = {
        QuantileMethod.FINE: (
            f"chosen by rank from a finer list of {plan.picks[place].candidates:,} values"
        ),
        QuantileMethod.SMOOTH: "the exact one with noise by smooth sensitivity",
    }
    said = f"The quantile is {means[plan.ways[place]]}"
    if plan.assumed_rows is None:
        return f"{said}, as was asked for."
    known = forms(plan, place, plan.prices[len(plan.measures) + place])
    usual = expected_error(*known[QuantileMethod.RANKED], plan.assumed_rows)
    here = expected_error(plan.picks[place], plan.choices[place], plan.assumed_rows)
    return (
        f"{said}: if {plan.assumed_rows:,} rows were spread evenly between the bounds, it would be "
        f"off by {here:.3g} on average, a choice from the usual list by {usual:.3g}."
    )


def summary_of(plan: Plan) -> str:
    """A plan in a few lines: the question, its cost, its groups and errors."""
    cost = ", ".join(f"{name} {value}" for name, value in cost_of(plan.cost).items())
    public = plan.contribution.groups_in_all is not None
    groups = f"{len(plan.groups):,}" if public else "private keys"
    shown = list(error_of(plan).items())
    errors = [f"{name} {_error_words(error)}" for name, error in shown[:_SHOWN]]
    errors += [f"and {len(shown) - _SHOWN} more columns"] if len(shown) > _SHOWN else []
    question = " ".join(plan.question.split()) or f"about {plan.table.name}"
    lines = [
        f"Plan: {shorten(question, _WIDE, placeholder=' ...')}",
        f"  cost: {cost}; groups: {groups}; protects each {plan.table.unit or 'row'}",
        f"  error, 95%: {', '.join(errors)}",
    ]
    lines += [f"  suggestion: {suggestion.words}" for suggestion in plan.suggestions[-1:]]
    return "\n".join(lines)


def _error_words(error: float | None) -> str:
    if error is None:
        return "depends on secret values"
    return f"± {error:,.0f}" if error >= 100 else f"± {error:,.3g}"


def explain_plan(plan: Plan, count: int | None = None) -> dict[str, Any]:
    """Everything public about a plan, ready for JSON."""
    return {
        "table": plan.table.name,
        "cost": cost_of(plan.cost),
        "unit": plan.table.unit or "row",
        "neighbours": plan.table.neighbours.value,
        "groups": None if plan.contribution.groups_in_all is None else len(plan.groups),
        "rows_per_unit": plan.table.rows_per_unit,
        "work_per_unit": plan.work,
        "error": error_of(plan, count),
        "measures": [
            *(
                _describe(measure, noise, measure.step)
                for measure, noise in zip(plan.measures, plan.noises, strict=True)
            ),
            *(
                _describe(pick, choice, pick.step * pick.width)
                for pick, choice in zip(plan.picks, plan.choices, strict=True)
            ),
        ],
        "selection": None if plan.selection is None else noise_of(plan.selection),
        "warnings": warnings_of(plan, count),
        "answer_seconds": float(plan.answer_seconds),
        "sql": plan.sql,
    }


def _describe(
    part: Measure | CandidateQuery, mechanism: Noise | Choice, step: Fraction
) -> dict[str, Any]:
    sensitivity = {"l1": float(part.sensitivity.l1), "l2": float(part.sensitivity.l2)}
    return {
        "name": part.name,
        "sensitivity": sensitivity,
        "mechanism": noise_of(mechanism),
        "step": float(step),
    }
