"""Lower limits on what one unit contributes, where they make a question much more exact: computed
by planning it again, from the schema and the question alone. Never sees data, so it cannot say how
much such a limit leaves out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from types import MappingProxyType
from typing import Any

from discreet.errors import DiscreetError
from discreet.loss import ZCDP, Pure
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.plan.results.explain import error_of
from discreet.plan.rules.price import Price

__all__ = ["Suggestion", "suggestions"]

_LEVEL = Fraction(95, 100)
_HELPFUL = 0.5  # of the noise; what helps less is not worth what it leaves out
_SHOWN = 3  # columns in one sentence
_WHAT = MappingProxyType({"max_groups_contributed": "groups", "max_rows_contributed": "rows"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A limit, the errors with it and without, and how much of the noise is left.

    >>> Suggestion(option="max_rows_contributed", value=2, unit="patient", most=20, share=0.1,
    ...            before={"n": 351.0}, error={"n": 39.0}).words
    'max_rows_contributed=2: the error of n is 39 instead of 351; it uses at most 2 of up to \
20 rows of one patient and leaves out the rest.'
    """

    option: str
    value: int
    unit: str
    most: int
    share: float
    before: dict[str, float | None]
    error: dict[str, float | None]

    @property
    def words(self) -> str:
        """The suggestion as a sentence.

        >>> Suggestion(option="max_groups_contributed", value=1, unit="id", most=8, share=0.25,
        ...            before={"a": None}, error={"a": None}).words
        'max_groups_contributed=1: the noise is 4 times smaller; it uses at most 1 of up to 8 \
groups of one id and leaves out the rest.'
        """
        known = [
            f"of {name} is {_digits(after)} instead of {_digits(before)}"
            for name, after in self.error.items()
            if after is not None and (before := self.before.get(name)) is not None
        ]
        said = f"the noise is {1 / self.share:.3g} times smaller"
        if known:
            said = "the error " + ", that ".join(known[:_SHOWN])
        return (
            f"{self.option}={self.value}: {said}; it uses at most {self.value:,} of up to "
            f"{self.most:,} {_WHAT[self.option]} of one {self.unit} and leaves out the rest."
        )

    def values(self) -> dict[str, Any]:
        """The suggestion for JSON.

        >>> Suggestion(option="max_rows_contributed", value=2, unit="id", most=20, share=0.1,
        ...            before={}, error={"n": 39.0}).values()["error"]
        {'n': 39.0}
        """
        return {
            "option": self.option,
            "value": self.value,
            "error": dict(self.error),
            "words": self.words,
        }


def suggestions(made: Plan, count: int | None = None) -> tuple[Suggestion, ...]:
    """The limits that halve the noise of a plan at the same price; none where nothing does.

    Each is planned like the question itself; `count` is as in `explain`.
    Privacy: none (touches no data): from the schema and the question alone.
    """
    if made.table.unit is None or made.behind:
        return ()
    found: list[Suggestion] = []
    for option, value, most in _lower(made):
        other = _planned(made, option, value)
        if other is None or len(other.measures) != len(made.measures):
            continue
        share = _share(made, other)
        if not share:  # nothing to gain: the noise is almost surely none as it is
            continue
        known = any(each.value == value and each.share <= share for each in found)
        if share <= _HELPFUL and not known:  # fewer groups leave out less than as many rows
            found.append(
                Suggestion(
                    option=option,
                    value=value,
                    unit=made.table.unit,
                    most=most,
                    share=share,
                    before=error_of(made, count),
                    error=error_of(other, count),
                )
            )
    return tuple(found)


def _lower(made: Plan) -> Iterator[tuple[str, int, int]]:
    """Limits below those of a plan: one, and about the middle between one and what there is."""
    contribution = made.contribution
    groups = min(
        contribution.groups_per_unit, contribution.groups_in_all or contribution.groups_per_unit
    )
    limits = {"max_rows_contributed": contribution.rows_per_unit}
    if made.query.keys:
        limits = {"max_groups_contributed": groups, **limits}
    for option, most in limits.items():
        for value in sorted({1, isqrt(most)}):
            if value < most:
                yield option, value, most


def _planned(made: Plan, option: str, value: int) -> Plan | None:
    """The question with another limit, at the same price."""
    first, *others = made.tables
    changed: dict[str, Any] = {option: value}
    options = replace(made.query.options, **changed)
    try:
        return plan(
            Draft(
                query=replace(made.query, options=options),
                table=first,
                others=tuple((table, f'"{table.name}"') for table in others),
                price=_whole(made.prices),
                delta=made.delta,
                limit=made.limit,
                supposed=made.supposed,
                joined_rows=made.joined_rows,
                question=made.question,
            )
        )
    except DiscreetError:
        return None


def _whole(prices: tuple[Price, ...]) -> Price:
    if isinstance(prices[0], Pure):
        return Pure(epsilon=sum(each.epsilon for each in prices if isinstance(each, Pure)))
    return ZCDP(rho=sum(each.rho for each in prices if isinstance(each, ZCDP)))


def _share(made: Plan, other: Plan) -> float:
    """How much of the noise is left, in the column or the choice that gains least."""
    pairs = [*zip(made.noises, other.noises, strict=True)]
    shares = [after.error(_LEVEL) / max(before.error(_LEVEL), 1.0) for before, after in pairs]
    shares += [
        float(after.sensitivity.l1 / before.sensitivity.l1)
        for before, after in zip(made.picks, other.picks, strict=True)
    ]
    return max(shares, default=1.0)


def _digits(error: float) -> str:
    return f"{error:,.0f}" if error >= 100 else f"{error:,.3g}"
