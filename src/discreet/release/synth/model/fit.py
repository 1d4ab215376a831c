"""Fits the maximum-entropy model to noisy marginals: a penalised dual, solved by a preconditioned
quasi-Newton method that starts where the last fit ended. It sees released numbers only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.consistency import agree_marginals
from discreet.release.synth.model.graphical import Beliefs, Network
from discreet.release.synth.model.junction import Clique

__all__ = ["Fit", "Fitted", "Measured", "combine", "fit"]

Table = NDArray[np.float64]

_MEMORY = 8  # pairs of the quasi-Newton method
_FARTHEST = 8.0  # no step moves a log factor by more
_LEAST = 1e-4  # Armijo's share of the promised decrease


@dataclass(frozen=True, slots=True)
class Measured:
    """One noisy marginal as probabilities, with the variance of its noise in each cell."""

    clique: Clique
    noisy: Table = field(repr=False)
    variance: Table = field(repr=False)

    def __post_init__(self) -> None:
        if self.noisy.ndim != len(self.clique) or self.noisy.shape != self.variance.shape:
            raise InvalidValue(
                f"a marginal of {len(self.clique)} attributes has values of shape "
                f"{self.noisy.shape} and variances of shape {self.variance.shape}; "
                "they must agree."
            )
        if not (np.isfinite(self.noisy).all() and (self.variance > 0).all()):
            raise InvalidValue("a marginal has values that are not finite, or no variance.")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model fitted to marginals: its log factors and the marginals they give.

    >>> from discreet.release.synth.model.graphical import network
    >>> measured = Measured((0,), np.array([0.2, 0.8]), np.full(2, 1e-6))
    >>> fit(network((2,), []), [measured], strength=1).beliefs.marginals[(0,)].round(3).tolist()
    [0.2, 0.8]
    """

    network: Network
    factors: Mapping[Clique, Table] = field(repr=False)
    beliefs: Beliefs = field(repr=False)
    steps: int = 0


class Fit(Protocol):
    """How a model is fitted to noisy marginals; it is handed released numbers and nothing else."""

    def __call__(
        self,
        network: Network,
        measured: Iterable[Measured],
        *,
        strength: float,
        start: Mapping[Clique, Table] | None = None,
        steps: int = 100,
        tolerance: float = 1e-3,
    ) -> Fitted:
        """The model; `start` holds log factors of an earlier fit."""
        ...


def combine(measured: Iterable[Measured]) -> dict[Clique, Measured]:
    """Several measurements of one marginal as one, weighted by their precision.

    >>> one = Measured((0,), np.array([0.2, 0.8]), np.full(2, 1e-4))
    >>> float(combine([one, one])[(0,)].variance[0])
    5e-05
    """
    combined: dict[Clique, Measured] = {}
    for new in measured:
        old = combined.get(new.clique)
        if old is not None:
            precision = 1 / old.variance + 1 / new.variance
            noisy = (old.noisy / old.variance + new.noisy / new.variance) / precision
            new = Measured(new.clique, noisy, 1 / precision)
        combined[new.clique] = new
    return combined


def fit(
    network: Network,
    measured: Iterable[Measured],
    *,
    strength: float,
    start: Mapping[Clique, Table] | None = None,
    steps: int = 100,
    tolerance: float = 1e-3,
) -> Fitted:
    """The model that maximises entropy less the squared misfit over the noise's variance.

    `strength` is the weight of the entropy, in rows: 0 would fit noise as if it were truth. Stops
    when the mean absolute misfit left to gain is below `tolerance` of the noise. The dual is that
    of [DPS04, Sec. 2] with a quadratic penalty.
    >>> from discreet.release.synth.model.graphical import network
    >>> measured = [Measured((0, 1), np.array([[0.4, 0.1], [0.1, 0.4]]), np.full((2, 2), 1e-6))]
    >>> fitted = fit(network((2, 2), [(0, 1)]), measured, strength=1)
    >>> fitted.beliefs.marginals[(0,)].round(3).tolist()
    [0.5, 0.5]
    """
    combined = combine(measured)
    dual = _Dual(network, combined, strength)
    point = dual.join({c: start[c] for c in combined if start and c in start})
    best, gradient, beliefs = dual.at(point)
    pairs: list[tuple[Table, Table, float]] = []
    evaluations = 0
    while evaluations < steps and not dual.has_converged(gradient, tolerance):
        direction = _direction(gradient, pairs, dual.scale(beliefs))
        promised = float(direction @ gradient)
        if promised >= 0:
            pairs.clear()
            direction = -gradient * dual.scale(beliefs)
            promised = float(direction @ gradient)
        length = min(1.0, _FARTHEST / float(np.abs(direction).max()))
        while True:
            evaluations += 1
            trial = point + length * direction
            value, slope, near = dual.at(trial)
            if value <= best + _LEAST * length * promised or length < 1e-6:
                break
            length *= 0.4
        if length < 1e-6:
            break
        moved, turned = trial - point, slope - gradient
        curvature = float(moved @ turned)
        if curvature > 0:
            pairs = [*pairs[-_MEMORY + 1 :], (moved, turned, 1 / curvature)]
        point, best, gradient, beliefs = trial, value, slope, near
    return Fitted(network, dual.split(point), beliefs, evaluations)


class _Dual:
    """The penalised dual as a function of one long vector."""

    __slots__ = ("_cliques", "_network", "_noisy", "_penalty", "_shapes", "_starts", "_variance")

    def __init__(
        self, network: Network, marginals: Mapping[Clique, Measured], strength: float
    ) -> None:
        self._network, self._cliques = network, tuple(marginals)
        self._shapes = [marginals[clique].noisy.shape for clique in self._cliques]
        lengths = [marginals[clique].noisy.size for clique in self._cliques]
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        agreed = agree_marginals(
            {c: (noisy.noisy, float(noisy.variance.mean())) for c, noisy in marginals.items()}
        )
        self._noisy = np.concatenate([agreed[c].ravel() for c in self._cliques])
        self._variance = np.concatenate([marginals[c].variance.ravel() for c in self._cliques])
        self._penalty = strength * self._variance

    def split(self, point: Table) -> dict[Clique, Table]:
        return {
            clique: point[start:end].reshape(shape)
            for clique, shape, start, end in zip(
                self._cliques, self._shapes, self._starts, self._starts[1:], strict=False
            )
        }

    def join(self, factors: Mapping[Clique, Table]) -> Table:
        point = np.zeros(self._starts[-1])
        for clique, part in self.split(point).items():
            if clique in factors:
                part[...] = factors[clique]
        return point

    def at(self, point: Table) -> tuple[float, Table, Beliefs]:
        beliefs = self._network.propagate(self.split(point))
        penalised = self._penalty * point
        value = beliefs.log_partition - point @ self._noisy + 0.5 * (point @ penalised)
        gradient = self._join_marginals(beliefs) - self._noisy + penalised
        return float(value), gradient, beliefs

    def scale(self, beliefs: Beliefs) -> Table:
        """The inverse of the Hessian's diagonal, nearly."""
        inverse: Table = 1 / (self._join_marginals(beliefs) + self._penalty + 1e-12)
        return inverse

    def has_converged(self, gradient: Table, tolerance: float) -> bool:
        return float(np.mean(np.abs(gradient) / np.sqrt(self._variance))) < tolerance

    def _join_marginals(self, beliefs: Beliefs) -> Table:
        return np.concatenate([beliefs.marginals[clique].ravel() for clique in self._cliques])


def _direction(gradient: Table, pairs: list[tuple[Table, Table, float]], scale: Table) -> Table:
    """The two-loop recursion."""
    rest = gradient.copy()
    shares = []
    for moved, turned, inverse in reversed(pairs):
        share = inverse * float(moved @ rest)
        rest -= share * turned
        shares.append(share)
    if pairs:
        _, turned, inverse = pairs[-1]
        rest = rest * scale / (inverse * float(turned @ (turned * scale)))
    else:
        rest = rest * scale * 0.3
    for (moved, turned, inverse), share in zip(pairs, reversed(shares), strict=True):
        rest += (share - inverse * float(turned @ rest)) * moved
    return -rest
