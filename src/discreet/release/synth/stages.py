"""The stages of a synthesis, each replaceable: select, measure, fit, draw. Selecting proposes and
measuring names a mechanism; neither is handed data, and what they name is charged. Fitting and
drawing see released numbers only.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Protocol

from discreet.errors import InvalidValue
from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.rationals import ceil_decimal
from discreet.release.synth.fitted import Draw, Synthetic, draw_evenly, draw_independently
from discreet.release.synth.model.fit import Fit, fit
from discreet.release.synth.model.junction import Clique
from discreet.release.synth.rounds import SCORE_STEPS, Candidate, Noise, to_steps

__all__ = ["MEAN_SIZE", "Measure", "Offer", "Select", "Stages", "gaussian", "worst_missed"]

MEAN_SIZE = math.sqrt(2 / math.pi)
"""The mean size of Gaussian noise over its deviation."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a selection may choose from: tables that the model has room for.

    It holds released numbers only.
    """

    model: Synthetic
    cliques: tuple[Clique, ...]
    """Sets of the model's attributes, which it counts by their number of groups."""
    deviation: float
    """The standard deviation of a cell that is measured in this round."""

    def columns(self, clique: Clique) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(self.model.attributes[self.model.places[at]].name for at in clique)

    def candidates(self, weights: Mapping[Clique, int]) -> tuple[Candidate, ...]:
        """Candidates with these weights: scored by how far the model is off, less the noise."""
        total = self.model.total
        rows = min(1_000_000, max(20_000, math.ceil(4 * total)))
        return tuple(
            Candidate(
                clique,
                to_steps(table * total),
                weights[clique],
                math.ceil(MEAN_SIZE * self.deviation * len(table) * SCORE_STEPS),
            )
            for clique, table in self.model.estimate_shares(weights, rows).items()
        )


class Select(Protocol):
    """Proposes the candidates of a round; the exponential mechanism chooses among them.

    It is not handed data. The choice is charged by the heaviest weight, whatever the candidates
    expect; with weights of 0 only, chance chooses and costs nothing.
    """

    def __call__(self, offer: Offer) -> Sequence[Candidate]:
        """Candidates out of the offer; none ends the rounds."""
        ...


class Measure(Protocol):
    """Names the mechanism that measures a table for so much rho.

    The claim is the mechanism's `loss`, which is charged.
    """

    def __call__(self, *, rho: Fraction, sensitivity: Sensitivity) -> Noise:
        """A discrete Gaussian or Laplace that costs at most rho; another would see exact counts."""
        ...


def worst_missed(offer: Offer) -> tuple[Candidate, ...]:
    """Every table on offer, weighted by how much it overlaps all triples of attributes [MMSM22]."""
    count = len(offer.model.attributes)
    return offer.candidates({clique: _overlap(len(clique), count) for clique in offer.cliques})


def _overlap(size: int, count: int) -> int:
    width = min(3, count)
    return sum(
        shared * math.comb(size, shared) * math.comb(count - size, width - shared)
        for shared in range(1, min(size, width) + 1)
    )


def gaussian(*, rho: Fraction, sensitivity: Sensitivity) -> DiscreteGaussian:
    """The discrete Gaussian that costs rho.

    Privacy: the mechanism costs l2^2/(2 variance) [CKS20, Thm. 4].
    >>> gaussian(rho=Fraction(1, 2), sensitivity=Sensitivity.single(1)).variance < 1
    True
    """
    return DiscreteGaussian.of_variance(ceil_decimal(sensitivity.l2_squared / (2 * rho), 12))


# By what a synthesis that goes on knows our own functions again, wherever they live.
_OWN_NAMES: Mapping[object, str] = {
    worst_missed: "discreet.release.synth_stages.worst_missed",
    gaussian: "discreet.release.synth_stages.gaussian",
    fit: "discreet.release.model_fit.fit",
    draw_evenly: "discreet.release.synth_model.draw_evenly",
    draw_independently: "discreet.release.synth_model.draw_independently",
}


@dataclass(frozen=True, slots=True)
class Stages:
    """What a synthesis is made of; any of them may be replaced by a function of your own.

    What is selected and measured is charged by the mechanisms that do it; fitting and drawing are
    post-processing.
    >>> Stages().said
    ''
    """

    select: Select = field(default=worst_missed)
    measure: Measure = field(default=gaussian)
    fit: Fit = field(default=fit)
    draw: Draw = field(default=draw_evenly)

    def __post_init__(self) -> None:
        for slot in fields(self):
            stage = getattr(self, slot.name)
            named = hasattr(stage, "__qualname__") and "<lambda>" not in stage.__qualname__
            if not callable(stage) or not named:  # all partial functions would share one name
                raise InvalidValue(
                    f"the stage {slot.name} is {stage!r:.80}; it must be a "
                    "function with a name, by which a synthesis that goes on knows it again. "
                    "Nothing was run or charged."
                )

    def _name_stage(self, name: str) -> str:
        stage = getattr(self, name)
        return _OWN_NAMES.get(stage) or f"{stage.__module__}.{stage.__qualname__}"

    @property
    def said(self) -> str:
        """Which stages are replaced, by which functions; nothing if none is.

        >>> from discreet.release.synth.fitted import draw_independently
        >>> Stages(draw=draw_independently).said
        'draw = discreet.release.synth_model.draw_independently'
        """
        replaced = [slot for slot in fields(self) if getattr(self, slot.name) != slot.default]
        return ", ".join(f"{slot.name} = {self._name_stage(slot.name)}" for slot in replaced)
