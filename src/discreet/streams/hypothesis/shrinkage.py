"""What noisy deviations probably are, judged by all of them together: an empirical Bayes estimate
with a scale mixture of normals as the prior. Post-processing only.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "posterior"]

Floats = NDArray[np.float64]
"""An array of floats."""

_ROUNDS = 200
_LEAST = 1e-3  # the share of a variance that is always left


def posterior(noisy: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The means and variances of deviations around zero, given them with normal noise.

    The prior's scales lie on a grid of powers of two, from a sixteenth of the noise to far above
    it, with zero; their weights are found by expectation-maximisation, one observation's worth
    held even. Where deviations are far larger than the noise nothing changes.
    """
    largest = max(float(variance.max()), float(np.square(noisy).max()))
    steps = int(np.ceil(np.log2(largest / float(variance.min())) / 2)) + 5
    scales = np.concatenate([[0.0], float(variance.min()) / 256 * 4.0 ** np.arange(steps + 1)])
    spread = variance[:, None] + scales
    likely = -np.square(noisy)[:, None] / (2 * spread) - np.log(spread) / 2
    likely = np.exp(likely - likely.max(axis=1, keepdims=True))
    weights = np.full(len(scales), 1 / len(scales))
    for _ in range(_ROUNDS):
        shares = likely * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (shares.sum(axis=0) + 1 / len(scales)) / (len(noisy) + 1)
    gain = scales / spread
    mean = (shares * gain).sum(axis=1) * noisy
    second = (shares * (gain * variance[:, None] + np.square(gain * noisy[:, None]))).sum(axis=1)
    return mean, np.maximum(second - np.square(mean), _LEAST * variance)
