"""How much the mechanism's noise moves a model: the model fitted again to its own marginals with
noise of the same size. Works on released numbers only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_gaussian
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.model.fit import Measured

__all__ = ["Replicas", "replicas"]

_FINE = 1 << 20  # noise is drawn as integers in 2**-20 of its deviation


@dataclass(frozen=True, slots=True)
class Replicas:
    """Models as the same mechanism could have given them, had the first one been the truth."""

    models: tuple[Synthetic, ...] = field(repr=False)

    def deviation(self, chosen: Mapping[int, NDArray[np.float64]]) -> float:
        """The standard deviation of a count over the replicas."""
        return float(np.std([model.count(chosen) for model in self.models], ddof=1))


def replicas(model: Synthetic, count: int, bits: BitSource = system) -> Replicas:
    """Fit the model again, so many times.

    Privacy: post-processing.
    """
    if not 2 <= count <= 200:
        raise InvalidValue(f"{count} replicas; ask for 2 to 200.")
    models = []
    for _ in range(count):
        measured = tuple(_measure_again(model, marginal, bits) for marginal in model.measured)
        fitted = model.refit(
            model.fitted.network,
            measured,
            strength=model.strength,
            start=model.fitted.factors,
            steps=40,
            tolerance=0.02,
        )
        models.append(replace(model, fitted=fitted, measured=measured))
    return Replicas(tuple(models))


def _measure_again(model: Synthetic, marginal: Measured, bits: BitSource) -> Measured:
    """What would be measured if the model were the truth."""
    truth = model.fitted.beliefs.marginals[marginal.clique]
    # One-way estimates stand with a tenth of their noise's variance; that is for the fit only.
    factor = np.sqrt(marginal.variance * (10.0 if len(marginal.clique) == 1 else 1.0))
    noise = discrete_gaussian(variance=Fraction(_FINE) ** 2, size=truth.size, bits=bits)
    return replace(marginal, noisy=truth + factor * noise.reshape(truth.shape) / _FINE)
