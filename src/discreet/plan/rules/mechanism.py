"""The rule that chooses mechanisms: it splits the price among measures, candidate queries, the
selection, and adds up what they cost. Nothing here touches data.
"""

from dataclasses import replace

from discreet.loss import Currency, Loss, Price
from discreet.plan.model import Draft
from discreet.plan.parts.candidates import choice_loss
from discreet.plan.parts.measures import Chosen, at_least_one_step
from discreet.plan.parts.price import choose
from discreet.plan.parts.selection import (
    Selection,
    choose_keys,
    choose_leading,
    selection_loss,
    show_keys,
)
from discreet.plan.parts.split import Errors, least_product
from discreet.plan.rules.quantile_method import decide_methods

__all__ = ["choose_mechanism", "errors_at_price"]


def errors_at_price(draft: Draft, kind: type[Price]) -> tuple[Errors, int]:
    """How the statistics of a question depend on the prices of its parts, and how many parts."""
    count = len(draft.measures) + len(draft.picks)
    parts: list[dict[int, float]] = []
    for _, estimator in draft.estimators:
        if isinstance(estimator, Chosen):
            parts.append({len(draft.measures) + estimator.pick: 1.0})
            continue
        shares: dict[int, float] = {}
        for place, factor in zip(estimator.positions, estimator.influence(), strict=True):
            shares[place] = shares.get(place, 0.0) + factor * draft.measures[place].size
        parts.append(shares)
    if draft.ranking is not None or (draft.private and _find_thresholded(draft) is None):
        parts.append({count: 1.0})
        count += 1
    return Errors(parts, power=1.0 if kind.currency is Currency.EPSILON else 0.5), count


def _find_thresholded(draft: Draft) -> int | None:
    """The measure whose noisy number of units decides which keys are shown, if it is asked for."""
    single = draft.table.rows_per_unit == 1  # then rows are units
    counted = (draft.counted, "COUNT(*)") if single else (draft.counted,)
    for place, measure in enumerate(draft.measures):
        if measure.terms in [((1, sql),) for sql in counted]:
            return place
    return None


def choose_mechanism(draft: Draft) -> Draft:
    """The noise of every measure, how values and groups are chosen, and what all of it costs.

    `cost` is the sum of the losses of the chosen mechanisms [DR14, Cor. 3.15], [BS16, Lemma 1.7].
    """
    price = draft.price
    if not isinstance(price, tuple):
        errors, count = errors_at_price(draft, type(price))
        price = tuple(price.share(share) for share in least_product(errors, count))
    measured, picked = len(draft.measures), len(draft.picks)
    noises = tuple(map(choose, draft.measures, price[:measured]))
    draft = decide_methods(draft, price[measured : measured + picked])
    draft = replace(draft, prices=price, noises=noises)
    selection = _selection(draft, price[-1])
    losses: list[Loss] = [
        noise.loss(at_least_one_step(measure.sensitivity))
        for noise, measure in zip(noises, draft.measures, strict=True)
    ]
    pairs = zip(draft.picks, draft.choices, strict=True)
    losses += [choice_loss(*pair, price[0]) for pair in pairs]
    if selection is not None:
        losses.append(selection_loss(selection, draft.measures, price[0]))
    return replace(draft, selection=selection, cost=price[0].total(losses))


def _selection(draft: Draft, price: Price) -> Selection | None:
    if draft.ranking is not None:
        return choose_leading(draft.ranking, price)
    if not draft.private:
        return None
    assert draft.contribution is not None
    place = _find_thresholded(draft)
    if place is None:
        return choose_keys(draft.contribution, price, counted=draft.counted, delta=draft.delta)
    return show_keys(
        draft.measures[place],
        place,
        draft.noises[place],
        counted=draft.measures[place].terms[0][1],
        delta=draft.delta,
    )
