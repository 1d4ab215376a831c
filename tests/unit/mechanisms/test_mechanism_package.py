"""The package finds its mechanisms, and each has the shape of one."""

import importlib
import inspect
import pkgutil
from dataclasses import fields, is_dataclass

import pytest

from discreet import mechanisms
from discreet.loss import ZCDP, BoundedRange, Pure, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.additive.lattice import Lattice, Rounded
from discreet.mechanisms.hamming import HammingNoise
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.metric import MetricNoise
from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from discreet.mechanisms.selection.noisy_max import NoisyMax
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.mechanisms.selection.top_k import TopK

EXAMPLES = [
    DiscreteLaplace(scale=2),
    DiscreteGaussian(sigma=2),
    Exponential(scale=2, candidates=5),
    HammingNoise(scale=2, dimension=4),
    MetricNoise(distances=[[0, 1], [1, 0]], scale=2),
    NestedQuantiles(fractions=(0.25, 0.5), scale=2, candidates=5),
    NoisyMax(scale=2, candidates=5),
    PermuteAndFlip(scale=2, candidates=5),
    Quantiles(fractions=(0.25, 0.5), scale=2, candidates=5),
    RandomizedResponse(epsilon=1),
    Rounded(mechanism=DiscreteLaplace(scale=2), lattice=Lattice(step=1, lower=0, upper=1)),
    TopK(scale=2, count=2, candidates=5),
]


def test_every_public_sibling_is_re_exported():
    expected = set()
    for found in pkgutil.walk_packages(mechanisms.__path__, "discreet.mechanisms."):
        if found.name.split(".")[2] not in ("combinations", "shared"):
            expected |= set(importlib.import_module(found.name).__all__)
    assert mechanisms.__all__ == sorted(expected)
    assert {type(example).__name__ for example in EXAMPLES} <= expected
    assert mechanisms.DiscreteLaplace.__module__ == DiscreteLaplace.__module__


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda m: type(m).__name__)
def test_a_mechanism_is_a_frozen_value_with_three_methods(mechanism):
    kind = type(mechanism)
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert not hasattr(mechanism, "__dict__")
    assert hash(mechanism) == hash(mechanism)
    for field in fields(kind):
        with pytest.raises(AttributeError):
            setattr(mechanism, field.name, 1)
    assert "bits" in inspect.signature(mechanism.release).parameters
    assert isinstance(mechanism.loss(Sensitivity.single(1)), Pure | BoundedRange | ZCDP)
    error = mechanism.error(0.95)
    assert isinstance(error, float)
    assert 0 <= error <= mechanism.error(0.99)


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda m: type(m).__name__)
def test_loss_grows_with_sensitivity(mechanism):
    def price(sensitivity):
        loss = mechanism.loss(sensitivity)
        return loss.rho if isinstance(loss, ZCDP) else loss.epsilon

    small, large = Sensitivity(groups=1, per_group=1), Sensitivity(groups=3, per_group=2)
    assert 0 < price(small) < price(large)
