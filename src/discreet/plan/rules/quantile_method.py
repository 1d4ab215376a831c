"""The method of a quantile: by rank among a few thousand candidates, by rank on a finer list, or
exactly with smooth noise. Public facts decide, by the expected error on evenly spread rows.
Nothing here touches data.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from discreet.loss import Price
from discreet.plan.model import Draft, Plan
from discreet.plan.parts.candidates import (
    MOST_CELLS,
    CandidateQuery,
    Choice,
    QuantileMethod,
    chooser,
    pick,
)
from discreet.plan.parts.measures import Chosen, at_least_one_step
from discreet.plan.parts.smoothed import Smoothed
from discreet.plan.sql.expressions import scope

__all__ = ["decide_methods", "expected_error", "forms"]

_CLEARLY = 0.8  # smooth noise promises nothing, a finer list less: worth a fifth of the error
_SMALLEST_SHARE = 1 << 20  # the largest denominator of a fraction that smooth noise knows


def decide_methods(draft: Draft, prices: Sequence[Price]) -> Draft:
    """The draft with a method, a list of candidates and a mechanism for each candidate query.

    Methods that are given are used where they are proved. Otherwise the method is a choice by
    rank, unless a count of rows is assumed and another method has a clearly smaller error on so
    many evenly spread rows.
    """
    decisions: list[tuple[CandidateQuery, Choice]] = []
    ways: list[QuantileMethod] = []
    asked = draft.ways if len(draft.ways) == len(draft.picks) else ()
    for place, price in enumerate(prices):
        plain = draft.picks[place]
        known: dict[QuantileMethod, tuple[CandidateQuery, Choice]] = {
            QuantileMethod.RANKED: (plain, chooser(plain, price))
        }
        wanted = asked[place] if asked else QuantileMethod.RANKED
        if wanted is not QuantileMethod.RANKED or (not asked and draft.assumed_rows is not None):
            known = forms(draft, place, price)
        if not asked and draft.assumed_rows is not None:
            wanted = _choose_method(known, draft.assumed_rows)
        wanted = wanted if wanted in known else QuantileMethod.RANKED
        ways.append(wanted)
        decisions.append(known[wanted])
    return replace(
        draft,
        picks=tuple(method for method, _ in decisions),
        choices=tuple(choice for _, choice in decisions),
        ways=tuple(ways),
        assumed_rows=draft.assumed_rows if set(ways) - {QuantileMethod.RANKED} else None,
    )


def forms(
    draft: Draft | Plan, place: int, price: Price
) -> dict[QuantileMethod, tuple[CandidateQuery, Choice]]:
    """The methods proved for a candidate query, each with its candidates and its mechanism.

    Other methods than the first are for one quantile of an expression, inside (0, 1). Smooth noise
    is for numbers, and for questions without groups: there all rows that a unit moves are in one
    table, and their number is what the noise is made for.
    """
    plain, fine = _lists(draft, place)
    known: dict[QuantileMethod, tuple[CandidateQuery, Choice]] = {
        QuantileMethod.RANKED: (plain, chooser(plain, price))
    }
    if len(plain.fractions) != 1 or not 0 < plain.fractions[0] < 1:
        return known
    if fine.width < plain.width:
        known[QuantileMethod.FINE] = fine, chooser(fine, price)
    smooth = not draft.domains and fine.kind == "number" and fine.candidates > 1
    if smooth and fine.fractions[0].denominator <= _SMALLEST_SHARE:
        noise = Smoothed.of_price(
            fraction=fine.fractions[0],
            candidates=fine.candidates,
            moved=int(at_least_one_step(fine.sensitivity).l1),
            price=price,
        )
        known[QuantileMethod.SMOOTH] = fine, noise
    return known


def _lists(draft: Draft | Plan, place: int) -> tuple[CandidateQuery, CandidateQuery]:
    """The usual list of candidates and a finer one."""
    assert draft.contribution is not None
    alike = tuple(
        aggregate
        for aggregate, estimator in draft.estimators
        if isinstance(estimator, Chosen) and estimator.pick == place
    )
    columns, groups = scope(draft.table, draft.dialect), draft.contribution.groups_in_all
    moved = draft.picks[place].sensitivity
    plain = pick(alike, columns, groups=groups, sensitivity=moved)
    return plain, pick(alike, columns, groups=groups, sensitivity=moved, finest=MOST_CELLS)


def _choose_method(
    known: dict[QuantileMethod, tuple[CandidateQuery, Choice]], rows: int
) -> QuantileMethod:
    errors = {way: expected_error(*form, rows) for way, form in known.items()}
    by_rank = [errors[way] for way in (QuantileMethod.RANKED, QuantileMethod.FINE) if way in errors]
    if errors.get(QuantileMethod.SMOOTH, math.inf) < _CLEARLY * min(by_rank):
        return QuantileMethod.SMOOTH
    return QuantileMethod.FINE if by_rank[-1] < _CLEARLY * by_rank[0] else QuantileMethod.RANKED


def expected_error(pick: CandidateQuery, choice: Choice, rows: int) -> float:
    """The mean error of a quantile where so many rows are spread evenly, in values.

    Off is the distance from the nearest value whose rank is right. A choice by rank takes the gap k
    ranks away in proportion to e^(-k/scale), a place in it evenly; it falls on the right gap itself
    for every other number of rows, and on a single row as one candidate among those of two gaps.
    Smooth noise is off by its mean size. Both name the middle of a bucket. Less than half a step
    counts as half a step.
    >>> from fractions import Fraction
    >>> from discreet.loss import Pure, Sensitivity
    >>> facts = ("x", "", "number", Fraction(1), 0, 65_535, 1, (), (Fraction(1, 2),))
    >>> one = CandidateQuery(*facts, Sensitivity.single(1))
    >>> round(expected_error(one, chooser(one, Pure(epsilon=1)), 1000), 1)
    54.4
    """
    span = pick.upper - pick.lower + 1
    gap = span / rows
    if isinstance(choice, Smoothed):
        off = choice.gaps
    else:
        scale = float(choice.scale)
        fall = -math.expm1(-1 / scale)  # 1 - e^(-1/scale)
        ranks = math.exp(-1 / scale) / fall
        beside = 2 * gap / pick.width * math.exp(-1 / (2 * scale)) / fall
        off = ranks + beside / (1 + beside) / 4
    steps = min(gap * off + (pick.width - 1) / 4, span / 2)
    return max(steps, 0.5) * float(pick.step)
