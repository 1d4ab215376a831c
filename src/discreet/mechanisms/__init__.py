"""Mechanisms: frozen values with `loss`, `release` and `error`, one file each.
Every sibling module without a leading underscore is found and its `__all__` re-exported, so a new
mechanism is one new file (and its test); nothing here has to change.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see; a mechanism that is not listed is seen as Any
    from discreet.mechanisms.exponential import Exponential as Exponential
    from discreet.mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
    from discreet.mechanisms.hamming import HammingNoise as HammingNoise
    from discreet.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from discreet.mechanisms.lattice import Lattice as Lattice
    from discreet.mechanisms.lattice import Rounded as Rounded
    from discreet.mechanisms.metric import MetricNoise as MetricNoise
    from discreet.mechanisms.noisy_max import MaxNoise as MaxNoise
    from discreet.mechanisms.noisy_max import NoisyMax as NoisyMax
    from discreet.mechanisms.partition import Partition as Partition
    from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from discreet.mechanisms.protocol import Mechanism as Mechanism
    from discreet.mechanisms.quantiles import Quantiles as Quantiles
    from discreet.mechanisms.quantiles_nested import NestedQuantiles as NestedQuantiles
    from discreet.mechanisms.randomized_response import Estimate as Estimate
    from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from discreet.mechanisms.threshold import Threshold as Threshold
    from discreet.mechanisms.top_k import TopK as TopK

    def __getattr__(name: str) -> Any: ...


def _exports() -> dict[str, object]:
    found: dict[str, object] = {}
    for sibling in pkgutil.iter_modules(__path__):
        if not sibling.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{sibling.name}")
            found.update({name: getattr(module, name) for name in module.__all__})
    return found


globals().update(_exports())
__all__: list[str] = sorted(_exports())
