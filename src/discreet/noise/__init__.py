"""Exact noise: the secure bit source and the samplers. The only place that draws randomness."""

from discreet.noise.bits import BitSource, SeededBits, SystemBits, system
from discreet.noise.coins import bernoulli, bernoulli_exp, uniform
from discreet.noise.discrete import discrete_gaussian, discrete_laplace, geometric

__all__ = [
    "BitSource",
    "SeededBits",
    "SystemBits",
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "system",
    "uniform",
]
