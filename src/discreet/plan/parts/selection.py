"""Which groups an answer shows when that is not public: private keys, or the leading groups.
Decided before data is touched; the exact counts come from the curator and do not stay here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.errors import UnprovableRequest
from discreet.loss import ZCDP, Price, Sensitivity
from discreet.mechanisms.keys.partition import Partition
from discreet.mechanisms.keys.threshold import Threshold
from discreet.mechanisms.priced import Noise, loss_in, scale_for
from discreet.mechanisms.selection.top_k import TopK
from discreet.noise.bits import BitSource
from discreet.plan.parts.measures import Contribution, Measure
from discreet.plan.parts.price import choose
from discreet.query.algebra import Aggregate, Field, Query, Statistic
from discreet.rationals import sqrt_down

__all__ = [
    "OptimalKeys",
    "Ranking",
    "Selection",
    "ThresholdKeys",
    "TopGroups",
    "choose_keys",
    "choose_leading",
    "ordering",
    "ranking",
    "selection_loss",
    "show_keys",
]

_LEVEL = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class ThresholdKeys:
    """Private keys whose noisy number of units, measure `place`, reaches a threshold.

    Privacy: the noise is the measure's own; the threshold adds delta [KKMN09, Thm. 1].
    """

    threshold: Threshold
    place: int
    counted: str

    def release(self, exact: NDArray[Any], bits: BitSource) -> tuple[Sequence[int], NDArray[Any]]:
        """The places of the keys that are shown, and the noisy column of the measure.

        Privacy: as `Threshold` says.
        """
        keys, noisy = self.threshold.release(exact, bits)
        return keys.tolist(), noisy


@dataclass(frozen=True, slots=True)
class OptimalKeys:
    """Private keys chosen by the optimal rule from their exact numbers of units.

    Privacy: as `Partition` says [DVGM22, Thm. 1].
    """

    rule: Partition
    counted: str

    def release(self, exact: NDArray[Any], bits: BitSource) -> Sequence[int]:
        """The places of the keys that are shown.

        Privacy: as `Partition` says.
        """
        return list(map(int, self.rule.release(exact, bits)))


@dataclass(frozen=True, slots=True)
class TopGroups:
    """The groups with the largest counts, best first, of public groups.

    Privacy: as `TopK` says [CR21, Lemma 3.4].
    """

    ranking: TopK
    counted: str
    sensitivity: Sensitivity

    def release(self, exact: NDArray[Any], bits: BitSource) -> Sequence[int]:
        """The places of the leading groups, best first.

        Privacy: as `TopK` says.
        """
        return self.ranking.release(exact, bits)


Selection = ThresholdKeys | OptimalKeys | TopGroups
"""How the groups of an answer are chosen."""


def ordering(query: Query) -> Aggregate | None:
    """The count by which the leading groups are asked for: ORDER BY it DESC LIMIT k, no HAVING."""
    if query.limit is None or query.having is not None or not query.keys or len(query.order) != 1:
        return None
    order = query.order[0]
    named = {output.name: output.expression for output in query.outputs}
    ordered = order.expression
    if isinstance(ordered, Field):
        ordered = named.get(ordered.name, ordered)
    if order.direction != "descending" or not isinstance(ordered, Aggregate):
        return None
    return ordered if ordered.statistic in (Statistic.ROWS, Statistic.UNITS) else None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The decision to choose the leading groups first, and the ranking errors that decided it.

    `shown` says whether the count itself is a column of the answer.
    """

    count: int
    groups: int
    counted: str
    sensitivity: Sensitivity
    shown: bool
    choosing: float
    noising: float


def ranking(
    contribution: Contribution,
    wanted: Aggregate,
    others: Sequence[Aggregate],
    *,
    count: int,
    kind: type[Price],
    counted: str,
) -> Ranking | None:
    """Choose the leading groups first if that ranks them better than noise on every group.

    Where the wanted count is among the `others` that are shown, half the price goes to the choice,
    and the counts must not be worse off for it either.
    """
    groups = contribution.groups_in_all
    if groups is None or not count < groups:
        return None
    shown = wanted in others
    before, after = (
        limits.of_units() if wanted.statistic is Statistic.UNITS else limits.of(0, 1)
        for limits in (contribution, replace(contribution, groups_in_all=count))
    )
    whole, half = kind.of(1), kind.of(Fraction(1, 2))
    noise = _noise(before, whole if shown else half)
    undecided = Ranking(count, groups, counted, before, shown, 0.0, 0.0)
    # Two noisy counts change places only if one of them is off by half their distance.
    noising = 2 * noise.error(1 - (1 - _LEVEL) / groups)
    choosing = choose_leading(undecided, half).ranking.error(_LEVEL)
    worse = shown and _noise(after, half).error(_LEVEL) > noise.error(_LEVEL)
    if choosing > noising or worse:
        return None
    return replace(undecided, choosing=choosing, noising=noising)


def _noise(sensitivity: Sensitivity, price: Price) -> Noise:
    return choose(Measure("count", (), sensitivity, Fraction(1)), price)


def choose_leading(decision: Ranking, price: Price) -> TopGroups:
    """Choose the leading groups for this price. The scale is rounded up.

    >>> from discreet.loss import Pure
    >>> one = Ranking(3, 50, "COUNT(*)", Sensitivity.single(1), True, 2.0, 3.0)
    >>> choose_leading(one, Pure(epsilon=6)).ranking.scale
    Fraction(1, 1)
    """
    unit = TopK(scale=1, count=decision.count, candidates=decision.groups)
    scale = scale_for(
        price,
        pure=unit.pure_loss(decision.sensitivity),
        concentrated=unit.loss(decision.sensitivity),
    )
    ranking = TopK(scale=scale, count=decision.count, candidates=decision.groups)
    return TopGroups(ranking, decision.counted, decision.sensitivity)


def show_keys(
    measure: Measure, place: int, noise: Noise, *, counted: str, delta: Fraction | None
) -> ThresholdKeys:
    """Show private keys with the noisy count that is asked for anyway."""
    keys = measure.sensitivity.groups
    threshold = Threshold.of(noise=noise, delta=_require_delta(delta), keys_per_unit=keys)
    return ThresholdKeys(threshold, place, counted)


def choose_keys(
    contribution: Contribution, price: Price, *, counted: str, delta: Fraction | None
) -> OptimalKeys:
    """Choose private keys by themselves, for this price. epsilon is rounded down."""
    some = _require_delta(delta)
    keys = contribution.of_units().groups
    rho = price.require_rho("keys that are not public cost some delta").rho
    epsilon = sqrt_down(2 * keys * rho)
    return OptimalKeys(Partition(epsilon=epsilon, delta=some, keys_per_unit=keys), counted)


def _require_delta(delta: Fraction | None) -> Fraction:
    if delta is None:
        raise UnprovableRequest(
            "keys that are not public can be shown only at the price of some delta, and this "
            "budget is pure. Ask the custodian for a grant with delta, or for declared keys. "
            "Nothing was run or charged."
        )
    return delta


def selection_loss(selection: Selection, measures: Sequence[Measure], price: Price) -> Price:
    """What choosing the groups adds to the cost of the measures, in the terms of the price.

    Privacy: as the mechanism says; a threshold on a paid count adds its delta only.
    """
    if isinstance(selection, TopGroups):
        return loss_in(price, selection.ranking, selection.sensitivity)
    if isinstance(selection, OptimalKeys):
        return selection.rule.zcdp_loss()
    loss = selection.threshold.loss(measures[selection.place].sensitivity)
    return ZCDP(rho=0, delta=loss.delta)
