"""The frequent answers of a huge domain, found bit by bit: prefix extension over local hashing.

Every respondent reports on one prefix of the answer, of a length drawn at random; the centre keeps
the most frequent short prefixes and looks only at their extensions.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.randomizers.answers import release
from discreet.local.randomizers.hashing import LocalHashing
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice
from discreet.rationals import Number, whole

__all__ = ["HeavyHitter", "PrefixExtension"]


@dataclass(frozen=True, slots=True)
class HeavyHitter:
    """A frequent answer, its estimated share of all people and the standard error."""

    value: int
    share: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class PrefixExtension:
    """Reports on a prefix of an answer of `width` bits; lengths grow from `first` by `step`.

    Privacy: epsilon-DP for each report, by replacing the answer: the length is drawn without
    looking at it [WLJ21], [WBLJ17, Sec. 4.3].
    >>> PrefixExtension(epsilon=1, width=32, first=8, step=8).lengths
    (8, 16, 24, 32)
    """

    hashing: LocalHashing
    lengths: tuple[int, ...]

    def __init__(self, *, epsilon: Number, width: int, first: int = 8, step: int = 4) -> None:
        whole(width, "width", least=1, most=60)
        whole(first, "first", least=1, most=20)
        whole(step, "step", least=1, most=12)
        lengths = (*range(min(first, width), width, step), width)
        object.__setattr__(self, "hashing", LocalHashing(epsilon=epsilon, categories=1 << width))
        object.__setattr__(self, "lengths", lengths)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of one report."""
        return self.hashing.epsilon

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [WBLJ17, Sec. 4.3].
        >>> PrefixExtension(epsilon=1, width=32).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return self.hashing.loss()

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The row for one answer, or a row for each of several: a length's number, then the hash.

        Privacy: epsilon-DP for each report [WBLJ17, Sec. 4.3].
        >>> PrefixExtension(epsilon=1, width=32).release([5, 2**31]).shape
        (2, 5)
        """
        return release(exact, self.hashing.categories, 8, lambda held: self._row(held, bits))

    def _row(self, held: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
        group = dice(len(self.lengths), held.size, bits)
        cut = self.lengths[-1] - np.array(self.lengths, dtype=np.int64)[group]
        return np.column_stack([group, self.hashing.release(held >> cut, bits)])

    def find(self, reports: Any, *, keep: int = 32) -> tuple[HeavyHitter, ...]:
        """The `keep` most frequent answers, the most frequent first.

        Shares come from the people who reported on whole answers, a random sample; the error
        covers both the sampling and the noise, and not that the best of many were picked.
        >>> question = PrefixExtension(epsilon=5, width=16, first=8, step=8)
        >>> reports = question.release([40_000] * 1000)
        >>> question.find(reports, keep=1)[0].value
        40000
        """
        whole(keep, "keep", least=1, most=1 << 16)
        noisy = np.asarray(reports)
        self._check(noisy)
        best = np.zeros(1, dtype=np.int64)
        shares, errors, before = np.ones(1), np.zeros(1), 0
        for group, length in enumerate(self.lengths):
            own = noisy[noisy[:, 0] == group][:, 1:]
            ends = np.arange(1 << (length - before), dtype=np.int64)
            candidates = ((best[:, None] << (length - before)) | ends).ravel()
            shares, errors = self._estimate_shares(own, candidates)
            order = np.argsort(-shares, kind="stable")[:keep]
            best, shares, errors, before = candidates[order], shares[order], errors[order], length
        rows = zip(best.tolist(), shares.tolist(), errors.tolist(), strict=True)
        return tuple(HeavyHitter(*row) for row in rows)

    def _estimate_shares(
        self, own: NDArray[np.int64], candidates: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        people = max(1, len(own))
        truth, other = (float(chance) for chance in self.hashing.chances())
        seen = self.hashing.count_of(own, candidates) / people
        spread = math.sqrt(people) * (truth - other)
        return (seen - other) / (truth - other), np.sqrt(seen * (1 - seen)) / spread

    def _check(self, noisy: NDArray[Any]) -> None:
        if noisy.ndim != 2 or noisy.dtype.kind not in "iu" or noisy.shape[1] < 2:
            raise InvalidValue("a report is malformed; each is a row of integers.")
        if noisy.size and not 0 <= int(noisy[:, 0].min()) <= int(noisy[:, 0].max()) < len(
            self.lengths
        ):
            raise InvalidValue(
                f"a report is malformed; its first number is below {len(self.lengths)}."
            )
