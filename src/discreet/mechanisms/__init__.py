"""Mechanisms: frozen values with `loss`, `release` and `error`, one file each.
Every module below is found and its `__all__` re-exported, but for `shared` and `combinations`, so a
new mechanism is one new file (and its test); nothing here has to change.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see; a mechanism that is not listed is seen as Any
    from discreet.mechanisms.additive.gaussian import DiscreteGaussian as DiscreteGaussian
    from discreet.mechanisms.additive.laplace import DiscreteLaplace as DiscreteLaplace
    from discreet.mechanisms.additive.lattice import Lattice as Lattice
    from discreet.mechanisms.additive.lattice import Rounded as Rounded
    from discreet.mechanisms.hamming import HammingNoise as HammingNoise
    from discreet.mechanisms.keys.partition import Partition as Partition
    from discreet.mechanisms.keys.threshold import Threshold as Threshold
    from discreet.mechanisms.protocol import Mechanism as Mechanism
    from discreet.mechanisms.randomized_response import Estimate as Estimate
    from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from discreet.mechanisms.selection.exponential import Exponential as Exponential
    from discreet.mechanisms.selection.metric import MetricNoise as MetricNoise
    from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles as NestedQuantiles
    from discreet.mechanisms.selection.noisy_max import MaxNoise as MaxNoise
    from discreet.mechanisms.selection.noisy_max import NoisyMax as NoisyMax
    from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from discreet.mechanisms.selection.quantiles import Quantiles as Quantiles
    from discreet.mechanisms.selection.top_k import TopK as TopK

    def __getattr__(name: str) -> Any: ...


def _collect_exports() -> dict[str, object]:
    exports: dict[str, object] = {}
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        if info.name.split(".")[2] not in ("combinations", "shared"):
            module = importlib.import_module(info.name)
            exports.update({name: getattr(module, name) for name in module.__all__})
    return exports


globals().update(_collect_exports())
__all__: list[str] = sorted(_collect_exports())
