"""Estimates one-way counts from noisy ones: smoothing for ordered attributes, pooling for rare
values, none where counts are rough, chosen by Stein's unbiased estimate of risk. Released numbers
only; the choice depends on nothing else, so it is free.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.linear.simplex import project_to_simplex
from discreet.release.synth.domain import Attribute

__all__ = ["estimate_counts"]

Counts = NDArray[np.float64]
_SPINS = 32  # shifts that a wavelet smoother averages over
_PROBES = 16


def estimate_counts(noisy: Counts, attribute: Attribute, *, sigma: float, total: float) -> Counts:
    """Non-negative counts near the noisy ones, with the total given.

    Privacy: post-processing; the smoother is the one with the least estimated risk [Ste81].
    >>> colour = Attribute("colour", 3)
    >>> float(estimate_counts(np.array([-3.0, 5.0, 6.0]), colour, sigma=1, total=10).sum())
    10.0
    """
    smoothers: list[Callable[[Counts], Counts]] = [lambda counts: counts]
    smoothers += [partial(_pool, least=factor * sigma) for factor in (2.0, 2.5)]
    if attribute.ordered and len(noisy) >= 8:
        smoothers += [partial(_smooth, least=factor * sigma) for factor in (1.0, 1.5, 2.0, 2.5)]
    best, least = noisy, np.inf
    for smoother in smoothers:
        estimate, risk = _estimate_risk(smoother, noisy, sigma, total)
        if risk < least:
            best, least = estimate, risk
    return best


def _estimate_risk(
    smoother: Callable[[Counts], Counts], noisy: Counts, sigma: float, total: float
) -> tuple[Counts, float]:
    """The estimate, and its risk: misfit plus twice the variance times the divergence."""
    total = max(total, 1e-9)
    estimate = project_to_simplex(smoother(noisy), total)
    step, divergence = 0.3 * sigma, 0.0
    for probe in range(_PROBES):
        signs = _signs(len(noisy), probe)
        above = project_to_simplex(smoother(noisy + step * signs), total)
        below = project_to_simplex(smoother(noisy - step * signs), total)
        divergence += float(signs @ (above - below)) / (2 * step * _PROBES)
    return estimate, float(((estimate - noisy) ** 2).sum()) + 2 * sigma**2 * divergence


def _signs(count: int, probe: int) -> Counts:
    """Fixed signs without a pattern: bits of a multiplicative hash."""
    mixed = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(4096 * probe)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed >> np.uint64(40)) & np.uint64(1)).astype(np.float64) * 2 - 1


def _pool(counts: Counts, *, least: float) -> Counts:
    rare = counts < least
    return np.where(rare, max(0.0, float(counts[rare].mean())), counts) if rare.any() else counts


def _smooth(counts: Counts, *, least: float) -> Counts:
    """Haar wavelets, each coefficient shrunk, averaged over shifts [DJ94], [CD95]."""
    length = 2 << (len(counts) - 1).bit_length()
    mirrored = np.resize(np.concatenate([counts, counts[::-1]]), length)
    level = np.stack([np.roll(mirrored, shift) for shift in range(_SPINS)])
    details = []
    while level.shape[1] > 2:
        left, right = level[:, 0::2], level[:, 1::2]
        detail, level = (left - right) / np.sqrt(2), (left + right) / np.sqrt(2)
        details.append(detail * np.maximum(0, 1 - least**2 / np.maximum(detail**2, 1e-12)))
    for detail in reversed(details):
        finer = np.empty((_SPINS, 2 * level.shape[1]))
        finer[:, 0::2] = (level + detail) / np.sqrt(2)
        finer[:, 1::2] = (level - detail) / np.sqrt(2)
        level = finer
    shifted = np.stack([np.roll(row, -shift) for shift, row in enumerate(level)])
    smooth: Counts = shifted.mean(axis=0)[: len(counts)]
    return smooth
