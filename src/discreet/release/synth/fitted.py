"""A fitted model with the values it stands for: expected marginals and synthetic rows.
Made of released numbers only.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.noise.bits import BitSource, system
from discreet.release.synth.domain import Attribute, Binning
from discreet.release.synth.grade import Mark
from discreet.release.synth.model.fit import Fit, Fitted, Measured, fit
from discreet.release.synth.model.folds import fold
from discreet.release.synth.model.junction import Clique
from discreet.release.synth.model.rows import Take, draw_rows, take_evenly, take_independently
from discreet.release.synth.rounds import code_rows

__all__ = ["Draw", "Synthetic", "draw_evenly", "draw_independently"]

Table = NDArray[np.float64]


class Draw(Protocol):
    """How a model's rows are drawn; it is handed the model and nothing else."""

    def __call__(self, model: "Synthetic", rows: int, bits: BitSource | None) -> NDArray[np.int64]:
        """Rows of value numbers, a column for each attribute; without bits the same every time.

        Privacy: post-processing.
        """
        ...


def draw_evenly(model: "Synthetic", rows: int, bits: BitSource | None) -> NDArray[np.int64]:
    """Rows that meet every conditional share almost exactly.

    Privacy: post-processing.
    """
    return _draw(model, rows, bits, take_evenly)


def draw_independently(model: "Synthetic", rows: int, bits: BitSource | None) -> NDArray[np.int64]:
    """Rows that know nothing of each other, as a sample of people would be.

    Privacy: post-processing.
    """
    return _draw(model, rows, bits, take_independently)


def _draw(model: "Synthetic", rows: int, bits: BitSource | None, take: Take) -> NDArray[np.int64]:
    grouped = draw_rows(model.fitted.network, model.fitted.beliefs, rows, bits, take)
    codes = np.empty((rows, len(model.attributes)), dtype=np.int64)
    order = np.zeros(rows, dtype=np.int64)
    for place, column in enumerate(grouped.T):
        order = (order * model.sizes[place] + column) % (1 << 40)
    first = len(model.fitted.network.tree.cliques)
    for place, at in enumerate(model.places):
        shares = model.binnings[place].table()
        codes[:, at] = take(shares, grouped[:, place], order, bits, turn=first + place)
        order = (order * model.attributes[at].size + codes[:, at]) % (1 << 40)
    return codes


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A private model of a table; it draws rows and knows expected marginals.

    Privacy: post-processing of what it was fitted to.
    """

    attributes: tuple[Attribute, ...]
    places: tuple[int, ...]
    """The attribute behind each one of the model, which are sorted by their number of groups."""
    binnings: tuple[Binning, ...] = field(repr=False)
    total: float
    fitted: Fitted = field(repr=False)
    measured: tuple[Measured, ...] = field(repr=False)
    strength: float
    """The weight of the entropy in its fit, in rows."""
    marks: tuple[Mark, ...] = ()
    """How far it is from the data, told with noise."""
    refit: Fit = fit
    draw: Draw = draw_evenly

    def __post_init__(self) -> None:
        if not len(self.attributes) == len(self.places) == len(self.binnings):
            raise InvalidValue("a model needs a place and a binning for each attribute.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of groups, in the order of the model."""
        return self.fitted.network.tree.sizes

    def estimate_shares(self, cliques: Iterable[Clique], rows: int) -> dict[Clique, Table]:
        """Probabilities of marginals of the model's groups, flat: exact where one clique holds
        them, else from so many evenly spread rows.
        """
        tree, beliefs = self.fitted.network.tree, self.fitted.beliefs
        homes: dict[int | None, list[Clique]] = {}
        for clique in cliques:
            homes.setdefault(tree.home(clique), []).append(clique)
        shares: dict[Clique, Table] = {}
        drawn = None
        for home, wanted in homes.items():
            if home is not None:
                sums = fold(tree.cliques[home], tree.sizes, wanted).collapse(beliefs.cliques[home])
                shares |= {clique: sums[clique].ravel() for clique in wanted}
                continue
            drawn = draw_rows(self.fitted.network, beliefs, rows, None)
            for clique in wanted:
                codes, size = code_rows(drawn, clique, tree.sizes)
                shares[clique] = np.bincount(codes, minlength=size) / rows
        return shares

    @property
    def expected_error(self) -> float:
        """The mean total variation left on what was measured, by Stein's estimate of risk.

        See [Ste81].
        """
        errors = []
        for marginal in self.measured:
            if len(marginal.clique) == 1 and len(self.measured) > len(self.places):
                continue
            fitted = self.fitted.beliefs.marginals[marginal.clique]
            freedom = fitted / (fitted + self.strength * marginal.variance)
            risk = (fitted - marginal.noisy) ** 2 + (2 * freedom - 1) * marginal.variance
            squared = max(float(risk.mean()), 0.0)
            errors.append(math.sqrt(2 / math.pi * squared) * fitted.size / 2)
        return min(1.0, float(np.mean(errors)))

    def codes(self, rows: int, bits: BitSource | None = system) -> NDArray[np.int64]:
        """Synthetic rows as value numbers, one column for each attribute.

        Privacy: post-processing.
        """
        codes = np.asarray(self.draw(self, rows, bits))
        sizes = np.array([attribute.size for attribute in self.attributes])
        whole = codes.shape == (rows, len(sizes)) and np.issubdtype(codes.dtype, np.integer)
        if not whole or (codes < 0).any() or (codes >= sizes).any():
            raise InvalidValue(
                f"the drawing gave {codes.dtype} of shape {codes.shape}, or values out of bounds; "
                f"it must give {rows:,} rows of value numbers, a column for each of "
                f"{len(sizes)} attributes. Nothing was charged."
            )
        return codes.astype(np.int64, copy=False)

    def count(self, chosen: Mapping[int, Table]) -> float:
        """Expected rows, each value of an attribute weighted by a share between 0 and 1.

        One sweep with the shares as further factors: exact for any number of attributes.
        """
        factors = dict(self.fitted.factors)
        for at, shares in chosen.items():
            place = self.places.index(at)
            inside = self.binnings[place].table() @ shares
            if not inside.any():
                return 0.0
            with np.errstate(divide="ignore"):
                logarithm = np.log(inside)
            factors[(place,)] = factors.get((place,), 0.0) + logarithm
        before = self.fitted.beliefs.log_partition
        return self.total * math.exp(self.fitted.network.propagate(factors).log_partition - before)

    def marginal(self, clique: Clique) -> Table:
        """Expected counts over values of these attributes, in the order given."""
        inner = tuple(sorted(self.places.index(at) for at in clique))
        rows = max(200_000, math.ceil(self.total))
        table = self.estimate_shares([inner], rows)[inner].reshape([self.sizes[at] for at in inner])
        for axis, place in enumerate(inner):
            table = np.moveaxis(
                np.tensordot(table, self.binnings[place].table(), axes=(axis, 0)), -1, axis
            )
        order = [inner.index(self.places.index(at)) for at in clique]
        return self.total * table.transpose(order)
