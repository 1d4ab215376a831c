"""Running sums of a stream under continual release: exact discrete Gaussian noise on the integers
that the square-root encoder makes of the stream. Nothing that was noised once is noised again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, sub

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP
from discreet.mechanisms.shared.integers import integer_list
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_gaussian
from discreet.noise.tails import tail
from discreet.rationals import Number, ceil_decimal, positive
from discreet.streams.counter.factorisation import Factorisation

__all__ = ["RunningSums", "Track"]

_WIDE = 1 << 40  # a variance from which on the noise is as good as normal
_LIKELY = 1e-3  # and what may be missed then, at least


@dataclass(frozen=True, slots=True)
class Track:
    """How far a stream has been measured: the noisy encoding, which is public, and its noise.

    The noise does not depend on data; together with the noisy encoding it gives the exact stream,
    so a track is as secret as the data. A track is extended once: twice would be two measurements
    of the same step. `noisy` is released; `noise` is secret and not part of the text of a track.
    >>> Track()
    Track(noisy=())
    """

    noisy: tuple[int, ...] = ()
    noise: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if len(self.noisy) != len(self.noise):
            raise InvalidValue(
                f"a track has {len(self.noisy)} noisy values and {len(self.noise)} of noise; "
                "it needs as many of both. Nothing was released."
            )


@dataclass(frozen=True, slots=True)
class RunningSums:
    """All running sums of a stream of integers, one step after the other.

    Privacy: see `loss`; for streams in which one unit changes a few entries [FHU23, Thm. 1.3],
    with discrete noise [CKS20, Thm. 4].
    >>> RunningSums.at_price(rho=0.5, steps=4, per_step=1, touched=1).factorisation.steps
    4
    """

    factorisation: Factorisation
    variance: Fraction

    def __init__(self, *, steps: int, variance: Number) -> None:
        object.__setattr__(self, "factorisation", Factorisation(steps))
        object.__setattr__(self, "variance", positive(variance, "variance"))

    @classmethod
    def at_price(cls, *, rho: Number, steps: int, per_step: Number, touched: int) -> "RunningSums":
        """The least noise that costs at most rho, for a unit that changes `touched` entries.

        Privacy: the variance is rounded up [CKS20, Thm. 4].
        >>> running = RunningSums.at_price(rho=0.5, steps=64, per_step=3, touched=2)
        >>> running.loss(per_step=3, touched=2).rho <= Fraction(1, 2)
        True
        """
        moved = Factorisation(steps).norm_squared(touched) * positive(per_step, "per_step") ** 2
        return cls(steps=steps, variance=ceil_decimal(moved / (2 * positive(rho, "rho"))))

    def loss(self, *, per_step: Number, touched: int) -> ZCDP:
        """The cost of the whole stream.

        Privacy: for the relation in which a unit changes at most `touched` entries of the stream,
        each by at most `per_step` [CKS20, Thm. 4; docs/proofs/streams.md].
        >>> RunningSums(steps=1, variance=2**61).loss(per_step=1, touched=1).rho
        Fraction(1, 4)
        """
        moved = self.factorisation.norm_squared(touched) * positive(per_step, "per_step") ** 2
        return ZCDP(rho=moved / (2 * self.variance))

    def extend(self, track: Track, exact: Sequence[int], bits: BitSource = system) -> Track:
        """Measure the next entries of the stream; what was measured before stays as it is.

        Privacy: as `loss` says for the whole stream, however it is divided into calls.
        >>> running = RunningSums(steps=3, variance=2**40)
        >>> half = running.extend(Track(), [5, 0])
        >>> running.extend(half, [2]).noisy[:2] == half.noisy
        True
        """
        start = len(track.noisy)
        if start + len(exact) > self.factorisation.steps:
            raise InvalidValue(
                f"the stream has {self.factorisation.steps} steps and {start} are measured; "
                f"{len(exact)} more do not fit. Nothing was released."
            )
        past = self.factorisation.recover(list(map(sub, track.noisy, track.noise)))
        encoded = self.factorisation.encode([*past, *integer_list(exact)], start)
        drawn = discrete_gaussian(variance=self.variance, size=len(encoded), bits=bits)
        noise = [int(value) for value in drawn]
        return Track(track.noisy + tuple(map(add, encoded, noise)), track.noise + tuple(noise))

    def sums(self, track: Track) -> NDArray[np.float64]:
        """The running sums up to where the stream has been measured, without bias.

        >>> running = RunningSums(steps=2, variance=Fraction(1, 10**6))
        >>> running.sums(running.extend(Track(), [5, 2])).round(6).tolist()
        [5.0, 7.0]
        """
        return self.factorisation.decode(track.noisy)

    def standard_deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every running sum, at most (of discrete noise, from above).

        >>> RunningSums(steps=2, variance=2**60).standard_deviations().round(3).tolist()
        [1.0, 1.118]
        """
        deviations: NDArray[np.float64] = self.factorisation.spread() * float(self.variance) ** 0.5
        return deviations

    def errors(self, confidence: Number) -> NDArray[np.float64]:
        """A half-width of every running sum that holds with this probability, each by itself.

        The normal quantile where the noise is wide enough for that (docs/proofs/streams.md), else
        the subgaussian bound.
        >>> RunningSums(steps=2, variance=2**60).errors(0.95).round(2).tolist()
        [1.96, 2.19]
        """
        from math import log, sqrt
        from statistics import NormalDist

        missed = float(tail(confidence))
        wide = self.variance >= _WIDE and missed >= _LIKELY
        factor = sqrt(2 * log(2 / missed))
        if wide:
            factor = NormalDist().inv_cdf(1 - missed * (1 - 1e-6) / 2) * (1 + 1e-6)
        rounding = float(np.abs(self.factorisation.decoder).sum()) / 2 if wide else 0.0
        half_widths: NDArray[np.float64] = factor * self.standard_deviations() + rounding
        return half_widths
