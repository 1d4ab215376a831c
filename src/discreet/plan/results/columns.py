"""The columns of a release as arrays: what keys are called, and noisy values in their own units.
Post-processing only: nothing in this file ever sees an exact value.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plan.model import Plan
from discreet.plan.parts.keys import Label
from discreet.plan.results.evaluate import Estimate, find_picked, simple_measure, values_of
from discreet.plan.results.released import Released
from discreet.query.algebra import Output

__all__ = ["columns_of", "is_narrow"]

_WIDE = 1 << 31
_WIDEST = 1 << 63


def columns_of(released: Released, noisy: Mapping[str, Estimate]) -> dict[str, NDArray[Any]]:
    """Every column before HAVING, ORDER BY and LIMIT, keys included."""
    plan = released.plan
    columns = {name: _column(labels) for name, labels in released.keys().items()}
    for output in plan.query.outputs:
        place = simple_measure(plan, output.expression)
        chosen = find_picked(plan, output.expression)
        if place is not None:
            columns[output.name] = _scale(released.noisy[place], plan.measures[place].step)
        elif chosen is not None:
            columns[output.name] = _column(values_of(released, chosen))
        else:
            columns[output.name] = noisy[output.name].value
    return columns


def is_narrow(plan: Plan, output: Output) -> bool | None:
    """Whether a column of counts or sums fits 64 bits by public bounds, so that its type says
    nothing about values; None for other columns.
    """
    place = simple_measure(plan, output.expression)
    if place is None:
        return None
    measure = plan.measures[place]
    return measure.sensitivity.linf * measure.step.numerator < _WIDE


def _scale(noisy: NDArray[Any], step: Fraction) -> NDArray[Any]:
    """noisy * step without overflow: exact integers, or the nearest floats."""
    if step == 1:
        return noisy
    multiples = noisy.astype(object) * step.numerator
    if step.denominator == 1:
        return multiples
    return (multiples / step.denominator).astype(np.float64)


def _column(labels: list[Label]) -> NDArray[Any]:
    """Numbers as an array of them where they fit; texts and dates as they are, to the last byte."""
    if not labels or not isinstance(labels[0], int | float):
        return np.array(labels, dtype=object)
    wide = any(isinstance(label, int) and abs(label) >= _WIDEST for label in labels)
    return np.array(labels, dtype=object if wide else None)
