"""Values chosen from a public list by how many rows have them: quantiles, extremes, the mode.
One engine pass counts rows by candidate; the choice is an exponential mechanism's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from discreet.errors import UnsafeQuery, with_article
from discreet.loss import BoundedRange, Currency, Price, Pure, Sensitivity
from discreet.mechanisms.priced import loss_in, scale_for
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.noise.bits import BitSource
from discreet.plan.parts.keys import Label, label
from discreet.plan.parts.measures import Contribution, at_least_one_step
from discreet.plan.parts.smoothed import Smoothed
from discreet.plan.sql.bounds import Bounded
from discreet.plan.sql.expressions import bounded
from discreet.query.algebra import Aggregate, Field, Statistic
from discreet.schema.column import Column

__all__ = [
    "CandidateQuery",
    "Choice",
    "MOST_CELLS",
    "QuantileMethod",
    "bound_moves",
    "choice_loss",
    "chooser",
    "coarse",
    "fraction_of",
    "pick",
    "width_of",
]

Choice = Quantiles | NestedQuantiles | Exponential | PermuteAndFlip | Smoothed
"""The mechanisms that choose a value, or make one up near it."""

MOST_CELLS = 65_536
"""How many counts one histogram has, over all groups: wider columns are coarsened."""

_FINEST, _COARSEST = 4096, 32  # candidates in one group, however many groups there are
_UNKNOWN_GROUPS = 64  # what private keys count as: how many are shown is not known before
# Fractions from which recursion is usually better, by simulation.
_MANY = MappingProxyType({Currency.EPSILON: 5, Currency.RHO: 16})
_ORDERED = ("number", "date", "datetime")
_COUNTABLE = ("number", "category", "boolean", "date")


class QuantileMethod(StrEnum):
    """How a quantile is selected: by rank, by rank on a finer list, or exactly and with smooth
    noise.
    """

    RANKED = "ranked"
    FINE = "fine"
    SMOOTH = "smooth"


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """A public list of candidates, and what is chosen from it: quantiles, or without any the mode.

    Candidate i stands for the lattice integers k with k // width = lower // width + i, and is
    called by the middle one of them. Rows of a bucket of several integers are counted together, so
    the error in ranks holds for one of the integers, which need not be the middle. `sql` is the
    engine's k // width of a row, or NULL; `column` the column it selects from, if it is one.
    The sensitivity is that of the counts by candidate and group.

    Privacy: public candidates; which one is chosen costs what the mechanism says.
    >>> one = Sensitivity.single(1)
    >>> CandidateQuery("x", '"x"', "number", Fraction(1), 0, 9, 4, (), (), one).candidates
    3
    """

    name: str
    sql: str
    kind: str
    step: Fraction
    lower: int
    upper: int
    width: int
    labels: tuple[str, ...]
    fractions: tuple[Fraction, ...]
    sensitivity: Sensitivity
    column: str = ""

    @property
    def first(self) -> int:
        """The engine's code of candidate 0."""
        return self.lower // self.width

    @property
    def candidates(self) -> int:
        """How many values can be chosen."""
        return self.upper // self.width - self.first + 1

    @property
    def columns(self) -> int:
        """How many columns it releases."""
        return max(1, len(self.fractions))

    def value(self, candidate: int) -> Label:
        """What a candidate is called in an answer.

        >>> one = Sensitivity.single(1)
        >>> CandidateQuery("x", "", "number", Fraction(1), 0, 9, 4, (), (), one).value(2)
        9
        """
        return self._label(self.lattice(candidate))

    def ends(self, candidate: int) -> tuple[Label, Label]:
        """The lowest and the highest value that a candidate stands for.

        >>> one = Sensitivity.single(1)
        >>> CandidateQuery("x", "", "number", Fraction(1), 0, 9, 4, (), (), one).ends(2)
        (8, 9)
        """
        low = (self.first + candidate) * self.width
        high = min(low + self.width - 1, self.upper)
        return self._label(max(low, self.lower)), self._label(high)

    def _label(self, code: int) -> Label:
        if self.kind == "number" and self.step.denominator != 1:
            return float(code * self.step)  # also if it is whole: no type depends on the choice
        return label(self.kind, self.labels, self.step, code)

    def lattice(self, candidate: int) -> int:
        """The lattice integer that a candidate stands for, inside the bounds."""
        middle = (self.first + candidate) * self.width + (self.width - 1) // 2
        return min(max(middle, self.lower), self.upper)

    def release(self, choice: Choice, exact: NDArray[Any], bits: BitSource) -> list[int]:
        """The chosen candidates of one group, one for each fraction.

        Privacy: as `choice_loss` says, for all groups together.
        """
        if isinstance(choice, Quantiles | NestedQuantiles | Smoothed):
            return choice.release(exact, bits)
        return [choice.release(exact, bits)]


def fraction_of(aggregate: Aggregate) -> Fraction:
    """The fraction of a quantile; MIN and MAX are the outermost that can be released privately.

    >>> fraction_of(Aggregate(Statistic.MAXIMUM, None))
    Fraction(1, 1)
    """
    if aggregate.statistic is Statistic.MINIMUM:
        return Fraction(0)
    if aggregate.statistic is Statistic.MAXIMUM:
        return Fraction(1)
    assert aggregate.fraction is not None
    return aggregate.fraction


def bound_moves(contribution: Contribution) -> Sensitivity:
    """How far one unit can move the counts by candidate and group.

    Every row is in one cell, so a replaced unit moves up to twice its rows, in one group too:
    a row that changes its value leaves one count and enters another.
    >>> from discreet.loss import Relation
    >>> bound_moves(Contribution(3, 3, 1, Relation.REPLACE)).l1
    Fraction(6, 1)
    """
    rows = contribution.rows_per_unit
    moved = contribution.relation.steps * rows
    return Sensitivity(groups=moved, per_group=rows, total=moved)


def pick(
    aggregates: tuple[Aggregate, ...],
    columns: Mapping[str, Column],
    *,
    groups: int | None,
    sensitivity: Sensitivity,
    finest: int = _FINEST,
) -> CandidateQuery:
    """What to count for these quantiles of one expression, or for its mode.

    `groups` is None where keys are private; `finest` is how many candidates one may have.
    """
    first = aggregates[0]
    assert first.argument is not None
    value = bounded(first.argument, columns)
    mode = first.statistic is Statistic.MODE
    if value.kind not in (_COUNTABLE if mode else _ORDERED):
        wanted = "a category, a boolean, a number or a date" if mode else "a number or a date"
        raise UnsafeQuery(
            f"{first.statistic.upper()} needs {wanted}, not {with_article(value.kind)}."
        )
    known = groups or _UNKNOWN_GROUPS
    most = max(_COARSEST, min(finest, MOST_CELLS // known))
    width = width_of(value.lower, value.upper, most)
    if mode and width > 1:
        raise UnsafeQuery(
            f"MODE has {value.upper - value.lower + 1:,} public values in each group; with so many "
            f"groups the limit is {most:,}. Take it of buckets such as FLOOR(x/10). "
            "Nothing was charged."
        )
    return CandidateQuery(
        name=f"{'mode' if mode else 'quantiles'} of {value.sql}",
        sql=coarse(value, width),
        kind=value.kind,
        step=value.step,
        lower=value.lower,
        upper=value.upper,
        width=width,
        labels=value.labels,
        fractions=() if mode else tuple(sorted(set(map(fraction_of, aggregates)))),
        sensitivity=sensitivity,
        column=first.argument.name if isinstance(first.argument, Field) else "",
    )


def width_of(lower: int, upper: int, most: int = _FINEST) -> int:
    """The least power of two that leaves at most `most` candidates between two bounds.

    >>> width_of(0, 9, 4)
    4
    """
    width = 1
    while upper // width - lower // width + 1 > most:
        width *= 2
    return width


def coarse(value: Bounded, width: int) -> str:
    """The engine's k // width for a bounded k.

    >>> coarse(Bounded('"x"', "number", Fraction(1), 0, 9, (), "never"), 4)
    '((CAST("x" AS BIGINT) - 0) // 4 + 0)'
    """
    if width == 1:
        return value.sql
    low = value.lower // width
    dividend = f"({value.wide} - {low * width})"
    return f"({value.dialect.quotient(dividend, width, value.upper // width - low)} + {low})"


def chooser(pick: CandidateQuery, price: Price) -> Choice:
    """The mechanism with the least error that costs at most the price. Scales are rounded up.

    >>> one = CandidateQuery("x", "", "number", Fraction(1), 0, 9, 1, (), (), Sensitivity.single(1))
    >>> chooser(one, Pure(epsilon=0.5))
    PermuteAndFlip(scale=Fraction(2, 1), candidates=10)
    """
    sensitivity = at_least_one_step(pick.sensitivity)
    if pick.fractions:
        few = len(pick.fractions) < _MANY[price.currency]
        inside = all(0 < fraction < 1 for fraction in pick.fractions)
        kind = NestedQuantiles if inside and not few else Quantiles
        return kind.of_price(
            fractions=pick.fractions,
            sensitivity=sensitivity,
            price=price,
            candidates=pick.candidates,
        )
    unit = BoundedRange(epsilon=sensitivity.l1)
    scale = scale_for(price, pure=unit.pure(), concentrated=unit.zcdp())
    if price.currency is Currency.EPSILON:
        return PermuteAndFlip(scale=scale, candidates=pick.candidates)
    return Exponential(scale=scale, candidates=pick.candidates)


def choice_loss(pick: CandidateQuery, choice: Choice, price: Price) -> Price:
    """What the choices in all groups together cost, in the terms of the price.

    One row raises one count of one group, so scores are monotone along a path that adds or removes
    one row at a time; l1 rows spread over groups make the log-likelihood ratios add up to at most
    those of l1 rows in one group, and the sum of squares to at most its square.
    Privacy: (l1/scale)-DP by permute-and-flip [MS20, Thm. 1], (l1/scale)-bounded range by the
    exponential mechanism [DR19, Lemma 4.1]; quantiles as `Quantiles` or `Smoothed` says.
    >>> one = CandidateQuery("x", "", "number", Fraction(1), 0, 9, 1, (), (), Sensitivity.single(1))
    >>> choice_loss(one, chooser(one, Pure(epsilon=0.5)), Pure(epsilon=1))
    Pure(epsilon=Fraction(1, 2))
    """
    sensitivity = at_least_one_step(pick.sensitivity)
    if isinstance(choice, Smoothed):
        return choice.loss(price)
    if isinstance(choice, Quantiles | NestedQuantiles):
        return loss_in(price, choice, sensitivity)
    epsilon = sensitivity.l1 / choice.scale
    if isinstance(choice, PermuteAndFlip):
        return Pure(epsilon=epsilon)
    return BoundedRange(epsilon=epsilon).zcdp()
